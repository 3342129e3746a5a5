"""The files of a trained realizer (``celadon-fergus/1``).

A folder has ``model.json`` (the settings), ``grammar.npz`` (supertags, and counts of rows by name), ``order.npz`` (the
weights of the order model), ``trigrams.npz`` and ``sides.npz`` (the baseline's counts).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from celadon.core import InputError, UsageError
from celadon.io.json_file import convert
from celadon.models.store import folder_of
from celadon.models.store.model_files import files_digest, load_json, loading
from celadon.parsing.lexicon import CountTable
from celadon.parsing.supertags import parse_supertag
from celadon.realize.fergus import Baseline, Fergus, Settings
from celadon.realize.grammar import TreeGrammar
from celadon.realize.order_model import BITS, OrderModel
from celadon.realize.trigrams import Trigrams, packed, unpacked

FORMAT = "celadon-fergus/1"
BUILTIN, BASELINE = "builtin-fergus", "baseline"
DESCRIPTION, GRAMMAR, ORDER, TRIGRAMS, SIDES = "model.json", "grammar.npz", "order.npz", "trigrams.npz", "sides.npz"
FILES = (DESCRIPTION, GRAMMAR, ORDER, TRIGRAMS, SIDES)

_TABLES = ("words", "looks", "daughters", "within", "numbers")

Arrays = Mapping[str, npt.NDArray[Any]]


class TrainedFergus(NamedTuple):
    """All that a folder holds."""

    fergus: Fergus
    sides: CountTable


class _Description(msgspec.Struct):
    format: Literal["celadon-fergus/1"]
    settings: dict[str, float]


def save_fergus(folder: Path, trained: TrainedFergus) -> None:
    """Write a realizer into a folder that is there."""
    fergus = trained.fergus
    described = {"format": FORMAT, "scripts": ["Latin"], "settings": asdict(fergus.settings)}
    (folder / DESCRIPTION).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    arrays: dict[str, Any] = {"supertags": _text(list(map(str, fergus.grammar.supertags)))}
    for name in _TABLES:
        arrays |= _table_arrays(name, getattr(fergus.grammar, name))
    np.savez_compressed(folder / GRAMMAR, **arrays)
    np.savez_compressed(folder / ORDER, weights=fergus.order_model.weights.astype(np.float16))
    tables: dict[str, Any] = packed(fergus.trigrams.tables)
    np.savez_compressed(folder / TRIGRAMS, words=_text(fergus.trigrams.words), **tables)
    sides: dict[str, Any] = _table_arrays("sides", trained.sides)
    np.savez_compressed(folder / SIDES, **sides)


def open_realizer(name: str = BUILTIN) -> tuple[Fergus | Baseline, str]:
    """Open a realizer, and return it with the sha256 of its files.

    The name is a folder that ``celadon train fergus`` wrote, or ``builtin-fergus``; for the baseline learnt beside it,
    ``baseline:`` before that, or ``baseline`` alone. Raises InputError where there is none, or it is damaged.
    """
    kind, _, place = name.partition(":")
    if kind != BASELINE:
        kind, place = "", name
    if not name or name == f"{BASELINE}:":
        raise UsageError(f"no realizer is named; say {BUILTIN}, {BASELINE} or the folder of one")
    folder = folder_of(place or BUILTIN)
    digest = files_digest(folder, FILES)
    trained = load_fergus(folder)
    if kind == BASELINE:
        return Baseline(trained.sides, trained.fergus.trigrams, trained.fergus.settings), digest
    return trained.fergus, digest


def load_fergus(folder: Path) -> TrainedFergus:
    """Read what :func:`save_fergus` wrote; raise InputError where there is none, or it is damaged."""
    if not (folder / DESCRIPTION).is_file():
        raise InputError(f"{folder}: there is no realizer in it, for it has no {DESCRIPTION}")
    where = f"{folder / DESCRIPTION}: is not the description of a realizer, {FORMAT}"
    described = convert(load_json(folder / DESCRIPTION), _Description, where)
    with loading(folder):
        grammar, order, trigrams, sides = (_arrays(folder / name) for name in (GRAMMAR, ORDER, TRIGRAMS, SIDES))
        weights = order["weights"].astype(np.float32)
        if weights.shape != (1 << BITS,):
            raise ValueError(f"{ORDER} has not {1 << BITS} weights")
        words = tuple(_lines(trigrams["words"]))
        tables = unpacked(trigrams)
        if len(words) != tables.vocabulary:
            raise ValueError(f"{TRIGRAMS} has not as many words as single tokens")
        supertags = tuple(map(parse_supertag, _lines(grammar["supertags"])))
        counts = TreeGrammar(supertags, *(_table(name, grammar) for name in _TABLES))
        fergus = Fergus(counts, OrderModel(weights), Trigrams(words, tables), Settings(**described.settings))
        return TrainedFergus(fergus, _table("sides", sides))


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _text(lines: Sequence[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode(), dtype=np.uint8)


def _lines(text: npt.NDArray[np.uint8]) -> list[str]:
    return text.astype(np.uint8).tobytes().decode().split("\n")[:-1]


def _table_arrays(name: str, table: CountTable) -> dict[str, npt.NDArray[Any]]:
    return {
        f"{name}_names": _text(table.names),
        f"{name}_sizes": np.diff(table.first).astype(np.uint16),
        f"{name}_column": table.column.astype(np.uint16),
        f"{name}_count": table.count.astype(np.uint32),
    }


def _table(name: str, arrays: Arrays) -> CountTable:
    names = _lines(arrays[f"{name}_names"])
    sizes, column, count = (arrays[f"{name}_{part}"] for part in ("sizes", "column", "count"))
    if len(names) != len(sizes) or not sizes.sum() == len(column) == len(count):
        raise ValueError(f"the counts of {name} do not fit each other")
    first = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return CountTable(names, first, column.astype(np.int64), count.astype(np.float64))
