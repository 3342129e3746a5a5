"""The loops of the chart parser, compiled on first use and kept in numba's cache.

Rules are indexed by their left (or only) child. Ties go to the rule and split that come first, so a tree does not
depend on anything but its sentence and the grammar.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from celadon.core import MissingExtraError

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
