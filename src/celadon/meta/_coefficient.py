"""A correlation of two columns as a bare number, for the statistics that need very many of them."""

from __future__ import annotations

import numpy as np
from scipy import stats

from celadon.core import FloatArray, UsageError
from celadon.meta.correlation import KINDS, Kind

# Two columns closer to constant than this, relative to their size, have no correlation: only rounding would correlate.
_CONSTANT = 1e-13


def check_kind(kind: str) -> Kind:
    """The kind of correlation, if there is one of this name."""
    if kind not in KINDS:
        raise UsageError(f"unknown correlation {kind!r}; known: {', '.join(KINDS)}")
    return kind


def coefficient(left: FloatArray, right: FloatArray, kind: Kind = "pearson") -> float:
    """The correlation of two columns without gaps; NaN where one is constant or there are fewer than two rows."""
    if len(left) < 2:
        return float("nan")
    if kind == "kendall":
        return float(stats.kendalltau(left, right).statistic)
    if kind == "spearman":
        left, right = stats.rankdata(left), stats.rankdata(right)
    left_off, right_off = left - left.mean(), right - right.mean()
    left_size, right_size = float(np.linalg.norm(left_off)), float(np.linalg.norm(right_off))
    if left_size <= _CONSTANT * np.linalg.norm(left) or right_size <= _CONSTANT * np.linalg.norm(right):
        return float("nan")
    return float(np.clip((left_off / left_size) @ (right_off / right_size), -1.0, 1.0))


def complete_coefficient(left: FloatArray, right: FloatArray, kind: Kind = "pearson", minimum: int = 2) -> float:
    """The correlation over the rows that have both; NaN where these are fewer than ``minimum``."""
    both = np.isfinite(left) & np.isfinite(right)
    if np.count_nonzero(both) < minimum:
        return float("nan")
    return coefficient(left[both], right[both], kind)
