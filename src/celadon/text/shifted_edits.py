"""The edits of the translation edit rate: words inserted, deleted and replaced, and blocks shifted.

The search is that of Tercom as sacrebleu does it, number for number. An edit distance within a beam around the diagonal
gives an alignment; blocks of words that the reference has elsewhere are candidates for a shift; the one that saves most
is made, until none saves anything or 1,000 candidates were seen. All candidates of one round are aligned together: a
table has a column for each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray

_LONGEST_SHIFT = 10
_FARTHEST_SHIFT = 50
_BEAM = 25
_MOST_CANDIDATES = 1000
_FAR = 1 << 28

_Row = npt.NDArray[np.int32]


class _Candidates(NamedTuple):
    """Blocks of ``length`` words that begin at ``start``, each to be put before the word at ``target``."""

    length: IntArray
    start: IntArray
    target: IntArray


class _Band(NamedTuple):
    """The columns of each row of the table that are searched: from ``low`` up to, without, ``high``."""

    low: list[int]
    high: list[int]


def shifted_edits(text: IntArray, reference: IntArray) -> int:
    """Return the number of edits that turn a text into its reference, a shift of a block counting one."""
    if not len(text) or not len(reference):
        return max(len(text), len(reference))
    text, reference = text.astype(np.int32), reference.astype(np.int32)
    band = _band(len(text), len(reference))
    shifts = seen = 0
    while True:
        rows = _base_rows(text, reference, band)
        distance = int(rows[-1][-1]) + len(reference)
        candidates, count = _candidates(text, reference, rows, band, _MOST_CANDIDATES - seen)
        seen += count
        if seen >= _MOST_CANDIDATES or not count:
            return shifts + distance
        gains = distance - _distances(text, reference, rows, band, candidates)
        # of those that save most the longest block, then the earliest, then that with the earliest target
        best = np.lexsort((-candidates.target, -candidates.start, candidates.length, gains))[-1]
        if gains[best] <= 0:
            return shifts + distance
        shifts += 1
        text = text[_moved(len(text), _Candidates(*(column[[best]] for column in candidates)), 0)[:, 0]]


def _band(height: int, width: int) -> _Band:
    ratio = width / height
    beam = int(np.ceil(ratio / 2 + _BEAM)) if ratio / 2 > _BEAM else _BEAM
    middle = np.floor(np.arange(height + 1) * ratio).astype(np.int64)
    low, high = np.maximum(middle - beam, 0), np.minimum(middle + beam, width + 1)
    # the first row is whole, and the last reaches to the end
    low[0], high[0], high[-1] = 0, width + 1, width + 1
    return _Band(low.tolist(), high.tolist())


def _next_row(above: _Row, equal: npt.NDArray[np.bool_], band: _Band, at: int) -> _Row:
    """Return a row of the table from the one above it.

    A cell holds the distance less its column, so that an insertion costs nothing; ``equal`` says where the word of the
    row is the reference's, from the column ``max(low, 1)`` on.
    """
    low, high = band.low[at], band.high[at]
    low_above, high_above = band.low[at - 1], band.high[at - 1]
    row = np.full((high - low, *above.shape[1:]), _FAR, dtype=np.int32)
    end = min(high, high_above)
    np.add(above[low - low_above : end - low_above], 1, out=row[: end - low])
    # diagonally: from the column before
    first, end = max(low, 1), min(high, high_above + 1)
    first_equal = first
    if first - 1 < low_above:
        first += 1
    diagonal = above[first - 1 - low_above : end - 1 - low_above] - equal[first - first_equal : end - first_equal]
    part = row[first - low : end - low]
    np.minimum(part, diagonal, out=part)
    return np.minimum.accumulate(row, axis=0, out=row)


def _base_rows(text: IntArray, reference: IntArray, band: _Band) -> list[_Row]:
    rows: list[_Row] = [np.zeros(len(reference) + 1, dtype=np.int32)]
    for at, word in enumerate(text.tolist(), 1):
        equal = reference[max(band.low[at], 1) - 1 : band.high[at] - 1] == word
        rows.append(_next_row(rows[-1], equal, band, at))
    return rows


def _distances(text: IntArray, reference: IntArray, rows: list[_Row], band: _Band, candidates: _Candidates) -> IntArray:
    """Return the distance after each shift; rows above the first word that moves are those of the text as it is."""
    first = np.minimum(candidates.start, candidates.target)
    order = np.argsort(first, kind="stable")
    begin = int(first[order[0]])
    words = text[_moved(len(text), _Candidates(*(column[order] for column in candidates)), begin)]
    joined = np.searchsorted(first[order], np.arange(begin, len(text)), side="right").tolist()
    above: _Row = np.empty((len(rows[begin]), 0), dtype=np.int32)
    for at, (count, of_row) in enumerate(zip(joined, words, strict=True), begin + 1):
        if count > above.shape[1]:
            new = np.repeat(rows[at - 1][:, None], count - above.shape[1], axis=1)
            above = np.concatenate([above, new], axis=1)
        equal = reference[max(band.low[at], 1) - 1 : band.high[at] - 1, None] == of_row[:count]
        above = _next_row(above, equal, band, at)
    distances = np.empty(len(order), dtype=np.int64)
    distances[order] = above[-1] + len(reference)
    return distances


def _moved(size: int, candidates: _Candidates, begin: int) -> IntArray:
    """Return where the word at each place from ``begin`` on comes from, places x candidates."""
    length, start, target = candidates
    back = target < start
    # a target within the block or at its end is counted from the end of the block
    end = np.where(target > start + length, target, np.minimum(target + length, size))
    low, high = np.where(back, target, start), np.where(back, start + length, end)
    place = np.arange(begin, size)[:, None]
    new_start = np.where(back, target, end - length)
    in_block = (place >= new_start) & (place < new_start + length)
    beside = (place >= low) & (place < high) & ~in_block
    source = np.where(beside, place + np.where(back, -length, length), place)
    return np.where(in_block, place - new_start + start, source)


def _candidates(
    text: IntArray, reference: IntArray, rows: list[_Row], band: _Band, most: int
) -> tuple[_Candidates, int]:
    """Return the shifts to try, each once, and how many there are with repeats; none where these reach ``most``."""
    none = _Candidates(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
    # the words of the reference around the place of each word of the text
    padded = np.full(len(text) + len(reference) + 2 * _FARTHEST_SHIFT, -1, dtype=np.int32)
    padded[_FARTHEST_SHIFT : _FARTHEST_SHIFT + len(reference)] = reference
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * _FARTHEST_SHIFT + 1)[: len(text)]
    start, offset = np.nonzero(around == text[:, None])
    at = start + offset - _FARTHEST_SHIFT
    if not len(start):
        return none, 0
    aligned, wrong_text, wrong_reference = _alignment(text, reference, rows, band)
    before_text, before_reference = (np.append(0, np.cumsum(wrong)) for wrong in (wrong_text, wrong_reference))
    targets = np.append(0, aligned + 1)
    parts: list[_Candidates] = []
    count = 0
    for length in range(1, _LONGEST_SHIFT + 1):
        if length > 1:
            goes_on = (start + length <= len(text)) & (at + length <= len(reference))
            start, at = start[goes_on], at[goes_on]
            goes_on = text[start + length - 1] == reference[at + length - 1]
            start, at = start[goes_on], at[goes_on]
            if not len(start):
                break
        # both the block and what is at its target must be wrong, and the target must lie outside of the block
        useful = before_text[start + length] > before_text[start]
        useful &= before_reference[at + length] > before_reference[at]
        useful &= (aligned[at] < start) | (aligned[at] >= start + length)
        if not useful.any():
            continue
        choices = targets[at[useful][:, None] + np.arange(length + 1)]
        new = np.ones(choices.shape, dtype=np.bool_)
        np.not_equal(choices[:, 1:], choices[:, :-1], out=new[:, 1:])
        count += int(new.sum())
        if count >= most:
            return none, count
        starts = np.broadcast_to(start[useful][:, None], choices.shape)[new]
        keys = np.unique(starts * (len(text) + 1) + choices[new])
        blocks, ends = np.divmod(keys, len(text) + 1)
        parts.append(_Candidates(np.full(len(keys), length), blocks, ends))
    if not parts:
        return none, 0
    return _Candidates(*(np.concatenate(column) for column in zip(*parts, strict=True))), count


def _alignment(
    text: IntArray, reference: IntArray, rows: list[_Row], band: _Band
) -> tuple[IntArray, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the last word of the text up to each word of the reference, and which words of both are wrong.

    Walking back, a match or a replacement is preferred, then a word that the reference lacks.
    """
    row, column = len(text), len(reference)
    aligned = np.full(column, -1, dtype=np.int64)
    wrong_text, wrong_reference = np.ones(row, dtype=np.bool_), np.ones(column, dtype=np.bool_)
    words, others, low = text.tolist(), reference.tolist(), band.low
    steps: list[tuple[int, int, bool]] = []
    while row and column:
        here, above = int(rows[row][column - low[row]]), rows[row - 1]
        place, same = column - low[row - 1], words[row - 1] == others[column - 1]
        if 0 < place <= len(above) and above[place - 1] - same == here:
            row, column = row - 1, column - 1
            steps.append((row, column, same))
        elif 0 <= place < len(above) and above[place] + 1 == here:
            row -= 1
        else:
            column -= 1
            aligned[column] = row - 1
    for at, other, same in steps:
        aligned[other] = at
        wrong_text[at] = wrong_reference[other] = not same
    return aligned, wrong_text, wrong_reference
