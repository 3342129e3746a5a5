"""Which of two metrics predicts human scores better: Student's t on squared errors after a linear fit.

Kann et al. (2018) mark with a star the metrics whose squared errors are greater than the best metric's by a one-tailed
two-sample t-test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray
from celadon.meta.correlation import Alternative, mean_squared_error_after_fit, paired


class SquaredErrorResult(NamedTuple):
    """A test of two metrics' squared errors.

    Attributes
    ----------
    statistic
        Student's t; positive where the first metric errs more.
    pvalue
        Of the test.
    error_a, error_b
        The mean squared error of each metric after its best linear fit.
    count
        How many rows they rest on.
    nulls
        Rows left out because one of the three numbers was missing.
    reason
        Why there is no result.
    """

    statistic: float
    pvalue: float
    error_a: float
    error_b: float
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a result
    nulls: int
    reason: str = ""


def squared_errors(metric: FloatArray, human: FloatArray) -> FloatArray:
    """Each row's squared error after the best linear fit."""
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
    """Test whether two metrics err differently.

    Parameters
    ----------
    metric_a, metric_b, human
        One number per row; rows where one is missing are counted and left out. Direction does not matter: the fit
        finds it.
    alternative
        Of the errors: ``less`` means that the first metric errs less.
    matched
        Compare row by row (a paired test, the stronger one, since both metrics scored the same rows) instead of as two
        samples, which is what the paper did.

    Returns
    -------
    SquaredErrorResult
        The statistic, its p-value and the two mean errors.
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
    if matched:
        by_row = stats.ttest_rel(of_a, of_b, alternative=alternative)
        return SquaredErrorResult(float(by_row.statistic), float(by_row.pvalue), *means, len(a), nulls)
    found = stats.ttest_ind(of_a, of_b, alternative=alternative)
    return SquaredErrorResult(float(found.statistic), float(found.pvalue), *means, len(a), nulls)
