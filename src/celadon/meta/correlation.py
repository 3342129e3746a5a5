"""Agreement of a metric with people: correlations at three levels, and the error left after a linear fit.

Every result says how many pairs it rests on and how many rows had no number; where a correlation does not exist the
value is NaN and ``reason`` says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, IntArray, UsageError

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
    """A correlation; positive means agreement, NaN where there is none and ``reason`` says why.

    ``count`` pairs were correlated: rows, systems, or (within items) the items averaged over; ``nulls`` rows were left
    out because a number was missing or infinite. Within items there is no p-value, and ``left_out`` counts the items
    with fewer than three systems or with a constant column.
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
    """Return columns as floats of one length, and which rows are finite in all of them."""
    arrays = tuple(np.asarray(column, dtype=np.float64) for column in columns)
    if any(array.ndim != 1 for array in arrays) or len({len(array) for array in arrays}) > 1:
        raise ValueError(f"columns must be flat and of one length, not {[array.shape for array in arrays]}")
    return arrays, np.logical_and.reduce([np.isfinite(array) for array in arrays])


def is_constant(values: FloatArray, kind: Kind) -> bool:
    """Return whether the values are all equal (for Pearson: equal but for rounding)."""
    spread = float(np.ptp(values))
    return spread == 0 or (kind == "pearson" and spread <= _NOISE * float(np.abs(values).max()))


def _trouble(x: FloatArray, y: FloatArray, kind: Kind) -> str:
    if len(x) < FEWEST:
        return f"fewer than {FEWEST} pairs"
    if is_constant(x, kind):
        return "the metric is constant"
    return "the human scores are constant" if is_constant(y, kind) else ""


def _scaled_coefficient(x: FloatArray, y: FloatArray, kind: Kind) -> float:
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
    """Return the tail of Student's t; of the normal distribution where ``degrees`` is infinite."""
    if alternative == "two-sided":
        return float(2 * stats.t.sf(abs(statistic), degrees))
    return float(stats.t.sf(statistic if alternative == "greater" else -statistic, degrees))


def _correlation(x: FloatArray, y: FloatArray, kind: Kind, alternative: Alternative, nulls: int) -> Correlation:
    if reason := _trouble(x, y, kind):
        return Correlation(np.nan, len(x), nulls, reason)
    if kind == "kendall":
        both = stats.kendalltau(x, y, alternative=alternative)
        return Correlation(float(both.statistic), len(x), nulls, "", float(both.pvalue))
    value = _scaled_coefficient(x, y, kind)
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
    """Return the mean squared error after the best linear fit from metric to human scores (Kann et al. 2018, equation
    6).

    A constant metric is fitted by the mean of the human scores.
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
    """Return labels as numbers 0, 1, ... in the order in which they first appear."""
    if len(labels) != rows:
        raise ValueError(f"{rows} rows but {len(labels)} labels")
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        _, first, place = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[place]
    seen: dict[Any, int] = {}
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return np.fromiter((seen.setdefault(label, len(seen)) for label in values), dtype=np.int64, count=rows)


def settled(means: FloatArray, scores: FloatArray, kind: Kind) -> FloatArray:
    """Return means for ranking: two that are equal but for the rounding of their sums become equal."""
    grain = _GRAIN * float(np.abs(scores).max(initial=0.0))
    return means if kind == "pearson" or grain == 0 else np.round(means / grain)


def _system(x: FloatArray, y: FloatArray, systems: IntArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
    _, place, counts = np.unique(systems, return_inverse=True, return_counts=True)
    mean_x, mean_y = np.bincount(place, x) / counts, np.bincount(place, y) / counts
    return settled(mean_x, x, kind), settled(mean_y, y, kind)


def _within_item(x: FloatArray, y: FloatArray, items: IntArray, kind: Kind, nulls: int) -> Correlation:
    from celadon.meta.weighted_correlation import weighted_correlation

    place = np.unique(items, return_inverse=True)[1]
    values = weighted_correlation(x, y, kind, place)(np.ones((len(x), 1)))[:, 0] if len(x) else np.empty(0)
    known = values[np.isfinite(values)]
    left_out = len(values) - len(known)
    if not len(known):
        reason = f"no item has {FEWEST} systems and differing scores"
        return Correlation(np.nan, 0, nulls, reason, left_out=left_out)
    return Correlation(float(np.mean(known)), len(known), nulls, left_out=left_out)


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
    """Correlate a metric with human scores at one level; rows where either is not finite are counted and left out.

    ``instance`` is over all rows, ``system`` over the means of each of ``systems``, ``within_item`` over the systems of
    each of ``items``, averaged over the items. With ``lower_is_better`` the metric is turned round, so that a positive
    value always means agreement. ``alternative`` says which correlations count as more extreme, for the p-value.
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


def reliable_rows(ratings: Sequence[Sequence[float]] | npt.NDArray[Any], *, fewest: int = 2) -> npt.NDArray[np.bool_]:
    """Return which rows have at least ``fewest`` ratings, all of them equal (GRUEN, Table 9).

    The ratings of a row are a list of any length, or a row of an array with NaN where a rater gave none.
    """
    width = max((len(row) for row in ratings), default=0)
    table = np.full((len(ratings), max(width, 1)), np.nan)
    for row, own in enumerate(ratings):
        table[row, : len(own)] = [np.nan if rating is None else rating for rating in own]
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

    Both are finite and of one shape, or one has a single column for all of the other's. ``weights`` are whole numbers
    of the same shape: how often each cell counts.
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


# Two columns closer to constant than this, relative to their size, have no correlation: only rounding would correlate.
_CONSTANT = 1e-13


def check_kind(kind: str) -> Kind:
    """Return the kind of correlation, if there is one of this name."""
    if kind not in KINDS:
        raise UsageError(f"unknown correlation {kind!r}; known: {', '.join(KINDS)}")
    return kind


def coefficient(left: FloatArray, right: FloatArray, kind: Kind = "pearson") -> float:
    """Return the correlation of two columns without gaps; NaN where one is constant or has fewer than two rows."""
    if len(left) < 2:
        return float("nan")
    if kind == "kendall":
        return float(stats.kendalltau(left, right).statistic)
    if kind == "spearman":
        left, right = stats.rankdata(left), stats.rankdata(right)
    left_off, right_off = left - left.mean(), right - right.mean()
    left_size, right_size = float(np.linalg.norm(left_off)), float(np.linalg.norm(right_off))
    if left_size <= _CONSTANT * np.linalg.norm(left) or right_size <= _CONSTANT * np.linalg.norm(right):
        return float("nan")
    return float(np.clip((left_off / left_size) @ (right_off / right_size), -1.0, 1.0))


def complete_coefficient(left: FloatArray, right: FloatArray, kind: Kind = "pearson", minimum: int = 2) -> float:
    """Return the correlation over the rows that have both; NaN where these are fewer than ``minimum``."""
    both = np.isfinite(left) & np.isfinite(right)
    if np.count_nonzero(both) < minimum:
        return float("nan")
    return coefficient(left[both], right[both], kind)
