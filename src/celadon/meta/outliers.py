"""Rows that a regression does not fit, or that bend it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError
from celadon.meta.regression import Regression

STUDENTISED = 3.0


class Influence(NamedTuple):
    """For every row of a fit: the externally studentised residual, Cook's distance, the leverage."""

    studentised: FloatArray
    cook: FloatArray
    leverage: FloatArray


class Outlier(NamedTuple):
    """A row beyond a threshold, by its id, and which thresholds it is beyond."""

    row: int
    id: Any
    residual: float
    studentised: float
    cook: float
    leverage: float
    reasons: tuple[str, ...]


def influence(model: Regression) -> Influence:
    """How far each row is from where the others put it, and how much it moves the fit.

    Parameters
    ----------
    model
        A fit. A row that alone decides a coefficient (leverage 1) has no studentised residual and infinite distance;
        where the fit is perfect nothing stands out.
    """
    room = 1.0 - model.leverage
    alone = room <= 1e-10
    room = np.where(alone, 1.0, room)
    squares, variance = model.residuals**2, model.residual_sd**2
    if variance == 0:
        return Influence(np.zeros(model.rows), np.zeros(model.rows), model.leverage)
    free = model.df_residual
    # the variance that the fit would have without the row
    without = (free * variance - squares / room) / (free - 1) if free > 1 else np.full(model.rows, np.nan)
    spread = np.sqrt(np.maximum(without, 0.0) * room)
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.where(alone, np.nan, model.residuals / spread)
    cook = squares / variance * model.leverage / room**2 / (model.df_model + 1)
    return Influence(studentised, np.where(alone, np.inf, cook), model.leverage)


def outliers(
    model: Regression,
    *,
    ids: Sequence[Any] | None = None,
    studentised: float = STUDENTISED,
    cook: float | None = None,
) -> tuple[Outlier, ...]:
    """Name the rows beyond a threshold, the worst first.

    Parameters
    ----------
    model
        A fit.
    ids
        The name of every row that was given to the fit, those left out included; by default their numbers from 0.
    studentised
        The largest studentised residual, of either sign, that is no outlier.
    cook
        The largest Cook's distance that is none; by default 4 / rows.
    """
    count = model.rows + model.left_out
    if ids is not None and len(ids) != count:
        raise InputError(f"{len(ids)} ids were given for {count} rows")
    limit = 4.0 / model.rows if cook is None else cook
    found = influence(model)
    named: list[Outlier] = []
    for at, row in enumerate(model.used.tolist()):
        t, d = float(found.studentised[at]), float(found.cook[at])
        reasons = []
        if abs(t) > studentised:
            reasons.append(f"studentised residual {t:.2f}, beyond {studentised:g}")
        if d > limit:
            reasons.append(f"Cook's distance {d:.3g}, beyond {limit:.3g}")
        if reasons:
            name = row if ids is None else ids[row]
            residual, leverage = float(model.residuals[at]), float(found.leverage[at])
            named.append(Outlier(row, name, residual, t, d, leverage, tuple(reasons)))
    return tuple(sorted(named, key=lambda one: (-np.nan_to_num(abs(one.studentised), nan=np.inf), one.row)))
