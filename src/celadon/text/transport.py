"""Exact optimal transport between bags of points, for many pairs of bags, and lower bounds that spare most of the work.

A bag is some points, each with its share of the bag. Moving a share costs the Euclidean distance that it goes, and the
distance of two bags is the least that turning the one into the other can cost (the earth mover's distance). It is found
exactly, by POT's network simplex.

What both bags have of a point stays where it is. That loses nothing: the costs are a metric, so by the duality of
Kantorovich and Rubinstein the least cost is the greatest of ``sum f(x) (left(x) - right(x))`` over all functions f that
change by no more than the distance. It depends on the difference of the two bags alone, not on what they share.

Two bounds are never above the distance: how far the bags' centres are apart, and what it costs where every point may
move to the nearest of the other bag, however much goes there (Kusner, Sun, Kolkin and Weinberger 2015). Where only the
nearest of several bags is wanted, a bag whose bound is above the least distance yet found is left out, so that the
outcome is the same to the last bit.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from celadon.core import FloatArray, IntArray

_ARRAYS = {"pytorch": "torch", "jax": "jax", "cupy": "cupy", "tensorflow": "tensorflow"}
_MOST_STEPS = 100_000_000
_SOLVED = 1
# shares closer to each other than that are taken for equal
_NOTHING = 1e-12
# bounds are computed in other steps than distances, so that one may seem above the other by the last digits
_ROUNDING = 1e-7
# points of a chunk of pairs that are held at a time
_POINTS_AT_ONCE = 1 << 14


class Bags(NamedTuple):
    """Bags of points: those of bag ``b`` are ``starts[b]`` to ``starts[b + 1]`` of both arrays.

    Items are rows of a table of vectors, each at most once in a bag; the shares of a bag sum to 1.
    """

    items: IntArray
    shares: FloatArray
    starts: IntArray


class _Side(NamedTuple):
    """Points, how much is at each, and the squares of their lengths."""

    much: FloatArray
    vectors: FloatArray
    squares: FloatArray


class _Problem(NamedTuple):
    """What is left to be moved: how much from which points, and as much to which."""

    sources: _Side
    targets: _Side

    @property
    def costs(self) -> FloatArray:
        products: FloatArray = self.sources.vectors @ self.targets.vectors.T
        products *= -2.0
        products += self.sources.squares[:, None]
        products += self.targets.squares
        np.maximum(products, 0.0, out=products)
        return np.sqrt(products, out=products)

    @property
    def between_centres(self) -> float:
        """The bound that needs no costs."""
        apart = self.sources.much @ self.sources.vectors - self.targets.much @ self.targets.vectors
        return math.sqrt(float(apart @ apart))

    def relaxed(self, costs: FloatArray) -> float:
        """The bound that does."""
        return relaxed_cost(self.sources.much, self.targets.much, costs)

    def distance(self, costs: FloatArray) -> float:
        """The least cost."""
        return _least_cost(self.sources.much, self.targets.much, costs)


def mover_distances(bags: Bags, left: IntArray, right: IntArray, vectors: FloatArray) -> FloatArray:
    """Return the distance of each pair of non-empty bags; it does not depend on the other pairs, to the last bit."""
    return np.array([_distance(problem) for problem in _problems(bags, left, right, vectors)], dtype=np.float64)


def nearest_distances(
    bags: Bags,
    left: IntArray,
    right: IntArray,
    weights: FloatArray,
    choices: Sequence[Sequence[int]],
    vectors: FloatArray,
) -> FloatArray:
    """Return the distance of each choice, as far as it is needed to know the nearest of its group.

    That is the sum of its weighted distances, or infinity where another of its group is nearer. A choice is its group,
    the first of its pairs and one more than the last; groups together.
    """
    found = np.full(len(choices), np.inf)
    every = _problems(bags, left, right, vectors)
    for first, last in _runs([choice[0] for choice in choices]):
        problems = [[next(every) for _ in range(begin, end)] for _, begin, end in choices[first:last]]
        shares = [weights[begin:end].tolist() for _, begin, end in choices[first:last]]
        if last - first == 1:
            found[first] = _sum_below(problems[0], shares[0], None, math.inf)
            continue
        bounds = [[problem.between_centres if problem else 0.0 for problem in of_one] for of_one in problems]
        least = [math.fsum(map(float.__mul__, *pair)) for pair in zip(shares, bounds, strict=True)]
        best = math.inf
        for at in sorted(range(last - first), key=least.__getitem__):
            found[first + at] = _sum_below(problems[at], shares[at], bounds[at], best + _ROUNDING)
            best = min(best, float(found[first + at]))
    return found


def _runs(groups: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where each group begins and ends."""
    begins = [at for at, group in enumerate(groups) if at == 0 or group != groups[at - 1]]
    return pairwise([*begins, len(groups)])


def _sum_below(
    problems: Sequence[_Problem | None], weights: Sequence[float], bounds: Sequence[float] | None, most: float
) -> float:
    """The sum of weighted distances; infinity as soon as it is known to be above ``most``."""
    if bounds is None:
        # rounded once, whatever the version of Python: its own sum is compensated from 3.12 on
        return math.fsum(weight * _distance(problem) for problem, weight in zip(problems, weights, strict=True))
    least, terms = math.fsum(map(float.__mul__, weights, bounds)), []
    for problem, weight, bound in zip(problems, weights, bounds, strict=True):
        if least > most:
            return math.inf
        if problem is None:
            continue
        costs = problem.costs
        relaxed = problem.relaxed(costs)
        least += weight * max(relaxed - bound, 0.0)
        if least > most:
            return math.inf
        distance = problem.distance(costs)
        least += weight * (distance - max(relaxed, bound))
        terms.append(weight * distance)
    return math.fsum(terms)


