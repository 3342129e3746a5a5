"""What each part of a combined metric is worth: its correlation with people, with parts left out (GRUEN, Figure 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta._coefficient import check_kind, coefficient

Combination: TypeAlias = Callable[[FloatArray], FloatArray]


class Ablation(NamedTuple):
    """The correlation of a combination of some parts; ``change`` is against that of all parts."""

    parts: tuple[str, ...]
    left_out: tuple[str, ...]
    correlation: float
    change: float
    rows: int


def clipped_sum(low: float = 0.0, high: float = 1.0) -> Combination:
    """The sum of the parts, held between two bounds, as GRUEN combines its four.

    Parameters
    ----------
    low, high
        The bounds.
    """

    def combine(parts: FloatArray) -> FloatArray:
        return np.asarray(np.clip(parts.sum(axis=1), low, high))

    return combine


def plain_sum(parts: FloatArray) -> FloatArray:
    """The sum of the parts, rows x parts."""
    total: FloatArray = parts.sum(axis=1)
    return total


def ablate(
    parts: Mapping[str, npt.ArrayLike],
    ratings: npt.ArrayLike,
    *,
    combine: Combination = plain_sum,
    subsets: Sequence[Sequence[str]] | None = None,
    correlation: str = "pearson",
) -> tuple[Ablation, ...]:
    """Correlate the combination of all parts with ratings, then with each part left out, then each part alone.

    Parameters
    ----------
    parts
        Named columns of part scores.
    ratings
        What people said; the same rows, those with a gap anywhere left out of every figure.
    combine
        From a matrix, rows x parts, to one value per row.
    subsets
        The combinations to try beside the full one, in place of the usual: ``[["g"], ["g", "u"], ["g", "r", "u"]]``.
    correlation
        ``pearson``, ``spearman`` or ``kendall``.

    Returns
    -------
    tuple
        All parts first; NaN where a combination is constant.
    """
    kind = check_kind(correlation)
    names = tuple(parts)
    if len(names) < 2:
        raise UsageError("an ablation needs at least two parts")
    target = np.asarray(ratings, dtype=np.float64)
    columns = [np.asarray(parts[name], dtype=np.float64) for name in names]
    if any(column.shape != target.shape for column in columns) or target.ndim != 1:
        raise InputError("the parts and the ratings must be lists of the same length")
    matrix = np.column_stack(columns)
    complete = np.isfinite(matrix).all(axis=1) & np.isfinite(target)
    matrix, target = matrix[complete], target[complete]
    chosen = [names, *(_usual(names) if subsets is None else map(tuple, subsets))]
    found: list[Ablation] = []
    for some in chosen:
        if not some or (unknown := [name for name in some if name not in parts]):
            raise UsageError(f"unknown part {unknown[0]!r}; known: {', '.join(names)}" if some else "an empty subset")
        value = coefficient(combine(matrix[:, [names.index(name) for name in some]]), target, kind)
        change = value - (found[0].correlation if found else value)
        left = tuple(name for name in names if name not in some)
        found.append(Ablation(tuple(some), left, value, change, len(target)))
    return tuple(found)


def _usual(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    without = [tuple(name for name in names if name != left) for left in names]
    alone = [(name,) for name in names]
    return list(dict.fromkeys([*without, *alone]))
