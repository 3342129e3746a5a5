"""How well people agree: correlations, Cohen's kappa and Krippendorff's alpha between raters."""

from __future__ import annotations

from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta.correlation import check_kind, complete_coefficient
from celadon.meta.raters import means, ratings_matrix

MINIMUM_ITEMS = 3


class Pairwise(NamedTuple):
    """A coefficient of all pairs of raters, summed up as in Table 3 of the GLEU paper; ``sd`` is the sample's.

    ``skipped`` counts the pairs that have none: too few items in common, or a constant rater.
    """

    maximum: float
    minimum: float
    mean: float
    sd: float
    pairs: int
    skipped: int


class LeaveOneOut(NamedTuple):
    """The correlation of each rater with the mean of the others, NaN where there is none, and their mean."""

    correlations: FloatArray
    mean: float
    raters: int
    skipped: int


def pairwise_correlation(
    ratings: npt.ArrayLike, *, correlation: str = "pearson", minimum_items: int = MINIMUM_ITEMS
) -> Pairwise:
    """Correlate every rater with every other over the items that both rated, where these are at least
    ``minimum_items``.

    ``ratings`` are items x raters, NaN for a gap.
    """
    matrix = raters_at_least(ratings, 2)
    kind = check_kind(correlation)
    correlations = np.array(
        [
            complete_coefficient(matrix[:, one], matrix[:, other], kind, minimum_items)
            for one, other in combinations(range(matrix.shape[1]), 2)
        ]
    )
    return summary(correlations)


def leave_one_out(
    ratings: npt.ArrayLike, *, correlation: str = "pearson", minimum_items: int = MINIMUM_ITEMS
) -> LeaveOneOut:
    """Correlate each rater with the mean of all the others: how good one person is as a metric.

    A rater with fewer than ``minimum_items`` that others rated too has none. Normalise first where raters use different
    scales.
    """
    matrix = raters_at_least(ratings, 2)
    kind = check_kind(correlation)
    correlations = np.array(
        [
            complete_coefficient(matrix[:, rater], means(np.delete(matrix, rater, axis=1)), kind, minimum_items)
            for rater in range(matrix.shape[1])
        ]
    )
    known = correlations[np.isfinite(correlations)]
    mean = float(known.mean()) if len(known) else float("nan")
    return LeaveOneOut(correlations, mean, len(known), len(correlations) - len(known))


def raters_at_least(ratings: npt.ArrayLike, raters: int) -> FloatArray:
    """Return the ratings matrix, if it has that many raters; raise InputError otherwise."""
    matrix = ratings_matrix(ratings)
    if matrix.shape[1] < raters:
        raise InputError(f"agreement needs ratings of at least {raters} raters; here is {matrix.shape[1]}")
    return matrix


def summary(values: FloatArray) -> Pairwise:
    """Sum up the coefficients of all pairs, NaN where a pair has none."""
    known = values[np.isfinite(values)]
    skipped = len(values) - len(known)
    if not len(known):
        nothing = float("nan")
        return Pairwise(nothing, nothing, nothing, nothing, 0, skipped)
    sd = float(known.std(ddof=1)) if len(known) > 1 else float("nan")
    return Pairwise(float(known.max()), float(known.min()), float(known.mean()), sd, len(known), skipped)


Weights: TypeAlias = Literal["quadratic", "linear", "none"]


def weighted_kappa(first: npt.ArrayLike, second: npt.ArrayLike, *, weights: str = "quadratic") -> float:
    """Return the agreement of two raters beyond chance (Cohen 1968); items with a NaN are left out.

    The weight of a disagreement is the distance of the two ratings on the rating scale itself, so a level that nobody
    used still counts as a step; ``none`` is the kappa of 1960. 1 is perfect agreement, 0 chance; NaN where both gave
    one and the same rating throughout, or there is no item that both rated.
    """
    if weights not in get_args(Weights):
        raise UsageError(f"unknown weights {weights!r}; known: {', '.join(get_args(Weights))}")
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise InputError("kappa needs two lists of ratings of the same length")
    both = np.isfinite(left) & np.isfinite(right)
    left, right = left[both], right[both]
    if not len(left):
        return float("nan")
    observed = float(_distance(left, right, weights).mean())
    left_levels, left_counts = np.unique(left, return_counts=True)
    right_levels, right_counts = np.unique(right, return_counts=True)
    by_chance = _distance(left_levels[:, None], right_levels[None, :], weights)
    expected = float(left_counts @ by_chance @ right_counts) / len(left) ** 2
    return 1.0 - observed / expected if expected > 0 else float("nan")


