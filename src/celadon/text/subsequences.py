"""Longest common subsequences: their length, their weighted length, and the words of one of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq

from celadon.core import FloatArray, IntArray
from celadon.text.alignment import Ragged, anti_diagonals, groups, smallest_type, walk


def lcs_lengths(left: Ragged, right: Ragged) -> IntArray:
    """The length of the longest common subsequence of each pair."""
    length = LCSseq.similarity
    values = left.values.tolist()
    others = values if right.values is left.values else right.values.tolist()
    bounds = zip(
        left.starts.tolist(),
        (left.starts + left.lengths).tolist(),
        right.starts.tolist(),
        (right.starts + right.lengths).tolist(),
        strict=True,
    )
    return np.array([length(values[a:b], others[c:d]) for a, b, c, d in bounds], dtype=np.int64)


def common_positions(left: Ragged, right: Ragged) -> tuple[IntArray, IntArray]:
    """Where the words of one longest common subsequence of each pair stand in the left sequence.

    Of several, the one found by walking from both ends: a match is taken, else the right sequence is stepped back only
    if that is strictly better (the choice that the union LCS of ROUGE-Lsum rests on).

    Returns the pairs and the positions, as two arrays of the same length.
    """
    pairs, positions = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for rows in groups(left.lengths, right.lengths):
        directions = _lcs_paths(left.padded(rows, -1), right.padded(rows, -2))
        pair, position, _ = walk(directions, left.lengths[rows], right.lengths[rows])
        pairs.append(rows[pair])
        positions.append(position)
    return np.concatenate(pairs), np.concatenate(positions)


def _lcs_paths(left: IntArray, right: IntArray) -> npt.NDArray[np.uint8]:
    height, count = left.shape
    width = right.shape[0]
    columns = right[::-1]
    scores = [np.zeros((height + 1, count), dtype=smallest_type(height)) for _ in range(3)]
    directions = np.empty((height + width - 1, height, count), dtype=np.uint8)
    for number, low, high, row, column in anti_diagonals(height, width):
        two, one, new = (scores[(number - back) % 3] for back in (2, 1, 0))
        equal = left[row] == columns[column]
        up, back = one[row], one[low : high + 1]
        new[low : high + 1] = np.where(equal, two[row] + 1, np.maximum(up, back))
        # 0 for a match, else 2 where stepping the right sequence back is strictly better, else 1
        directions[number - 2, row] = np.where(equal, 0, 1 + (back > up))
    return directions


def weighted_lcs(left: Ragged, right: Ragged, weight: float) -> FloatArray:
    """The weighted length of each pair's common subsequence, where a run of k words counts k ** weight (ROUGE-W)."""
    result = np.zeros(len(left.lengths))
    for rows in groups(left.lengths, right.lengths):
        result[rows] = _weighted_group(
            left.padded(rows, -1), right.padded(rows, -2), left.lengths[rows], right.lengths[rows], weight
        )
    return result


def _weighted_group(left: IntArray, right: IntArray, heights: IntArray, widths: IntArray, weight: float) -> FloatArray:
    height, count = left.shape
    width = right.shape[0]
    gain = np.diff(np.arange(min(height, width) + 2) ** weight)
    columns = right[::-1]
    scores = [np.zeros((height + 1, count)) for _ in range(3)]
    runs = [np.zeros((height + 1, count), dtype=np.int64) for _ in range(3)]
    result = np.zeros(count)
    ends = heights + widths
    for number, low, high, row, column in anti_diagonals(height, width):
        two, one, new = (scores[(number - back) % 3] for back in (2, 1, 0))
        equal = left[row] == columns[column]
        run = runs[(number - 2) % 3][row]
        new[low : high + 1] = np.where(equal, two[row] + gain[run], np.maximum(one[row], one[low : high + 1]))
        runs[number % 3][low : high + 1] = np.where(equal, run + 1, 0)
        done = np.flatnonzero(ends == number)
        result[done] = new[heights[done], done]
    return result
