"""Least squares on ratings that are themselves noisy.

People's mean rating is the true quality and an error. A regression that takes it for the truth finds effects that are
not there: of two texts with the same rating the one that has more of whatever goes with quality is, on average, the
better one. So the variance of the error, which the spread between raters tells, is taken out of the sums of squares
(Fuller 1987, section 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray
from celadon.meta.correlation import codes
from celadon.meta.jackknife import Estimate, cluster_sums, jackknife, no_estimate
from celadon.meta.raters import means, ratings_matrix

# with less than this share of true variance in the ratings nothing can be said at equal quality
_LEAST_RELIABILITY = 0.05


def rating_error_variances(ratings: npt.ArrayLike) -> FloatArray:
    """Return the variance of the error of each row's mean rating; NaN where nothing tells it.

    A row with several ratings has its own estimate, a row with one the mean variance between the ratings of the others.
    Where everybody rated everything, how severe each person is does not count: it is the same for all rows.
    """
    matrix = ratings_matrix(ratings)
    if np.isfinite(matrix).all():
        matrix = matrix - matrix.mean(axis=0) + matrix.mean()
    counts = np.count_nonzero(np.isfinite(matrix), axis=1)
    off = matrix - means(matrix)[:, None]
    several = counts > 1
    own = np.full(len(matrix), np.nan)
    own[several] = np.nansum(off[several] ** 2, axis=1) / (counts[several] - 1)
    if np.isfinite(matrix).all() and len(matrix) > 1:
        # centering the raters costs them one row
        own *= len(matrix) / (len(matrix) - 1)
    pooled = float(np.average(own[several], weights=counts[several] - 1)) if several.any() else np.nan
    variances = np.where(several, own, pooled) / np.maximum(counts, 1)
    return np.where(counts > 0, variances, np.nan)


def effect_given_rating(
    scores: npt.ArrayLike,
    rating: npt.ArrayLike,
    covariates: Sequence[npt.ArrayLike] = (),
    *,
    error_variances: npt.ArrayLike | None = None,
    clusters: Sequence[Any] | npt.NDArray[Any] | None = None,
) -> Estimate:
    """Return how the scores change with the first covariate, at the same true quality and the other covariates.

    Without covariates it is the change with true quality itself: 1 where scores and ratings are on one scale and the
    judge uses as much of it as people do. ``error_variances`` are those of the ratings; without them the ratings are
    taken for the truth. Rows with a gap are left out.
    """
    columns = [np.asarray(column, dtype=np.float64) for column in (scores, rating, *covariates)]
    noise = np.zeros(len(columns[0])) if error_variances is None else np.asarray(error_variances, dtype=np.float64)
    known: npt.NDArray[np.bool_] = np.logical_and.reduce([np.isfinite(column) for column in (*columns, noise)])
    y, people, *others = (column[known] - column[known].mean() if known.any() else column[:0] for column in columns)
    noise = noise[known]
    count = int(known.sum())
    wanted = 2 if others else 1
    for column in (people, *others[:1]):
        if count < wanted + 3 or np.ptp(column) == 0:
            return no_estimate("too few rated rows, or all the same", count)
    if float(people @ people - noise.sum()) < _LEAST_RELIABILITY * float(people @ people):
        return no_estimate("people agree too little to say what is at equal quality", count)
    design = np.column_stack([np.ones(count), people, *others])
    size = design.shape[1]
    products = np.einsum("ij,ik->ijk", design, design)
    products[:, 1, 1] -= noise
    kept = None if clusters is None else codes(clusters, len(known))[known]
    sums = cluster_sums(np.hstack([products.reshape(count, -1), design * y[:, None]]), kept)

    def coefficient(some: FloatArray) -> FloatArray:
        left, right = some[:, : size * size].reshape(-1, size, size), some[:, size * size :, None]
        singular = np.abs(np.linalg.det(left)) < 1e-12 * np.prod(np.abs(np.einsum("ijj->ij", left)), axis=1)
        left = np.where(singular[:, None, None], np.eye(size), left)
        return np.where(singular, np.nan, np.linalg.solve(left, right)[:, wanted, 0])

    return jackknife(sums, coefficient, parameters=size)