def pairwise_kappa(ratings: npt.ArrayLike, *, weights: str = "quadratic") -> Pairwise:
    """Return the weighted kappa of every pair of raters over the items that both rated."""
    matrix = raters_at_least(ratings, 2)
    pairs = combinations(range(matrix.shape[1]), 2)
    kappas = np.array([weighted_kappa(matrix[:, one], matrix[:, other], weights=weights) for one, other in pairs])
    return summary(kappas)


def _distance(left: FloatArray, right: FloatArray, weights: str) -> FloatArray:
    if weights == "none":
        return np.asarray(left != right, dtype=np.float64)
    return np.asarray((left - right) ** 2 if weights == "quadratic" else np.abs(left - right))


Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]

_BLOCK = 1024


class Alpha(NamedTuple):
    """Alpha with what it is made of: 1 - observed / expected; NaN where no two ratings differ, or none are paired."""

    alpha: float
    observed: float
    expected: float
    items: int
    ratings: int
    level: str


def krippendorff_alpha(ratings: npt.ArrayLike, *, level: str = "interval") -> Alpha:
    """Return Krippendorff's alpha of items x raters, NaN for a gap (Content Analysis, 2004, chapter 11).

    Disagreement is a mean squared difference: within items (observed) against between any two ratings (expected).
    Ratings of items that only one person rated do not count. 1 is perfect agreement, 0 what chance would give, below 0
    systematic disagreement. ``level``, ``nominal``, ``ordinal``, ``interval`` or ``ratio``, says what differences mean.
    """
    if level not in get_args(Level):
        raise UsageError(f"unknown level of measurement {level!r}; known: {', '.join(get_args(Level))}")
    matrix = raters_at_least(ratings, 2)
    matrix = matrix[np.count_nonzero(np.isfinite(matrix), axis=1) >= 2]
    present = np.isfinite(matrix)
    values, total = matrix[present], int(np.count_nonzero(present))
    if not total:
        return Alpha(float("nan"), float("nan"), float("nan"), 0, 0, level)
    if level == "ratio" and (values < 0).any():
        raise InputError("alpha at the ratio level needs ratings that are not negative")
    if level == "ordinal":
        # the ordinal difference of two ratings is the number of ratings between their mid-points: a difference of ranks
        matrix = np.full(matrix.shape, np.nan)
        matrix[present] = values = stats.rankdata(values)
    differences = {"nominal": _nominal_differences, "ratio": _ratio_differences}.get(level, _squared_differences)
    counts = np.count_nonzero(present, axis=1)
    observed = float(np.sum(differences(matrix) / (counts - 1))) / total
    expected = float(differences(values[None, :])[0]) / (total * (total - 1))
    alpha = 1.0 - observed / expected if expected > 0 else float("nan")
    return Alpha(alpha, observed, expected, len(matrix), total, level)


# Each of these sums, for every row, a squared difference over all ordered pairs of its ratings.


def _squared_differences(matrix: FloatArray) -> FloatArray:
    counts = np.count_nonzero(np.isfinite(matrix), axis=1)
    off = matrix - (np.nansum(matrix, axis=1) / counts)[:, None]
    off[np.abs(off) <= 1e-13 * np.nanmax(np.abs(matrix))] = 0.0
    sums: FloatArray = 2.0 * counts * np.nansum(off**2, axis=1)
    return sums


def _nominal_differences(matrix: FloatArray) -> FloatArray:
    present = np.isfinite(matrix)
    levels, code = np.unique(matrix[present], return_inverse=True)
    row = np.nonzero(present)[0]
    cell, size = np.unique(row * len(levels) + code, return_counts=True)
    same = np.bincount(cell // len(levels), weights=size.astype(np.float64) ** 2, minlength=len(matrix))
    return np.asarray(np.count_nonzero(present, axis=1) ** 2 - same)


def _ratio_differences(matrix: FloatArray) -> FloatArray:
    sums = np.zeros(len(matrix))
    for at, row in enumerate(matrix):
        levels, counts = np.unique(row[np.isfinite(row)], return_counts=True)
        for begin in range(0, len(levels), _BLOCK):
            some = levels[begin : begin + _BLOCK, None]
            whole = some + levels
            relative = np.divide(some - levels, whole, out=np.zeros_like(whole), where=whole > 0)
            sums[at] += float(counts[begin : begin + _BLOCK] @ relative**2 @ counts)
    return sums
