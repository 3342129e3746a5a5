"""Correlations of columns whose rows count differently each time, many times at once.

Mid-ranks and inversions follow from running sums of the counts in an order that is the same for all of them, so nothing
is sorted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from celadon.core import FloatArray, IntArray
from celadon.meta.correlation import FEWEST, Kind

# From counts (rows x resamples) to correlations (blocks x resamples).
Weighted: TypeAlias = Callable[[FloatArray], FloatArray]

_FLAT = 1e-12


class _Ties(NamedTuple):
    """Rows in order of block and value: the order, where runs of equal values begin, and each row's run."""

    order: IntArray
    starts: IntArray
    run: IntArray
    block_starts: IntArray


def _ties(blocks: IntArray, *values: FloatArray) -> _Ties:
    order = np.lexsort((*values[::-1], blocks))
    turns = np.diff(blocks[order]) != 0
    fresh = np.logical_or.reduce([turns, *(np.diff(value[order]) != 0 for value in values)])
    starts = np.concatenate([[0], np.flatnonzero(fresh) + 1])
    run = np.empty(len(order), dtype=np.int64)
    run[order] = np.concatenate([[0], np.cumsum(fresh)])
    first_runs = np.flatnonzero(np.concatenate([[True], turns[starts[1:] - 1]]))
    return _Ties(order, starts, run, first_runs)


def _run_counts(counts: FloatArray, ties: _Ties) -> FloatArray:
    ordered = counts[ties.order]
    return ordered if len(ties.starts) == len(ties.order) else np.add.reduceat(ordered, ties.starts, axis=0)


def _power_sums(runs: FloatArray, ties: _Ties, power: int) -> FloatArray:
    raised = runs * runs if power == 2 else runs * runs * runs
    return np.add.reduceat(raised, ties.block_starts, axis=0)


def _centred_ranks(runs: FloatArray, ties: _Ties, totals: FloatArray) -> FloatArray:
    """The mid-rank of each run less the mean rank of its block."""
    ranks = np.cumsum(runs, axis=0)
    ranks -= runs / 2
    before = np.cumsum(totals, axis=0) - totals / 2
    if len(totals) == 1:
        ranks -= before
    else:
        ranks -= np.repeat(before, np.diff(np.append(ties.block_starts, len(runs))), axis=0)
    return ranks


def _ratio(top: FloatArray, left: FloatArray, right: FloatArray, exists: npt.NDArray[np.bool_]) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(exists, np.clip(top / np.sqrt(left * right), -1.0, 1.0), np.nan)


def block_totals(blocks: IntArray) -> Callable[[FloatArray], FloatArray]:
    size = int(blocks.max()) + 1
    if size == 1:
        return lambda table: table.sum(axis=0, keepdims=True)
    shape = (size, len(blocks))
    member = sparse.csr_array((np.ones(len(blocks)), (blocks, np.arange(len(blocks)))), shape=shape)
    return lambda table: np.asarray(member @ table)


def _weighted_pearson(x: FloatArray, y: FloatArray, blocks: IntArray) -> Weighted:
    sizes = np.bincount(blocks)

    def standard(values: FloatArray) -> FloatArray:
        centred = values - (np.bincount(blocks, values) / sizes)[blocks]
        return np.asarray(centred / (np.abs(centred).max() or 1.0))

    x, y = standard(x), standard(y)
    columns = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    total = block_totals(blocks)

    def weigh(counts: FloatArray) -> FloatArray:
        if len(sizes) == 1:
            n, sx, sy, sxx, syy, sxy = (columns @ counts)[:, None, :]
        else:
            n, sx, sy, sxx, syy, sxy = (total(column[:, None] * counts) for column in columns)
        mean_x, mean_y = sx / np.maximum(n, 1), sy / np.maximum(n, 1)
        left, right = sxx - sx * mean_x, syy - sy * mean_y
        exists = (n >= FEWEST) & (left > _FLAT * sxx) & (right > _FLAT * syy)
        return _ratio(sxy - sx * mean_y, left, right, exists)

    return weigh


