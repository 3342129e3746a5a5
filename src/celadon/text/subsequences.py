"""Longest common subsequences: their length, their weighted length, and the words of one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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


def weighted_union(reference: Sequence[Sequence[int]], text: Sequence[Sequence[int]], weight: float) -> float:
    """Return what ROUGE-1.5.5 counts as the weighted common subsequence of two texts, line by line.

    A word of the reference's line is a hit where it is in the best weighted subsequence with any line of the text, and
    while both texts have the word left. A run of k hits counts k ** weight; it ends at a hit that is followed by a word
    in no subsequence, so that words that are used up do not end it.
    """
    left = Counter(word for line in reference for word in line) & Counter(word for line in text for word in line)
    total = 0.0
    for line in reference:
        marked = [False] * (len(line) + 1)
        for other in text:
            for position in _weighted_positions(line, other, weight):
                marked[position] = True
        run = 0
        for at, word in enumerate(line):
            if marked[at] and left[word] > 0:
                left[word] -= 1
                run += 1
                if not marked[at + 1]:
                    total += run**weight
                    run = 0
    return total


def _weighted_positions(left: Sequence[int], right: Sequence[int], weight: float) -> list[int]:
    """Return the places in the left sequence that the best weighted common subsequence goes through."""
    gain = np.diff(np.arange(min(len(left), len(right)) + 2) ** weight).tolist()
    scores, runs = [[0.0] * (len(right) + 1)], [0] * (len(right) + 1)
    for word in left:
        above, row, new = scores[-1], [0.0], [0]
        for at, other in enumerate(right, 1):
            if word == other:
                row.append(above[at - 1] + gain[runs[at - 1]])
                new.append(runs[at - 1] + 1)
            else:
                row.append(max(above[at], row[-1]))
                new.append(0)
        scores.append(row)
        runs = new
    positions, row_at, column = [], len(left), len(right)
    while row_at and column:
        if left[row_at - 1] == right[column - 1]:
            row_at, column = row_at - 1, column - 1
            positions.append(row_at)
        elif scores[row_at - 1][column] >= scores[row_at][column - 1]:
            row_at -= 1
        else:
            column -= 1
    return positions
