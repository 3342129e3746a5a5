"""Drawing by weights."""

from __future__ import annotations

import numpy as np

from celadon.core import FloatArray, IntArray


def draw(weights: FloatArray, rng: np.random.Generator) -> int:
    """Draw a place by the weights, of which at least one is above zero."""
    return int(places_of(weights, rng.random(1))[0])


def places_of(weights: FloatArray, chances: FloatArray) -> IntArray:
    """Return where chances, each at least 0 and below 1, fall among the weights; never on a weight of zero."""
    totals = np.cumsum(weights)
    last = np.searchsorted(totals, totals[-1])  # rounding must not lead past the last that has a weight
    found: IntArray = np.minimum(np.searchsorted(totals, chances * totals[-1], side="right"), last)
    return found
