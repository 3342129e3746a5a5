"""Paired permutation tests of the difference of two metrics' correlations (Deutsch, Dror and Roth 2021).

PERM-SYS exchanges the two metrics' scores of whole systems at random, PERM-INPUT those of whole items, PERM-BOTH does
both. With A half the sum and D half the difference of the standardised scores, an exchanged cell is A + s t D with a
sign s of its system and t of its item: sums over exchanged tables are matrix products, and no table is written out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats

from celadon.core import FloatArray, IntArray
from celadon.meta.correlation import Alternative, Kind, Level, correlate, correlate_columns, settled
from celadon.meta.weighted_correlation import weighted_correlation

Permute: TypeAlias = Literal["both", "systems", "items"]
# From signs (systems x resamples, items x resamples) to differences of correlations.
Differences: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]

_MOST_CELLS = 1 << 19
# Beyond this many cells a table of all pairs is too big.
_MOST_SQUARED = 4096
# Two ways of rounding one difference must count as equal.
_SAME = 1e-12


class PermutationResult(NamedTuple):
    """The difference of two correlations and how often chance gives one as large.

    ``pvalue`` is the share of the ``resamples`` that have a difference which are at least as extreme, the observed
    table counted among them. ``nulls`` cells were left out because one of the three numbers was missing.
    """

    statistic: float
    pvalue: float
    value_a: float
    value_b: float
    resamples: int
    nulls: int
    reason: str = ""


class _Tables(NamedTuple):
    """Systems x items: both metrics and the human scores (0 where missing), and what is there."""

    first: FloatArray
    second: FloatArray
    human: FloatArray
    there: npt.NDArray[np.bool_]

    @property
    def half_sum(self) -> FloatArray:
        return (self.first + self.second) / 2

    @property
    def half_difference(self) -> FloatArray:
        return (self.first - self.second) / 2


def _standardised(table: FloatArray) -> FloatArray:
    # nanstd of a table of one value is 0: such a metric is left as it is, and has no correlation.
    return np.asarray((table - np.nanmean(table)) / (np.nanstd(table) or 1.0))


def _system_differences(tables: _Tables, kind: Kind) -> Differences:
    known = tables.there.any(axis=1)
    counts = tables.there.sum(axis=1)[known, None]
    middle, people = (t.sum(axis=1)[known, None] / counts for t in (tables.half_sum, tables.human))
    part = tables.half_difference[known] / counts
    people = settled(people, tables.human, kind)
    scores = np.maximum(np.abs(tables.first), np.abs(tables.second))

    def differences(of_systems: FloatArray, of_items: FloatArray) -> FloatArray:
        swing = of_systems[known] * (part @ of_items)
        first, second = (settled(means, scores, kind) for means in (middle + swing, middle - swing))
        return correlate_columns(first, people, kind) - correlate_columns(second, people, kind)

    return differences


def _instance_pearson(tables: _Tables) -> Differences:
    half, part = tables.half_sum, tables.half_difference
    count = int(tables.there.sum())
    people = np.where(tables.there, tables.human - tables.human.sum() / count, 0.0)
    even = (half.sum(), (half * people).sum(), (half * half + part * part).sum())
    odd = (part, part * people, 2 * half * part)

    def differences(of_systems: FloatArray, of_items: FloatArray) -> FloatArray:
        swings = [((table @ of_items) * of_systems).sum(axis=0) for table in odd]
        values = []
        for sign in (1, -1):
            total, product, square = (fixed + sign * swing for fixed, swing in zip(even, swings, strict=True))
            with np.errstate(divide="ignore", invalid="ignore"):
                values.append(product / np.sqrt((square - total * total / count) * (people * people).sum()))
        return np.asarray(values[0] - values[1])

    return differences


def _signs_before(ranks: IntArray) -> FloatArray:
    """For each place the number of lower ranks before it less that of higher ones, by merging."""
    size, wide = 1, len(ranks) + 1
    spots = np.arange(len(ranks))
    sums = np.zeros(len(ranks))
    while size < len(ranks):
        block, right = spots // (2 * size), spots % (2 * size) >= size
        keys = block * wide + ranks
        left = np.sort(keys[~right])
        ends = np.searchsorted(left, (block[right] + np.array([[0], [1]])) * wide)
        lower, upper = (np.searchsorted(left, keys[right], side) for side in ("left", "right"))
        sums[right] += (lower - ends[0]) - (ends[1] - upper)
        size *= 2
    return sums


def _untied_ranks(tables: _Tables, pool: FloatArray, human: FloatArray, kind: Kind) -> Differences:
    """Without ties among the two metrics' scores the difference is linear in the exchanged cells' signs.

    Both coefficients are sums over pairs of cells of c(a, b) sign(v_a - v_b), with c the sign of the difference of the
    human scores (Kendall) or half the difference of their ranks (Spearman). In a difference between a table and its
    mirror image only terms odd in the signs are left, and these are linear.
    """
    count = len(human)
    order = np.argsort(pool)
    owner = np.concatenate([np.arange(count)] * 2)
    ranks = stats.rankdata(human)
    if kind == "kendall":
        signs = _signs_before(np.searchsorted(np.sort(human), human)[owner[order]])
        sizes = np.unique(human, return_counts=True)[1]
        pairs = count * (count - 1) / 2
        scale = np.sqrt(pairs * (pairs - (sizes * (sizes - 1) / 2).sum()))
        at_pool = 2 * signs
    else:
        centred = (ranks - ranks.mean())[owner[order]]
        position = np.arange(2 * count) * 2 - (2 * count - 1)
        running = np.cumsum(centred)
        at_pool = (centred * position - (2 * running - centred)) / 2
        scale = np.sqrt((count**3 - count) / 12 * ((ranks - ranks.mean()) ** 2).sum())
    gain = np.empty(2 * count)
    gain[order] = at_pool
    slopes = np.zeros(tables.there.shape)
    slopes[tables.there] = (gain[:count] - gain[count:]) / 2 / scale

    def differences(of_systems: FloatArray, of_items: FloatArray) -> FloatArray:
        return np.asarray(((slopes @ of_items) * of_systems).sum(axis=0))

    return differences


class _Runs(NamedTuple):
    """The two metrics' scores in one rising column: whose cell, from which metric, and where runs of ties begin."""

    owner: IntArray
    sign: FloatArray
    starts: IntArray
    sizes: IntArray


