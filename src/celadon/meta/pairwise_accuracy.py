"""Pairwise accuracy: how often a metric orders two texts, or two systems, as people do.

With ties counted (Deutsch, Foster and Freitag 2023): a pair is right if metric and people order it alike or both call
it a tie. A metric that hardly ever gives two equal scores is helped by calling small differences ties; the best
threshold is found exactly. Of whole systems: Kocmi et al. (2021).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray


class PairwiseAccuracy(NamedTuple):
    """The part of pairs ordered alike, averaged over items, and the numbers of pairs and of items with pairs."""

    value: float
    pairs: int
    items: int
    reason: str = ""


class TieCalibration(NamedTuple):
    """The threshold below which differences are best called ties.

    Attributes
    ----------
    value
        The accuracy at the best threshold.
    epsilon
        The best threshold: differences up to it are ties. Of several, the smallest.
    thresholds, accuracies
        Every threshold that changes anything, rising, and the accuracy at each.
    reason
        Why there is no result.
    """

    value: float
    epsilon: float
    thresholds: FloatArray
    accuracies: FloatArray
    reason: str = ""


class _Pairs(NamedTuple):
    """All pairs within items: the human order, the metric's difference, and the weight of the pair in the average."""

    human: FloatArray
    metric: FloatArray
    weight: FloatArray
    items: int


def _tables(metric: npt.ArrayLike, human: npt.ArrayLike, lower_is_better: bool) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if x.shape != y.shape or x.ndim not in (1, 2):
        raise ValueError(f"scores must be systems x items or flat, and of one shape, not {x.shape} and {y.shape}")
    x = -x if lower_is_better else x
    return x.reshape(len(x), -1), y.reshape(len(y), -1)


def _pairs(x: FloatArray, y: FloatArray) -> _Pairs:
    there = np.isfinite(x) & np.isfinite(y)
    first, second = np.triu_indices(len(x), 1)
    both = there[first] & there[second]
    of_item = both.sum(axis=0)
    items = int((of_item > 0).sum())
    weight = np.broadcast_to(1.0 / np.maximum(of_item, 1) / max(items, 1), both.shape)[both]
    # Missing cells must not make warnings on the way to being left out.
    x, y = np.where(there, x, 0.0), np.where(there, y, 0.0)
    return _Pairs(np.sign(y[first] - y[second])[both], (x[first] - x[second])[both], weight, items)


def pairwise_accuracy(
    metric: npt.ArrayLike, human: npt.ArrayLike, *, epsilon: float = 0.0, lower_is_better: bool = False
) -> PairwiseAccuracy:
    """Accuracy over pairs of systems within each item, ties counted, averaged over items.

    Parameters
    ----------
    metric, human
        Systems x items, NaN where missing; or flat, all one item.
    epsilon
        Differences of the metric up to this are ties.
    lower_is_better
        Turn the metric round first.

    Returns
    -------
    PairwiseAccuracy
        The accuracy, with the numbers of pairs and items.
    """
    pairs = _pairs(*_tables(metric, human, lower_is_better))
    if not pairs.items:
        return PairwiseAccuracy(np.nan, 0, 0, "no item has two scores")
    said = np.where(np.abs(pairs.metric) <= epsilon, 0.0, np.sign(pairs.metric))
    return PairwiseAccuracy(float(pairs.weight[said == pairs.human].sum()), len(said), pairs.items)


def calibrate_ties(metric: npt.ArrayLike, human: npt.ArrayLike, *, lower_is_better: bool = False) -> TieCalibration:
    """Find the threshold of ties with the greatest pairwise accuracy, by trying every one that matters.

    Parameters
    ----------
    metric, human, lower_is_better
        As for :func:`pairwise_accuracy`.

    Returns
    -------
    TieCalibration
        The best accuracy and its threshold, and the whole curve.
    """
    pairs = _pairs(*_tables(metric, human, lower_is_better))
    if not pairs.items:
        return TieCalibration(np.nan, np.nan, np.empty(0), np.empty(0), "no item has two scores")
    distance = np.abs(pairs.metric)
    right = np.sign(pairs.metric) == pairs.human
    # What calling the pair a tie adds to the average.
    gain = pairs.weight * ((pairs.human == 0).astype(np.float64) - right)
    order = np.argsort(distance, kind="stable")
    ordered = distance[order]
    last = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)
    start = float(pairs.weight[right].sum())
    thresholds, accuracies = ordered[last], start + np.cumsum(gain[order])[last]
    if thresholds[0] > 0:
        thresholds, accuracies = np.append(0.0, thresholds), np.append(start, accuracies)
    best = int(np.argmax(np.round(accuracies, 12)))
    return TieCalibration(float(accuracies[best]), float(thresholds[best]), thresholds, accuracies)


def system_pairwise_accuracy(
    metric: npt.ArrayLike, human: npt.ArrayLike, *, lower_is_better: bool = False
) -> PairwiseAccuracy:
    """The part of system pairs that metric and people order alike (Kocmi et al. 2021).

    Parameters
    ----------
    metric, human
        One score per system, or systems x items, averaged over the cells where both are there.
    lower_is_better
        Turn the metric round first.

    Returns
    -------
    PairwiseAccuracy
        The accuracy and the number of pairs.
    """
    x, y = _tables(metric, human, lower_is_better)
    there = np.isfinite(x) & np.isfinite(y)
    known = there.any(axis=1)
    counts = there.sum(axis=1)[known]
    means = [np.where(there, table, 0.0).sum(axis=1)[known] / counts for table in (x, y)]
    if len(counts) < 2:
        return PairwiseAccuracy(np.nan, 0, 0, "fewer than 2 systems")
    return pairwise_accuracy(*means)
