"""What people say: how far they agree, where metrics disagree with them, and how metrics spread over their levels."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta.agreement import Pairwise, krippendorff_alpha, pairwise_correlation, pairwise_kappa
from celadon.meta.correlation import FEWEST, Kind
from celadon.meta.reliability import Reliability, human_ceiling, reliability_of_mean
from celadon.meta.study.rows import AgreementRow, DisagreementRow, LevelRow
from celadon.meta.table import Table

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
    """Return the rows on which metric and people disagree, the worst first; rows with a gap are passed over.

    ``rank`` compares places (0 the lowest, 1 the highest, equals share one); ``residual`` is the metric's distance from
    what the line fitted on the ratings says, in standard deviations. ``most`` is how many to return; None for all.
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
    """Return standardized residuals of the metric on the ratings; 0 where the line fits perfectly."""
    off, target_off = good - good.mean(), target - target.mean()
    size = float(target_off @ target_off)
    slope = float(off @ target_off) / size if size > 0 else 0.0
    residuals = off - slope * target_off
    spread = np.sqrt(float(residuals @ residuals) / max(len(good) - 2, 1))
    if not spread > 1e-12 * np.abs(good).max():
        return np.zeros(len(good))
    leverage = 1 / len(good) + (target_off**2 / size if size > 0 else 0.0)
    return np.asarray(residuals / (spread * np.sqrt(np.maximum(1 - leverage, 1e-12))))


MOST_LEVELS = 7
_BINS = 5


def agreement_rows(table: Table, kind: Kind) -> tuple[AgreementRow, ...]:
    """Return how far the raters of every rating agree, where single ratings are known."""
    return tuple(agreement(human, table.ratings[human], kind) for human in table.humans if human in table.ratings)


def agreement(human: str, ratings: FloatArray, kind: Kind) -> AgreementRow:
    """Return how far the raters of one rating agree; NaN with a reason where a figure cannot be had."""
    counts = np.isfinite(ratings).sum(axis=1)
    shared = int((counts >= 2).sum())
    raters = float(counts[counts > 0].mean()) if (counts > 0).any() else np.nan
    try:
        pairs = pairwise_correlation(ratings, correlation=kind)
        kappa = pairwise_kappa(ratings).mean
        interval, ordinal = (krippendorff_alpha(ratings, level=level).alpha for level in ("interval", "ordinal"))
        reliability = reliability_of_mean(ratings)
        ceiling = human_ceiling(ratings).ceiling
    except InputError as error:
        nothing = float("nan")
        pairs = Pairwise(nothing, nothing, nothing, nothing, 0, 0)
        kappa = interval = ordinal = ceiling = nothing
        reliability = Reliability(nothing, nothing, nothing, 0, 0)
        reason = str(error)
    else:
        reason = "no two ratings differ" if np.isnan(ceiling) else ""
        reason = "the raters agree no better than chance" if ceiling == 0 else reason
    return AgreementRow(
        human, raters, shared, pairs.mean, pairs.minimum, pairs.maximum, pairs.sd, kappa, interval, ordinal,
        reliability.single, reliability.mean, ceiling, reason,
    )  # fmt: skip


def disagreement_rows(table: Table, most: int) -> tuple[DisagreementRow, ...]:
    """Return the rows on which each metric and people differ most, the worst first; none for constant columns."""
    rows: list[DisagreementRow] = []
    for human in table.humans:
        people = table.good(human)
        for metric in table.metrics:
            scores = table.good(metric)
            both = np.isfinite(scores) & np.isfinite(people)
            if both.sum() < FEWEST or np.ptp(scores[both]) == 0 or np.ptp(people[both]) == 0:
                continue
            rows += [
                DisagreementRow(
                    metric,
                    human,
                    one.row,
                    one.metric_rank,
                    one.rating_rank,
                    float(table.columns[metric][one.row]),
                    float(table.columns[human][one.row]),
                )
                for one in disagreements(scores, people, most=most)
                if one.difference != 0
            ]
    return tuple(rows)


def level_rows(table: Table) -> tuple[LevelRow, ...]:
    """Return the distribution of every metric at every level of every rating."""
    rows: list[LevelRow] = []
    for human in table.humans:
        levels = rating_levels(table.columns[human])
        for metric in table.metrics:
            column = table.columns[metric]
            for label, members in levels:
                values = column[members]
                values = values[np.isfinite(values)]
                if len(values):
                    low, first, middle, third, high = (float(q) for q in np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))
                    quartiles = (low, first, middle, third, high)
                    rows.append(LevelRow(metric, human, label, len(values), float(values.mean()), quartiles))
    return tuple(rows)


def rating_levels(ratings: FloatArray) -> list[tuple[str, FloatArray]]:
    """Return the rows of each level of a rating, at most seven.

    A rating with few values has them for levels; one that is a mean over people is rounded to whole numbers; any other
    is cut into five equal stretches.
    """
    known = ratings[np.isfinite(ratings)]
    if not len(known):
        return []
    values = np.unique(known)
    if len(values) <= MOST_LEVELS:
        return [(f"{value:g}", ratings == value) for value in values]
    # half up, so that 2.5 and 3.5 both go up
    whole = np.floor(ratings + 0.5)
    steps = np.unique(whole[np.isfinite(whole)])
    if FEWEST <= len(steps) <= MOST_LEVELS:
        return [(f"{step:g}", whole == step) for step in steps]
    edges = np.linspace(values[0], values[-1], _BINS + 1)
    place = np.clip(np.searchsorted(edges, ratings, side="right") - 1, 0, _BINS - 1)
    return [(f"{edges[at]:.3g} .. {edges[at + 1]:.3g}", (place == at) & np.isfinite(ratings)) for at in range(_BINS)]
