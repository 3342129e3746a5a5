"""Bootstrap intervals of correlations, whole items or whole systems drawn together.

A resample is never written out: it is a column of counts, how often each row was drawn. Mid-ranks and inversions follow
from running sums of the counts in an order that is the same for all resamples, so nothing is sorted again, and the
results are exactly those of the written-out sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats

from celadon.core import FloatArray, IntArray
from celadon.meta.correlation import FEWEST, Kind, Level, codes, correlate, correlate_columns, paired, settled

Unit: TypeAlias = Literal["rows", "items", "systems", "both"]
Method: TypeAlias = Literal["percentile", "bca"]
# From counts (rows x resamples) to correlations (blocks x resamples).
Weighted: TypeAlias = Callable[[FloatArray], FloatArray]
Counts: TypeAlias = Mapping[str, FloatArray]

_MOST_CELLS = 1 << 16
_FLAT = 1e-12


class BootstrapResult(NamedTuple):
    """A correlation with its bootstrap interval.

    Attributes
    ----------
    value
        The correlation of the sample itself.
    low, high
        The interval; NaN where there is none.
    replicates
        The correlation of each resample; NaN where a resample has none.
    undefined
        How many resamples have none (all draws alike): they are left out of the interval.
    nulls
        Rows left out because a number was missing.
    reason
        Why there is no interval.
    """

    value: float
    low: float
    high: float
    replicates: FloatArray
    undefined: int
    nulls: int
    reason: str = ""


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


def _block_totals(blocks: IntArray) -> Callable[[FloatArray], FloatArray]:
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
    total = _block_totals(blocks)

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
    ties_x, ties_y, total = _ties(blocks, x), _ties(blocks, y), _block_totals(blocks)

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
    total = _block_totals(blocks)
    sizes = np.bincount(blocks)
    # Each block is widened with empty places to one power of two, so that blocks never meet in a merge.
    width = 1 << int(sizes.max() - 1).bit_length()
    place = blocks * width + np.arange(len(x)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    stages = list(_merge_orders(y, place, width))

    def discordant(counts: FloatArray) -> FloatArray:
        wide = np.zeros((len(sizes) * width, counts.shape[1]))
        wide[place] = counts
        found = np.zeros((len(sizes), counts.shape[1]))
        for size, order, left in stages:
            merged = wide[order].reshape(-1, size, counts.shape[1])
            from_left = merged * left.reshape(-1, size, 1)
            merged -= from_left
            merged *= np.cumsum(from_left, axis=1)
            found += merged.reshape(len(sizes), width, -1).sum(axis=1)
        return found

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
    """Make ready to correlate two columns many times, with rows counted differently each time.

    Parameters
    ----------
    x, y
        Two finite columns.
    kind
        Which coefficient.
    blocks
        Rows of one number are correlated together; numbers 0, 1, ... without gaps. Without it, all rows.

    Returns
    -------
    function
        From whole-number counts (rows x resamples) to coefficients (blocks x resamples), each exactly that of the
        sample in which each row is repeated as often as it counts; NaN where it does not exist.
    """
    makers = {"pearson": _weighted_pearson, "spearman": _weighted_spearman, "kendall": _weighted_kendall}
    return makers[kind](x, y, np.zeros(len(x), dtype=np.int64) if blocks is None else blocks)


def _row_counts(counts: Counts, factors: Mapping[str, IntArray]) -> FloatArray:
    drawn = [counts[name] if name == "rows" else counts[name][place] for name, place in factors.items()]
    return drawn[0] if len(drawn) == 1 else drawn[0] * drawn[1]


def _system_statistic(
    x: FloatArray, y: FloatArray, kind: Kind, systems: IntArray, factors: Mapping[str, IntArray]
) -> Callable[[Counts], FloatArray]:
    total = _block_totals(systems)

    def statistic(counts: Counts) -> FloatArray:
        rows = _row_counts(counts, factors)
        n = np.atleast_2d(total(rows))
        there = np.maximum(n, 1)
        mean_x, mean_y = (settled(total(rows * scores[:, None]) / there, scores, kind) for scores in (x, y))
        weights = counts["systems"] * (n > 0) if "systems" in factors else (n > 0).astype(np.float64)
        return correlate_columns(mean_x, mean_y, kind, weights)

    return statistic


def _item_statistic(
    x: FloatArray, y: FloatArray, kind: Kind, items: IntArray, factors: Mapping[str, IntArray]
) -> Callable[[Counts], FloatArray]:
    weigh = weighted_correlation(x, y, kind, items)
    inside = {name: place for name, place in factors.items() if name != "items"}
    fixed = None if inside else weigh(np.ones((len(x), 1)))

    def statistic(counts: Counts) -> FloatArray:
        values = fixed if fixed is not None else weigh(_row_counts(counts, inside))
        there = np.isfinite(values).astype(np.float64)
        weights = there * counts["items"] if "items" in factors else there
        with np.errstate(invalid="ignore"):
            return np.asarray((weights * np.nan_to_num(values)).sum(axis=0) / weights.sum(axis=0))

    return statistic


def _draw(rng: np.random.Generator, units: int, resamples: int) -> FloatArray:
    """How often each unit is drawn, units x resamples."""
    drawn = rng.integers(0, units, size=(units, resamples))
    drawn *= resamples
    drawn += np.arange(resamples)
    return np.bincount(drawn.ravel(), minlength=units * resamples).reshape(units, resamples).astype(np.float64)


def _jackknife(statistic: Callable[[Counts], FloatArray], units: Mapping[str, int], step: int) -> FloatArray:
    """The statistic without each unit in turn, less the mean of these, over all kinds of units."""
    parts = []
    for name, size in units.items():
        values = []
        for start in range(0, size, step):
            width = min(step, size - start)
            counts = {other: np.ones((n, width)) for other, n in units.items()}
            counts[name][np.arange(start, start + width), np.arange(width)] = 0.0
            values.append(statistic(counts))
        left = np.concatenate(values)
        left = left[np.isfinite(left)]
        parts.append(left.mean() - left if len(left) else left)
    return np.concatenate(parts)


def _bca_levels(value: float, finite: FloatArray, influence: FloatArray, confidence: float) -> FloatArray:
    below = (np.count_nonzero(finite < value) + np.count_nonzero(finite == value) / 2) / len(finite)
    bias = stats.norm.ppf(np.clip(below, 0.5 / len(finite), 1 - 0.5 / len(finite)))
    squares = float((influence**2).sum())
    skew = float((influence**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    z = bias + stats.norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2])
    return np.asarray(stats.norm.cdf(bias + z / (1 - skew * z)))


def _usual_unit(level: Level, has_items: bool) -> Unit:
    """What is drawn if nobody says: systems too where systems are compared.

    Drawing items alone adds noise to the systems' means and nothing else, so that the interval sinks towards 0 and may
    miss the correlation itself.
    """
    if level == "system":
        return "both" if has_items else "systems"
    return "items" if has_items else "rows"


def _factors(unit: Unit, rows: int, labels: Mapping[str, IntArray | None]) -> dict[str, IntArray]:
    if unit == "rows":
        return {"rows": np.arange(rows)}
    chosen = {}
    for name in ("items", "systems") if unit == "both" else (unit,):
        place = labels[name]
        if place is None:
            raise ValueError(f"unit {unit!r} needs {name}")
        chosen[name] = place
    return chosen


def bootstrap(
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    systems: Sequence[Any] | npt.NDArray[Any] | None = None,
    items: Sequence[Any] | npt.NDArray[Any] | None = None,
    level: Level = "instance",
    kind: Kind = "pearson",
    lower_is_better: bool = False,
    unit: Unit | None = None,
    method: Method = "percentile",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> BootstrapResult:
    """A bootstrap interval of a correlation between metric and human scores.

    Parameters
    ----------
    metric, human, systems, items, level, kind, lower_is_better
        As for :func:`celadon.meta.correlation.correlate`.
    unit
        What is drawn: single rows, whole items, whole systems, or both items and systems. Rows that share an item are
        not independent: without a word here items are drawn where they are known, else rows; and at system level
        systems too.
    method
        ``percentile``, or ``bca``: corrected for bias and acceleration, the latter from leaving out each unit in turn.
    confidence
        The part of the resamples inside the interval.
    resamples, seed
        How many resamples; the same seed gives the same draws.

    Returns
    -------
    BootstrapResult
        The correlation, its interval and the replicates.
    """
    whole = correlate(
        metric, human, systems=systems, items=items, level=level, kind=kind, lower_is_better=lower_is_better
    )
    if whole.reason:
        return BootstrapResult(np.nan, np.nan, np.nan, np.empty(0), 0, whole.nulls, whole.reason)
    (x, y), finite = paired(metric, human)
    given = {"items": items, "systems": systems}
    labels: dict[str, IntArray | None] = {
        name: None if column is None else np.unique(codes(column, len(x))[finite], return_inverse=True)[1]
        for name, column in given.items()
    }
    x, y = (-x if lower_is_better else x)[finite], y[finite]
    factors = _factors(unit or _usual_unit(level, items is not None), len(x), labels)
    if level == "system" and labels["systems"] is not None:
        statistic = _system_statistic(x, y, kind, labels["systems"], factors)
    elif level == "within_item" and labels["items"] is not None:
        statistic = _item_statistic(x, y, kind, labels["items"], factors)
    else:
        weigh = weighted_correlation(x, y, kind)

        def statistic(counts: Counts) -> FloatArray:
            return np.asarray(weigh(_row_counts(counts, factors))[0])

    units = {name: int(place.max()) + 1 for name, place in factors.items()}
    step = max(16, _MOST_CELLS // len(x))
    rng = np.random.default_rng(seed)
    chunks = [
        statistic({name: _draw(rng, size, min(step, resamples - start)) for name, size in units.items()})
        for start in range(0, resamples, step)
    ]
    replicates = np.concatenate(chunks)
    defined = replicates[np.isfinite(replicates)]
    undefined = resamples - len(defined)
    if len(defined) < 2:
        reason = "no resample has a correlation"
        return BootstrapResult(whole.value, np.nan, np.nan, replicates, undefined, whole.nulls, reason)
    levels = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "bca":
        levels = _bca_levels(whole.value, defined, _jackknife(statistic, units, step), confidence)
    low, high = np.quantile(defined, levels)
    return BootstrapResult(whole.value, float(low), float(high), replicates, undefined, whole.nulls)
