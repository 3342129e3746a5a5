"""How well people agree: correlations between raters, and of each rater with the others' mean."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError
from celadon.meta._coefficient import check_kind, complete_coefficient
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
    """Correlate every rater with every other over the items that both rated.

    Parameters
    ----------
    ratings
        Items x raters, NaN for a gap.
    correlation
        ``pearson``, ``spearman`` or ``kendall``.
    minimum_items
        Pairs with fewer items in common are skipped.
    """
    matrix = raters_at_least(ratings, 2)
    kind = check_kind(correlation)
    found = np.array(
        [
            complete_coefficient(matrix[:, one], matrix[:, other], kind, minimum_items)
            for one, other in combinations(range(matrix.shape[1]), 2)
        ]
    )
    return summary(found)


def leave_one_out(
    ratings: npt.ArrayLike, *, correlation: str = "pearson", minimum_items: int = MINIMUM_ITEMS
) -> LeaveOneOut:
    """Correlate each rater with the mean of all the others: how good one person is as a metric.

    Parameters
    ----------
    ratings
        Items x raters, NaN for a gap; normalise first where raters use different scales.
    correlation
        ``pearson``, ``spearman`` or ``kendall``.
    minimum_items
        A rater with fewer items that others rated too has none.
    """
    matrix = raters_at_least(ratings, 2)
    kind = check_kind(correlation)
    found = np.array(
        [
            complete_coefficient(matrix[:, rater], means(np.delete(matrix, rater, axis=1)), kind, minimum_items)
            for rater in range(matrix.shape[1])
        ]
    )
    known = found[np.isfinite(found)]
    mean = float(known.mean()) if len(known) else float("nan")
    return LeaveOneOut(found, mean, len(known), len(found) - len(known))


def raters_at_least(ratings: npt.ArrayLike, raters: int) -> FloatArray:
    """The ratings matrix, if it has that many raters.

    Raises
    ------
    InputError
        It has fewer.
    """
    matrix = ratings_matrix(ratings)
    if matrix.shape[1] < raters:
        raise InputError(f"agreement needs ratings of at least {raters} raters; here is {matrix.shape[1]}")
    return matrix


def summary(found: FloatArray) -> Pairwise:
    """Sum up the coefficients of all pairs, NaN where a pair has none."""
    known = found[np.isfinite(found)]
    skipped = len(found) - len(known)
    if not len(known):
        nothing = float("nan")
        return Pairwise(nothing, nothing, nothing, nothing, 0, skipped)
    sd = float(known.std(ddof=1)) if len(known) > 1 else float("nan")
    return Pairwise(float(known.max()), float(known.min()), float(known.mean()), sd, len(known), skipped)
