"""Columns laid out as systems x items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.meta.correlation import codes
from celadon.meta.table import Table

MOST_CELLS = 20_000_000


class Grid(NamedTuple):
    """Where each row is in a table of systems x items."""

    system: IntArray
    item: IntArray
    shape: tuple[int, int]

    def lay(self, column: FloatArray) -> FloatArray:
        """A column as systems x items, NaN where there is no row."""
        table = np.full(self.shape, np.nan)
        table[self.system, self.item] = column
        return table


def make_grid(table: Table) -> Grid | None:
    """Lay out the rows; None where that would be too large.

    Rows without systems take turns within their item. A second row of the same system and item stands for an item of
    its own, so that every row has a cell.
    """
    rows = table.rows
    items = np.arange(rows) if table.items is None else codes(table.items, rows)
    if table.systems is None:
        systems = _occurrence(items)
    else:
        systems = codes(table.systems, rows)
        again = _occurrence(items * (int(systems.max(initial=0)) + 1) + systems)
        items = codes(items * (int(again.max(initial=0)) + 1) + again, rows)
    shape = int(systems.max(initial=0)) + 1, int(items.max(initial=0)) + 1
    return Grid(systems, items, shape) if shape[0] * shape[1] <= MOST_CELLS else None


def _occurrence(keys: IntArray) -> IntArray:
    """For each row how many rows before it have its key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, ordered)
    found = np.empty(len(keys), dtype=np.int64)
    found[order] = np.arange(len(keys)) - first
    return found
