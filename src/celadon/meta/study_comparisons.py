"""Which of two metrics agrees better with people: all pairs, with one of six tests, corrected for their number."""

from __future__ import annotations

from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from celadon.core import FloatArray, UsageError
from celadon.meta.correlation import Alternative, Kind, Level, codes, settled
from celadon.meta.fisher import fisher_independent, meng, steiger
from celadon.meta.multiple import holm
from celadon.meta.permutation import Permute, permutation_test
from celadon.meta.squared_errors import squared_error_test
from celadon.meta.study_correlations import check_level
from celadon.meta.study_grid import Grid, make_grid
from celadon.meta.study_rows import ComparisonRow
from celadon.meta.table import Table
from celadon.meta.williams import three_correlations, williams_from_correlations

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


def comparison_rows(
    table: Table,
    kind: Kind,
    test: Test,
    *,
    level: Level = "instance",
    alternative: Alternative = "two-sided",
    resamples: int,
    seed: int,
) -> tuple[ComparisonRow, ...]:
    """Compare all pairs of metrics, rating by rating.

    Parameters
    ----------
    table
        Scores and ratings.
    kind
        Of correlation; the t test compares squared errors after a linear fit and only shows the correlations.
    test
        ``williams``, ``fisher`` (z as of independent correlations, as in Kann et al. 2018), ``steiger``, ``meng``,
        ``t`` (two samples of squared errors) or ``permutation`` (PERM-BOTH where systems share items).
    level
        ``instance`` or ``system``; with the permutation test also ``within_item``.
    alternative
        ``greater``: the first metric is the better one.
    resamples, seed
        Of the permutation test.

    Returns
    -------
    tuple
        ``adjusted`` is Holm's over all pairs of one rating; ``shown`` where it is below 0.05.
    """
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
        found = [_compare(table, one, other, human, setting) for one, other in pairs]
        adjusted = holm([result.pvalue for result in found]) if found else np.empty(0)
        rows += [
            ComparisonRow(
                *(human, one, other, test, level, kind),
                *result[:4],
                float(after),
                bool(after < SHOWN_BELOW),
                result.reason,
                result.used,
            )
            for (one, other), result, after in zip(pairs, found, adjusted, strict=True)
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
    """The means of every system over the rows where all three are there."""
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
