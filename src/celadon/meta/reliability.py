"""How reliable ratings and their mean are, and so how well even a perfect metric could correlate with them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta.agreement import raters_at_least
from celadon.meta.raters import means


class Reliability(NamedTuple):
    """``single`` of one rating (the one-way intraclass correlation), ``mean`` of the mean of ``k`` ratings."""

    single: float
    mean: float
    k: float
    items: int
    left_out: int


class Ceiling(NamedTuple):
    """The correlation with the mean rating that a metric would reach which knew every item's true quality."""

    ceiling: float
    reliability: float
    k: float
    items: int


def spearman_brown(reliability: float, factor: float) -> float:
    """Return the reliability of a mean of ``factor`` times as many ratings."""
    below = 1.0 + (factor - 1.0) * reliability
    return factor * reliability / below if below > 0 else float("-inf")


def reliability_of_mean(ratings: npt.ArrayLike, *, k: float | None = None) -> Reliability:
    """Return the reliability of one rating and of the mean of k, from the one-way analysis of variance.

    It does not matter who rated what. Items with fewer than two ratings are left out and counted. By default ``k`` is
    the number of ratings that items have (with gaps: their effective number).
    """
    matrix = raters_at_least(ratings, 2)
    kept = matrix[np.count_nonzero(np.isfinite(matrix), axis=1) >= 2]
    n = len(kept)
    if n < 2:
        raise InputError(f"reliability needs two items with two ratings each; there is {n}")
    counts = np.count_nonzero(np.isfinite(kept), axis=1)
    total = int(counts.sum())
    item_means = means(kept)
    centre = float(np.nansum(kept)) / total
    between = float(counts @ (item_means - centre) ** 2) / (n - 1)
    within = float(np.nansum((kept - item_means[:, None]) ** 2)) / (total - n)
    effective = (total - float(counts @ counts) / total) / (n - 1)
    wanted = effective if k is None else k
    if not between + within > 0:
        return Reliability(float("nan"), float("nan"), wanted, n, len(matrix) - n)
    single = (between - within) / (between + (effective - 1) * within)
    return Reliability(single, spearman_brown(single, wanted), wanted, n, len(matrix) - n)


def human_ceiling(ratings: npt.ArrayLike, *, k: float | None = None) -> Ceiling:
    """Return the highest correlation with the mean rating that can be hoped for: the root of its reliability.

    It is 0 where people agree no better than chance.
    """
    reliability = reliability_of_mean(ratings, k=k)
    ceiling = float("nan") if math.isnan(reliability.mean) else math.sqrt(max(0.0, reliability.mean))
    return Ceiling(ceiling, reliability.mean, reliability.k, reliability.items)


class IntraclassCorrelation(NamedTuple):
    """One of the six, the test that it is 0, and its interval."""

    kind: str
    value: float
    f: float
    df1: float
    df2: float
    p: float
    low: float
    high: float


class IntraclassCorrelations(NamedTuple):
    """All six in the order (1,1) (2,1) (3,1) (1,k) (2,k) (3,k); ``left_out`` counts the items with a gap."""

    rows: tuple[IntraclassCorrelation, ...]
    items: int
    raters: int
    left_out: int

    def of(self, kind: str) -> IntraclassCorrelation:
        """Return the one of this name, as ``ICC(2,1)``."""
        for row in self.rows:
            if row.kind == kind:
                return row
        raise UsageError(f"unknown intraclass correlation {kind!r}; known: {', '.join(row.kind for row in self.rows)}")


class _Squares(NamedTuple):
    """Mean squares of the analysis of variance: between items, within them, between raters, what is left."""

    items: float
    within: float
    raters: float
    error: float


