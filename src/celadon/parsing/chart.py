"""CKY: the most probable tree of a sentence under a binarized grammar with unary rules, compiled with numba.

The chart is filled column by column: a column holds all spans that end at one word. While it is filled, its scores
stand in a dense table (start x state); when it is done they are packed into lists, which is how later columns read
them. So memory grows with the constituents that were found, not with states x spans. Rules are indexed by their left
(or only) child. Ties go to the rule and split that come first, so a tree depends on its sentence and the grammar alone.

Pruning, where it is asked for, goes from coarse to fine. The coarse grammar has the same rules without annotations; a
constituent is kept where the best coarse tree that uses it is at most ``margin`` (in natural logarithms) below the best
coarse tree of all. Without pruning the tree that is found is the most probable one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, MissingExtraError
from celadon.parsing.grammar import Grammar, Numbers, Rules, Tagging

try:
    from numba import njit
except ImportError as error:
    raise MissingExtraError("numba", "parse") from error


@njit(cache=True, nogil=True)
def _raise_unaries(row: Any, back: Any, active: Any, count: int, rules: Any, queue: Any, waits: Any, may: Any) -> int:
    """Apply unary rules in one cell until no score rises; returns the number of its constituents."""
    size = len(queue)
    head, waiting = 0, count
    for at in range(count):
        queue[at] = active[at]
        waits[active[at]] = True
    while waiting > 0:
        child = queue[head]
        head = head + 1 if head + 1 < size else 0
        waiting -= 1
        waits[child] = False
        for rule in range(rules.unary_first[child], rules.unary_first[child + 1]):
            parent = rules.unary_parent[rule]
            score = row[child] + rules.unary_score[rule]
            if score > row[parent] and may[rules.projection[parent]]:
                if row[parent] == -np.inf:
                    active[count] = parent
                    count += 1
                row[parent] = score
                back[parent] = -2 - rule
                if not waits[parent]:
                    waits[parent] = True
                    queue[(head + waiting) % size] = parent
                    waiting += 1
    return count


@njit(cache=True, nogil=True)
def _join(left: Any, left_scores: Any, right: Any, cell: Any, count: int, middle: int, rules: Any, may: Any) -> int:
    """Join the constituents of two neighbouring spans; returns the number of constituents of the whole."""
    row, back, split, active = cell
    for at in range(len(left)):
        base = left_scores[at]
        for rule in range(rules.first[left[at]], rules.first[left[at] + 1]):
            other = right[rules.right[rule]]
            if other == -np.inf:
                continue
            score = base + other + rules.score[rule]
            parent = rules.parent[rule]
            if score > row[parent] and may[rules.projection[parent]]:
                if row[parent] == -np.inf:
                    active[count] = parent
                    count += 1
                row[parent] = score
                back[parent] = rule
                split[parent] = middle
    return count


@njit(cache=True, nogil=True)
def fill_column(
    end: int, tags: Any, tag_scores: Any, rules: Any, packed: Any, dense: Any, scratch: Any, allowed: Any, pruned: bool
) -> None:
    """Find all constituents that end at one word, the shortest first."""
    begins, ends, states, state_scores = packed
    scores, backs, splits, actives, counts = dense
    queue, waits = scratch
    everything = np.ones(rules.projection.max() + 1, dtype=np.bool_)
    for start in range(end - 1, -1, -1):
        may = allowed[start, end] if pruned else everything
        counts[start] = 0
        if not may.any():
            continue
        row, active = scores[start], actives[start]
        cell = (row, backs[start], splits[start], active)
        count = 0
        if start == end - 1:
            for at in range(len(tags)):
                if may[rules.projection[tags[at]]]:
                    row[tags[at]] = tag_scores[at]
                    backs[start, tags[at]] = -1
                    active[count] = tags[at]
                    count += 1
        for middle in range(start + 1, end):
            if counts[middle] > 0:
                first, last = begins[start, middle], ends[start, middle]
                right = scores[middle]
                count = _join(states[first:last], state_scores[first:last], right, cell, count, middle, rules, may)
        counts[start] = _raise_unaries(row, backs[start], active, count, rules, queue, waits, may)


@njit(cache=True, nogil=True)
def pack_column(end: int, used: int, begins: Any, ends: Any, items: Any, dense: Any) -> int:
    """Move a finished column into the lists, and leave the dense table empty; returns the new length of the lists."""
    scores, backs, splits, actives, counts = dense
    for start in range(end):
        begins[start, end] = used
        for at in range(counts[start]):
            state = actives[start, at]
            items.state[used] = state
            items.score[used] = scores[start, state]
            items.rule[used] = backs[start, state]
            items.split[used] = splits[start, state]
            scores[start, state] = -np.inf
            used += 1
        ends[start, end] = used
        counts[start] = 0
    return used


@njit(cache=True, nogil=True)
def _settle(row: Any, givers: Any, takers: Any, scores: Any) -> None:
    """Carry scores along unary rules until none rises."""
    rises = True
    while rises:
        rises = False
        for rule in range(len(scores)):
            score = row[givers[rule]] + scores[rule]
            if score > row[takers[rule]]:
                row[takers[rule]] = score
                rises = True


@njit(cache=True, nogil=True)
def fill_coarse_inside(width: int, inside: Any, rules: Any, children: Any) -> None:
    """Find the best score of every coarse constituent of so many words; the tags of words are there already."""
    for start in range(inside.shape[0] - width + 1):
        end = start + width
        row = inside[start, end]
        for middle in range(start + 1, end):
            left, right = inside[start, middle], inside[middle, end]
            for state in range(len(left)):
                base = left[state]
                if base == -np.inf:
                    continue
                for rule in range(rules.first[state], rules.first[state + 1]):
                    score = base + right[rules.right[rule]] + rules.score[rule]
                    row[rules.parent[rule]] = max(row[rules.parent[rule]], score)
        _settle(row, children, rules.unary_parent, rules.unary_score)


@njit(cache=True, nogil=True)
def fill_coarse_outside(
    width: int, inside: Any, outside: Any, rules: Any, children: Any, by: Any, least: float
) -> None:
    """Carry what is around coarse constituents of so many words to their parts, where a good tree has them."""
    by_parent, first, lefts = by
    for start in range(inside.shape[0] - width + 1):
        end = start + width
        above, whole = outside[start, end], inside[start, end]
        _settle(above, rules.unary_parent, children, rules.unary_score)
        for parent in range(len(above)):
            if not above[parent] + whole[parent] >= least:
                above[parent] = -np.inf
                continue
            for rule in by_parent[first[parent] : first[parent + 1]]:
                left, right = lefts[rule], rules.right[rule]
                around = above[parent] + rules.score[rule]
                for middle in range(start + 1, end):
                    before, after = inside[start, middle, left], inside[middle, end, right]
                    if around + before + after >= least:
                        outside[start, middle, left] = max(outside[start, middle, left], around + after)
                        outside[middle, end, right] = max(outside[middle, end, right], around + before)


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

    ``mask`` says which states a span may have: start x end x coarse state; None lets all be. OutOfTime is raised when
    the processor time of this thread (``time.thread_time``) reaches ``until``.
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
    """Return which coarse states each span may have: start x end x coarse state; None if there is no coarse tree.

    ``words`` are what each word may be, in coarse states; a state that comes twice has the sum of its probabilities.
    The best coarse tree with a constituent may be ``margin`` below the best of all.
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


