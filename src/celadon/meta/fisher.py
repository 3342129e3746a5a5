"""Fisher's z: intervals of one correlation and tests of two, independent or sharing one variable."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from celadon.meta.correlation import Alternative, Kind, t_pvalue
from celadon.meta.williams import DependentResult


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
    """The interval of a correlation by Fisher's z, with the errors of Bonett and Wright (2000) for ranks.

    Parameters
    ----------
    value
        The correlation.
    count
        The number of rows it was computed from.
    kind
        Which coefficient it is.
    confidence
        The confidence level.

    Returns
    -------
    FisherInterval
        Lower and upper bound.
    """
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
    """Compare two correlations of different rows.

    Used on the same rows, as in Kann et al. (2018), it ignores that the metrics correlate with each other and so finds
    fewer differences than Williams' test.

    Parameters
    ----------
    value_a, value_b
        The two correlations.
    count_a, count_b
        The rows each was computed from.
    alternative
        ``greater``: the first correlation is the greater one.

    Returns
    -------
    FisherResult
        z and its p-value.
    """
    if min(count_a, count_b) < 4:
        return FisherResult(np.nan, np.nan, "fewer than 4 rows")
    if not max(abs(value_a), abs(value_b)) < 1:
        return FisherResult(np.nan, np.nan, "a correlation is missing or perfect")
    error = np.sqrt(1 / (count_a - 3) + 1 / (count_b - 3))
    statistic = float((np.arctanh(value_a) - np.arctanh(value_b)) / error)
    return FisherResult(statistic, t_pvalue(statistic, np.inf, alternative))


def _dependent(
    value_a: float, value_b: float, between: float, count: int, alternative: Alternative, method: str
) -> DependentResult:
    given = (value_a, value_b, between, count)
    if count < 4:
        return DependentResult(np.nan, np.nan, *given, 0, "fewer than 4 rows")
    if not max(abs(value_a), abs(value_b)) < 1 or not between < 1:
        return DependentResult(np.nan, np.nan, *given, 0, "a correlation is missing or perfect")
    difference = np.arctanh(value_a) - np.arctanh(value_b)
    if method == "steiger":
        square = ((value_a + value_b) / 2) ** 2
        covariance = (between * (1 - 2 * square) - square * (1 - 2 * square - between**2) / 2) / (1 - square) ** 2
        statistic = difference * np.sqrt((count - 3) / (2 - 2 * covariance))
    else:
        square = (value_a**2 + value_b**2) / 2
        f = min((1 - between) / (2 * (1 - square)), 1.0)
        h = (1 - f * square) / (1 - square)
        statistic = difference * np.sqrt((count - 3) / (2 * (1 - between) * h))
    return DependentResult(float(statistic), t_pvalue(statistic, np.inf, alternative), *given)


def steiger(
    value_a: float, value_b: float, between: float, count: int, *, alternative: Alternative = "two-sided"
) -> DependentResult:
    """Steiger's (1980) z of two correlations that share one variable, pooling the two under the null.

    Parameters
    ----------
    value_a, value_b, between, count, alternative
        As for :func:`celadon.meta.williams.williams_from_correlations`.

    Returns
    -------
    DependentResult
        z and its p-value.
    """
    return _dependent(value_a, value_b, between, count, alternative, "steiger")


def meng(
    value_a: float, value_b: float, between: float, count: int, *, alternative: Alternative = "two-sided"
) -> DependentResult:
    """The z of Meng, Rosenthal and Rubin (1992) of two correlations that share one variable.

    Parameters
    ----------
    value_a, value_b, between, count, alternative
        As for :func:`celadon.meta.williams.williams_from_correlations`.

    Returns
    -------
    DependentResult
        z and its p-value.
    """
    return _dependent(value_a, value_b, between, count, alternative, "meng")
