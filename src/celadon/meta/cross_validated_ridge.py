"""Ridge regression of ratings on a few columns, with the penalty chosen, and the fit judged, on items left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray
from celadon.meta.correlation import codes
from celadon.meta.regression import design

PENALTIES = tuple(float(10.0**power) for power in range(-4, 3))
"""Relative to the number of rows; columns are standardized."""
FOLDS = 5


class Ridge(NamedTuple):
    """A linear combination: ``terms`` for the columns as they are, and ``predictions`` for every row from the folds
    that it was not in; NaN where a row has a gap.
    """

    intercept: float
    terms: dict[str, float]
    penalty: float
    predictions: FloatArray
    rows: int


def cross_validated_ridge(
    columns: Mapping[str, npt.ArrayLike],
    target: npt.ArrayLike,
    *,
    clusters: Sequence[Any] | npt.NDArray[Any] | None = None,
    folds: int = FOLDS,
    seed: int = 0,
) -> Ridge:
    """Fit the target by the columns; clusters are never divided between folds.

    The penalty of the final fit is the one with the least squared error on rows left out. The predictions are honest:
    for each fold the penalty is chosen anew within the other folds.
    """
    matrix, wanted = design(columns, target, list(columns))
    known = np.isfinite(matrix).all(axis=1) & np.isfinite(wanted)
    groups = codes(clusters if clusters is not None else np.arange(len(wanted)), len(wanted))[known]
    units = np.unique(groups)
    if len(units) < 2 * folds:
        raise InputError(f"a combination needs at least {2 * folds} rated items; there are {len(units)}")
    x, y = matrix[known], wanted[known]
    dealt = np.random.default_rng(seed).permutation(len(units)) % folds
    fold: IntArray = dealt[np.searchsorted(units, groups)]
    honest = np.empty(len(y))
    for left in range(folds):
        out = fold == left
        penalty = _best(x[~out], y[~out], fold[~out])
        weights, base = _solve(x[~out], y[~out], penalty)
        honest[out] = x[out] @ weights + base
    penalty = _best(x, y, fold)
    weights, base = _solve(x, y, penalty)
    predictions = np.full(len(wanted), np.nan)
    predictions[known] = honest
    return Ridge(base, dict(zip(columns, weights.tolist(), strict=True)), penalty, predictions, len(y))


def _best(x: FloatArray, y: FloatArray, fold: IntArray) -> float:
    errors = []
    for penalty in PENALTIES:
        total = 0.0
        for left in np.unique(fold):
            out = fold == left
            weights, base = _solve(x[~out], y[~out], penalty)
            total += float(np.sum((y[out] - x[out] @ weights - base) ** 2))
        errors.append(total)
    return PENALTIES[int(np.argmin(errors))]


def _solve(x: FloatArray, y: FloatArray, penalty: float) -> tuple[FloatArray, float]:
    center, spread = x.mean(axis=0), x.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = (x - center) / spread
    gram = scaled.T @ scaled + penalty * len(x) * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, scaled.T @ (y - y.mean())) / spread
    return weights, float(y.mean() - center @ weights)
