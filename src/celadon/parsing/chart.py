"""CKY: the most probable tree of a sentence under a binarised grammar with unary rules, compiled with numba.

The chart is filled column by column: a column holds all spans that end at one word. While it is filled, its scores
stand in a dense table (start x state); when it is done they are packed into lists, which is how later columns read
them. So memory grows with the constituents that were found, not with states x spans.

Pruning, where it is asked for, goes from coarse to fine. The coarse grammar has the same rules without annotations; a
constituent is kept where the best coarse tree that uses it is at most ``margin`` (in natural logarithms) below the best
coarse tree of all. Without pruning the tree that is found is the most probable one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray
from celadon.parsing.chart_kernels import fill_coarse_inside, fill_coarse_outside, fill_column, pack_column
from celadon.parsing.grammar import Numbers, Rules, Tagging

LEAF = -1
"""What stands for a rule where a tag was given to a word; below it stand unary rules, -2 for the first."""

Mask = npt.NDArray[np.bool_]


class OutOfTime(Exception):
    """A sentence took longer than it may."""


class Items(NamedTuple):
    """Constituents, packed cell by cell: their states, scores, rules, and where their left parts end."""

    state: Numbers
    score: FloatArray
    rule: Numbers
    split: Numbers


class Chart:
    """The constituents of one sentence; make one with :func:`fill_chart`."""

    def __init__(self, rules: Rules, length: int) -> None:
        self.rules = rules
        self.length = length
        self.begin = np.zeros((length + 1, length + 1), dtype=np.int64)
        self.end = np.zeros((length + 1, length + 1), dtype=np.int64)
        self.items = _empty_items(1024)
        self.used = 0

    def make_room(self, more: int) -> None:
        """Let so many more constituents in."""
        if self.used + more > len(self.items.state):
            size = max(2 * len(self.items.state), self.used + more)
            old = self.items
            self.items = Items(
                np.resize(old.state, size),
                np.resize(old.score, size),
                np.resize(old.rule, size),
                np.resize(old.split, size),
            )

    def find(self, start: int, end: int, state: int) -> int | None:
        """Where a constituent is in the items; None where there is none."""
        begin = int(self.begin[start, end])
        found = np.flatnonzero(self.items.state[begin : self.end[start, end]] == state)
        return begin + int(found[0]) if len(found) else None

    def best(self, start: int, end: int, states: Mask) -> int | None:
        """Where the most probable constituent of a span is in the items, among those with some states."""
        begin, stop = int(self.begin[start, end]), int(self.end[start, end])
        scores = np.where(states[self.items.state[begin:stop]], self.items.score[begin:stop], -np.inf)
        return begin + int(scores.argmax()) if len(scores) and scores.max() > -np.inf else None


def _empty_items(size: int) -> Items:
    state, rule, split = (np.zeros(size, dtype=np.int32) for _ in range(3))
    return Items(state, np.zeros(size), rule, split)


def fill_chart(rules: Rules, words: Sequence[Tagging], mask: Mask | None, until: float | None = None) -> Chart:
    """Find all constituents of a sentence, each by its best derivation.

    Parameters
    ----------
    rules
        The grammar's rules.
    words
        What each word may be.
    mask
        Which states a span may have: start x end x coarse state; None lets all be.
    until
        The processor time of this thread (``time.thread_time``) at which to give up.

    Raises
    ------
    OutOfTime
        It was not done by then.
    """
    length, states = len(words), rules.states
    chart = Chart(rules, length)
    scores = np.full((length, states), -np.inf)
    back = np.empty((length, states), dtype=np.int32)
    split = np.empty((length, states), dtype=np.int32)
    active = np.empty((length, states), dtype=np.int32)
    counts = np.zeros(length, dtype=np.int64)
    scratch = np.empty(states, dtype=np.int32), np.zeros(states, dtype=np.bool_)
    allowed = np.ones((1, 1, 1), dtype=np.bool_) if mask is None else mask
    for end in range(1, length + 1):
        _check_time(until)
        dense = (scores, back, split, active, counts)
        packed = (chart.begin, chart.end, chart.items.state, chart.items.score)
        fill_column(end, *words[end - 1], rules.arrays, packed, dense, scratch, allowed, mask is not None)
        chart.make_room(int(counts[:end].sum()))
        chart.used = pack_column(end, chart.used, chart.begin, chart.end, chart.items, dense)
    return chart


def pruning_mask(coarse: Rules, words: Sequence[Tagging], margin: float, until: float | None = None) -> Mask | None:
    """Which coarse states each span may have: start x end x coarse state.

    Parameters
    ----------
    coarse
        The coarse rules.
    words
        What each word may be, in coarse states; a state that comes twice has the sum of its probabilities.
    margin
        How far the best coarse tree with a constituent may be below the best of all.
    until
        As for :func:`fill_chart`.

    Returns
    -------
    array or None
        None where the coarse grammar has no tree for the sentence.
    """
    length = len(words)
    children = np.repeat(np.arange(coarse.states, dtype=np.int32), np.diff(coarse.arrays.unary_first))
    inside = np.full((length, length + 1, coarse.states), -np.inf)
    for at, (states, scores) in enumerate(words):
        np.logaddexp.at(inside[at, at + 1], states, scores)
    for width in range(1, length + 1):
        _check_time(until)
        fill_coarse_inside(width, inside, coarse.arrays, children)
    best = inside[0, length, coarse.root]
    if best == -np.inf:
        return None
    outside = np.full_like(inside, -np.inf)
    outside[0, length, coarse.root] = 0.0
    by_parent = np.argsort(coarse.arrays.parent, kind="stable")
    first = np.searchsorted(coarse.arrays.parent[by_parent], np.arange(coarse.states + 1))
    parents = (by_parent, first, np.ascontiguousarray(coarse.binary[:, 1]))
    # sums in another order may differ in their last digits
    least = best - margin - 1e-6
    for width in range(length, 0, -1):
        _check_time(until)
        fill_coarse_outside(width, inside, outside, coarse.arrays, children, parents, least)
    return np.asarray(inside + outside >= least)


def _check_time(until: float | None) -> None:
    # of this thread alone: what else the machine does is not the sentence's fault
    if until is not None and time.thread_time() > until:
        raise OutOfTime
