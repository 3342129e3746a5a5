"""How many labels an interval of a wanted width needs, and which texts to ask people about next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, IntArray
from celadon.meta.prediction_powered import quantile

MOST_LABELS = 10_000_000


class Spread(NamedTuple):
    """What decides the width of an interval: the variance of labels and of scores, and the covariance of both."""

    labels: float
    scores: float
    covariance: float

    @classmethod
    def of(cls, labels: npt.ArrayLike, scores: npt.ArrayLike) -> Spread:
        """Return the spread of labelled texts."""
        matrix = np.cov(np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64))
        return cls(float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 1]))

    @property
    def correlation(self) -> float:
        """The correlation of labels and scores; 0 where one is constant."""
        below = math.sqrt(self.labels * self.scores)
        return self.covariance / below if below > 0 else 0.0


def planned_width(spread: Spread, labels: int, texts: int, *, confidence: float = 0.95) -> float:
    """Return the width of the prediction-powered interval with so many labels among so many texts in all."""
    rest = max(texts - labels, 0)
    weight = 0.0
    if rest and spread.scores > 0:
        weight = min(max(spread.covariance / (spread.scores * (1 + labels / rest)), 0.0), 1.0)
    left = spread.labels - 2 * weight * spread.covariance + weight**2 * spread.scores
    variance = left / labels + (weight**2 * spread.scores / rest if rest else 0.0)
    return 2 * quantile(confidence, max(labels - 2.0, 1.0)) * math.sqrt(max(variance, 0.0))


def labels_for_width(spread: Spread, width: float, texts: int, *, confidence: float = 0.95) -> int | None:
    """Return the fewest labels whose interval is no wider; None where even labelling all the texts is not enough.

    ``texts`` 0 is for labels alone, without a judge, of as many texts as it takes.
    """
    most = texts or MOST_LABELS
    low, high = 3, most
    if width <= 0 or high < low or planned_width(spread, high, texts, confidence=confidence) > width:
        return None
    while low < high:
        middle = (low + high) // 2
        if planned_width(spread, middle, texts, confidence=confidence) <= width:
            high = middle
        else:
            low = middle + 1
    return low


def neyman_shares(counts: Mapping[str, int], spreads: Mapping[str, float], labels: int) -> dict[str, int]:
    """Deal labels to groups of texts: more to groups that are larger and vary more, never more than there are.

    What is dealt adds up to ``labels``, or to all texts where these are fewer (Neyman 1934; largest remainders).
    """
    shares = dict.fromkeys(counts, 0)
    left = min(labels, sum(counts.values()))
    while left:
        open_groups = [name for name in counts if shares[name] < counts[name]]
        weights = np.array([counts[name] * spreads[name] for name in open_groups], dtype=np.float64)
        weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(open_groups), 1 / len(open_groups))
        exact = weights * left
        dealt = np.floor(exact).astype(int)
        for at in np.argsort(-(exact - dealt), kind="stable")[: left - int(dealt.sum())]:
            dealt[at] += 1
        for name, some in zip(open_groups, dealt.tolist(), strict=True):
            taken = min(some, counts[name] - shares[name])
            shares[name] += taken
            left -= taken
    return shares


def choose_next(
    candidates: npt.NDArray[np.bool_],
    groups: Sequence[str],
    items: Sequence[str],
    spreads: Mapping[str, float],
    labels: int,
    *,
    seed: int = 0,
) -> IntArray:
    """Choose texts for people to rate next, as numbers of rows in their order.

    Each group (system) gets as many labels as narrow the intervals most; within a group texts are drawn at random, for
    only random labels may be combined with a judge's scores. All groups walk along the same random order of items, so
    that systems are rated on the same items wherever possible, and their differences can be taken item by item.
    """
    names = list(dict.fromkeys(items))
    order = np.random.default_rng(seed).permutation(len(names))
    place = {name: int(order[at]) for at, name in enumerate(names)}
    members: dict[str, list[int]] = {}
    for row in np.flatnonzero(candidates).tolist():
        members.setdefault(groups[row], []).append(row)
    shares = neyman_shares({name: len(rows) for name, rows in members.items()}, spreads, labels)
    chosen = [
        row
        for name, rows in members.items()
        for row in sorted(rows, key=lambda row: (place[items[row]], row))[: shares[name]]
    ]
    return np.array(sorted(chosen), dtype=np.int64)


def residual_spread(labels: FloatArray, scores: FloatArray) -> float:
    """Return how far labels are from the judge's line through them: their standard deviation about it."""
    spread = Spread.of(labels, scores)
    left = spread.labels - (spread.covariance**2 / spread.scores if spread.scores > 0 else 0.0)
    return math.sqrt(max(left, 0.0))
