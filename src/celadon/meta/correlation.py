"""Agreement of a metric with people: correlations at three levels, and the error left after a linear fit.

Every result says how many pairs it rests on and how many rows had no number; where a correlation does not exist the
value is NaN and ``reason`` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, IntArray

Kind: TypeAlias = Literal["pearson", "spearman", "kendall"]
Level: TypeAlias = Literal["instance", "system", "within_item"]
Alternative: TypeAlias = Literal["two-sided", "less", "greater"]

KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
LEVELS: tuple[Level, ...] = ("instance", "system", "within_item")
FEWEST = 3
# A spread below this part of the size is rounding noise, and Pearson's r of noise means nothing.
_NOISE = 1e-13
# Means closer than this part of the scores' size are tied. Not a round number, lest means like k/2048 fall on edges.
_GRAIN = 1.6180339887e-10
_MOST_CELLS = 1 << 22


class Correlation(NamedTuple):
    """A correlation and what it rests on.

    Attributes
    ----------
    value
        The coefficient; positive means agreement. NaN where it does not exist.
    count
        How many pairs were correlated: rows, systems, or (within items) the items averaged over.
    nulls
        Rows left out because one of the two numbers was missing or infinite.
    reason
        Why there is no value; empty where there is one.
    pvalue
        Of the test against no correlation; NaN within items, where there is no single test.
    left_out
        Within items: items with fewer than three systems or with a constant column.
    """

    value: float
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a result
    nulls: int
    reason: str = ""
    pvalue: float = np.nan
    left_out: int = 0


class FitError(NamedTuple):
    """The mean squared error of the best linear map from metric to human scores."""

    value: float
    slope: float
    intercept: float
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a result
    nulls: int
    reason: str = ""


def paired(*columns: npt.ArrayLike) -> tuple[tuple[FloatArray, ...], npt.NDArray[np.bool_]]:
    """Columns as floats of one length, and which rows are finite in all of them."""
    arrays = tuple(np.asarray(column, dtype=np.float64) for column in columns)
    if any(array.ndim != 1 for array in arrays) or len({len(array) for array in arrays}) > 1:
        raise ValueError(f"columns must be flat and of one length, not {[array.shape for array in arrays]}")
    return arrays, np.logical_and.reduce([np.isfinite(array) for array in arrays])


def is_constant(values: FloatArray, kind: Kind) -> bool:
    """Whether the values are all equal (for Pearson: equal but for rounding)."""
    spread = float(np.ptp(values))
    return spread == 0 or (kind == "pearson" and spread <= _NOISE * float(np.abs(values).max()))


def _trouble(x: FloatArray, y: FloatArray, kind: Kind) -> str:
    if len(x) < FEWEST:
        return f"fewer than {FEWEST} pairs"
    if is_constant(x, kind):
        return "the metric is constant"
    return "the human scores are constant" if is_constant(y, kind) else ""


def _coefficient(x: FloatArray, y: FloatArray, kind: Kind) -> float:
    if kind == "kendall":
        return float(stats.kendalltau(x, y).statistic)
    if kind == "spearman":
        x, y = stats.rankdata(x), stats.rankdata(y)
    # Scaled before squaring, so that neither tiny nor huge scores leave the range of floats.
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    x, y = x - x.mean(), y - y.mean()
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def t_pvalue(statistic: float, degrees: float, alternative: Alternative) -> float:
    """The tail of Student's t; of the normal distribution where ``degrees`` is infinite."""
    if alternative == "two-sided":
        return float(2 * stats.t.sf(abs(statistic), degrees))
    return float(stats.t.sf(statistic if alternative == "greater" else -statistic, degrees))


def _correlation(x: FloatArray, y: FloatArray, kind: Kind, alternative: Alternative, nulls: int) -> Correlation:
    if reason := _trouble(x, y, kind):
        return Correlation(np.nan, len(x), nulls, reason)
    if kind == "kendall":
        both = stats.kendalltau(x, y, alternative=alternative)
        return Correlation(float(both.statistic), len(x), nulls, "", float(both.pvalue))
    value = _coefficient(x, y, kind)
    with np.errstate(divide="ignore"):
        statistic = value * np.sqrt((len(x) - 2) / np.float64((1 - value) * (1 + value)))
    return Correlation(value, len(x), nulls, "", t_pvalue(statistic, len(x) - 2, alternative))


def _both(x: npt.ArrayLike, y: npt.ArrayLike, kind: Kind, alternative: Alternative) -> Correlation:
    (first, second), finite = paired(x, y)
    return _correlation(first[finite], second[finite], kind, alternative, int((~finite).sum()))


def pearson(x: npt.ArrayLike, y: npt.ArrayLike, *, alternative: Alternative = "two-sided") -> Correlation:
    """Pearson's r of two columns."""
    return _both(x, y, "pearson", alternative)


def spearman(x: npt.ArrayLike, y: npt.ArrayLike, *, alternative: Alternative = "two-sided") -> Correlation:
    """Spearman's rho of two columns: Pearson's r of their mid-ranks."""
    return _both(x, y, "spearman", alternative)


