"""What models read of a batch at a time: each sentence on its own, or a text as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from celadon.core import IntArray, UsageError
from celadon.text.scripts import is_in_scripts, is_wordless

if TYPE_CHECKING:
    from celadon.scoring.batch import Batch

CONTEXTS = ("sentence", "document")
NO_WORDS = "the text has no words"


class Unit(NamedTuple):
    """Some of a sample's text, with its characters."""

    owner: int
    start: int
    end: int
    text: str


class Places(NamedTuple):
    """The sample of each unit, and its characters."""

    owner: IntArray
    starts: IntArray
    ends: IntArray


def places_of(units: Sequence[Unit]) -> Places:
    """Return where units stand."""
    columns = np.array([unit[:3] for unit in units], dtype=np.int64).reshape(-1, 3)
    return Places(*(column.copy() for column in columns.T))


def units_of(batch: Batch, context: str = "sentence") -> list[Unit]:
    """Return what is read, samples in order, units in order; what has no words is left out."""
    if context not in CONTEXTS:
        raise UsageError(f"unknown context {context!r}; known: {', '.join(CONTEXTS)}")
    units = []
    for row, sample in enumerate(batch.samples):
        text = sample.text
        whole = (len(text) - len(text.lstrip()), len(text.rstrip()))
        for start, end in batch.sentences()[row] if context == "sentence" else (whole,):
            if not is_wordless(text[start:end]):
                units.append(Unit(row, start, end, text[start:end]))
    return units


def unreadable(batch: Batch, scripts: tuple[str, ...], name: str) -> dict[int, str]:
    """Return for each sample that a model cannot read, why."""
    told = f"less than half of the text's letters are {' or '.join(scripts)}, which is all {name} knows"
    found = {}
    for row, sample in enumerate(batch.samples):
        if is_wordless(sample.text):
            found[row] = NO_WORDS
        elif not is_in_scripts(sample.text, scripts):
            found[row] = told
    return found


def same_units(left: Places, right: Places) -> tuple[IntArray, IntArray]:
    """Return which units of the one are which of the other; those that only one has are left out."""
    apart = 1 + max(int(places.starts.max(initial=0)) for places in (left, right))
    ours, theirs = (places.owner * apart + places.starts for places in (left, right))
    _, of_left, of_right = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    return of_left, of_right
