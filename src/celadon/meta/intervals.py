"""Bootstrap intervals that hold with few units, stay within a range and have a width where all values are equal."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray

# With fewer units the ends lie beyond what 1,000 resamples can show, and beyond the values themselves.
_FEW = 8
# Replicates that differ by less differ by rounding alone.
_SAME = 1e-12


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def student_quantile(units: int, confidence: float = 0.95) -> float:
    """Return how many standard errors Student's interval of a mean of so many units reaches to each side."""
    from scipy import special

    return float(special.stdtrit(units - 1, (1 + confidence) / 2))


def expanded_tail(units: int, confidence: float = 0.95) -> float:
    """Return the share of the resamples beyond each end of an expanded percentile interval (Hesterberg 2015).

    The percentile interval of a mean is that of the normal distribution with a spread too small by the root of ``(n -
    1) / n``. Going out to where Student's interval ends mends both; of many units it changes nothing.
    """
    from scipy import special

    return float(special.ndtr(-math.sqrt(units / (units - 1)) * student_quantile(units, confidence)))


def expanded_interval(
    value: float,
    replicates: FloatArray,
    units: int,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    confidence: float = 0.95,
) -> Interval | None:
    """Return the interval of a value from its bootstrap replicates; None of one unit.

    The ends are percentiles further out the fewer units there are (:func:`expanded_tail`); of fewer than eight units,
    Student's distance from the value with the spread of the replicates. Neither lies outside of ``low`` to ``high``.
    """
    finite = replicates[np.isfinite(replicates)]
    if units < 2 or not len(finite):
        return None
    if np.ptp(finite) <= _SAME * max(1.0, abs(value)):
        return equal_interval(value, units, low=low, high=high, confidence=confidence)
    if units < _FEW:
        half = student_quantile(units, confidence) * math.sqrt(units / (units - 1)) * float(finite.std())
        ends = value - half, value + half
    else:
        tail = expanded_tail(units, confidence)
        first, last = np.quantile(finite, [tail, 1 - tail])
        ends = float(first), float(last)
    return Interval(max(ends[0], low), min(ends[1], high))


def equal_interval(value: float, units: int, *, low: float, high: float, confidence: float = 0.95) -> Interval | None:
    """Return the interval of a mean where all values are equal; None where the range has no end.

    Of as many units none was unlike the others, so up to ``1 - ((1 - confidence) / 2) ** (1 / units)`` of all may be
    (Clopper and Pearson 1934), and such a unit may lie at either end of the range.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    unlike = 1 - ((1 - confidence) / 2) ** (1 / units)
    return Interval(value - unlike * (value - low), value + unlike * (high - value))
