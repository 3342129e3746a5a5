"""Metrics that are computed from others by what a file says: a formula, or a regression.

``celadon meta regress`` writes a formula, and so may a person: a name, an intercept, and a coefficient for each term.
``celadon train combine`` writes a combination, a support vector regression (Kann et al. 2018, section 5); prediction
needs numpy alone. A term or feature is a metric in its usual notation, or a part of one after a dot:
``simple_string_accuracy``, ``simple_string_accuracy.substitutions``, ``rougeW[weight=1.5].precision``.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

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
    UsageError,
    is_set_relative,
)
from celadon.io.weight_files import Combination, Feature, FormulaFile, read_combination, read_formula
from celadon.metrics.registry import NamedPart, load, metric_class, named_part, names
from celadon.scoring.batch import Batch

# texts x support vectors held at a time
_MOST_CELLS = 1 << 21


class Computed(NamedTuple):
    """A feature that is computed: a metric, and which of its parts, if not its value."""

    metric: Metric
    part: str | None


def computed_feature(name: str) -> Computed | None:
    """Return the metric that a feature's name stands for; None where only a column of the input can be meant.

    Raises ``UsageError`` for a metric that cannot be part of a combination, and for wrong options or parts.
    """
    named = named_part(name)
    base = named.spec.partition("[")[0] if named else ""
    if named is None or base not in names():
        return None
    if issubclass(metric_class(base), FromFile):
        raise UsageError(f"{name}: a combination cannot be made of combinations and formulas; name their metrics")
    return _computed(name, named)


def _computed(name: str, named: NamedPart) -> Computed:
    metric = load(named.spec)
    if is_set_relative(metric):
        raise UsageError(
            f"{name}: is relative to the set of texts that is scored, so that it says nothing of a single text; "
            "name the metrics that it is made of"
        )
    if named.part is not None and named.part not in metric.info.parts:
        known = ", ".join(metric.info.parts) or "none"
        raise UsageError(f"{name}: {metric.spec} has no part {named.part!r}; its parts are {known}")
    return Computed(metric, named.part)


@dataclass(frozen=True)
class FromFile(Metric):
    """A metric that is computed from the features that its file names.

    The file is read when the metric is made. Without a file the metric can be listed and described, not used.
    """

    file: str = ""
    general: ClassVar[MetricInfo]

    def __post_init__(self) -> None:
        _ = self.info

    @cached_property
    def info(self) -> MetricInfo:
        """What the file says of the metric."""
        if not self.file:
            return self.general
        needs = frozenset(need for metric in self.members().values() for need in metric.info.needs)
        return dataclasses.replace(self._described(), needs=needs, incomplete="")

    @abstractmethod
    def _described(self) -> MetricInfo: ...

    @property
    @abstractmethod
    def content(self) -> FormulaFile | Combination:
        """What the file holds."""

    @property
    @abstractmethod
    def features(self) -> Mapping[str, Computed | None]:
        """The features by name; None stands for a column of the input."""

    def _check_file(self) -> str:
        if not self.file:
            name = self.general.name
            raise UsageError(f"a {name.replace('combined', 'combination')} needs its file: {name}[file=PATH]")
        return self.file

    def members(self) -> dict[str, Metric]:
        if not self.file:
            return {}
        return {feature.metric.spec: feature.metric for feature in self.features.values() if feature is not None}

    def models(self) -> tuple[str, ...]:
        if not self.file:
            return ()
        inner = (model for metric in self.members().values() for model in metric.models())
        return tuple(dict.fromkeys([f"{self.content.name}@{self.content.sha256[:8]}", *inner]))

    def columns(self, batch: Batch) -> tuple[dict[str, FloatArray], dict[int, str]]:
        """Return the values of each feature, and why rows lack one."""
        scored = {spec: metric.score(batch) for spec, metric in self.members().items()}
        columns: dict[str, FloatArray] = {}
        reasons: dict[int, str] = {}
        for name, feature in self.features.items():
            why: Mapping[int, str]
            if feature is None:
                columns[name], why = _input_column(batch.samples, name)
            else:
                scores = scored[feature.metric.spec]
                columns[name] = scores.values if feature.part is None else scores.parts[feature.part]
                why = scores.reasons
            for row in np.flatnonzero(~np.isfinite(columns[name])).tolist():
                reasons.setdefault(row, f"{name}: {why.get(row, 'has no value')}")
        return columns, reasons


@dataclass(frozen=True)
class Formula(FromFile):
    """Intercept plus coefficient times metric, summed.

    Parameters
    ----------
    file
        The JSON file with the formula.
    """

    general = MetricInfo(
        name="formula",
        meaning="a fitted formula, a weighted sum of other metrics and their parts; asked for as formula[file=PATH]",
        reading="on the scale of the ratings that it was fitted on; each part is what its term adds to the value",
        direction=Direction.HIGHER,
        low=-math.inf,
        high=math.inf,
        incomplete="is fitted to ratings, and needs a file",
    )

    def _described(self) -> MetricInfo:
        written = f"{self.content.intercept:.4g}"
        for name, value in self.content.terms.items():
            written += f" {'-' if value < 0 else '+'} {abs(value):.4g}*{name}"
        return dataclasses.replace(
            self.general,
            meaning=f"{self.content.name}: {written}",
            parts=tuple(self.features),
        )

    @cached_property
    def content(self) -> FormulaFile:
        return read_formula(self._check_file())

    @cached_property
    def features(self) -> Mapping[str, Computed | None]:
        return {name: self._feature(name) for name in self.content.terms}

    def _feature(self, name: str) -> Computed:
        named = named_part(name)
        if named is None:
            raise InputError(f"{self.file}: the term {name!r} is no metric and no part of one (metric.part)")
        if issubclass(metric_class(named.spec.partition("[")[0]), Formula):
            raise InputError(f"{self.file}: the term {name}: a formula cannot be made of formulas")
        try:
            return _computed(name, named)
        except UsageError as error:
            raise InputError(f"{self.file}: the term {error}") from None

    def score(self, batch: Batch) -> MetricScores:
        columns, reasons = self.columns(batch)
        parts = {name: self.content.terms[name] * column for name, column in columns.items()}
        values = np.full(len(batch), self.content.intercept)
        for column in parts.values():
            values = values + column
        for column in (values, *parts.values()):
            column[list(reasons)] = np.nan
        return MetricScores(self.spec, values, parts, reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        scores = self.score(Batch([sample]))
        if np.isnan(scores.values[0]):
            return None
        added = ", ".join(f"{name} {column[0]:+.4f}" for name, column in scores.parts.items())
        return Evidence(self.spec, f"{added}, intercept {self.content.intercept:+.4f}")


@dataclass(frozen=True)
class Combined(FromFile):
    """Support vector regression from features to a human rating.

    Parameters
    ----------
    file
        The JSON file with the combination.
    """

    general = MetricInfo(
        name="combined",
        meaning="metrics combined by a regression on human ratings; asked for as combined[file=PATH]",
        reading="on the scale of the ratings that it was fitted on; far from the texts of its fitting the value falls "
        "back to a middle one and means little",
        direction=Direction.HIGHER,
        low=-math.inf,
        high=math.inf,
        incomplete="is fitted to ratings, and needs a file",
    )

    def _described(self) -> MetricInfo:
        return dataclasses.replace(
            self.general,
            meaning=f"{self.content.name}: a regression on {', '.join(self.features)}",
            direction=Direction.LOWER if self.content.lower_is_better else Direction.HIGHER,
        )

    @cached_property
    def content(self) -> Combination:
        return read_combination(self._check_file())

    @cached_property
    def features(self) -> Mapping[str, Computed | None]:
        return {feature.name: self._feature(feature) for feature in self.content.features}

    def _feature(self, feature: Feature) -> Computed | None:
        if not feature.is_metric:
            return None
        try:
            computed = computed_feature(feature.name)
        except UsageError as error:
            raise UsageError(f"{self.file}: {error}") from None
        if computed is None:
            raise InputError(f"{self.file}: the feature {feature.name!r} is no metric of celadon and no part of one")
        return computed

    def score(self, batch: Batch) -> MetricScores:
        rows, reasons = self._rows(batch)
        values = predict(self.content, rows)
        values[list(reasons)] = np.nan
        return MetricScores(self.spec, values, {}, reasons)

    def _rows(self, batch: Batch) -> tuple[FloatArray, dict[int, str]]:
        """Return texts x features, and why rows lack one."""
        columns, reasons = self.columns(batch)
        return np.stack(list(columns.values()), axis=1), reasons

    def evidence(self, sample: Sample) -> Evidence | None:
        rows, reasons = self._rows(Batch([sample]))
        if reasons:
            return None
        features = self.content.features
        # each feature in turn at what is usual
        usual = np.repeat(rows, len(features), axis=0)
        np.fill_diagonal(usual, [feature.mean for feature in features])
        value = float(predict(self.content, rows)[0])
        pulls = value - predict(self.content, usual)
        clauses = [_clause(f, x, pull) for f, x, pull in zip(features, rows[0].tolist(), pulls.tolist(), strict=True)]
        return Evidence(self.spec, f"{value:.4f}; {'; '.join(clauses)}")

    def details(self) -> Mapping[str, str]:
        """Name the features whose signature has changed since the combination was fitted."""
        changed = [
            feature.name
            for feature in (self.content.features if self.file else ())
            if feature.signature and (computed := self.features[feature.name]) is not None
            if _unversioned(feature.signature) != _unversioned(computed.metric.signature)
        ]
        return {"changed": "+".join(changed)} if changed else {}


def predict(combination: Combination, rows: FloatArray) -> FloatArray:
    """Return the regression's value for each row of unscaled features; NaN in a row gives NaN."""
    scaled = np.asarray(rows, dtype=np.float64)
    if combination.scale == "standard":
        means = np.array([feature.mean for feature in combination.features])
        scaled = (scaled - means) / np.array([feature.sd for feature in combination.features])
    vectors = combination.support_vectors
    values = np.empty(len(scaled))
    step = max(1, _MOST_CELLS // len(vectors))
    for start in range(0, len(scaled), step):
        some = scaled[start : start + step]
        # added up feature by feature and row by row: no neighbor in the batch changes a rounding
        distances = np.zeros((len(some), len(vectors)))
        for column, places in zip(some.T, vectors.T, strict=True):
            distances += (column[:, None] - places) ** 2
        kernel = np.exp(-combination.gamma * distances)
        values[start : start + step] = (kernel * combination.coefficients).sum(axis=1)
    return values + combination.intercept


def _unversioned(signature: str) -> str:
    """Return a signature without the version of celadon, which changes with every release."""
    return signature.rpartition("|celadon:")[0]


def _input_column(samples: Sequence[Sample], name: str) -> tuple[FloatArray, dict[int, str]]:
    """Return a column of the input as numbers, and why a row has none."""
    values = np.full(len(samples), np.nan)
    reasons: dict[int, str] = {}
    for row, sample in enumerate(samples):
        value = _lookup(sample.extra, name)
        try:
            values[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            nothing = value is None or value == ""
            reasons[row] = "the row has no such column" if nothing else f"{str(value)[:40]!r} is no number"
    return values, reasons


def _lookup(row: Mapping[str, Any], name: str) -> Any:
    """Return a value by its name, or by its path through objects: ``scores.overall``."""
    if name in row:
        return row[name]
    head, dot, rest = name.partition(".")
    inner = row.get(head) if dot else None
    return _lookup(inner, rest) if isinstance(inner, Mapping) else None


def _clause(feature: Feature, value: float, pull: float) -> str:
    way = "changed nothing" if abs(pull) < 5e-5 else f"pulled it {'up' if pull > 0 else 'down'} by {abs(pull):.4f}"
    outside = not feature.low <= value <= feature.high
    beyond = f", outside of the {feature.low:.4g} to {feature.high:.4g} that it was fitted on" if outside else ""
    return f"{feature.name} {value:.4g} (usually {feature.mean:.4g}{beyond}) {way}"
