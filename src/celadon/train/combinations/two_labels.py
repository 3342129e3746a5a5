"""How well a score tells good texts from bad ones, where people gave one of two labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray


def area_under_curve(scores: FloatArray, labels: npt.NDArray[np.bool_]) -> float:
    """The chance that a good text scores above a bad one, ties counting half; NaN where one kind is missing."""
    good, bad = int(labels.sum()), int((~labels).sum())
    if not good or not bad:
        return math.nan
    return (float(stats.rankdata(scores)[labels].sum()) - good * (good + 1) / 2) / (good * bad)


def best_threshold(scores: FloatArray, labels: npt.NDArray[np.bool_]) -> float:
    """The score from which on a text is called good, for the highest Matthews' correlation."""
    order = np.argsort(-scores, kind="stable")
    ordered, hits = scores[order], np.cumsum(labels[order])
    called = np.arange(1, len(scores) + 1)
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    found = _matthews(hits[ends], called[ends], int(labels.sum()), len(labels))
    return float(ordered[ends[int(np.argmax(found))]])


def matthews(called: npt.NDArray[np.bool_], labels: npt.NDArray[np.bool_]) -> float:
    """Matthews' correlation of two columns of yes and no; 0 where one of them does not vary."""
    hits, many = np.array([(called & labels).sum()]), np.array([called.sum()])
    return float(_matthews(hits, many, int(labels.sum()), len(labels))[0])


def _matthews(hits: npt.NDArray[Any], called: npt.NDArray[Any], good: int, rows: int) -> FloatArray:
    hits, called = hits.astype(np.float64), called.astype(np.float64)
    below = np.sqrt(called * (rows - called) * good * (rows - good))
    return np.asarray(np.divide(hits * rows - called * good, below, out=np.zeros_like(hits), where=below > 0))
