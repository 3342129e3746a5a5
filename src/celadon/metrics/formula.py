"""A fitted formula as a metric: a weighted sum of other metrics and of their parts.

The formula is a file that ``celadon meta regress`` writes, or a person: a name, an intercept, and a coefficient for
each term. A term is a metric in its usual notation, or a part of one after a dot: ``simple_string_accuracy``,
``simple_string_accuracy.substitutions``, ``rougeW[weight=1.5].precision``.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from celadon.core import (
    Direction,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    MetricInfo,
    MetricScores,
    Sample,
    SetRelativeMetric,
    UsageError,
)
from celadon.io.weight_files import FormulaFile, read_formula
from celadon.metrics.registry import load, named_part
from celadon.scoring.batch import Batch

NAME = "formula"


class Term(NamedTuple):
    """A coefficient and the column it belongs to: a metric's values, or one of its parts."""

    name: str
    coefficient: float
    metric: str
    part: str | None


@dataclass(frozen=True)
class Formula(Metric):
    """Intercept plus coefficient times metric, summed.

    Parameters
    ----------
    file
        The JSON file with the formula.
    """

    info: ClassVar[MetricInfo] = MetricInfo(
        name=NAME,
        meaning="a fitted formula, a weighted sum of other metrics and their parts; asked for as formula[file=PATH]",
        reading="on the scale of the ratings that it was fitted on; each part is what its term adds to the value",
        direction=Direction.HIGHER,
        low=-math.inf,
        high=math.inf,
    )

    file: str = ""
    _formula: FormulaFile | None = field(default=None, init=False, repr=False, compare=False)
    _terms: tuple[Term, ...] = field(default=(), init=False, repr=False, compare=False)
    _metrics: tuple[Metric, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.file:  # only to be listed and described
            return
        formula = read_formula(self.file)
        terms = tuple(_term(self.file, name, value) for name, value in formula.terms.items())
        metrics = {term.metric: load(term.metric) for term in terms}
        for term in terms:
            known = metrics[term.metric].info.parts
            if isinstance(metrics[term.metric], SetRelativeMetric):
                raise InputError(
                    f"{self.file}: the term {term.name!r}: is relative to the set of texts that is scored; "
                    "name the metrics that it is made of"
                )
            if term.part is not None and term.part not in known:
                raise InputError(
                    f"{self.file}: the term {term.name!r}: {term.metric} has no part {term.part!r}; "
                    f"its parts are {', '.join(known) or 'none'}"
                )
        terms = tuple(term._replace(metric=metrics[term.metric].spec) for term in terms)
        needs = frozenset(need for metric in metrics.values() for need in metric.info.needs)
        info = dataclasses.replace(
            self.info,
            meaning=f"{formula.name}: {_written(formula)}",
            needs=needs,
            parts=tuple(term.name for term in terms),
        )
        # what the formula needs is known only once its file is: the object's own info stands before the class's
        for attribute, value in {
            "_formula": formula,
            "_terms": terms,
            "_metrics": tuple({metric.spec: metric for metric in metrics.values()}.values()),
            "info": info,
        }.items():
            object.__setattr__(self, attribute, value)

    def score(self, batch: Batch) -> MetricScores:
        formula = self._loaded()
        scored = {metric.spec: metric.score(batch) for metric in self._metrics}
        reasons: dict[int, str] = {}
        parts: dict[str, FloatArray] = {}
        values = np.full(len(batch), formula.intercept)
        for term in self._terms:
            of_metric = scored[term.metric]
            column = of_metric.values if term.part is None else of_metric.parts[term.part]
            parts[term.name] = term.coefficient * column
            values = values + parts[term.name]
            for row in np.flatnonzero(~np.isfinite(column)).tolist():
                reasons.setdefault(row, f"{term.name}: {of_metric.reasons.get(row, 'has no value')}")
        values[list(reasons)] = np.nan
        for column in parts.values():
            column[list(reasons)] = np.nan
        return MetricScores(self.spec, values, parts, reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        scores = self.score(Batch([sample]))
        if np.isnan(scores.values[0]):
            return None
        added = ", ".join(f"{name} {column[0]:+.4f}" for name, column in scores.parts.items())
        return Evidence(self.spec, f"{added}, intercept {self._loaded().intercept:+.4f}")

    def models(self) -> tuple[str, ...]:
        if self._formula is None:
            return ()
        inner = (model for metric in self._metrics for model in metric.models())
        return tuple(dict.fromkeys([f"{self._formula.name}@{self._formula.sha256[:8]}", *inner]))

    def _loaded(self) -> FormulaFile:
        if self._formula is None:
            raise UsageError("a formula needs its file: formula[file=PATH]")
        return self._formula


def _term(path: str, name: str, coefficient: float) -> Term:
    found = named_part(name)
    if found is None:
        raise InputError(f"{path}: the term {name!r} is no metric and no part of one (metric.part)")
    if found.spec.partition("[")[0] == NAME:
        raise InputError(f"{path}: the term {name!r}: a formula cannot be made of formulas")
    return Term(name, coefficient, found.spec, found.part)


def _written(formula: FormulaFile) -> str:
    written = f"{formula.intercept:.4g}"
    for name, value in formula.terms.items():
        written += f" {'-' if value < 0 else '+'} {abs(value):.4g}*{name}"
    return written
