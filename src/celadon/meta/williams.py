"""Williams' test: do two metrics, scored on the same texts, correlate differently with people?

Two correlations that share the human scores are dependent; the test takes the correlation of the two metrics into
account (Williams 1959, in the form of Steiger 1980; Graham and Baldwin 2014 brought it to metrics).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray
from celadon.meta.correlation import Alternative, Correlation, Kind, correlate, paired, t_pvalue


class DependentResult(NamedTuple):
    """A test of two correlations that share one variable.

    Attributes
    ----------
    statistic
        Student's t or the normal z; positive where the first correlation is greater.
    pvalue
        Of the test.
    value_a, value_b
        The two metrics' correlations with people.
    between
        The correlation of the two metrics.
    count
        How many rows they rest on.
    nulls
        Rows left out because one of the three numbers was missing.
    reason
        Why there is no result.
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
    """Williams' t from three correlations.

    Parameters
    ----------
    value_a, value_b
        The correlations to compare, of each metric with people.
    between
        The correlation of the two metrics.
    count
        The number of rows.
    alternative
        ``greater``: the first correlation is the greater one.

    Returns
    -------
    DependentResult
        t with ``count - 3`` degrees of freedom, and its p-value.
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
    """The correlations a-human, b-human and a-b over the rows where all three are there, and the rows left out."""
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
    """Test whether two metrics correlate differently with people.

    Parameters
    ----------
    metric_a, metric_b, human
        One number per row; rows where one is missing are counted and left out.
    kind
        Which coefficient; the test is derived for Pearson's r and used by the field for the others too.
    alternative
        ``greater``: the first metric correlates better.
    lower_is_better
        For each metric, whether to turn it round first. Signs are kept: a metric that correlates the wrong way is
        worse than one that does not correlate.

    Returns
    -------
    DependentResult
        The statistic, its p-value and the three correlations.
    """
    a, b, between, nulls = three_correlations(metric_a, metric_b, human, kind, lower_is_better)
    if reason := a.reason or b.reason:
        return DependentResult(np.nan, np.nan, a.value, b.value, between.value, a.count, nulls, reason)
    result = williams_from_correlations(a.value, b.value, between.value, a.count, alternative=alternative)
    return result._replace(nulls=nulls)
