"""Shares from counts that are few: each context leans on a wider one (Witten and Bell)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.parsing.lexicon import CountTable


def leaning(counts: FloatArray, wider: FloatArray, chosen: IntArray | None = None) -> FloatArray:
    """The shares that counts tell, leaning on those of a wider context as heavily as the counts are varied.

    Parameters
    ----------
    counts
        How often each thing was seen in the context.
    wider
        Its share in a wider context.
    chosen
        The things whose shares are wanted, and which ``wider`` tells of; by default all.
    """
    kinds = max(int(np.count_nonzero(counts)), 1)
    shares: FloatArray = ((counts if chosen is None else counts[chosen]) + kinds * wider) / (counts.sum() + kinds)
    return shares


class Tally:
    """Counts of columns in named rows, while they are being counted."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def add(self, names: Iterable[str], column: int) -> None:
        """Count a column once in each of the rows."""
        for name in names:
            self._rows[name][column] += 1

    def table(self, least: int = 1) -> CountTable:
        """All rows in the order of their names, without those whose counts are fewer than ``least`` together."""
        names = sorted(name for name, row in self._rows.items() if row.total() >= least)
        return count_table(names, [self._rows[name] for name in names])


def count_table(names: Sequence[str], rows: Sequence[Counter[int]]) -> CountTable:
    """A table of counts."""
    entries = [sorted(row.items()) for row in rows]
    first = np.cumsum([0, *map(len, entries)]).astype(np.int64)
    flat = [entry for row in entries for entry in row]
    column = np.array([column for column, _ in flat], dtype=np.int64)
    return CountTable(names, first, column, np.array([count for _, count in flat], dtype=np.float64))
