"""Krippendorff's alpha: agreement of any number of raters, with gaps, at four levels of measurement.

After Krippendorff, Content Analysis (2004), chapter 11. Disagreement is a mean squared difference: within items
(observed) against between any two ratings (expected). Ratings of items that only one person rated do not count.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta.agreement import raters_at_least

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
    """Krippendorff's alpha.

    Parameters
    ----------
    ratings
        Items x raters, NaN for a gap.
    level
        ``nominal``, ``ordinal``, ``interval`` or ``ratio``: what differences between ratings mean.

    Returns
    -------
    Alpha
        1 is perfect agreement, 0 what chance would give, below 0 systematic disagreement.
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
    differences = {"nominal": _nominal, "ratio": _ratio}.get(level, _squared)
    counts = np.count_nonzero(present, axis=1)
    observed = float(np.sum(differences(matrix) / (counts - 1))) / total
    expected = float(differences(values[None, :])[0]) / (total * (total - 1))
    alpha = 1.0 - observed / expected if expected > 0 else float("nan")
    return Alpha(alpha, observed, expected, len(matrix), total, level)


# Each of these sums, for every row, a squared difference over all ordered pairs of its ratings.


def _squared(matrix: FloatArray) -> FloatArray:
    counts = np.count_nonzero(np.isfinite(matrix), axis=1)
    off = matrix - (np.nansum(matrix, axis=1) / counts)[:, None]
    off[np.abs(off) <= 1e-13 * np.nanmax(np.abs(matrix))] = 0.0
    found: FloatArray = 2.0 * counts * np.nansum(off**2, axis=1)
    return found


def _nominal(matrix: FloatArray) -> FloatArray:
    present = np.isfinite(matrix)
    levels, code = np.unique(matrix[present], return_inverse=True)
    row = np.nonzero(present)[0]
    cell, size = np.unique(row * len(levels) + code, return_counts=True)
    same = np.bincount(cell // len(levels), weights=size.astype(np.float64) ** 2, minlength=len(matrix))
    return np.asarray(np.count_nonzero(present, axis=1) ** 2 - same)


def _ratio(matrix: FloatArray) -> FloatArray:
    found = np.zeros(len(matrix))
    for at, row in enumerate(matrix):
        levels, counts = np.unique(row[np.isfinite(row)], return_counts=True)
        for begin in range(0, len(levels), _BLOCK):
            some = levels[begin : begin + _BLOCK, None]
            whole = some + levels
            relative = np.divide(some - levels, whole, out=np.zeros_like(whole), where=whole > 0)
            found[at] += float(counts[begin : begin + _BLOCK] @ relative**2 @ counts)
    return found