def _distance(problem: _Problem | None) -> float:
    return 0.0 if problem is None else problem.distance(problem.costs)


def _problems(bags: Bags, left: IntArray, right: IntArray, vectors: FloatArray) -> Iterator[_Problem | None]:
    """What is to be moved in each pair; None where the bags are equal."""
    sizes = np.diff(bags.starts)
    squares = (vectors * vectors).sum(axis=1)
    ends = np.cumsum(sizes[left] + sizes[right])
    at = 0
    while at < len(left):
        before = ends[at - 1] if at else 0
        end = max(at + 1, int(np.searchsorted(ends, before + _POINTS_AT_ONCE, side="right")))
        yield from _chunk(bags, left[at:end], right[at:end], vectors, squares)
        at = end


def _chunk(
    bags: Bags, left: IntArray, right: IntArray, vectors: FloatArray, squares: FloatArray
) -> Iterator[_Problem | None]:
    ours, ours_owner = _places(bags.starts, left)
    theirs, theirs_owner = _places(bags.starts, right)
    keys = np.concatenate([ours_owner, theirs_owner]) * len(vectors)
    keys += np.concatenate([bags.items[ours], bags.items[theirs]])
    distinct, which = np.unique(keys, return_inverse=True)
    much = np.concatenate([bags.shares[ours], -bags.shares[theirs]])
    surplus: FloatArray = np.bincount(which, much, len(distinct)).astype(np.float64)
    owner, items = np.divmod(distinct, len(vectors))
    sides = [np.flatnonzero(sign * surplus > _NOTHING) for sign in (1.0, -1.0)]
    totals = [np.bincount(owner[kept], np.abs(surplus[kept]), len(left)) for kept in sides]
    # rounding may have left a little more on the one side than on the other
    evened = np.divide(totals[0], totals[1], out=np.ones(len(left)), where=totals[1] > 0)
    surplus[sides[1]] *= -evened[owner[sides[1]]]
    bounds = [np.searchsorted(owner[kept], np.arange(len(left) + 1)).tolist() for kept in sides]
    (out, into) = [_Side(surplus[kept], vectors[items[kept]], squares[items[kept]]) for kept in sides]
    for (begin, end), (first, last) in zip(*map(pairwise, bounds), strict=True):
        if begin == end or first == last:
            yield None
        else:
            sources = _Side(out.much[begin:end], out.vectors[begin:end], out.squares[begin:end])
            yield _Problem(sources, _Side(into.much[first:last], into.vectors[first:last], into.squares[first:last]))


def _places(starts: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """The places of all points of the chosen bags, and which of the chosen each is of."""
    sizes = starts[chosen + 1] - starts[chosen]
    owner = np.repeat(np.arange(len(chosen)), sizes)
    before = np.cumsum(sizes) - sizes
    return np.arange(len(owner)) - before[owner] + starts[chosen][owner], owner


def relaxed_cost(supply: FloatArray, demand: FloatArray, costs: FloatArray) -> float:
    """Return what moving costs at least: every share goes to the nearest point of the other side, or comes from it."""
    return max(float(supply @ costs.min(axis=1)), float(demand @ costs.min(axis=0)))


def least_cost(supply: FloatArray, demand: FloatArray, costs: FloatArray) -> float:
    """Return the least cost of moving the supply to where the demand is.

    All amounts are above 0; the demand counts as a share of the supply.
    """
    return _least_cost(supply, _evened(supply, demand), costs)


def least_cost_plan(supply: FloatArray, demand: FloatArray, costs: FloatArray) -> FloatArray:
    """Return how much goes from each point to each, where moving costs least; as for :func:`least_cost`."""
    return _network_simplex()(supply, _evened(supply, demand), costs)[0]


def _evened(supply: FloatArray, demand: FloatArray) -> FloatArray:
    return np.asarray(demand * (supply.sum() / demand.sum()), dtype=np.float64)


def _least_cost(supply: FloatArray, demand: FloatArray, costs: FloatArray) -> float:
    if len(supply) == 1:
        return float((costs[0] * demand).sum())
    if len(demand) == 1:
        return float((costs[:, 0] * supply).sum())
    return _network_simplex()(supply, demand, costs)[1]


_Solver: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, float]]


@cache
def _network_simplex() -> _Solver:
    """POT's solver itself, for the way around it takes longer than a small problem: the plan, and what it costs.

    POT would load every library of arrays there is, for seconds: not those that nobody here uses.
    """
    unused = {f"POT_BACKEND_DISABLE_{name.upper()}" for name in _ARRAYS if _ARRAYS[name] not in sys.modules}
    unused -= set(os.environ)
    os.environ.update(dict.fromkeys(unused, "1"))
    try:
        from ot.lp.emd_wrap import emd_c
    finally:
        for switch in unused:
            os.environ.pop(switch, None)

    def solve(supply: FloatArray, demand: FloatArray, costs: FloatArray) -> tuple[FloatArray, float]:
        plan, cost, _, _, code = emd_c(supply, demand, costs, _MOST_STEPS, 1)
        if code != _SOLVED:
            raise ArithmeticError(f"POT found no way to move {len(supply)} points to {len(demand)}: code {code}")
        return plan, float(cost)

    return solve
