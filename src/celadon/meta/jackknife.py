"""Intervals by leaving out one cluster at a time, of any figure that is made from sums over rows.

Rows of one item are not independent, so whole items are left out. A figure is a function of sums (counts, scores, their
products), and the sums without a cluster are the whole sums less its own: nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from celadon.core import FloatArray, IntArray
from celadon.meta.correlation import codes

Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
"""From sums, sets of rows x sums, to a figure for each set."""

FEWEST_CLUSTERS = 3


class Estimate(NamedTuple):
    """A figure with its standard error, 95% interval and the p-value of its being 0; NaN where there is none.

    ``clusters`` is how many independent units it rests on; ``reason`` says why there is no figure.
    """

    value: float
    error: float
    low: float
    high: float
    pvalue: float
    clusters: int
    reason: str = ""


def no_estimate(reason: str, clusters: int = 0) -> Estimate:
    """Return an estimate that does not exist."""
    nan = float("nan")
    return Estimate(nan, nan, nan, nan, nan, clusters, reason)


def cluster_sums(columns: FloatArray, clusters: Sequence[Any] | npt.NDArray[Any] | None) -> FloatArray:
    """Add up the rows of every cluster; each row is one of its own where there are no clusters."""
    if clusters is None:
        return columns
    place: IntArray = codes(clusters, len(columns))
    size = int(place.max(initial=-1)) + 1
    return np.column_stack([np.bincount(place, column, minlength=size) for column in columns.T])


def jackknife(sums: FloatArray, statistic: Statistic, *, confidence: float = 0.95, parameters: int = 1) -> Estimate:
    """Return a figure of the sums over all clusters, clusters x sums, with its interval.

    The variance is the sum of squared changes when a cluster is left out (HC3 of a regression), the interval Student's
    with as many degrees of freedom as there are clusters, less ``parameters``.
    """
    count = len(sums)
    if count < max(FEWEST_CLUSTERS, parameters + 2):
        return no_estimate("too few items", count)
    total = sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(total[None, :])[0])
        changes = statistic(total - sums) - value
    if not np.isfinite(value):
        return no_estimate("not defined for these values", count)
    if not np.isfinite(changes).all():
        return no_estimate("rests on a single item", count)
    error = float(np.sqrt(np.sum(changes**2)))
    free = count - parameters
    reach = -float(special.stdtrit(free, (1 - confidence) / 2)) * error
    ratio = abs(value) / error if error > 0 else np.inf if value else 0.0
    pvalue = float(2 * special.stdtr(free, -ratio))
    return Estimate(value, error, value - reach, value + reach, pvalue, count)


def mean_estimate(values: FloatArray, clusters: Sequence[Any] | npt.NDArray[Any] | None = None) -> Estimate:
    """Return the mean of some values with its interval; values that are not finite are left out."""
    known = np.isfinite(values)
    kept = None if clusters is None else codes(clusters, len(values))[known]
    columns = np.column_stack([values[known], np.ones(int(known.sum()))])
    return jackknife(cluster_sums(columns, kept), lambda sums: sums[:, 0] / sums[:, 1])


MOMENTS = 6
"""How many sums a correlation is made of."""


def moments(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return what a correlation is made of, rows x sums; both columns are centered first, so that nothing cancels."""
    x, y = x - x.mean(), y - y.mean()
    return np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])


def correlation_of_sums(sums: FloatArray) -> FloatArray:
    """Return Pearson's correlation from the sums of :func:`moments`."""
    n, x, y, xx, yy, xy = sums.T
    return np.asarray((n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y)))


def correlation_difference(
    first: FloatArray,
    second: FloatArray,
    target: FloatArray,
    clusters: Sequence[Any] | npt.NDArray[Any] | None = None,
    *,
    ranks: bool = False,
) -> Estimate:
    """Return how much better one column correlates with a target than another, over the rows that have all three.

    ``ranks`` compares Spearman's correlations in place of Pearson's.
    """
    known = np.isfinite(first) & np.isfinite(second) & np.isfinite(target)
    columns = [column[known] for column in (first, second, target)]
    if any(len(column) < FEWEST_CLUSTERS or np.ptp(column) == 0 for column in columns):
        return no_estimate("a column is constant, or too few rows have all three", int(known.sum()))
    a, b, people = (stats.rankdata(column) for column in columns) if ranks else columns
    kept = None if clusters is None else codes(clusters, len(known))[known]
    sums = cluster_sums(np.hstack([moments(a, people), moments(b, people)]), kept)
    return jackknife(
        sums, lambda some: correlation_of_sums(some[:, :MOMENTS]) - correlation_of_sums(some[:, MOMENTS:]), parameters=2
    )
