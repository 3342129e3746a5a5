"""Which of two metrics agrees better with people, with one of six tests, and how often metrics order pairs as people
do.
"""

from __future__ import annotations

from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from celadon.core import FloatArray, IntArray, UsageError
from celadon.meta.correlation import Alternative, Kind, Level, codes, settled
from celadon.meta.pairwise_accuracy import calibrate_ties, soft_pairwise_accuracy, system_pairwise_accuracy
from celadon.meta.permutation import Permute, permutation_test
from celadon.meta.significance import (
    fisher_independent,
    holm,
    meng,
    squared_error_test,
    steiger,
    three_correlations,
    williams_from_correlations,
)
from celadon.meta.study.correlations import check_level
from celadon.meta.study.rows import AccuracyRow, ComparisonRow
from celadon.meta.table import Table

MOST_CELLS = 20_000_000


class Grid(NamedTuple):
    """Where each row is in a table of systems x items."""

    system: IntArray
    item: IntArray
    shape: tuple[int, int]

    def lay(self, column: FloatArray) -> FloatArray:
        """Return a column as systems x items, NaN where there is no row."""
        table = np.full(self.shape, np.nan)
        table[self.system, self.item] = column
        return table


def make_grid(table: Table) -> Grid | None:
    """Lay out the rows; None where that would be too large.

    Rows without systems take turns within their item. A second row of the same system and item stands for an item of
    its own, so that every row has a cell.
    """
    rows = table.rows
    items = np.arange(rows) if table.items is None else codes(table.items, rows)
    if table.systems is None:
        systems = _occurrence(items)
    else:
        systems = codes(table.systems, rows)
        again = _occurrence(items * (int(systems.max(initial=0)) + 1) + systems)
        items = codes(items * (int(again.max(initial=0)) + 1) + again, rows)
    shape = int(systems.max(initial=0)) + 1, int(items.max(initial=0)) + 1
    return Grid(systems, items, shape) if shape[0] * shape[1] <= MOST_CELLS else None


def _occurrence(keys: IntArray) -> IntArray:
    """Return for each row how many rows before it have its key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, ordered)
    counts = np.empty(len(keys), dtype=np.int64)
    counts[order] = np.arange(len(keys)) - first
    return counts


Test: TypeAlias = Literal["williams", "fisher", "steiger", "meng", "t", "permutation"]
TESTS: tuple[Test, ...] = get_args(Test)
SHOWN_BELOW = 0.05


class _Found(NamedTuple):
    """One test: both correlations, the statistic, p, the rows used and the reason where there is no result."""

    first: float
    second: float
    statistic: float
    pvalue: float
    used: int
    reason: str


class _Setting(NamedTuple):
    """What all comparisons of a study share."""

    kind: Kind
    level: Level
    test: Test
    alternative: Alternative
    resamples: int
    seed: int
    grid: Grid | None


def default_test(kind: Kind, level: Level) -> Test:
    """Return the test that holds its level: Williams' for Pearson's and Spearman's correlation, else permutation.

    Williams' test takes the errors of a correlation to be those of Pearson's. Spearman's are nearly as large; Kendall's
    are two thirds of them, so that the test nearly never finds a difference.
    """
    return "permutation" if kind == "kendall" or level == "within_item" else "williams"


def comparison_rows(
    table: Table,
    kind: Kind,
    test: Test | None = None,
    *,
    level: Level = "instance",
    alternative: Alternative = "two-sided",
    resamples: int,
    seed: int,
) -> tuple[ComparisonRow, ...]:
    """Compare all pairs of metrics, rating by rating.

    ``fisher`` takes the correlations for independent, as in Kann et al. (2018); ``t`` compares squared errors after a
    linear fit and only shows the correlations; ``permutation`` is PERM-BOTH where systems share items, and the only
    test ``within_item``. None stands for :func:`default_test`. ``adjusted`` is Holm's p over all pairs of one rating;
    ``shown`` where it is below 0.05.
    """
    test = default_test(kind, level) if test is None else test
    if test not in TESTS:
        raise UsageError(f"unknown test {test!r}; known: {', '.join(TESTS)}")
    check_level(table, level)
    if level == "within_item" and test != "permutation":
        raise UsageError("within items only the permutation test can compare metrics; add --test permutation")
    grid = make_grid(table) if test == "permutation" else None
    setting = _Setting(kind, level, test, alternative, resamples, seed, grid)
    rows: list[ComparisonRow] = []
    for human in table.humans:
        pairs = list(combinations(table.metrics, 2))
        compared = [_compare(table, one, other, human, setting) for one, other in pairs]
        adjusted = holm([result.pvalue for result in compared]) if compared else np.empty(0)
        rows += [
            ComparisonRow(
                *(human, one, other, test, level, kind),
                *result[:4],
                float(after),
                bool(after < SHOWN_BELOW),
                result.reason,
                result.used,
            )
            for (one, other), result, after in zip(pairs, compared, adjusted, strict=True)
        ]
    return tuple(rows)


def _compare(table: Table, one: str, other: str, human: str, setting: _Setting) -> _Found:
    columns = (table.good(one), table.good(other), table.good(human))
    if setting.test == "permutation":
        return _permutation(columns, setting)
    if setting.level == "system":
        columns = _system_means(table, columns, setting.kind)
    a, b, people = columns
    with_a, with_b, between, nulls = three_correlations(a, b, people, setting.kind, (False, False))
    used = len(a) - nulls
    way = setting.alternative
    if reason := with_a.reason or with_b.reason:
        reason = reason.replace("pairs", "systems") if setting.level == "system" else reason
        return _Found(with_a.value, with_b.value, np.nan, np.nan, used, reason)
    values = with_a.value, with_b.value
    if setting.test == "t":
        # the statistic is positive where the first metric is better, which is where the second errs more
        errors = squared_error_test(b, a, people, alternative=way)
        return _Found(*values, errors.statistic, errors.pvalue, used, errors.reason)
    if setting.test == "fisher":
        z = fisher_independent(values[0], used, values[1], used, alternative=way)
        return _Found(*values, z.statistic, z.pvalue, used, z.reason)
    tests = {"williams": williams_from_correlations, "steiger": steiger, "meng": meng}
    result = tests[setting.test](*values, between.value, used, alternative=way)
    return _Found(*values, result.statistic, result.pvalue, used, result.reason)


def _system_means(
    table: Table, columns: tuple[FloatArray, FloatArray, FloatArray], kind: Kind
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the means of every system over the rows where all three are there."""
    assert table.systems is not None
    there = np.logical_and.reduce([np.isfinite(column) for column in columns])
    _, place = np.unique(codes(table.systems, table.rows)[there], return_inverse=True)
    counts = np.bincount(place)
    a, b, people = (settled(np.bincount(place, column[there]) / counts, column[there], kind) for column in columns)
    return a, b, people


