"""Nested linear models compared: what does one more variable explain? (Bangalore et al. 2000, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta.regression import Regression, design, fit


class Comparison(NamedTuple):
    """A model against one nested in it: what was added, the gain in R2 and the F test that it is none."""

    added: tuple[str, ...]
    delta_r2: float
    f: float
    df1: int
    df2: int
    p: float


class Step(NamedTuple):
    """A model of a series, and its comparison with the one before; for the first, with the mean alone."""

    model: Regression
    comparison: Comparison


def compare_nested(smaller: Regression, larger: Regression) -> Comparison:
    """Test whether the variables that the larger model has more explain anything.

    Parameters
    ----------
    smaller, larger
        Fits of the same ratings on the same rows.
    """
    added = tuple(name for name in larger.terms if name not in smaller.terms)
    if not added or not set(smaller.terms) <= set(larger.terms):
        raise UsageError("the models are not nested: the larger must have all variables of the smaller, and more")
    if not np.array_equal(smaller.used, larger.used) or smaller.target != larger.target:
        raise InputError("nested models can be compared only on the same ratings and the same rows")
    return _gain(added, larger.r2 - smaller.r2, larger)


def hierarchical(
    columns: Mapping[str, npt.ArrayLike],
    target: npt.ArrayLike,
    blocks: Sequence[Sequence[str]],
    *,
    target_name: str = "rating",
    level: float = 0.95,
) -> tuple[Step, ...]:
    """Enter blocks of variables one after another, and tell what each adds.

    Parameters
    ----------
    columns
        The variables by name.
    target
        The ratings.
    blocks
        The variables to add at each step. All models are fitted on the rows complete for all of them.
    target_name
        What the ratings are called.
    level
        Of the confidence intervals.
    """
    names = [name for block in blocks for name in block]
    complete = _complete(columns, target, names)
    steps: list[Step] = []
    for at in range(len(blocks)):
        chosen = [name for block in blocks[: at + 1] for name in block]
        steps.append(_step(columns, complete, chosen, steps[-1].model if steps else None, target_name, level))
    return tuple(steps)


def forward(
    columns: Mapping[str, npt.ArrayLike],
    target: npt.ArrayLike,
    *,
    enter: float = 0.05,
    first: Sequence[str] = (),
    target_name: str = "rating",
    level: float = 0.95,
) -> tuple[Step, ...]:
    """Add, as long as one is worth it, the variable that explains most of what is left.

    The p of a variable that was picked as the best of many is too small; treat the order as a finding, not as a test.

    Parameters
    ----------
    columns
        The candidates by name; those that are constant or depend on the ones already chosen are passed over.
    target
        The ratings.
    enter
        A variable enters with a p below this.
    first
        Variables that the model begins with.
    target_name
        What the ratings are called.
    level
        Of the confidence intervals.
    """
    complete = _complete(columns, target, list(columns))
    chosen = list(first)
    steps = [_step(columns, complete, chosen, None, target_name, level)] if chosen else []
    while True:
        before = steps[-1].model if steps else None
        tried = [
            step
            for name in columns
            if name not in chosen
            and (step := _possible(columns, complete, [*chosen, name], before, target_name, level)) is not None
        ]
        best = min(tried, key=lambda step: (step.comparison.p, -step.comparison.delta_r2), default=None)
        if best is None or not best.comparison.p < enter:
            return tuple(steps)
        steps.append(best)
        chosen.extend(best.comparison.added)


def _complete(columns: Mapping[str, npt.ArrayLike], target: npt.ArrayLike, names: Sequence[str]) -> FloatArray:
    """The ratings with NaN wherever some variable is missing, so that every model sees the same rows."""
    matrix, wanted = design(columns, target, names)
    return np.where(np.isfinite(matrix).all(axis=1), wanted, np.nan)


def _step(
    columns: Mapping[str, npt.ArrayLike],
    target: FloatArray,
    names: Sequence[str],
    before: Regression | None,
    target_name: str,
    level: float,
) -> Step:
    model = fit(columns, target, variables=names, target_name=target_name, level=level)
    if before is None:
        return Step(model, _gain(tuple(names), model.r2, model))
    return Step(model, compare_nested(before, model))


def _possible(
    columns: Mapping[str, npt.ArrayLike],
    target: FloatArray,
    names: Sequence[str],
    before: Regression | None,
    target_name: str,
    level: float,
) -> Step | None:
    try:
        return _step(columns, target, names, before, target_name, level)
    except UsageError:  # constant, or a combination of what is there: it cannot explain more
        return None
    except InputError:
        if before is None:
            raise
        return None  # as many variables as rows


def _gain(added: tuple[str, ...], delta: float, model: Regression) -> Comparison:
    left = (1 - model.r2) / model.df_residual
    f = max(delta, 0.0) / len(added) / left if left > 0 else float("inf")
    return Comparison(
        added, delta, f, len(added), model.df_residual, float(stats.f.sf(f, len(added), model.df_residual))
    )
