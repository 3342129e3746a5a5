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
    """The best accuracy, and the smallest threshold that gives it: differences up to ``epsilon`` are ties.

    ``thresholds`` are all that change anything, rising, with the accuracy at each.
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
    """Return the accuracy over pairs of systems within each item, ties counted, averaged over items.

    Scores are systems x items, NaN where missing; or flat, all one item. Differences of the metric up to ``epsilon``
    are ties.
    """
    pairs = _pairs(*_tables(metric, human, lower_is_better))
    if not pairs.items:
        return PairwiseAccuracy(np.nan, 0, 0, "no item has two scores")
    signs = np.where(np.abs(pairs.metric) <= epsilon, 0.0, np.sign(pairs.metric))
    return PairwiseAccuracy(float(pairs.weight[signs == pairs.human].sum()), len(signs), pairs.items)


def calibrate_ties(metric: npt.ArrayLike, human: npt.ArrayLike, *, lower_is_better: bool = False) -> TieCalibration:
    """Find the threshold of ties with the greatest :func:`pairwise_accuracy`, by trying every one that matters."""
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
    """Return the share of system pairs that metric and people order alike (Kocmi et al. 2021).

    Scores are one per system, or systems x items, averaged over the cells where both are there.
    """
    x, y = _tables(metric, human, lower_is_better)
    there = np.isfinite(x) & np.isfinite(y)
    known = there.any(axis=1)
    counts = there.sum(axis=1)[known]
    means = [np.where(there, table, 0.0).sum(axis=1)[known] / counts for table in (x, y)]
    if len(counts) < 2:
        return PairwiseAccuracy(np.nan, 0, 0, "fewer than 2 systems")
    return pairwise_accuracy(*means)


_MOST_CELLS = 1 << 20
# Two ways of summing one difference must count as equal.
_SAME = 1e-9


class SoftPairwiseAccuracy(NamedTuple):
    """The accuracy; the system pairs and the items it rests on; the items left out because a score was missing."""

    value: float
    pairs: int
    items: int
    nulls: int
    reason: str = ""


def pairwise_pvalues(scores: FloatArray, *, resamples: int = 1_000, seed: int = 0) -> FloatArray:
    """Return one-sided p-values that the system of the row beats that of the column, by paired permutation.

    ``scores`` are systems x items, finite, higher is better; the random exchanges are the same for all pairs. NaN on
    the diagonal.
    """
    count = len(scores)
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(count, 1)
    sums = scores.sum(axis=1)
    observed = sums[first] - sums[second]
    margin = _SAME * np.abs(scores[first] - scores[second]).sum(axis=1)
    above, below = np.zeros(len(first)), np.zeros(len(first))
    step = max(1, _MOST_CELLS // max(1, scores.shape[1], len(first)))
    for start in range(0, resamples, step):
        width = min(step, resamples - start)
        signs = np.where(rng.integers(0, 2, size=(width, scores.shape[1])) == 1, 1.0, -1.0)
        exchanged = signs @ scores.T
        chance = exchanged[:, first] - exchanged[:, second]
        above += (chance >= observed - margin).sum(axis=0)
        below += (chance <= observed + margin).sum(axis=0)
    pvalues = np.full((count, count), np.nan)
    pvalues[first, second] = above / resamples
    pvalues[second, first] = below / resamples
    return pvalues


def soft_pairwise_accuracy(
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    lower_is_better: bool = False,
    resamples: int = 1_000,
    seed: int = 0,
) -> SoftPairwiseAccuracy:
    """Return the soft pairwise accuracy (Thompson et al. 2024; WMT24): does a metric tell systems apart as surely as
    people?

    For each pair of systems a paired permutation test gives the p-value that the first is better, once by the human
    scores and once by the metric's. The accuracy is one less the mean absolute difference of the two. Items where any
    system's score is missing, in either table, are counted and left out. The same exchanges serve people and metric, so
    that a metric equal to the human scores has an accuracy of exactly 1.
    """
    x, y = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 2:
        raise ValueError(f"scores must be systems x items and of one shape, not {x.shape} and {y.shape}")
    whole = np.isfinite(x).all(axis=0) & np.isfinite(y).all(axis=0)
    pairs, items, nulls = len(x) * (len(x) - 1) // 2, int(whole.sum()), int((~whole).sum())
    if not pairs or not items:
        reason = "no item is scored for all systems" if pairs else "fewer than 2 systems"
        return SoftPairwiseAccuracy(np.nan, pairs, items, nulls, reason)
    by_metric, by_people = (
        pairwise_pvalues(table[:, whole], resamples=resamples, seed=seed) for table in (-x if lower_is_better else x, y)
    )
    upper = np.triu_indices(len(x), 1)
    return SoftPairwiseAccuracy(float(1 - np.abs(by_metric - by_people)[upper].mean()), pairs, items, nulls)
