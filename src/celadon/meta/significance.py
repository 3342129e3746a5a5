"""Tests of the difference of two metrics' agreement with people, and corrections of p-values for many of them.

Two correlations that share the human scores are dependent; Williams' test takes the correlation of the two metrics into
account (Williams 1959, in the form of Steiger 1980; Graham and Baldwin 2014 brought it to metrics).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray
from celadon.meta.correlation import (
    Alternative,
    Correlation,
    Kind,
    correlate,
    mean_squared_error_after_fit,
    paired,
    t_pvalue,
)


class DependentResult(NamedTuple):
    """A test of two correlations that share one variable; NaN where there is no result, and ``reason`` says why.

    ``statistic`` is Student's t or the normal z, positive where the first correlation is greater. ``value_a`` and
    ``value_b`` are the metrics' correlations with people, ``between`` that of the two metrics.
    """

    statistic: float
    pvalue: float
    value_a: float
    value_b: float
    between: float
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a result
    nulls: int = 0
    reason: str = ""


def williams_from_correlations(
    value_a: float, value_b: float, between: float, count: int, *, alternative: Alternative = "two-sided"
) -> DependentResult:
    """Return Williams' t, with ``count - 3`` degrees of freedom, from the two metrics' correlations and that between
    them.

    ``greater`` is the alternative that the first correlation is the greater one.
    """

    def nothing(reason: str) -> DependentResult:
        return DependentResult(np.nan, np.nan, value_a, value_b, between, count, 0, reason)

    if count < 4:
        return nothing("fewer than 4 rows")
    determinant = 1 - value_a**2 - value_b**2 - between**2 + 2 * value_a * value_b * between
    if determinant < -1e-9:
        return nothing("no three variables correlate like this")
    mean = (value_a + value_b) / 2
    below = 2 * (count - 1) / (count - 3) * max(determinant, 0.0) + mean**2 * (1 - between) ** 3
    if 1 - between < 1e-12 or below <= 0:
        return nothing("the two metrics agree perfectly")
    statistic = (value_a - value_b) * np.sqrt((count - 1) * (1 + between) / below)
    pvalue = t_pvalue(statistic, count - 3, alternative)
    return DependentResult(float(statistic), pvalue, value_a, value_b, between, count)


def three_correlations(
    metric_a: npt.ArrayLike,
    metric_b: npt.ArrayLike,
    human: npt.ArrayLike,
    kind: Kind,
    lower_is_better: tuple[bool, bool],
) -> tuple[Correlation, Correlation, Correlation, int]:
    """Return the correlations a-human, b-human and a-b over the rows that have all three, and the number of rows left
    out.
    """
    (a, b, people), finite = paired(metric_a, metric_b, human)
    first: FloatArray = (-a if lower_is_better[0] else a)[finite]
    second: FloatArray = (-b if lower_is_better[1] else b)[finite]
    pairs = ((first, people[finite]), (second, people[finite]), (first, second))
    with_a, with_b, between = (correlate(x, y, kind=kind) for x, y in pairs)
    return with_a, with_b, between, int((~finite).sum())


def williams(
    metric_a: npt.ArrayLike,
    metric_b: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    kind: Kind = "pearson",
    alternative: Alternative = "two-sided",
    lower_is_better: tuple[bool, bool] = (False, False),
) -> DependentResult:
    """Test whether two metrics correlate differently with people; rows where a number is missing are left out.

    The test is derived for Pearson's r. With Spearman's it holds its level; with Kendall's it nearly never rejects: use
    :func:`celadon.meta.permutation.permutation_test` there. ``lower_is_better`` says for each metric whether to turn it
    round first. Signs are kept: a metric that correlates the wrong way is worse than one that does not correlate.
    """
    a, b, between, nulls = three_correlations(metric_a, metric_b, human, kind, lower_is_better)
    if reason := a.reason or b.reason:
        return DependentResult(np.nan, np.nan, a.value, b.value, between.value, a.count, nulls, reason)
    result = williams_from_correlations(a.value, b.value, between.value, a.count, alternative=alternative)
    return result._replace(nulls=nulls)


class FisherResult(NamedTuple):
    """A z statistic, positive where the first correlation is greater, and its p-value; NaN with a reason where none."""

    statistic: float
    pvalue: float
    reason: str = ""


class FisherInterval(NamedTuple):
    """A confidence interval; NaN where there are too few rows."""

    low: float
    high: float


def fisher_interval(value: float, count: int, *, kind: Kind = "pearson", confidence: float = 0.95) -> FisherInterval:
    """Return the interval of a correlation by Fisher's z, with the errors of Bonett and Wright (2000) for ranks."""
    fewer = 4 if kind == "kendall" else 3
    if count <= fewer or not np.isfinite(value):
        return FisherInterval(np.nan, np.nan)
    variance = {"pearson": 1.0, "spearman": 1 + value**2 / 2, "kendall": 0.437}[kind]
    half = stats.norm.ppf((1 + confidence) / 2) * np.sqrt(variance / (count - fewer))
    with np.errstate(divide="ignore"):
        centre = np.arctanh(value)
    return FisherInterval(float(np.tanh(centre - half)), float(np.tanh(centre + half)))