def _runs(pool: FloatArray) -> _Runs:
    order, count = np.argsort(pool, kind="stable"), len(pool) // 2
    starts = np.append(0, np.flatnonzero(np.diff(pool[order])) + 1)
    sign = np.where(order < count, 1.0, -1.0)[:, None]
    return _Runs(order % count, sign, starts, np.diff(np.append(starts, len(pool))))


def _tied_spearman(tables: _Tables, pool: FloatArray, human: FloatArray) -> Differences:
    """Ranks from running counts over the runs of ties; those of the mirror image are what is left of the pool."""
    runs, count = _runs(pool), len(human)
    system, item = np.nonzero(tables.there)
    people = stats.rankdata(human) - (count + 1) / 2
    spread, here = (people @ people), people[runs.owner]
    sums = np.add.reduceat(here, runs.starts)
    middles = np.cumsum(runs.sizes) - runs.sizes / 2
    tied = np.flatnonzero(runs.sizes > 1)
    tied_sizes = runs.sizes[tied, None]
    # From the cells' signs to each run's drawn number and sum of human ranks, less half of what is in the run.
    place = np.repeat(np.arange(len(runs.sizes)), runs.sizes)
    halves = [runs.sign[:, 0] / 2, runs.sign[:, 0] / 2 * here]
    to_sizes, to_sums = (sparse.csr_array((half, (place, runs.owner)), (len(runs.sizes), count)) for half in halves)

    def differences(of_systems: FloatArray, of_items: FloatArray) -> FloatArray:
        signs = of_systems[system]
        signs *= of_items[item]
        sizes = np.asarray(to_sizes @ signs) + runs.sizes[:, None] / 2
        part = np.asarray(to_sums @ signs) + sums[:, None] / 2
        ranks = np.cumsum(sizes, axis=0)
        ranks -= sizes / 2
        first = np.einsum("gr,gr->r", part, ranks)
        second = sums @ middles - sums @ ranks - middles @ part + first
        of_tied = sizes[tied]
        values = []
        for top, many in ((first, of_tied), (second, tied_sizes - of_tied)):
            cubes = count - many.sum(axis=0) + (many * many * many).sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                values.append(top / np.sqrt((count**3 - cubes) / 12 * spread))
        return np.asarray(values[0] - values[1])

    return differences


