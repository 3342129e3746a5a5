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
    # scaled about the mean of all, so that no digits are lost in sums
    center, spread = x.mean(axis=0), x.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    rows = np.column_stack([np.ones(len(y)), (x - center) / spread, y - y.mean()])
    dealt = np.random.default_rng(seed).permutation(len(units)) % folds
    fold: IntArray = dealt[np.searchsorted(units, groups)]
    products = np.stack([rows[fold == left].T @ rows[fold == left] for left in range(folds)])
    honest = np.empty(len(y))
    for left in range(folds):
        others = np.delete(products, left, axis=0)
        weights = _solve(others.sum(axis=0), _best(others))
        honest[fold == left] = rows[fold == left, :-1] @ weights
    penalty = _best(products)
    base, *scaled = _solve(products.sum(axis=0), penalty)
    terms = np.array(scaled) / spread
    predictions = np.full(len(wanted), np.nan)
    predictions[known] = honest + y.mean()
    intercept = float(base + y.mean() - center @ terms)
    return Ridge(intercept, dict(zip(columns, terms.tolist(), strict=True)), penalty, predictions, len(y))


def _best(products: FloatArray) -> float:
    """The penalty with the least squared error on folds left out, from the products of each fold."""
    whole = products.sum(axis=0)
    errors = []
    for penalty in PENALTIES:
        total = 0.0
        for fold in products:
            # of y less the prediction, squared and summed
            signed = np.append(-_solve(whole - fold, penalty), 1.0)
            total += float(signed @ fold @ signed)
        errors.append(total)
    return PENALTIES[int(np.argmin(errors))]


def _solve(products: FloatArray, penalty: float) -> FloatArray:
    """Intercept and weights from the products of rows of 1, columns and target; columns are standardized here."""
    count = products[0, 0]
    about = products - np.outer(products[0], products[0]) / count
    spread = np.sqrt(np.maximum(np.diag(about)[1:-1] / count, 0.0))
    spread = np.where(spread > 0, spread, 1.0)
    gram = about[1:-1, 1:-1] / np.outer(spread, spread)
    weights = np.linalg.solve(gram + penalty * count * np.eye(len(gram)), about[1:-1, -1] / spread) / spread
    return np.concatenate([[(products[0, -1] - products[0, 1:-1] @ weights) / count], weights])
