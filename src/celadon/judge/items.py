"""The texts that people judge."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from celadon.core import InputError, Sample
from celadon.io import BadRow, Fields, Reader
from celadon.io.values import to_json_text

RESERVED = ("practice:", "check:")
"""How the names of pages begin that are not of the items."""

_CELLS = ("cell", "group")
_MOST_CHARACTERS = 20_000


@dataclass(frozen=True)
class Item:
    """One text."""

    key: str  # its name, which no other item has
    cell: str  # what it is a variant of: items of the same cell say the same thing in different ways
    text: str
    system: str = ""
    context: str = ""  # what is shown before it
    references: tuple[str, ...] = ()  # texts written by people; never shown
    language: str = ""  # of the text, where it is not that of the experiment
    row: Mapping[str, Any] = field(default_factory=dict, repr=False)  # every column of the row it came from


def read_items(path: str) -> tuple[Item, ...]:
    """Read items out of JSON Lines, CSV, TSV or Parquet.

    Rows have ``text``, and may have ``id``, ``system``, ``cell`` or ``group``, ``context`` (else ``source``),
    ``references`` and ``lang``. Without a cell, rows that share an id are variants of each other; without either each
    row is a cell of its own.

    Raises InputError if a row cannot be used; the message begins with where it is.
    """
    samples = [sample for chunk in Reader([path], Fields(), on_bad=_refuse) for sample in chunk.samples]
    if not samples:
        raise InputError(f"{path}: has no items")
    shared = {name for name, count in Counter(sample.id for sample in samples).items() if count > 1 and name}
    items = [_item(sample, number, shared) for number, sample in enumerate(samples, 1)]
    seen: dict[str, str] = {}
    for sample, item in zip(samples, items, strict=True):
        if item.key in seen:
            raise InputError(
                f"{sample.origin}: the item {item.key!r} is there already at {seen[item.key]}; "
                "rows that share an id must differ in system"
            )
        seen[item.key] = sample.origin
    return tuple(items)


def _refuse(row: BadRow) -> None:
    raise InputError(str(row))


def _item(sample: Sample, number: int, shared: set[str]) -> Item:
    name = sample.id or str(number)
    key = f"{name}/{sample.system}" if name in shared and sample.system else name
    if key.startswith(RESERVED):
        raise InputError(f"{sample.origin}: the id {key!r} begins with {' or '.join(RESERVED)}; choose another")
    if not sample.text.strip():
        raise InputError(f"{sample.origin}: the text is empty; nobody can judge it")
    context = _column(sample, "context") or sample.source or ""
    if max(len(sample.text), len(context)) > _MOST_CHARACTERS:
        raise InputError(f"{sample.origin}: longer than {_MOST_CHARACTERS:,} characters; nobody will read it")
    cell = next((value for column in _CELLS if (value := _column(sample, column))), name)
    if not (key + cell).isprintable():
        raise InputError(f"{sample.origin}: the id {key!r} or the cell {cell!r} has characters that cannot be shown")
    return Item(
        key=key,
        cell=cell,
        text=sample.text,
        system=sample.system or "",
        context=context,
        references=sample.references,
        language=_column(sample, "lang"),
        row=sample.extra,
    )


def _column(sample: Sample, name: str) -> str:
    value = sample.extra.get(name)
    return "" if value is None or isinstance(value, list | dict) else str(value)


def items_text(items: Iterable[Item]) -> str:
    """The items as JSON Lines, for the experiment's folder."""
    return "".join(
        to_json_text(
            {
                "key": item.key,
                "cell": item.cell,
                "system": item.system,
                "context": item.context,
                "text": item.text,
                "references": list(item.references),
                "lang": item.language,
                "row": dict(item.row),
            }
        )
        + "\n"
        for item in items
    )


def kept_items(path: Path) -> tuple[Item, ...]:
    """Read back what :func:`items_text` made."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    return tuple(_kept(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip())


def _kept(line: str, where: str) -> Item:
    try:
        row = json.loads(line)
        key, cell, text, system, context = (row[name] for name in ("key", "cell", "text", "system", "context"))
        return Item(key, cell, text, system, context, tuple(row["references"]), row["lang"], row["row"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{where}: is not an item as celadon judge new wrote it") from None


def by_cell(items: Sequence[Item]) -> dict[str, list[Item]]:
    """The items of each cell, in their order; cells as they turn up."""
    cells: dict[str, list[Item]] = {}
    for item in items:
        cells.setdefault(item.cell, []).append(item)
    return cells
