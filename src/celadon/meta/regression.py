"""Ordinary least squares: how ratings follow from metrics and counts of errors (Bangalore et al. 2000, Table 3).

Nested models compared, and the rows that a model does not fit, or that bend it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, IntArray, UsageError

INTERCEPT = "intercept"

# a standardised column with less than this left after the columns before it is their linear combination
_DEPENDENT = 1e-7


class Coefficient(NamedTuple):
    """One term: its value, standard error, t, two-sided p and confidence interval."""

    name: str
    value: float
    error: float
    t: float
    p: float
    low: float
    high: float


class Regression(NamedTuple):
    """A fitted linear model.

    ``coefficients`` begin with the intercept. ``used`` are the numbers of the rows that took part; ``left_out``
    counts those with a gap. ``residuals`` and ``leverage`` go with ``used``.
    """

    target: str
    coefficients: tuple[Coefficient, ...]
    r2: float
    adjusted_r2: float
    f: float
    df_model: int
    df_residual: int
    p: float
    residual_sd: float
    rows: int
    left_out: int
    used: IntArray
    residuals: FloatArray
    leverage: FloatArray

    @property
    def intercept(self) -> float:
        """The value where every variable is 0."""
        return self.coefficients[0].value

    @property
    def terms(self) -> dict[str, float]:
        """The coefficient of each variable."""
        return {term.name: term.value for term in self.coefficients[1:]}

    def formula(self, decimals: int = 4) -> str:
        """The model as it is written in a paper: ``1.4728*accuracy - 0.1015*substitutions - 0.2127``."""
        signed = [(value, f"{abs(value):.{decimals}f}*{name}") for name, value in self.terms.items()]
        signed.append((self.intercept, f"{abs(self.intercept):.{decimals}f}"))
        first = ("-" if signed[0][0] < 0 else "") + signed[0][1]
        return first + "".join(f" {'-' if value < 0 else '+'} {text}" for value, text in signed[1:])

    def as_metric(self, name: str, fitted_on: str = "") -> dict[str, Any]:
        """The model as plain values for JSON, in the form that the metric ``formula[file=...]`` reads."""
        facts = {"data": fitted_on, "target": self.target, "rows": self.rows, "r2": self.r2, "p": self.p}
        return {"name": name, INTERCEPT: self.intercept, "terms": self.terms, "fitted_on": facts}

    def predict(self, columns: Mapping[str, npt.ArrayLike]) -> FloatArray:
        """What the model says of other rows; NaN where a variable is."""
        total = np.asarray(self.intercept)
        for name, value in self.terms.items():
            total = total + value * np.asarray(columns[name], dtype=np.float64)
        return np.atleast_1d(np.asarray(total, dtype=np.float64))


def fit(
    columns: Mapping[str, npt.ArrayLike],
    target: npt.ArrayLike,
    *,
    variables: Sequence[str] | None = None,
    target_name: str = "rating",
    level: float = 0.95,
) -> Regression:
    """Fit ratings by a linear combination of variables and an intercept; rows with a NaN are left out and counted.

    Raises
    ------
    UsageError
        A variable is unknown, is constant, or is a linear combination of others.
    InputError
        Columns differ in length, too few rows are complete, or the ratings are constant.
    """
    names = list(columns if variables is None else variables)
    matrix, wanted = design(columns, target, names)
    used = np.flatnonzero(np.isfinite(matrix).all(axis=1) & np.isfinite(wanted))
    rows, free = len(used), len(used) - len(names) - 1
    if free < 1:
        raise InputError(
            f"a regression on {len(names)} variable(s) needs at least {len(names) + 2} complete rows; there are {rows}"
        )
    x, y = matrix[used], wanted[used]
    _check(x, y, names, target_name)
    return _solve(x, y, names, target_name, level)._replace(left_out=len(wanted) - rows, used=used)


def design(
    columns: Mapping[str, npt.ArrayLike], target: npt.ArrayLike, names: Sequence[str]
) -> tuple[FloatArray, FloatArray]:
    """Return the named columns as a matrix, and the target, all of one length."""
    wanted = np.asarray(target, dtype=np.float64)
    if not names:
        raise UsageError("a regression needs at least one variable")
    if len(set(names)) < len(names):
        raise UsageError(f"a variable is named twice: {next(name for name in names if list(names).count(name) > 1)}")
    for name in names:
        if name not in columns:
            raise UsageError(f"unknown variable {name!r}; known: {', '.join(columns)}")
        if np.shape(columns[name]) != wanted.shape or wanted.ndim != 1:
            raise InputError(f"the variable {name!r} and the ratings must be lists of the same length")
    return np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in names]), wanted


def _check(x: FloatArray, y: FloatArray, names: Sequence[str], target_name: str) -> None:
    if np.ptp(y) == 0:
        raise InputError(f"every complete row has the same {target_name}; there is nothing to explain")
    for name, column in zip(names, x.T, strict=True):
        if np.ptp(column) <= 1e-12 * np.abs(column).max():
            raise UsageError(f"the variable {name!r} is constant over the complete rows; leave it out")
    off = x - x.mean(axis=0)
    left = np.abs(np.diag(np.linalg.qr(off / np.linalg.norm(off, axis=0), mode="r")))
    dependent = np.flatnonzero(left < _DEPENDENT)
    if len(dependent):
        at = int(dependent[0])
        before = ", ".join(map(repr, names[:at]))
        raise UsageError(f"the variable {names[at]!r} is a linear combination of {before}; leave one of them out")


def _solve(x: FloatArray, y: FloatArray, names: Sequence[str], target_name: str, level: float) -> Regression:
    rows, variables = x.shape
    free = rows - variables - 1
    # columns of one size make the solution as exact as the data allow
    centre, scale = x.mean(axis=0), np.linalg.norm(x - x.mean(axis=0), axis=0)
    q, r = np.linalg.qr((x - centre) / scale)
    inverse = np.linalg.inv(r)
    slopes = inverse @ (q.T @ (y - y.mean())) / scale
    values = np.concatenate([[y.mean() - centre @ slopes], slopes])
    residuals = y - values[0] - x @ slopes
    unexplained, total = float(residuals @ residuals), float(np.sum((y - y.mean()) ** 2))
    if unexplained <= 1e-24 * total:
        unexplained = 0.0
    variance = unexplained / free
    slope_spread = inverse @ inverse.T / np.outer(scale, scale)
    spread = np.concatenate([[1 / rows + centre @ slope_spread @ centre], np.diag(slope_spread)])
    errors = np.sqrt(variance * spread)
    t = np.divide(values, errors, out=np.copysign(np.inf, values), where=errors > 0)
    p = 2 * stats.t.sf(np.abs(t), free)
    reach = stats.t.isf((1 - level) / 2, free) * errors
    explained = (total - unexplained) / variables
    f = explained / variance if variance > 0 else float("inf")
    return Regression(
        target=target_name,
        coefficients=tuple(
            Coefficient(name, *map(float, numbers))
            for name, *numbers in zip(
                [INTERCEPT, *names], values, errors, t, p, values - reach, values + reach, strict=True
            )
        ),
        r2=1 - unexplained / total,
        adjusted_r2=1 - variance / (total / (rows - 1)),
        f=f,
        df_model=variables,
        df_residual=free,
        p=float(stats.f.sf(f, variables, free)),
        residual_sd=float(np.sqrt(variance)),
        rows=rows,
        left_out=0,
        used=np.arange(rows),
        residuals=residuals,
        leverage=1 / rows + np.sum(q**2, axis=1),
    )


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
    """Test whether the variables that the larger model has more explain anything."""
    added = tuple(name for name in larger.terms if name not in smaller.terms)
    if not added or not set(smaller.terms) <= set(larger.terms):
        raise UsageError("the models are not nested: the larger must have all variables of the smaller, and more")
    if not np.array_equal(smaller.used, larger.used) or smaller.target != larger.target:
        raise InputError("nested models can be compared only on the same ratings and the same rows")
    return _gain(added, larger.r2 - smaller.r2, larger)


def forward(
    columns: Mapping[str, npt.ArrayLike],
    target: npt.ArrayLike,
    *,
    enter: float = 0.05,
    first: Sequence[str] = (),
    target_name: str = "rating",
    level: float = 0.95,
) -> tuple[Step, ...]:
    """Add, as long as its p is below ``enter``, the variable that explains most of what is left.

    Candidates that are constant or depend on the ones already chosen are passed over. The p of a variable that was
    picked as the best of many is too small; treat the order as a finding, not as a test.
    """
    matrix, wanted = design(columns, target, list(columns))
    # every model sees the same rows
    complete = np.where(np.isfinite(matrix).all(axis=1), wanted, np.nan)
    chosen = list(first)
    steps: list[Step] = []

    def step(names: list[str]) -> Step:
        model = fit(columns, complete, variables=names, target_name=target_name, level=level)
        gain = compare_nested(steps[-1].model, model) if steps else _gain(tuple(names), model.r2, model)
        return Step(model, gain)

    def possible(names: list[str]) -> Step | None:
        try:
            return step(names)
        except UsageError:  # constant, or a combination of what is there: it cannot explain more
            return None
        except InputError:
            if not steps:
                raise
            return None  # as many variables as rows

    if chosen:
        steps.append(step(chosen))
    while True:
        tried = [possible([*chosen, name]) for name in columns if name not in chosen]
        best = min(filter(None, tried), key=lambda one: (one.comparison.p, -one.comparison.delta_r2), default=None)
        if best is None or not best.comparison.p < enter:
            return tuple(steps)
        steps.append(best)
        chosen.extend(best.comparison.added)


def _gain(added: tuple[str, ...], delta: float, model: Regression) -> Comparison:
    left = (1 - model.r2) / model.df_residual
    f = max(delta, 0.0) / len(added) / left if left > 0 else float("inf")
    return Comparison(
        added, delta, f, len(added), model.df_residual, float(stats.f.sf(f, len(added), model.df_residual))
    )


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
    """Return how far each row is from where the others put it, and how much it moves the fit.

    A row that alone decides a coefficient (leverage 1) has no studentized residual and infinite distance; where the fit
    is perfect nothing stands out.
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
    """Name the rows with a larger studentized residual, of either sign, or Cook's distance (default: 4 / rows), worst
    first.

    ``ids`` name every row that was given to the fit, those left out included.
    """
    count = model.rows + model.left_out
    if ids is not None and len(ids) != count:
        raise InputError(f"{len(ids)} ids were given for {count} rows")
    limit = 4.0 / model.rows if cook is None else cook
    influences = influence(model)
    named: list[Outlier] = []
    for at, row in enumerate(model.used.tolist()):
        t, d = float(influences.studentised[at]), float(influences.cook[at])
        reasons = []
        if abs(t) > studentised:
            reasons.append(f"studentised residual {t:.2f}, beyond {studentised:g}")
        if d > limit:
            reasons.append(f"Cook's distance {d:.3g}, beyond {limit:.3g}")
        if reasons:
            name = row if ids is None else ids[row]
            residual, leverage = float(model.residuals[at]), float(influences.leverage[at])
            named.append(Outlier(row, name, residual, t, d, leverage, tuple(reasons)))
    return tuple(sorted(named, key=lambda one: (-np.nan_to_num(abs(one.studentised), nan=np.inf), one.row)))