def _permutation(columns: tuple[FloatArray, FloatArray, FloatArray], setting: _Setting) -> _Found:
    grid = setting.grid
    if grid is None:
        return _Found(np.nan, np.nan, np.nan, np.nan, 0, "too many systems and items for a permutation test")
    permute: Permute = "both" if grid.shape[0] > 1 else "items"
    a, b, people = (grid.lay(column) for column in columns)
    result = permutation_test(
        a,
        b,
        people,
        level=setting.level,
        kind=setting.kind,
        permute=permute,
        alternative=setting.alternative,
        resamples=setting.resamples,
        seed=setting.seed,
    )
    used = int(np.logical_and.reduce([np.isfinite(column) for column in columns]).sum())
    return _Found(result.value_a, result.value_b, result.statistic, result.pvalue, used, result.reason)


_MOST_PAIRS = 20_000_000


def accuracy_rows(table: Table, *, resamples: int, seed: int) -> tuple[AccuracyRow, ...]:
    """Return the pairwise accuracy of texts of one item (ties calibrated), of systems, and soft.

    With neither systems nor items that share several texts there is nothing to order.
    """
    if table.systems is None and table.items is None:
        return ()
    grid = make_grid(table)
    if grid is None or grid.shape[0] < 2:
        return ()
    return tuple(
        _accuracy_row(table, grid, metric, human, resamples, seed) for human in table.humans for metric in table.metrics
    )


def _accuracy_row(table: Table, grid: Grid, metric: str, human: str, resamples: int, seed: int) -> AccuracyRow:
    x, y = grid.lay(table.good(metric)), grid.lay(table.good(human))
    systems, items = grid.shape
    pairwise = threshold = of_systems = soft = np.nan
    reasons = []
    if systems * (systems - 1) // 2 * items > _MOST_PAIRS:
        reasons.append("too many pairs of texts")
    else:
        ties = calibrate_ties(x, y)
        pairwise, threshold = ties.value, ties.epsilon
        reasons += [ties.reason] if ties.reason else []
    if table.systems is None:
        reasons.append("the systems are not known")
    else:
        hard = system_pairwise_accuracy(x, y)
        surely = soft_pairwise_accuracy(x, y, resamples=max(resamples, 1), seed=seed)
        of_systems, soft = hard.value, surely.value
        reasons += [result.reason for result in (hard, surely) if result.reason]
    return AccuracyRow(metric, human, pairwise, threshold, of_systems, soft, "; ".join(dict.fromkeys(reasons)))
