"""Where a metric and people disagree most: the texts that a person should look at."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, UsageError

Measure: TypeAlias = Literal["rank", "residual"]


class Disagreement(NamedTuple):
    """A row, and how much the metric puts it above (positive) or below (negative) where people put it."""

    row: int
    difference: float
    metric: float
    rating: float
    metric_rank: float
    rating_rank: float


def disagreements(
    metric: npt.ArrayLike,
    ratings: npt.ArrayLike,
    *,
    measure: str = "rank",
    higher_is_better: bool = True,
    most: int | None = 20,
) -> tuple[Disagreement, ...]:
    """The rows on which metric and people disagree, the worst first.

    Parameters
    ----------
    metric, ratings
        One value per row; rows with a gap are passed over.
    measure
        ``rank`` compares places (0 the lowest, 1 the highest, equals share one); ``residual`` is the metric's distance
        from what the line fitted on the ratings says, in standard deviations.
    higher_is_better
        Whether the metric's higher values are the better ones; otherwise it is turned round.
    most
        How many to return; None for all.
    """
    if measure not in get_args(Measure):
        raise UsageError(f"unknown measure {measure!r}; known: {', '.join(get_args(Measure))}")
    scores, target = np.asarray(metric, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if scores.ndim != 1 or scores.shape != target.shape:
        raise InputError("the metric and the ratings must be lists of the same length")
    rows = np.flatnonzero(np.isfinite(scores) & np.isfinite(target))
    if len(rows) < 3:
        raise InputError(
            f"disagreement needs at least three rows with both a score and a rating; there are {len(rows)}"
        )
    good = scores[rows] if higher_is_better else -scores[rows]
    metric_rank, rating_rank = _places(good), _places(target[rows])
    difference = metric_rank - rating_rank if measure == "rank" else _residuals(good, target[rows])
    order = np.lexsort((rows, -np.abs(difference)))[:most]
    return tuple(
        Disagreement(
            int(rows[at]),
            float(difference[at]),
            float(scores[rows[at]]),
            float(target[rows[at]]),
            float(metric_rank[at]),
            float(rating_rank[at]),
        )
        for at in order
    )


def _places(values: FloatArray) -> FloatArray:
    places: FloatArray = (stats.rankdata(values) - 1) / (len(values) - 1)
    return places


def _residuals(good: FloatArray, target: FloatArray) -> FloatArray:
    """Standardised residuals of the metric on the ratings; 0 where the line fits perfectly."""
    off, target_off = good - good.mean(), target - target.mean()
    size = float(target_off @ target_off)
    slope = float(off @ target_off) / size if size > 0 else 0.0
    residuals = off - slope * target_off
    spread = np.sqrt(float(residuals @ residuals) / max(len(good) - 2, 1))
    if not spread > 1e-12 * np.abs(good).max():
        return np.zeros(len(good))
    leverage = 1 / len(good) + (target_off**2 / size if size > 0 else 0.0)
    return np.asarray(residuals / (spread * np.sqrt(np.maximum(1 - leverage, 1e-12))))
