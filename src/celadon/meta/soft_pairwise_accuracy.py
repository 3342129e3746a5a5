"""Soft pairwise accuracy (Thompson et al. 2024; WMT24): does a metric tell systems apart as surely as people do?

For each pair of systems a paired permutation test gives the p-value that the first is better, once by the human scores
and once by the metric's. The accuracy is one less the mean absolute difference of the two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray

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
    """One-sided p-values that each system is better than each other one, by paired permutation.

    Parameters
    ----------
    scores
        Systems x items, finite, higher is better.
    resamples, seed
        How many random exchanges, the same for all pairs of systems; the same seed gives the same ones.

    Returns
    -------
    array
        Systems x systems: the p-value that the system of the row beats that of the column; NaN on the diagonal.
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
    """Soft pairwise accuracy of a metric.

    Parameters
    ----------
    metric, human
        Systems x items. Items where any system's score is missing, in either table, are counted and left out.
    lower_is_better
        Turn the metric round first.
    resamples, seed
        As for :func:`pairwise_pvalues`. The same exchanges serve people and metric, so that a metric equal to the
        human scores has an accuracy of exactly 1.

    Returns
    -------
    SoftPairwiseAccuracy
        The accuracy and what it rests on.
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
