"""Cohen's kappa, plain and weighted, of two raters and over all pairs."""

from __future__ import annotations

from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta.agreement import Pairwise, raters_at_least, summary

Weights: TypeAlias = Literal["quadratic", "linear", "none"]


def weighted_kappa(first: npt.ArrayLike, second: npt.ArrayLike, *, weights: str = "quadratic") -> float:
    """Agreement of two raters beyond chance (Cohen 1968).

    The weight of a disagreement is the distance of the two ratings on the rating scale itself, so a level that
    nobody used still counts as a step.

    Parameters
    ----------
    first, second
        The ratings of two people, item by item; items with a NaN are left out.
    weights
        ``quadratic``, ``linear``, or ``none`` for the kappa of 1960.

    Returns
    -------
    float
        1 for perfect agreement, 0 for chance; NaN where both gave one and the same rating throughout, or there is
        no item that both rated.
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
    """Weighted kappa of every pair of raters over the items that both rated.

    Parameters
    ----------
    ratings
        Items x raters, NaN for a gap.
    weights
        ``quadratic``, ``linear`` or ``none``.
    """
    matrix = raters_at_least(ratings, 2)
    pairs = combinations(range(matrix.shape[1]), 2)
    found = np.array([weighted_kappa(matrix[:, one], matrix[:, other], weights=weights) for one, other in pairs])
    return summary(found)


def _distance(left: FloatArray, right: FloatArray, weights: str) -> FloatArray:
    if weights == "none":
        return np.asarray(left != right, dtype=np.float64)
    return np.asarray((left - right) ** 2 if weights == "quadratic" else np.abs(left - right))