def intraclass_correlations(ratings: npt.ArrayLike, *, level: float = 0.95) -> IntraclassCorrelations:
    """Return all six intraclass correlations (Shrout and Fleiss 1979), with F tests and intervals.

    (1) every item has raters of its own; (2) the same raters, a sample of all possible ones; (3) the same raters, and
    only these matter. ``1`` is the reliability of a single rating, ``k`` of the mean of the k that there are. Items
    with a gap are left out and counted; where items were rated by different people, :func:`reliability_of_mean` takes
    items with any number of ratings. Fewer than two complete items, or ratings that never differ, raise InputError.
    """
    if not 0 < level < 1:
        raise UsageError(f"the level of an interval is between 0 and 1, not {level:g}")
    matrix = raters_at_least(ratings, 2)
    complete = matrix[np.isfinite(matrix).all(axis=1)]
    n, k = complete.shape
    if n < 2:
        raise InputError(f"intraclass correlation needs two items that all {k} raters rated; there is {n}")
    squares = _mean_squares(complete)
    if not squares.items + squares.within > 0:
        raise InputError("intraclass correlation needs ratings that differ; all are the same")
    tail = (1 - level) / 2
    single = [_one_way(squares, n, k, tail), _random(squares, n, k, tail), _fixed(squares, n, k, tail)]
    rows = tuple(single) + tuple(_of_mean(row, k) for row in single)
    return IntraclassCorrelations(rows, n, k, len(matrix) - n)


def _mean_squares(matrix: FloatArray) -> _Squares:
    n, k = matrix.shape
    off = matrix - matrix.mean()
    items = k * float(np.sum(off.mean(axis=1) ** 2))
    raters = n * float(np.sum(off.mean(axis=0) ** 2))
    residual = off - off.mean(axis=1, keepdims=True) - off.mean(axis=0)
    error = float(np.sum(residual**2))
    # a matrix without any error has only that of rounding
    error = error if error > 1e-26 * float(np.sum(matrix**2)) else 0.0
    return _Squares(items / (n - 1), (raters + error) / (n * (k - 1)), raters / (k - 1), error / ((n - 1) * (k - 1)))


def _over(left: float, right: float) -> float:
    if right > 0:
        return left / right
    return float("inf") if left > 0 else float("nan")


def _from_f(f: float, k: int) -> float:
    """What the ratio of mean squares says of the reliability of one rating."""
    return 1.0 if np.isinf(f) else (f - 1) / (f + k - 1)


def _test(f: float, df1: float, df2: float) -> tuple[float, float, float, float]:
    return f, df1, df2, float(stats.f.sf(f, df1, df2))


def _consistent(kind: str, f: float, df1: int, df2: int, k: int, tail: float) -> IntraclassCorrelation:
    low, high = f / stats.f.isf(tail, df1, df2), f * stats.f.isf(tail, df2, df1)
    return IntraclassCorrelation(
        kind, _from_f(f, k), *_test(f, df1, df2), float(_from_f(low, k)), float(_from_f(high, k))
    )


def _one_way(squares: _Squares, n: int, k: int, tail: float) -> IntraclassCorrelation:
    return _consistent("ICC(1,1)", _over(squares.items, squares.within), n - 1, n * (k - 1), k, tail)


def _fixed(squares: _Squares, n: int, k: int, tail: float) -> IntraclassCorrelation:
    return _consistent("ICC(3,1)", _over(squares.items, squares.error), n - 1, (n - 1) * (k - 1), k, tail)


def _random(squares: _Squares, n: int, k: int, tail: float) -> IntraclassCorrelation:
    between, _, raters, error = squares
    value = (between - error) / (between + (k - 1) * error + k * (raters - error) / n)
    test = _test(_over(between, error), n - 1, (n - 1) * (k - 1))
    if error == 0:
        return IntraclassCorrelation("ICC(2,1)", value, *test, float("nan"), float("nan"))
    # Satterthwaite's degrees of freedom of the mixture of mean squares in the denominator
    share = raters / error
    a, b = k * value * share, n * (1 + (k - 1) * value) - k * value
    freedom = (k - 1) * (n - 1) * (a + b) ** 2 / ((n - 1) * a**2 + b**2)
    below, above = stats.f.isf(tail, n - 1, freedom), stats.f.isf(tail, freedom, n - 1)
    mixture = k * raters + (k * n - k - n) * error
    low = n * (between - below * error) / (below * mixture + n * between)
    high = n * (above * between - error) / (mixture + n * above * between)
    return IntraclassCorrelation("ICC(2,1)", value, *test, float(low), float(high))


def _of_mean(row: IntraclassCorrelation, k: int) -> IntraclassCorrelation:
    """The same for the mean of k ratings, by the formula of Spearman and Brown."""
    value, low, high = (spearman_brown(value, k) for value in (row.value, row.low, row.high))
    return row._replace(kind=row.kind.replace(",1", ",k"), value=value, low=low, high=high)