def _weighted_spearman(x: FloatArray, y: FloatArray, blocks: IntArray) -> Weighted:
    # In order of x, so that only y is looked up out of order.
    home = np.lexsort((x, blocks))
    x, y, blocks = x[home], y[home], blocks[home]
    ties_x, ties_y, total = _ties(blocks, x), _ties(blocks, y), block_totals(blocks)

    def weigh(counts: FloatArray) -> FloatArray:
        counts = counts[home]
        n = total(counts)
        runs_x, runs_y = _run_counts(counts, ties_x), _run_counts(counts, ties_y)
        products = _centred_ranks(runs_y, ties_y, n)[ties_y.run]
        products *= counts
        # The sum over a run of x shares one rank.
        if len(ties_x.starts) < len(x):
            products = np.add.reduceat(products, ties_x.starts, axis=0)
        products *= _centred_ranks(runs_x, ties_x, n)
        top = np.add.reduceat(products, ties_x.block_starts, axis=0)
        cubes = n * n * n
        left, right = ((cubes - _power_sums(runs, t, 3)) / 12 for runs, t in ((runs_x, ties_x), (runs_y, ties_y)))
        return _ratio(top, left, right, (n >= FEWEST) & (left > 0) & (right > 0))

    return weigh


def _merge_orders(y: FloatArray, place: IntArray, width: int) -> Iterator[tuple[int, IntArray, FloatArray]]:
    """For each stage of a merge sort by falling y: its width, the order of the places, and which come from the left."""
    size = width
    cells = int(place.max()) // width * width + width
    keys = np.full(cells, -np.inf)
    keys[place] = y
    spots = np.arange(cells)
    while size > 1:
        right = spots % size >= size // 2
        order = np.lexsort((~right, -keys, spots // size))
        yield size, order, (~right[order]).astype(np.float64)
        size //= 2


def _weighted_kendall(x: FloatArray, y: FloatArray, blocks: IntArray) -> Weighted:
    home = np.lexsort((y, x, blocks))
    x, y, blocks = x[home], y[home], blocks[home]
    ties_x, ties_y, ties_xy = _ties(blocks, x), _ties(blocks, y), _ties(blocks, x, y)
    total = block_totals(blocks)
    sizes = np.bincount(blocks)
    # Each block is widened with empty places to one power of two, so that blocks never meet in a merge.
    width = 1 << int(sizes.max() - 1).bit_length()
    place = blocks * width + np.arange(len(x)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    stages = list(_merge_orders(y, place, width))

    def discordant(counts: FloatArray) -> FloatArray:
        wide = np.zeros((len(sizes) * width, counts.shape[1]))
        wide[place] = counts
        sums = np.zeros((len(sizes), counts.shape[1]))
        for size, order, left in stages:
            merged = wide[order].reshape(-1, size, counts.shape[1])
            from_left = merged * left.reshape(-1, size, 1)
            merged -= from_left
            merged *= np.cumsum(from_left, axis=1)
            sums += merged.reshape(len(sizes), width, -1).sum(axis=1)
        return sums

    def weigh(counts: FloatArray) -> FloatArray:
        counts = counts[home]
        n = total(counts)
        tied_x, tied_y, tied_both = (
            (_power_sums(_run_counts(counts, ties), ties, 2) - n) / 2 for ties in (ties_x, ties_y, ties_xy)
        )
        pairs = n * (n - 1) / 2
        left, right = pairs - tied_x, pairs - tied_y
        top = pairs - tied_x - tied_y + tied_both - 2 * discordant(counts)
        return _ratio(top, left, right, (n >= FEWEST) & (left > 0) & (right > 0))

    return weigh


def weighted_correlation(x: FloatArray, y: FloatArray, kind: Kind, blocks: IntArray | None = None) -> Weighted:
    """Make ready to correlate two finite columns many times, with rows counted differently each time.

    Rows of one number in ``blocks`` (0, 1, ... without gaps) are correlated together; without it, all rows. The
    function goes from whole-number counts (rows x resamples) to coefficients (blocks x resamples), each exactly that of
    the sample in which each row is repeated as often as it counts; NaN where it does not exist.
    """
    makers = {"pearson": _weighted_pearson, "spearman": _weighted_spearman, "kendall": _weighted_kendall}
    return makers[kind](x, y, np.zeros(len(x), dtype=np.int64) if blocks is None else blocks)