FRAGMENT_PENALTY = -20.0
"""What each fragment of a sentence without a tree adds to the logarithm of its probability."""

ROOT = "TOP"

_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


class Found(NamedTuple):
    """A tree in brackets, the logarithm of its probability, and of how many fragments it is put together."""

    logprob: float
    fragments: int
    tree: str


def best_tree(grammar: Grammar, chart: Chart, words: Sequence[str]) -> Found | None:
    """The most probable tree of the whole sentence; None where the grammar has none."""
    whole = chart.find(0, chart.length, chart.rules.root)
    if whole is None:
        return None
    return Found(float(chart.items.score[whole]), 1, _bracketed(grammar, chart, words, (whole, 0, chart.length)))


def best_fragments(grammar: Grammar, chart: Chart, words: Sequence[str]) -> Found:
    """The constituents that cover the sentence with the greatest probability, each at the price of the penalty."""
    # a state that only joins parts is no constituent; the root would need a rule
    states = np.array([bool(label) for label in grammar.labels])
    states[chart.rules.root] = False
    length = len(words)
    scores, last = [0.0, *[-np.inf] * length], [(0, 0)] * (length + 1)
    for end in range(1, length + 1):
        for start in range(end):
            item = chart.best(start, end, states)
            if item is not None and scores[start] + chart.items.score[item] + FRAGMENT_PENALTY > scores[end]:
                scores[end] = scores[start] + float(chart.items.score[item]) + FRAGMENT_PENALTY
                last[end] = (start, item)
    cover, end = [], length
    while end > 0:
        start, item = last[end]
        cover.append(_bracketed(grammar, chart, words, (item, start, end)))
        end = start
    return Found(scores[length], len(cover), f"({ROOT} {' '.join(reversed(cover))})")


def _bracketed(grammar: Grammar, chart: Chart, words: Sequence[str], constituent: tuple[int, int, int]) -> str:
    """A constituent and all below it; without recursion, for trees may be deep."""
    rules, pieces = chart.rules, []
    todo: list[tuple[int, int, int] | str] = [constituent]
    while todo:
        piece = todo.pop()
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        item, start, end = piece
        state, rule = int(chart.items.state[item]), int(chart.items.rule[item])
        if label := grammar.labels[state]:
            pieces.append(f" ({label}")
            todo.append(")")
        if rule == LEAF:
            # what stands for the end of the sentence is no word
            todo.append(f" {words[start].translate(_BRACKETS)}" if start < len(words) else "")
        elif rule < LEAF:
            todo.append(_part(chart, start, end, int(rules.unary[LEAF - 1 - rule, 1])))
        else:
            middle = int(chart.items.split[item])
            todo.append(_part(chart, middle, end, int(rules.binary[rule, 2])))
            todo.append(_part(chart, start, middle, int(rules.binary[rule, 1])))
    return "".join(pieces).lstrip()


def _part(chart: Chart, start: int, end: int, state: int) -> tuple[int, int, int]:
    item = chart.find(start, end, state)
    assert item is not None, "the chart has no constituent that one of its own was made of"
    return item, start, end
