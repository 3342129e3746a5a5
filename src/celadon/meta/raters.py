"""Ratings of several people, put on one scale.

A ratings matrix has a row per item and a column per rater; NaN where a rater did not rate. Normalisation works on
columns (raters use scales differently), aggregation on rows. Nothing here changes its input.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, UsageError

Normalisation: TypeAlias = Literal["none", "z", "range", "magnitude"]
Aggregation: TypeAlias = Literal["mean", "median", "geometric"]


def ratings_matrix(ratings: npt.ArrayLike) -> FloatArray:
    """Return ratings, items x raters, NaN for a gap, as a matrix of floats; raise InputError for anything else."""
    try:
        matrix = np.asarray(ratings, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the ratings are not a matrix of numbers, items x raters") from None
    if matrix.ndim != 2:
        raise InputError(f"the ratings must be a matrix, items x raters; this has {matrix.ndim} dimension(s)")
    if np.isinf(matrix).any():
        row, column = (int(at) + 1 for at in np.argwhere(np.isinf(matrix))[0])
        raise InputError(f"row {row}: the rating of rater {column} is infinite")
    return matrix


def z_scores(ratings: npt.ArrayLike, ddof: int = 1) -> FloatArray:
    """Return each rating less its rater's mean, in standard deviations of that rater (Bangalore et al. 2000).

    0 throughout for a rater who gave one and the same rating to everything.
    """
    matrix = ratings_matrix(ratings)
    off = matrix - _column_means(matrix)
    counts = np.count_nonzero(np.isfinite(matrix), axis=0)
    spread = np.sqrt(np.nansum(off**2, axis=0) / np.maximum(counts - ddof, 1))
    scale = np.nanmax(np.abs(matrix), axis=0, initial=0.0)
    return np.where(
        np.isnan(matrix), np.nan, np.where(spread > 1e-12 * scale, off / np.where(spread > 0, spread, 1), 0)
    )


def unit_range(ratings: npt.ArrayLike) -> FloatArray:
    """Stretch each rater's ratings to 0..1; 0.5 throughout for a rater who gave only one rating."""
    matrix = ratings_matrix(ratings)
    low = np.nanmin(matrix, axis=0, initial=np.inf)
    width = np.nanmax(matrix, axis=0, initial=-np.inf) - low
    flat = ~(width > 0)
    stretched = (matrix - np.where(flat, 0, low)) / np.where(flat, 1, width)
    return np.where(np.isnan(matrix), np.nan, np.where(flat, 0.5, stretched))


def magnitude_estimates(ratings: npt.ArrayLike) -> FloatArray:
    """Return positive magnitude estimates on 0..1: logarithms, each rater's own stretched to 0..1.

    People give magnitudes as ratios on a scale of their own, so the logarithm is what is linear; the modulus drops out
    of the stretch. The GLEU paper says only that scores "were normalised in the range [0,1]"; for the reading without
    the logarithm use :func:`unit_range`.
    """
    return unit_range(_logs(ratings))


def means(ratings: npt.ArrayLike) -> FloatArray:
    """Return the mean rating of each item; NaN for an item that nobody rated."""
    return _column_means(ratings_matrix(ratings).T)


def medians(ratings: npt.ArrayLike) -> FloatArray:
    """Return the median rating of each item; NaN for an item that nobody rated."""
    matrix = ratings_matrix(ratings)
    rated = np.isfinite(matrix).any(axis=1)
    medians_of_rows = np.full(len(matrix), np.nan)
    medians_of_rows[rated] = np.nanmedian(matrix[rated], axis=1)
    return medians_of_rows


def geometric_means(ratings: npt.ArrayLike) -> FloatArray:
    """Return the geometric mean of the positive ratings of each item; NaN for an item that nobody rated."""
    return np.exp(_column_means(_logs(ratings).T))


def normalise(ratings: npt.ArrayLike, how: str) -> FloatArray:
    """Normalise per rater: ``none``, ``z``, ``range`` (0..1) or ``magnitude`` (logarithm, then 0..1)."""
    ways = {"none": ratings_matrix, "z": z_scores, "range": unit_range, "magnitude": magnitude_estimates}
    if how not in ways:
        raise UsageError(f"unknown normalisation {how!r}; known: {', '.join(get_args(Normalisation))}")
    return ways[how](ratings)


def aggregate(ratings: npt.ArrayLike, how: str = "mean") -> FloatArray:
    """Return one number per item: ``mean``, ``median`` or ``geometric``."""
    ways = {"mean": means, "median": medians, "geometric": geometric_means}
    if how not in ways:
        raise UsageError(f"unknown aggregation {how!r}; known: {', '.join(get_args(Aggregation))}")
    return ways[how](ratings)


def _column_means(matrix: FloatArray) -> FloatArray:
    counts = np.count_nonzero(np.isfinite(matrix), axis=0)
    out: FloatArray = np.full(matrix.shape[1], np.nan)
    np.divide(np.nansum(matrix, axis=0), counts, out=out, where=counts > 0)
    return out


def _logs(ratings: npt.ArrayLike) -> FloatArray:
    matrix = ratings_matrix(ratings)
    wrong = np.argwhere(matrix <= 0)
    if len(wrong):
        row, column = (int(at) for at in wrong[0])
        raise InputError(
            f"row {row + 1}: the rating {matrix[row, column]:g} of rater {column + 1} is no magnitude; "
            "magnitude estimates are positive"
        )
    return np.log(matrix)
