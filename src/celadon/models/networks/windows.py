"""How long texts are cut into windows, and how windows of many texts go into batches: pure functions of lengths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from celadon.core import IntArray


class Window(NamedTuple):
    """A stretch of a text's tokens that a model reads at once, from ``start`` to ``end``.

    Tokens from ``first`` on are scored here; those before it were scored in an earlier window and are read again as
    their context.
    """

    start: int
    first: int
    end: int


class TextWindow(NamedTuple):
    """One window of the text numbered ``text``."""

    text: int
    window: Window


def plan_windows(length: int, room: int) -> list[Window]:
    """Cut a text of ``length`` tokens into overlapping windows of at most ``room``, which is at least two.

    Every token is scored in one window only, with at least half of ``room`` before it where the text has as much. All
    windows of a long text are full: the last one reaches further back than it must.
    """
    if length <= 0:
        return []
    windows = [Window(0, 0, min(length, room))]
    while (first := windows[-1].end) < length:
        end = min(length, first + room // 2)
        windows.append(Window(end - room, first, end))
    return windows


def same_length_batches(lengths: Sequence[int], positions: int) -> Iterator[list[int]]:
    """Yield the indices of rows that are run together: of one length only, the longest first.

    Nothing is wasted on padding, and every row is computed in the same steps whatever it is run with.
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for at, length in enumerate(lengths):
        by_length[length].append(at)
    for length, rows in sorted(by_length.items(), reverse=True):
        size = max(1, positions // max(1, length))
        yield from (rows[at : at + size] for at in range(0, len(rows), size))


def plan_batches(lengths: Sequence[int] | IntArray, positions: int) -> Iterator[IntArray]:
    """Yield the indices of rows that are run together, such that padding all to the longest is cheap.

    Rows are sorted by length, the longest first, so that the largest batch is met at once and not after an hour. A
    batch has at most so many positions, padding included; a row that is longer is a batch by itself.
    """
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    at = 0
    while at < len(order):
        rows = max(1, positions // max(1, int(lengths[order[at]])))
        yield order[at : at + rows]
        at += rows
