"""What the units of a text come to: means and least values, one number per text."""

from __future__ import annotations

import numpy as np

from celadon.core import FloatArray, IntArray


def means(owner: IntArray, values: FloatArray, samples: int) -> FloatArray:
    """Return the mean of each text's values; NaN for a text without.

    Parameters
    ----------
    owner
        The text of each value.
    values
        The values.
    samples
        The number of texts.
    """
    count = np.bincount(owner, minlength=samples).astype(np.float64)
    total = np.bincount(owner, weights=values, minlength=samples)
    found: FloatArray = np.divide(total, count, out=np.full(samples, np.nan), where=count > 0)
    return found


def least(owner: IntArray, values: FloatArray, samples: int) -> FloatArray:
    """Return the least of each text's values; NaN for a text without."""
    found = np.full(samples, np.inf)
    np.minimum.at(found, owner, values)
    return np.where(np.isinf(found), np.nan, found)
