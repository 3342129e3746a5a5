"""The files of a grammar that was counted on a treebank (``celadon-grammar/1``).

A folder has ``model.json`` (states, their labels in trees, the coarse state of each), ``words.txt`` and ``looks.txt``
(what the lexicon knows, a line each) and ``grammar.npz`` (rules and counts).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from celadon.core import InputError
from celadon.models.store.model_files import load_json, loading
from celadon.parsing.grammar import Grammar, Numbers, Rules
from celadon.parsing.lexicon import CountedLexicon, CountTable, tag_shares

FORMAT = "celadon-grammar/1"
DESCRIPTION, WORDS, LOOKS, NUMBERS = "model.json", "words.txt", "looks.txt", "grammar.npz"
FILES = (DESCRIPTION, WORDS, LOOKS, NUMBERS)


def save_grammar(folder: Path, grammar: Grammar) -> None:
    """Write a counted grammar into a folder that is there."""
    lexicon = grammar.lexicon
    if not isinstance(lexicon, CountedLexicon) or grammar.coarse is None:
        raise TypeError("only a grammar that was counted on a treebank has files of this kind")
    described = {
        "format": FORMAT,
        "scripts": list(grammar.scripts),
        "root": grammar.rules.root,
        "coarse_root": grammar.coarse.root,
        "coarse_states": grammar.coarse.states,
        "states": list(grammar.states),
        "labels": list(grammar.labels),
    }
    text = json.dumps(described, ensure_ascii=False, indent=1)
    (folder / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
    for name, table in (("words", lexicon.words), ("looks", lexicon.looks)):
        (folder / f"{name}.txt").write_text("".join(f"{name}\n" for name in table.names), encoding="utf-8")
    numbers: dict[str, Any] = {
        "projection": grammar.rules.arrays.projection,
        "tags": lexicon.tags,
        "bases": lexicon.bases,
        **_rule_arrays("fine", grammar.rules),
        **_rule_arrays("coarse", grammar.coarse),
        **_table_arrays("words", lexicon.words),
        **_table_arrays("looks", lexicon.looks),
    }
    np.savez_compressed(folder / NUMBERS, **numbers)


def _rule_arrays(name: str, rules: Rules) -> dict[str, npt.NDArray[Any]]:
    return {
        f"{name}_binary": rules.binary,
        f"{name}_binary_scores": rules.arrays.score,
        f"{name}_unary": rules.unary,
        f"{name}_unary_scores": rules.arrays.unary_score,
    }


def _table_arrays(name: str, table: CountTable) -> dict[str, npt.NDArray[Any]]:
    whole = bool((table.count == np.floor(table.count)).all())
    return {
        f"{name}_first": table.first.astype(np.int32),
        f"{name}_column": table.column.astype(np.int32),
        f"{name}_count": table.count.astype(np.int32 if whole else np.float32),
    }


def load_grammar(folder: Path) -> Grammar:
    """Read the grammar in a folder."""
    if not (folder / DESCRIPTION).is_file():
        raise InputError(f"{folder}: there is no grammar in it, for it has no {DESCRIPTION}")
    described = load_json(folder / DESCRIPTION)
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise InputError(f"{folder / DESCRIPTION}: is not the description of a grammar, {FORMAT}")
    with loading(folder):
        with np.load(folder / NUMBERS, allow_pickle=False) as file:
            numbers = {name: file[name] for name in file.files}
        return _loaded(folder, described, numbers)


def _loaded(folder: Path, described: Mapping[str, Any], numbers: Mapping[str, npt.NDArray[Any]]) -> Grammar:
    states, coarse_states = len(described["states"]), int(described["coarse_states"])
    projection = numbers["projection"]
    # the compiled loops do not look whether a number is within its table
    _check_range(projection, states, coarse_states)
    if len(described["labels"]) != states:
        raise ValueError("not every state has a label")
    rules = _rules(numbers, "fine", states, int(described["root"]), projection)
    coarse = _rules(numbers, "coarse", coarse_states, int(described["coarse_root"]), None)
    tags, bases = numbers["tags"].astype(np.int32), numbers["bases"].astype(np.int64)
    _check_range(tags, len(tags), states)
    _check_range(bases, len(tags), len(tags))
    words = _table(folder, "words", numbers, len(tags))
    lexicon = CountedLexicon(tags, bases, words, _table(folder, "looks", numbers, int(bases.max()) + 1))
    scripts = tuple(map(str, described["scripts"]))
    names = tuple(described["states"]), tuple(described["labels"])
    return Grammar(*names, rules, lexicon, coarse, tag_shares(lexicon, states), scripts=scripts)


def _rules(
    numbers: Mapping[str, npt.NDArray[Any]], name: str, states: int, root: int, projection: Numbers | None
) -> Rules:
    binary, unary = numbers[f"{name}_binary"], numbers[f"{name}_unary"]
    scores = [numbers[f"{name}_{kind}_scores"].astype(np.float64) for kind in ("binary", "unary")]
    for rules, width, of_rules in ((binary, 3, scores[0]), (unary, 2, scores[1])):
        _check_range(rules.ravel(), width * len(of_rules), states)
        if not np.isfinite(of_rules).all() or (of_rules > 0).any():
            raise ValueError("a rule has a probability that is none")
    if not 0 <= root < states:
        raise ValueError("the root is not a state")
    return Rules(states, root, binary.reshape(-1, 3), scores[0], unary.reshape(-1, 2), scores[1], projection)


def _table(folder: Path, name: str, numbers: Mapping[str, npt.NDArray[Any]], width: int) -> CountTable:
    names = (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")[:-1]
    first, column, count = (numbers[f"{name}_{part}"] for part in ("first", "column", "count"))
    _check_range(column, len(count), width)
    if len(first) != len(names) + 1 or first[0] != 0 or first[-1] != len(count) or (np.diff(first) < 0).any():
        raise ValueError(f"{name}.txt does not fit {NUMBERS}")
    return CountTable(names, first.astype(np.int64), column.astype(np.int64), count.astype(np.float64))


def _check_range(numbers: npt.NDArray[Any], size: int, limit: int) -> None:
    whole = np.issubdtype(numbers.dtype, np.integer)
    if not whole or numbers.shape != (size,) or (size and not 0 <= numbers.min() <= numbers.max() < limit):
        raise ValueError(f"a table in {NUMBERS} does not fit the others")