def _tied_kendall(tables: _Tables, pool: FloatArray, human: FloatArray) -> Differences:
    """The sum over pairs as a constant, a linear and a quadratic form of the cells' signs."""
    runs, count = _runs(pool), len(human)
    system, item = np.nonzero(tables.there)
    level = np.searchsorted(np.unique(pool), pool).astype(np.float32)
    first, second = level[:count], level[count:]
    order = np.sign(human[:, None] - human)
    alike = np.sign(first[:, None] - first) + np.sign(second[:, None] - second)
    apart = np.sign(first[:, None] - second)
    crossed = apart - apart.T
    constant = float((order * (alike + crossed)).sum()) / 8
    linear = (order * (np.sign(first[:, None] - first) + apart)).sum(axis=1) / 2
    linear -= (order * (np.sign(second[:, None] - second) - apart.T)).sum(axis=1) / 2
    # Quarters, and sums of fewer than 2**20 of them: exact in single precision, which is twice as fast.
    quadratic = (order * (alike - crossed) / 4).astype(np.float32)
    pairs = count * (count - 1) / 2
    right = (order != 0).sum() / 2
    tied = np.flatnonzero(runs.sizes > 1)
    in_tied = np.repeat(runs.sizes > 1, runs.sizes)
    tied_owner, tied_sign = runs.owner[in_tied], runs.sign[in_tied]
    tied_sizes = runs.sizes[tied, None]
    tied_starts = np.cumsum(runs.sizes[tied]) - runs.sizes[tied]

    def differences(of_systems: FloatArray, of_items: FloatArray) -> FloatArray:
        signs = of_systems[system] * of_items[item]
        product = quadratic @ signs.astype(np.float32)
        even = constant + np.einsum("ar,ar->r", product, signs) / 2
        odd = linear @ signs / 2
        many = np.add.reduceat((tied_sign * signs[tied_owner] + 1) / 2, tied_starts, axis=0)
        values = []
        for top, sizes in ((even + odd, many), (even - odd, tied_sizes - many)):
            left = pairs - (sizes * (sizes - 1)).sum(axis=0) / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                values.append(top / np.sqrt(left * right))
        return np.asarray(values[0] - values[1])

    return differences


def _pooled(tables: _Tables, pool: FloatArray, human: FloatArray, kind: Kind, within: bool) -> Differences:
    """The general way: the scores of both metrics in one column, each counted 1 or 0 times."""
    system, item = np.nonzero(tables.there)
    blocks = np.unique(item, return_inverse=True)[1] if within else np.zeros(len(item), dtype=np.int64)
    weigh = weighted_correlation(pool, np.tile(human, 2), kind, np.tile(blocks, 2))

    def differences(of_systems: FloatArray, of_items: FloatArray) -> FloatArray:
        first = (of_systems[system] * of_items[item] + 1) / 2
        a, b = weigh(np.concatenate([first, 1 - first])), weigh(np.concatenate([1 - first, first]))
        if not within:
            return np.asarray(a[0] - b[0])
        with np.errstate(invalid="ignore"):
            return np.asarray(_finite_mean(a) - _finite_mean(b))

    return differences


def _finite_mean(values: FloatArray) -> FloatArray:
    there = np.isfinite(values)
    return np.asarray(np.where(there, values, 0.0).sum(axis=0) / there.sum(axis=0))