def fisher_independent(
    value_a: float, count_a: int, value_b: float, count_b: int, *, alternative: Alternative = "two-sided"
) -> FisherResult:
    """Compare two correlations of different rows by Fisher's z.

    Used on the same rows, as in Kann et al. (2018), it ignores that the metrics correlate with each other and so finds
    fewer differences than Williams' test.
    """
    if min(count_a, count_b) < 4:
        return FisherResult(np.nan, np.nan, "fewer than 4 rows")
    if not max(abs(value_a), abs(value_b)) < 1:
        return FisherResult(np.nan, np.nan, "a correlation is missing or perfect")
    error = np.sqrt(1 / (count_a - 3) + 1 / (count_b - 3))
    statistic = float((np.arctanh(value_a) - np.arctanh(value_b)) / error)
    return FisherResult(statistic, t_pvalue(statistic, np.inf, alternative))


def _no_z(value_a: float, value_b: float, between: float, count: int) -> str:
    if count < 4:
        return "fewer than 4 rows"
    perfect = not max(abs(value_a), abs(value_b)) < 1 or not between < 1
    return "a correlation is missing or perfect" if perfect else ""


def steiger(
    value_a: float, value_b: float, between: float, count: int, *, alternative: Alternative = "two-sided"
) -> DependentResult:
    """Return Steiger's (1980) z of two correlations that share one variable, pooling the two under the null."""
    values = (value_a, value_b, between, count)
    if reason := _no_z(*values):
        return DependentResult(np.nan, np.nan, *values, 0, reason)
    square = ((value_a + value_b) / 2) ** 2
    covariance = (between * (1 - 2 * square) - square * (1 - 2 * square - between**2) / 2) / (1 - square) ** 2
    statistic = (np.arctanh(value_a) - np.arctanh(value_b)) * np.sqrt((count - 3) / (2 - 2 * covariance))
    return DependentResult(float(statistic), t_pvalue(statistic, np.inf, alternative), *values)


def meng(
    value_a: float, value_b: float, between: float, count: int, *, alternative: Alternative = "two-sided"
) -> DependentResult:
    """Return the z of Meng, Rosenthal and Rubin (1992) of two correlations that share one variable."""
    values = (value_a, value_b, between, count)
    if reason := _no_z(*values):
        return DependentResult(np.nan, np.nan, *values, 0, reason)
    square = (value_a**2 + value_b**2) / 2
    f = min((1 - between) / (2 * (1 - square)), 1.0)
    h = (1 - f * square) / (1 - square)
    statistic = (np.arctanh(value_a) - np.arctanh(value_b)) * np.sqrt((count - 3) / (2 * (1 - between) * h))
    return DependentResult(float(statistic), t_pvalue(statistic, np.inf, alternative), *values)


class SquaredErrorResult(NamedTuple):
    """Student's t of two metrics' squared errors, positive where the first errs more, and their means after a linear
    fit.
    """

    statistic: float
    pvalue: float
    error_a: float
    error_b: float
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a result
    nulls: int
    reason: str = ""


def squared_errors(metric: FloatArray, human: FloatArray) -> FloatArray:
    """Return each row's squared error after the best linear fit."""
    fit = mean_squared_error_after_fit(metric, human)
    return np.asarray((human - fit.intercept - fit.slope * metric) ** 2)


def squared_error_test(
    metric_a: npt.ArrayLike,
    metric_b: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    matched: bool = False,
) -> SquaredErrorResult:
    """Test whether two metrics err differently after a linear fit, which finds their direction.

    Kann et al. (2018) mark with a star the metrics whose squared errors are greater than the best metric's by a
    one-tailed two-sample t-test. ``less`` means that the first metric errs less. ``matched`` compares row by row, the
    stronger test.
    """
    (a, b, people), finite = paired(metric_a, metric_b, human)
    a, b, people, nulls = a[finite], b[finite], people[finite], int((~finite).sum())
    if len(a) < 3:
        return SquaredErrorResult(np.nan, np.nan, np.nan, np.nan, len(a), nulls, "fewer than 3 rows")
    of_a, of_b = squared_errors(a, people), squared_errors(b, people)
    means = float(of_a.mean()), float(of_b.mean())
    flat = np.ptp(of_a - of_b) if matched else max(np.ptp(of_a), np.ptp(of_b))
    if flat <= 1e-12 * max(*means, np.finfo(float).tiny):
        return SquaredErrorResult(np.nan, np.nan, *means, len(a), nulls, "the errors do not vary")
    test: Any = stats.ttest_rel if matched else stats.ttest_ind
    result = test(of_a, of_b, alternative=alternative)
    return SquaredErrorResult(float(result.statistic), float(result.pvalue), *means, len(a), nulls)


def _sorted(pvalues: npt.ArrayLike) -> tuple[FloatArray, npt.NDArray[np.intp], FloatArray]:
    values = np.asarray(pvalues, dtype=np.float64)
    flat = values.ravel()
    known = np.flatnonzero(~np.isnan(flat))
    if ((flat[known] < 0) | (flat[known] > 1)).any():
        raise ValueError("p-values must be between 0 and 1")
    order = known[np.argsort(flat[known], kind="stable")]
    return np.full_like(flat, np.nan), order, flat[order]


def holm(pvalues: npt.ArrayLike) -> FloatArray:
    """Return Holm's (1979) adjusted p-values: the chance of even one false finding is kept. NaN is no comparison."""
    adjusted, order, rising = _sorted(pvalues)
    steps = np.arange(len(rising), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(rising * steps), 1.0)
    return adjusted.reshape(np.shape(pvalues))


def benjamini_hochberg(pvalues: npt.ArrayLike) -> FloatArray:
    """Return the adjusted p-values of Benjamini and Hochberg (1995): the expected share of false findings is kept."""
    adjusted, order, rising = _sorted(pvalues)
    scaled = rising * len(rising) / np.arange(1, len(rising) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted.reshape(np.shape(pvalues))
