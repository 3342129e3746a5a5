"""Minimum-cost alignment of word sequences, many pairs at once.

Cost: a substitution 4, an insertion or a deletion 3 (the weights under which the example of Bangalore, Rambow and
Whittaker 2000 comes out as printed). Ties always break the same way:

1. of all alignments of least cost, those with the fewest operations (insertions + deletions + substitutions); the
   numbers of matches, substitutions, insertions and deletions are then unique, and the same with the two sides swapped;
2. of those, the one found by walking from the ends of both sequences to their beginnings and taking at each step a
   match or substitution where it is on a best path, else a deletion, else an insertion.

With C matches and S substitutions of n against m words the cost is 3(n + m) - 6C - 2S, and the operations are
n + m - 2C - S. So the best alignment has the greatest K(3C + S) + (2C + S) for a large K, with gaps free. The tables of
many pairs are filled together along their anti-diagonals, whose cells do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray

_DIAGONAL, _UP, _LEFT = 0, 1, 2
_CELLS_AT_ONCE = 8_000_000
_PAIRS_AT_ONCE = 1024
MAX_CELLS = 250_000_000
"""The largest table, reference words times text words, that is aligned: 15,800 words against as many."""


class Alignment(NamedTuple):
    """Which word of the text each reference word is aligned with.

    ``partner`` runs over the reference words of all pairs, one pair after another (``starts``); it holds the position
    in the text, or -1 where the word is deleted.
    """

    partner: IntArray
    starts: IntArray

    def of(self, pair: int) -> IntArray:
        """The partners of one pair's reference words."""
        return self.partner[self.starts[pair] : self.starts[pair + 1]]


class Ragged(NamedTuple):
    """Sequences of numbers of different lengths, one after another."""

    values: IntArray
    starts: IntArray
    lengths: IntArray

    @classmethod
    def chosen(cls, ids: IntArray, starts: IntArray, documents: IntArray) -> Ragged:
        """The documents with these numbers, in this order (no copy is made)."""
        return cls(ids, starts[documents], starts[documents + 1] - starts[documents])

    def only(self, rows: IntArray) -> Ragged:
        """The sequences with these numbers."""
        return Ragged(self.values, self.starts[rows], self.lengths[rows])

    def padded(self, rows: IntArray, filler: int) -> IntArray:
        """The rows as columns of one table, filled up below."""
        lengths = self.lengths[rows]
        height = int(lengths.max(initial=0))
        down = np.arange(height)[:, None]
        inside = down < lengths
        places = np.where(inside, self.starts[rows] + down, 0)
        return np.where(inside, self.values[places] if len(self.values) else 0, filler)


def too_long(reference_lengths: IntArray, text_lengths: IntArray) -> npt.NDArray[np.bool_]:
    """Which pairs are too long to be aligned."""
    return reference_lengths * text_lengths > MAX_CELLS


def align(references: Ragged, texts: Ragged) -> Alignment:
    """Align each text with its reference; equal numbers are equal words."""
    starts = np.concatenate([[0], np.cumsum(references.lengths)])
    partner = np.full(int(starts[-1]), -1, dtype=np.int64)
    for rows in groups(references.lengths, texts.lengths):
        reference, text = references.padded(rows, -1), texts.padded(rows, -2)
        directions = _best_paths(reference, text)
        pair, at, other = walk(directions, references.lengths[rows], texts.lengths[rows])
        partner[starts[rows[pair]] + at] = other
    return Alignment(partner, starts)


def groups(heights: IntArray, widths: IntArray) -> Iterator[IntArray]:
    """Split pairs into groups of like size whose tables fit into memory together; none with an empty side."""
    order = np.lexsort((widths, heights))
    order = order[(heights[order] > 0) & (widths[order] > 0)]
    tall, wide = heights[order].tolist(), widths[order].tolist()
    begin = 0
    while begin < len(order):
        end, width = begin, 0
        while end < len(order) and end - begin < _PAIRS_AT_ONCE:
            # heights increase along the order, so the last one is the tallest
            new_width = max(width, wide[end])
            if end > begin and tall[end] * (tall[end] + new_width) * (end - begin + 1) > _CELLS_AT_ONCE:
                break
            width, end = new_width, end + 1
        yield order[begin:end]
        begin = end


class Diagonal(NamedTuple):
    """One anti-diagonal of a table: cells (i, j) with i + j = ``number``, counted from 1, i in ``low`` .. ``high``.

    Along it the rows increase and the columns decrease: ``columns`` cuts the column words' reversed list.
    """

    number: int
    low: int
    high: int
    rows: slice
    columns: slice


def anti_diagonals(height: int, width: int) -> Iterator[Diagonal]:
    """All anti-diagonals of a table, from its beginning to its end."""
    for number in range(2, height + width + 1):
        low, high = max(1, number - width), min(height, number - 1)
        first = width - (number - low)
        yield Diagonal(number, low, high, slice(low - 1, high), slice(first, first + high - low + 1))


def _best_paths(reference: IntArray, text: IntArray) -> npt.NDArray[np.uint8]:
    """For every cell the last step of the best path to it, as [anti-diagonal, row, pair]."""
    height, pairs = reference.shape
    width = text.shape[0]
    large = 2 * min(height, width) + 1
    dtype = smallest_type(4 * large * min(height, width))
    substitution, more_for_match = dtype.type(large + 1), dtype.type(2 * large + 1)
    rows, columns = reference.astype(np.int32), text[::-1].astype(np.int32)
    scores = [np.zeros((height + 1, pairs), dtype=dtype) for _ in range(3)]
    directions = np.empty((height + width - 1, height, pairs), dtype=np.uint8)
    for number, low, high, row, column in anti_diagonals(height, width):
        two, one, new = (scores[(number - back) % 3] for back in (2, 1, 0))
        diagonal = (rows[row] == columns[column]).astype(dtype)
        diagonal *= more_for_match
        diagonal += substitution
        diagonal += two[row]
        best = np.maximum(one[row], one[low : high + 1])
        np.maximum(best, diagonal, out=best)
        not_diagonal = best != diagonal
        not_up = best != one[row]
        not_up &= not_diagonal
        # 0 where the diagonal step is best, else 1 where the step up is, else 2
        np.add(not_diagonal.view(np.uint8), not_up.view(np.uint8), out=directions[number - 2, row])
        new[low : high + 1] = best
    return directions


def smallest_type(largest: int) -> np.dtype[Any]:
    """The narrowest signed integer type that holds ``largest``."""
    return np.dtype(np.int16 if largest < 2**15 else np.int32 if largest < 2**31 else np.int64)


def walk(directions: npt.NDArray[np.uint8], heights: IntArray, widths: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Walk from the end of every pair to its beginning; return pair, row and column of each diagonal step."""
    _, height, pairs = directions.shape
    flat = directions.reshape(-1)
    pair = np.arange(pairs)
    row, column = heights - 1, widths - 1
    found: list[tuple[IntArray, IntArray, IntArray]] = []
    while len(pair):
        step = flat.take(((row + column) * height + row) * pairs + pair)
        diagonal = step == _DIAGONAL
        found.append((pair[diagonal], row[diagonal], column[diagonal]))
        row = row - (step != _LEFT)
        column = column - (step != _UP)
        inside = (row >= 0) & (column >= 0)
        if not inside.all():
            pair, row, column = pair[inside], row[inside], column[inside]
    parts = zip(*found, strict=True)
    pairs_found, rows_found, columns_found = (np.concatenate(part) for part in parts)
    return pairs_found, rows_found, columns_found
