"""Sums of metrics that are standardised over the scored set."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from celadon.core import (
    Components,
    Fitted,
    FloatArray,
    InputError,
    Metric,
    MetricInfo,
    MetricScores,
    SetRelativeMetric,
)
from celadon.scoring.batch import Batch

# A model's scores of one and the same text differ by about so much with the batch it is in: that is no spread.
_NO_SPREAD = 1e-6
# Dekker's constant for doubles: parts a number into halves whose products are exact.
_SPLIT = 2.0**27 + 1


def exact_sum(values: Iterable[float]) -> tuple[float, ...]:
    """The sum without any rounding: numbers of falling size that together are it.

    They depend on the sum alone, so that neither the order of the values nor how they were put together shows.
    """
    rest = list(values)
    terms: list[float] = []
    while (term := math.fsum(rest)) != 0.0:
        terms.append(term)
        rest.append(-term)
    return tuple(terms)


def _squares(values: FloatArray) -> FloatArray:
    """Each square as two numbers that together are it exactly."""
    high = values * values
    large = _SPLIT * values
    large = large - (large - values)
    small = values - large
    low = small * small - ((high - large * large) - 2 * large * small)
    return np.concatenate([high, low])


@dataclass(frozen=True)
class Moments:
    """The number of rows, and per column the exact sums of the values and of their squares."""

    rows: int
    sums: Mapping[str, tuple[float, ...]]
    squares: Mapping[str, tuple[float, ...]]

    @classmethod
    def of(cls, columns: Mapping[str, FloatArray]) -> Moments:
        """The moments over the rows that have a value in every column."""
        complete = np.logical_and.reduce([np.isfinite(column) for column in columns.values()])
        kept = {name: column[complete] for name, column in columns.items()}
        return cls(
            int(np.sum(complete)),
            {name: exact_sum(column.tolist()) for name, column in kept.items()},
            {name: exact_sum(_squares(column).tolist()) for name, column in kept.items()},
        )

    def merged(self, other: Moments) -> Moments:
        """The moments of both sets of rows together."""
        return Moments(
            self.rows + other.rows,
            {name: exact_sum([*terms, *other.sums[name]]) for name, terms in self.sums.items()},
            {name: exact_sum([*terms, *other.squares[name]]) for name, terms in self.squares.items()},
        )

    def mean_and_sd(self, name: str) -> tuple[float, float]:
        """Mean and standard deviation (of these rows, not an estimate for others); zeros where there are no rows."""
        if not self.rows:
            return 0.0, 0.0
        mean = sum(map(Fraction, self.sums[name]), Fraction()) / self.rows
        variance = sum(map(Fraction, self.squares[name]), Fraction()) / self.rows - mean**2
        return float(mean), math.sqrt(max(float(variance), 0.0))


class StandardizedSum(SetRelativeMetric[Moments]):
    """The sum of other metrics, each less its mean and divided by its standard deviation over the set.

    Only rows that have a value of every member count. Where all of them have the same value of a member, or there are
    fewer than two, that member adds 0: it tells no text from another.
    """

    @abstractmethod
    def members(self) -> Mapping[str, Metric]:
        """The metrics that are summed, each under the name of its part."""

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.info.parts

    def components(self, batch: Batch) -> Components:
        columns: dict[str, FloatArray] = {}
        reasons: dict[int, str] = {}
        for name, metric in self.members().items():
            scores = metric.score(batch)
            columns[name] = scores.values
            for row, why in scores.reasons.items():
                reasons.setdefault(row, why)
        return Components(columns, reasons)

    def statistics(self, batch: Batch, components: Components) -> Moments:
        return Moments.of(components.columns)

    def constants_of(self, statistics: Moments, origin: str) -> Fitted:
        constants: dict[str, float] = {}
        for name in self.component_names:
            mean, sd = statistics.mean_and_sd(name)
            if origin != "set" and (statistics.rows < 2 or _negligible(mean, sd)):
                raise InputError(_unfit(name, statistics.rows))
            constants |= {f"{name}.mean": mean, f"{name}.sd": sd}
        return Fitted(constants, statistics.rows, origin)

    def fitted_info(self, fitted: Fitted) -> MetricInfo:
        shown = ", ".join(f"{name} {value:.6g}" for name, value in fitted.constants.items())
        return replace(self.info, reading=f"{self.info.reading}; here {shown}, from {fitted.rows:,} texts")

    def combine(self, batch: Batch, components: Components, fitted: Fitted) -> MetricScores:
        values = np.zeros(len(batch))
        for name, column in components.columns.items():
            mean, sd = fitted.constants[f"{name}.mean"], fitted.constants[f"{name}.sd"]
            with np.errstate(invalid="ignore"):
                values += (column - mean) / (math.inf if _negligible(mean, sd) else sd)
        reasons = dict(components.reasons)
        for row in np.flatnonzero(~np.isfinite(values)).tolist():
            reasons.setdefault(row, "a part has no value")
        values[list(reasons)] = np.nan
        return MetricScores(self.spec, values, dict(components.columns), dict(sorted(reasons.items())))


def _negligible(mean: float, sd: float) -> bool:
    return sd <= _NO_SPREAD * max(abs(mean), 1.0)


def _unfit(name: str, rows: int) -> str:
    if rows < 2:
        return f"{rows} rows have all parts; mean and spread need at least two"
    return f"{name} is the same in all {rows:,} rows, so that nothing can be standardised by it"
