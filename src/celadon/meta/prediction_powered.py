"""Prediction-powered inference: a mean rating from few labels and many scores of a judge.

The judge's mean over all texts, corrected by how far it is off where people have rated too (Angelopoulos et al. 2023).
How much the judge counts is chosen to make the interval narrow (PPI++), so that a useless judge costs nothing. The
labelled texts must be drawn at random from all of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from celadon.core import FloatArray, InputError


class PoweredMean(NamedTuple):
    """A mean with its interval, and that of the labels alone beside it.

    ``weight`` is how much the judge counts, from 0 to 1. ``error`` is the standard error, ``classical_error`` that of
    the labels alone; ``equivalent`` is how many labels alone would give the same error, and ``degrees`` are those of
    Student's distribution (infinite for the normal one).
    """

    value: float
    error: float
    low: float
    high: float
    weight: float
    labels: int
    unlabeled: int
    classical: float
    classical_error: float
    classical_low: float
    classical_high: float
    equivalent: float
    degrees: float


def powered_mean(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    unlabeled: npt.ArrayLike,
    *,
    weight: float | None = None,
    confidence: float = 0.95,
    small_sample: bool = True,
) -> PoweredMean:
    """Return the prediction-powered mean of the labels.

    Parameters
    ----------
    labels, predictions
        People's ratings, and the judge's scores of the same texts.
    unlabeled
        The judge's scores of texts that nobody rated; may be empty.
    weight
        How much the judge counts; by default what makes the interval narrowest, between 0 and 1.
    confidence
        Of the interval.
    small_sample
        Student's distribution and unbiased variances, which hold with few labels. False for the normal intervals of the
        published method.
    """
    y, hat, rest = (np.asarray(column, dtype=np.float64) for column in (labels, predictions, unlabeled))
    if y.ndim != 1 or y.shape != hat.shape or rest.ndim != 1 or len(y) < 3:
        raise InputError("a prediction-powered mean needs at least three labels, each with a score")
    if not (np.isfinite(y).all() and np.isfinite(hat).all() and np.isfinite(rest).all()):
        raise InputError("a prediction-powered mean needs labels and scores without gaps")
    n, more = len(y), len(rest)
    estimated = weight is None and more > 0
    share = best_weight(y, hat, rest) if estimated else (weight or 0.0) if more else 0.0
    lost = (2 if estimated else 1) if small_sample else 0
    scale = n / max(n - lost, 1)
    left = float(np.var(y - share * hat)) * scale / n
    imputed = share**2 * float(np.var(rest, ddof=1 if small_sample and more > 1 else 0)) / more if more else 0.0
    value = float((y - share * hat).mean() + (share * rest.mean() if more else 0.0))
    degrees = float(n - max(lost, 1)) if small_sample else math.inf
    error, alone = math.sqrt(left + imputed), math.sqrt(float(np.var(y, ddof=1 if small_sample else 0)) / n)
    reach = quantile(confidence, degrees) * error
    only = quantile(confidence, n - 1.0 if small_sample else math.inf) * alone
    mean = float(y.mean())
    return PoweredMean(
        value, error, value - reach, value + reach, share, n, more, mean, alone, mean - only, mean + only,
        n * (alone / error) ** 2 if error > 0 else float(n), degrees,
    )  # fmt: skip


def best_weight(labels: FloatArray, predictions: FloatArray, unlabeled: FloatArray) -> float:
    """Return how much the judge should count: the regression of labels on predictions, less with few unlabeled."""
    everything = np.concatenate([predictions, unlabeled])
    spread = float(np.var(everything, ddof=1)) if len(everything) > 1 else 0.0
    if spread <= 0:
        return 0.0
    together = float(np.mean((labels - labels.mean()) * (predictions - predictions.mean())))
    return float(np.clip(together / ((1 + len(labels) / len(unlabeled)) * spread), 0.0, 1.0))


def quantile(confidence: float, degrees: float) -> float:
    """Return how many standard errors an interval reaches to either side."""
    tail = (1 - confidence) / 2
    return float(-special.ndtri(tail) if math.isinf(degrees) else -special.stdtrit(degrees, tail))


class PoweredDifference(NamedTuple):
    """The difference of two mean ratings, the first less the second, with intervals and the p-value of its being 0.

    ``paired`` says whether the difference was taken text by text, of items that both systems have.
    """

    value: float
    error: float
    low: float
    high: float
    pvalue: float
    classical: float
    classical_low: float
    classical_high: float
    equivalent: float
    paired: bool


def powered_difference(first: PoweredMean, second: PoweredMean, *, confidence: float = 0.95) -> PoweredDifference:
    """Return the difference of the means of two systems whose texts are of different items.

    Degrees of freedom are Welch's.
    """
    value, error, degrees = _welch(first.value - second.value, first, second, first.error, second.error)
    alone, alone_error, alone_degrees = _welch(
        first.classical - second.classical, first, second, first.classical_error, second.classical_error
    )
    reach, only = quantile(confidence, degrees) * error, quantile(confidence, alone_degrees) * alone_error
    labels = first.labels + second.labels
    return PoweredDifference(
        value, error, value - reach, value + reach, _pvalue(value, error, degrees), alone, alone - only, alone + only,
        labels * (alone_error / error) ** 2 if error > 0 else float(labels), False,
    )  # fmt: skip


def paired_powered_difference(differences: PoweredMean) -> PoweredDifference:
    """Return the difference of two systems from the prediction-powered mean of their differences item by item."""
    one = differences
    return PoweredDifference(
        one.value, one.error, one.low, one.high, _pvalue(one.value, one.error, one.degrees), one.classical,
        one.classical_low, one.classical_high, one.equivalent, True,
    )  # fmt: skip


def _welch(
    value: float, first: PoweredMean, second: PoweredMean, one: float, other: float
) -> tuple[float, float, float]:
    error = math.hypot(one, other)
    if math.isinf(first.degrees) or math.isinf(second.degrees) or error == 0:
        return value, error, math.inf
    return value, error, error**4 / (one**4 / first.degrees + other**4 / second.degrees)


def _pvalue(value: float, error: float, degrees: float) -> float:
    if error == 0:
        return 1.0 if value == 0 else 0.0
    z = abs(value) / error
    return float(2 * (special.ndtr(-z) if math.isinf(degrees) else special.stdtr(degrees, -z)))