def kendall(x: npt.ArrayLike, y: npt.ArrayLike, *, alternative: Alternative = "two-sided") -> Correlation:
    """Kendall's tau-b of two columns, in O(n log n)."""
    return _both(x, y, "kendall", alternative)


def mean_squared_error_after_fit(metric: npt.ArrayLike, human: npt.ArrayLike) -> FitError:
    """Mean squared error after the best linear fit from metric to human scores (Kann et al. 2018, equation 6).

    Parameters
    ----------
    metric
        The metric's scores; a constant metric is fitted by the mean of the human scores.
    human
        The human scores, one per metric score.

    Returns
    -------
    FitError
        The error, the fitted line, the pairs used and the rows left out.
    """
    (x, y), finite = paired(metric, human)
    x, y, nulls = x[finite], y[finite], int((~finite).sum())
    if len(x) < FEWEST:
        return FitError(np.nan, np.nan, np.nan, len(x), nulls, f"fewer than {FEWEST} pairs")
    centred = x - x.mean()
    slope = 0.0 if is_constant(x, "pearson") else float(centred @ (y - y.mean()) / (centred @ centred))
    intercept = float(y.mean() - slope * x.mean())
    residuals = y - y.mean() - slope * centred
    return FitError(float(residuals @ residuals / len(x)), slope, intercept, len(x), nulls)


def codes(labels: Sequence[Any] | npt.NDArray[Any], rows: int) -> IntArray:
    """Labels as numbers 0, 1, ... in the order in which they first appear."""
    if len(labels) != rows:
        raise ValueError(f"{rows} rows but {len(labels)} labels")
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        _, first, place = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[place]
    seen: dict[Any, int] = {}
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return np.fromiter((seen.setdefault(label, len(seen)) for label in values), dtype=np.int64, count=rows)


def settled(means: FloatArray, scores: FloatArray, kind: Kind) -> FloatArray:
    """Means for ranking: two that are equal but for the rounding of their sums become equal."""
    grain = _GRAIN * float(np.abs(scores).max(initial=0.0))
    return means if kind == "pearson" or grain == 0 else np.round(means / grain)


def _system(x: FloatArray, y: FloatArray, systems: IntArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
    _, place, counts = np.unique(systems, return_inverse=True, return_counts=True)
    mean_x, mean_y = np.bincount(place, x) / counts, np.bincount(place, y) / counts
    return settled(mean_x, x, kind), settled(mean_y, y, kind)


def _within_item(x: FloatArray, y: FloatArray, items: IntArray, kind: Kind, nulls: int) -> Correlation:
    order = np.argsort(items, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(items[order])) + 1) if len(order) else []
    values = [_coefficient(x[part], y[part], kind) for part in parts if not _trouble(x[part], y[part], kind)]
    left_out = len(parts) - len(values)
    if not values:
        reason = f"no item has {FEWEST} systems and differing scores"
        return Correlation(np.nan, 0, nulls, reason, left_out=left_out)
    return Correlation(float(np.mean(values)), len(values), nulls, left_out=left_out)


def correlate(
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    systems: Sequence[Any] | npt.NDArray[Any] | None = None,
    items: Sequence[Any] | npt.NDArray[Any] | None = None,
    level: Level = "instance",
    kind: Kind = "pearson",
    lower_is_better: bool = False,
    alternative: Alternative = "two-sided",
) -> Correlation:
    """Correlate a metric with human scores at one level.

    Parameters
    ----------
    metric, human
        One number per row; rows where either is not finite are counted and left out.
    systems
        Who made the text of each row; needed at the system level.
    items
        What the text of each row was made from; needed within items.
    level
        ``instance``: over all rows. ``system``: over the systems' means. ``within_item``: over the systems of each
        item, averaged over the items.
    kind
        ``pearson``, ``spearman`` or ``kendall`` (tau-b).
    lower_is_better
        The metric is turned round, so that a positive value always means agreement.
    alternative
        Which correlations count as more extreme, for the p-value.

    Returns
    -------
    Correlation
        The coefficient, what it rests on, and the reason where there is none.
    """
    (x, y), finite = paired(metric, human)
    labels = {"instance": None, "system": systems, "within_item": items}[level]
    nulls = int((~finite).sum())
    kept_x, kept_y = (-x if lower_is_better else x)[finite], y[finite]
    if level == "instance":
        return _correlation(kept_x, kept_y, kind, alternative, nulls)
    if labels is None:
        raise ValueError(f"level {level!r} needs {'systems' if level == 'system' else 'items'}")
    groups = codes(labels, len(x))[finite]
    if level == "within_item":
        return _within_item(kept_x, kept_y, groups, kind, nulls)
    result = _correlation(*_system(kept_x, kept_y, groups, kind), kind, alternative, nulls)
    return result._replace(reason=result.reason.replace("pairs", "systems"))


