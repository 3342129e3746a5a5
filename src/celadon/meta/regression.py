"""Ordinary least squares: how ratings follow from metrics and counts of errors (Bangalore et al. 2000, Table 3)."""

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
    """Fit ratings by a linear combination of variables and an intercept.

    Parameters
    ----------
    columns
        The variables by name: metrics, counts of errors, lengths.
    target
        The ratings. Rows with a NaN in the target or in a variable are left out and counted.
    variables
        Which columns to use, in this order; all by default.
    target_name
        What the ratings are called.
    level
        Of the confidence intervals.

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
    """The named columns as a matrix, and the target, all of one length."""
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
