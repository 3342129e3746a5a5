"""How reliable the mean of several ratings is, and so how well even a perfect metric could correlate with it."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta._coefficient import check_kind, coefficient
from celadon.meta.agreement import raters_at_least
from celadon.meta.raters import means

Halves: TypeAlias = Literal["ratings", "raters"]


class Reliability(NamedTuple):
    """``single`` of one rating (the one-way intraclass correlation), ``mean`` of the mean of ``k`` ratings."""

    single: float
    mean: float
    k: float
    items: int
    left_out: int


class SplitHalf(NamedTuple):
    """``half`` is the mean correlation between two random halves, ``mean`` what it says of the whole.

    ``low`` and ``high`` hold the central 95 of a hundred splits; they tell of the splitting, not of the items.
    """

    half: float
    mean: float
    low: float
    high: float
    splits: int


class Ceiling(NamedTuple):
    """The correlation with the mean rating that a metric would reach which knew every item's true quality."""

    ceiling: float
    reliability: float
    k: float
    items: int


def spearman_brown(reliability: float, factor: float) -> float:
    """The reliability of a mean of ``factor`` times as many ratings.

    Parameters
    ----------
    reliability
        Of what there is now.
    factor
        How many times longer; below 1 for shorter.
    """
    below = 1.0 + (factor - 1.0) * reliability
    return factor * reliability / below if below > 0 else float("-inf")


def reliability_of_mean(ratings: npt.ArrayLike, *, k: float | None = None) -> Reliability:
    """The reliability of one rating and of the mean of k, from the one-way analysis of variance.

    It does not matter who rated what; items may have different numbers of ratings.

    Parameters
    ----------
    ratings
        Items x raters, NaN for a gap; items with fewer than two ratings are left out and counted.
    k
        How many ratings the mean is of; by default as many as the items have (with gaps: their effective number).
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


def split_half(
    ratings: npt.ArrayLike, *, splits: int = 1000, seed: int = 0, correlation: str = "pearson", halves: str = "ratings"
) -> SplitHalf:
    """Split-half reliability over random halves, stepped up to all ratings by Spearman and Brown.

    Parameters
    ----------
    ratings
        Items x raters, NaN for a gap; an item takes part where both halves have a rating of it.
    splits
        How many times to split.
    seed
        The same seed gives the same halves.
    correlation
        Between the means of the halves: ``pearson``, ``spearman`` or ``kendall``.
    halves
        ``ratings`` splits each item's ratings anew, for items rated by different people; ``raters`` splits the people,
        so that a rater's severity does not count as error.
    """
    if halves not in get_args(Halves):
        raise UsageError(f"unknown halves {halves!r}; known: {', '.join(get_args(Halves))}")
    if splits < 1:
        raise UsageError("at least one split is needed")
    kind = check_kind(correlation)
    matrix = raters_at_least(ratings, 2)
    matrix = matrix[np.count_nonzero(np.isfinite(matrix), axis=1) >= 2]
    random = np.random.default_rng(seed)
    half, whole = np.empty(splits), np.empty(splits)
    for at in range(splits):
        left, right, factor = _one_split(matrix, random, halves)
        half[at] = coefficient(left, right, kind)
        whole[at] = spearman_brown(half[at], factor)
    known = np.isfinite(whole)
    if not known.any():
        return SplitHalf(float("nan"), float("nan"), float("nan"), float("nan"), 0)
    low, high = np.quantile(whole[known], [0.025, 0.975])
    count = int(np.count_nonzero(known))
    return SplitHalf(float(half[known].mean()), float(whole[known].mean()), float(low), float(high), count)


def human_ceiling(ratings: npt.ArrayLike, *, k: float | None = None) -> Ceiling:
    """The highest correlation with the mean rating that can be hoped for: the root of its reliability.

    Parameters
    ----------
    ratings
        Items x raters, NaN for a gap.
    k
        As in :func:`reliability_of_mean`.

    Returns
    -------
    Ceiling
        0 where people agree no better than chance.
    """
    found = reliability_of_mean(ratings, k=k)
    ceiling = float("nan") if math.isnan(found.mean) else math.sqrt(max(0.0, found.mean))
    return Ceiling(ceiling, found.mean, found.k, found.items)


def _one_split(matrix: FloatArray, random: np.random.Generator, halves: str) -> tuple[FloatArray, FloatArray, float]:
    """Means of two halves of equal size, and how many times more ratings the whole has than a half."""
    if halves == "raters":
        order = np.broadcast_to(random.permutation(matrix.shape[1]), matrix.shape)
        size = np.full(len(matrix), matrix.shape[1] // 2)
    else:
        # random keys put an item's ratings in random order, its gaps last
        order = np.argsort(np.where(np.isfinite(matrix), random.random(matrix.shape), 2.0), axis=1)
        size = np.count_nonzero(np.isfinite(matrix), axis=1) // 2
    shuffled = np.take_along_axis(matrix, order, axis=1)
    place = np.arange(matrix.shape[1])
    first = np.where(place < size[:, None], shuffled, np.nan)
    second = np.where((place >= size[:, None]) & (place < 2 * size[:, None]), shuffled, np.nan)
    left, right = means(first), means(second)
    both = np.isfinite(left) & np.isfinite(right)
    taken = np.count_nonzero(np.isfinite(first[both])) + np.count_nonzero(np.isfinite(second[both]))
    factor = 2.0 * np.count_nonzero(np.isfinite(matrix[both])) / taken if taken else float("nan")
    return left[both], right[both], factor