def by_group(
    statistic: Callable[..., Any],
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: Sequence[Any] | npt.NDArray[Any],
    **options: Any,
) -> dict[Any, Any]:
    """A statistic of each group of rows: of each system, of each domain.

    Parameters
    ----------
    statistic
        :func:`correlate`, :func:`mean_squared_error_after_fit` or the like.
    metric, human
        One number per row.
    groups
        The group of each row.
    options
        Passed on; a ``systems`` or ``items`` column is cut along.

    Returns
    -------
    dict
        The group's label and its result, in the order in which the groups first appear.
    """
    (x, y), _ = paired(metric, human)
    place = codes(groups, len(x))
    labels: dict[int, Any] = {}
    for row, code in enumerate(place.tolist()):
        labels.setdefault(code, groups[row])
    results = {}
    for code, label in labels.items():
        rows = np.flatnonzero(place == code)
        cut = {
            name: [value[row] for row in rows] if name in ("systems", "items") and value is not None else value
            for name, value in options.items()
        }
        results[label] = statistic(x[rows], y[rows], **cut)
    return results


def reliable_rows(ratings: Sequence[Sequence[float]] | npt.NDArray[Any], *, fewest: int = 2) -> npt.NDArray[np.bool_]:
    """Which rows all raters agree on (GRUEN, Table 9).

    Parameters
    ----------
    ratings
        The ratings of each row: lists of any length, or an array with NaN where a rater gave none.
    fewest
        With fewer ratings than this a row shows no agreement and is not reliable.

    Returns
    -------
    array of bool
        True where there are enough ratings and all are equal.
    """
    width = max((len(row) for row in ratings), default=0)
    table = np.full((len(ratings), max(width, 1)), np.nan)
    for row, given in enumerate(ratings):
        table[row, : len(given)] = [np.nan if rating is None else rating for rating in given]
    there = ~np.isnan(table)
    low = np.where(there, table, np.inf).min(axis=1)
    high = np.where(there, table, -np.inf).max(axis=1)
    return np.asarray((there.sum(axis=1) >= fewest) & (low == high))


def _column_ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Mid-ranks down each column, each value counted as often as its weight says."""
    weights = np.broadcast_to(weights, values.shape)
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    up_to = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    fresh = ordered[1:] != ordered[:-1]
    below = np.zeros_like(up_to)
    below[1:] = np.where(fresh, up_to[:-1], 0.0)
    below = np.maximum.accumulate(below, axis=0)
    up_to[:-1] = np.where(fresh, up_to[:-1], np.inf)
    up_to = np.minimum.accumulate(up_to[::-1], axis=0)[::-1]
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, (below + up_to + 1) / 2, axis=0)
    return ranks


def _column_pearson(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    total = weights.sum(axis=0)
    x = x - (weights * x).sum(axis=0) / total
    y = y - (weights * y).sum(axis=0) / total
    spread_x, spread_y = (weights * x * x).sum(axis=0), (weights * y * y).sum(axis=0)
    return np.asarray((weights * x * y).sum(axis=0) / np.sqrt(spread_x * spread_y))


def _column_dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[:, 0] @ b if a.shape[1] == 1 else np.asarray((a * b).sum(axis=0))


def _column_kendall(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    first, second = np.triu_indices(len(x), 1)
    width = max(x.shape[1], y.shape[1], weights.shape[1])
    step = max(1, _MOST_CELLS // width)
    top, left, right = np.zeros(width), np.zeros(width), np.zeros(width)
    for start in range(0, len(first), step):
        i, j = first[start : start + step], second[start : start + step]
        both = weights[i] * weights[j]
        sign_x, sign_y = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
        top += _column_dot(both * sign_y, sign_x)
        left += _column_dot(both, np.abs(sign_x))
        right += _column_dot(both, np.abs(sign_y))
    return np.asarray(top / np.sqrt(left * right))


def correlate_columns(x: FloatArray, y: FloatArray, kind: Kind, weights: FloatArray | None = None) -> FloatArray:
    """Correlate column with column of two tables; NaN where a column is constant or has fewer than three values.

    Parameters
    ----------
    x, y
        Tables of one shape, finite throughout; either may have a single column for all of the other's.
    kind
        Which coefficient.
    weights
        How often each cell counts: whole numbers, the same shape. Without them each counts once.

    Returns
    -------
    array
        One coefficient per column.
    """
    counts = np.ones((len(x), 1)) if weights is None else weights
    there = counts > 0
    spread = [
        np.where(there, table, -np.inf).max(axis=0) - np.where(there, table, np.inf).min(axis=0) for table in (x, y)
    ]
    noise = _NOISE if kind == "pearson" else 0.0
    size = [np.abs(np.where(there, table, 0.0)).max(axis=0) for table in (x, y)]
    exists = (spread[0] > noise * size[0]) & (spread[1] > noise * size[1]) & (counts.sum(axis=0) >= FEWEST)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "kendall":
            values = _column_kendall(x, y, counts)
        else:
            if kind == "spearman":
                x, y = _column_ranks(x, counts), _column_ranks(y, counts)
            values = _column_pearson(x, y, counts)
    return np.where(exists, np.clip(values, -1.0, 1.0), np.nan)
