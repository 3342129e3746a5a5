"""How a metric's correlation with people grows with the number of references (GRUEN, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta.correlation import check_kind, coefficient

Reduction: TypeAlias = Literal["best", "worst", "mean"]


class ReferencePoint(NamedTuple):
    """The correlation with so many references: mean over random subsets, and their spread."""

    references: int
    correlation: float
    sd: float
    low: float
    high: float
    draws: int
    rows: int


def correlation_by_references(
    scores: npt.ArrayLike,
    ratings: npt.ArrayLike,
    *,
    reduction: str = "best",
    counts: Sequence[int] | None = None,
    draws: int = 100,
    seed: int = 0,
    correlation: str = "spearman",
) -> tuple[ReferencePoint, ...]:
    """Correlate with ratings the score against random subsets of the references.

    ``scores`` are items x references: the score of each text against each of its references alone, NaN where it has
    fewer. ``reduction`` is how the metric takes several references together: ``best``, ``mean``, or ``worst`` (the best
    of a metric for which lower is better). ``counts`` are by default 1 to as many references as every item has.

    For each number, ``draws`` random subsets are drawn, each item on its own, all with that many references; where the
    subsets are all there is, one is enough. Items with fewer references, or without a rating, do not take part.
    """
    if reduction not in get_args(Reduction):
        raise UsageError(f"unknown reduction {reduction!r}; known: {', '.join(get_args(Reduction))}")
    if draws < 1:
        raise UsageError("at least one draw is needed")
    kind = check_kind(correlation)
    matrix, target = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if matrix.ndim != 2 or target.shape != matrix.shape[:1]:
        raise InputError("the scores must be a matrix, items x references, with a rating for each item")
    has = np.count_nonzero(np.isfinite(matrix), axis=1)
    rated = np.isfinite(target) & (has > 0)
    if not rated.any():
        raise InputError("no item has both a rating and a score")
    points: list[ReferencePoint] = []
    for count in range(1, int(has[rated].min()) + 1) if counts is None else counts:
        if count < 1:
            raise UsageError(f"the number of references must be at least 1, not {count}")
        rows = rated & (has >= count)
        # the same seed for every number: a longer subset is the shorter one with more added
        random = np.random.default_rng(seed)
        times = 1 if (has[rows] == count).all() else draws
        correlations = np.array(
            [coefficient(_drawn(matrix[rows], count, reduction, random), target[rows], kind) for _ in range(times)]
        )
        points.append(_point(count, correlations, int(np.count_nonzero(rows))))
    return tuple(points)


def _drawn(matrix: FloatArray, count: int, reduction: str, random: np.random.Generator) -> FloatArray:
    keys = np.where(np.isfinite(matrix), random.random(matrix.shape), 2.0)
    chosen = np.take_along_axis(matrix, np.argsort(keys, axis=1)[:, :count], axis=1)
    if reduction == "mean":
        return np.asarray(chosen.mean(axis=1))
    return np.asarray(chosen.max(axis=1) if reduction == "best" else chosen.min(axis=1))


def _point(count: int, correlations: FloatArray, rows: int) -> ReferencePoint:
    known = correlations[np.isfinite(correlations)]
    if not len(known):
        nothing = float("nan")
        return ReferencePoint(count, nothing, nothing, nothing, nothing, 0, rows)
    low, high = np.quantile(known, [0.025, 0.975])
    sd = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    return ReferencePoint(count, float(known.mean()), sd, float(low), float(high), len(known), rows)