def _signs(rng: np.random.Generator, size: int, width: int, drawn: bool) -> FloatArray:
    if not drawn:
        return np.ones((size, width))
    return 2 * rng.integers(0, 2, size=(size, width), dtype=np.int8).astype(np.float64) - 1


def _prepare(tables: _Tables, level: Level, kind: Kind) -> tuple[Differences, int]:
    """The way to the differences, and how many numbers it holds for each resample."""
    few, many = sum(tables.there.shape), 2 * tables.there.size
    if level == "system":
        return _system_differences(tables, kind), few
    if level == "instance" and kind == "pearson":
        return _instance_pearson(tables), few
    # The scores themselves, not A + D and A - D: rounding must not part what is tied.
    pool, human = np.concatenate([tables.first[tables.there], tables.second[tables.there]]), tables.human[tables.there]
    if level == "instance":
        if len(np.unique(pool)) == len(pool):
            return _untied_ranks(tables, pool, human, kind), few
        if kind == "spearman":
            return _tied_spearman(tables, pool, human), many
        if len(human) <= _MOST_SQUARED:
            return _tied_kendall(tables, pool, human), many
    return _pooled(tables, pool, human, kind, level == "within_item"), many


def permutation_test(
    metric_a: npt.ArrayLike,
    metric_b: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    level: Level = "instance",
    kind: Kind = "pearson",
    permute: Permute = "both",
    alternative: Alternative = "two-sided",
    lower_is_better: tuple[bool, bool] = (False, False),
    resamples: int = 1_000,
    seed: int = 0,
) -> PermutationResult:
    """Test whether one metric correlates better with people than another, by exchanging their scores at random.

    All three are systems x items; a cell missing in any is left out of all, and the metrics are standardized first.
    ``level`` and ``kind`` are as for :func:`celadon.meta.correlation.correlate`. ``permute`` says what is exchanged:
    whole systems (PERM-SYS), whole items (PERM-INPUT) or both (PERM-BOTH).
    """
    tables = [np.asarray(table, dtype=np.float64) for table in (metric_a, metric_b, human)]
    if tables[0].ndim != 2 or len({table.shape for table in tables}) > 1:
        raise ValueError(f"tables must be systems x items and of one shape, not {[table.shape for table in tables]}")
    there = np.logical_and.reduce([np.isfinite(table) for table in tables])
    nulls = int((~there).sum())
    system, item = np.nonzero(there)
    signs = [-1.0 if lower else 1.0 for lower in lower_is_better]
    a, b = (sign * table[there] for sign, table in zip(signs, tables[:2], strict=True))
    people = tables[2][there]
    values = [correlate(x, people, systems=system, items=item, level=level, kind=kind) for x in (a, b)]
    if reason := values[0].reason or values[1].reason:
        return PermutationResult(np.nan, np.nan, values[0].value, values[1].value, 0, nulls, reason)
    table_a, table_b, table_h = (np.zeros(there.shape) for _ in range(3))
    table_a[there], table_b[there], table_h[there] = _standardised(a), _standardised(b), _standardised(people)
    differences, cells = _prepare(_Tables(table_a, table_b, table_h, there), level, kind)
    rng = np.random.default_rng(seed)
    step = max(16, _MOST_CELLS // cells)
    observed = float(differences(np.ones((there.shape[0], 1)), np.ones((there.shape[1], 1)))[0])
    extreme = defined = 0
    for start in range(0, resamples, step):
        width = min(step, resamples - start)
        of_systems = _signs(rng, there.shape[0], width, permute != "items")
        drawn = differences(of_systems, _signs(rng, there.shape[1], width, permute != "systems"))
        drawn = drawn[np.isfinite(drawn)]
        defined += len(drawn)
        if alternative == "two-sided":
            extreme += int((np.abs(drawn) >= abs(observed) - _SAME).sum())
        else:
            way = 1 if alternative == "greater" else -1
            extreme += int((way * drawn >= way * observed - _SAME).sum())
    a_value, b_value = values[0].value, values[1].value
    return PermutationResult(a_value - b_value, (extreme + 1) / (defined + 1), a_value, b_value, defined, nulls)
