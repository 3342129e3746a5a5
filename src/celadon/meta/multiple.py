"""Corrections of p-values for many comparisons at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray


def _sorted(pvalues: npt.ArrayLike) -> tuple[FloatArray, npt.NDArray[np.intp], FloatArray]:
    given = np.asarray(pvalues, dtype=np.float64)
    flat = given.ravel()
    known = np.flatnonzero(~np.isnan(flat))
    if ((flat[known] < 0) | (flat[known] > 1)).any():
        raise ValueError("p-values must be between 0 and 1")
    order = known[np.argsort(flat[known], kind="stable")]
    return np.full_like(flat, np.nan), order, flat[order]


def holm(pvalues: npt.ArrayLike) -> FloatArray:
    """Holm's (1979) adjusted p-values: the chance of even one false finding is kept.

    Parameters
    ----------
    pvalues
        Of any shape; NaN stays NaN and is not counted as a comparison.

    Returns
    -------
    array
        Adjusted p-values in the same shape: compare them with the level itself.
    """
    adjusted, order, rising = _sorted(pvalues)
    steps = np.arange(len(rising), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(rising * steps), 1.0)
    return adjusted.reshape(np.shape(pvalues))


def benjamini_hochberg(pvalues: npt.ArrayLike) -> FloatArray:
    """Adjusted p-values of Benjamini and Hochberg (1995): the expected part of false findings is kept.

    Parameters
    ----------
    pvalues
        Of any shape; NaN stays NaN and is not counted as a comparison.

    Returns
    -------
    array
        Adjusted p-values in the same shape: compare them with the level itself.
    """
    adjusted, order, rising = _sorted(pvalues)
    scaled = rising * len(rising) / np.arange(1, len(rising) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted.reshape(np.shape(pvalues))
