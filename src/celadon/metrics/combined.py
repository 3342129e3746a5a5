"""A fitted combination as a metric: support vector regression over other metrics, their parts, or input columns.

The file is what ``celadon train combine`` writes (Kann et al. 2018, section 5). Prediction needs numpy alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    SetRelativeMetric,
    UsageError,
)
from celadon.io.weight_files import Combination, Feature, read_combination
from celadon.metrics.registry import load, named_part, names
from celadon.scoring.batch import Batch

NAME = "combined"
_COMBINING = (NAME, "formula")
# texts x support vectors held at a time
_MOST_CELLS = 1 << 21


class Computed(NamedTuple):
    """A feature that is computed: a metric, and which of its parts, if not its value."""

    metric: Metric
    part: str | None


def computed_feature(name: str) -> Computed | None:
    """The metric that a feature's name stands for; None where it is none, and so only a column can be meant.

    Raises
    ------
    UsageError
        It is a metric, but one that cannot be part of a combination, or its options or its part are wrong.
    """
    found = named_part(name)
    base = found.spec.partition("[")[0] if found else ""
    if found is None or base not in names():
        return None
    if base in _COMBINING:
        raise UsageError(f"{name}: a combination cannot be made of combinations and formulas; name their metrics")
    metric = load(found.spec)
    if isinstance(metric, SetRelativeMetric):
        raise UsageError(
            f"{name}: is relative to the set of texts that is scored, so that it says nothing of a single text; "
            "name the metrics that it is made of"
        )
    if found.part is not None and found.part not in metric.info.parts:
        known = ", ".join(metric.info.parts) or "none"
        raise UsageError(f"{name}: {metric.spec} has no part {found.part!r}; its parts are {known}")
    return Computed(metric, found.part)


def predict(combination: Combination, rows: FloatArray) -> FloatArray:
    """The regression's value for each row of features.

    Parameters
    ----------
    combination
        The fitted regression.
    rows
        Texts x features, unscaled, in the combination's order; NaN in a row gives NaN.
    """
    scaled = np.asarray(rows, dtype=np.float64)
    if combination.scale == "standard":
        means = np.array([feature.mean for feature in combination.features])
        scaled = (scaled - means) / np.array([feature.sd for feature in combination.features])
    vectors = combination.support_vectors
    values = np.empty(len(scaled))
    step = max(1, _MOST_CELLS // len(vectors))
    for start in range(0, len(scaled), step):
        some = scaled[start : start + step]
        # added up feature by feature and row by row: no neighbour in the batch changes a rounding
        distances = np.zeros((len(some), len(vectors)))
        for column, places in zip(some.T, vectors.T, strict=True):
            distances += (column[:, None] - places) ** 2
        kernel = np.exp(-combination.gamma * distances)
        values[start : start + step] = (kernel * combination.coefficients).sum(axis=1)
    return values + combination.intercept


@dataclass(frozen=True)
class Combined(Metric):
    """Support vector regression from features to a human rating.

    Parameters
    ----------
    file
        The JSON file with the combination.
    """

    info: ClassVar[MetricInfo] = MetricInfo(
        name=NAME,
        meaning="metrics combined by a regression on human ratings; asked for as combined[file=PATH]",
        reading="on the scale of the ratings that it was fitted on; far from the texts of its fitting the value falls "
        "back to a middle one and means little",
        direction=Direction.HIGHER,
        low=-math.inf,
        high=math.inf,
    )

    file: str = ""
    _combination: Combination | None = field(default=None, init=False, repr=False, compare=False)
    _computed: Mapping[str, Computed] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.file:  # only to be listed and described
            return
        combination = read_combination(self.file)
        found = {feature.name: _checked(self.file, feature) for feature in combination.features}
        computed = {name: feature for name, feature in found.items() if feature is not None}
        info = dataclasses.replace(
            self.info,
            meaning=f"{combination.name}: a regression on {', '.join(found)}",
            direction=Direction.LOWER if combination.lower_is_better else Direction.HIGHER,
            needs=frozenset(need for feature in computed.values() for need in feature.metric.info.needs),
        )
        # what it needs is known only once its file is: the object's own info stands before the class's
        for attribute, value in {"_combination": combination, "_computed": computed, "info": info}.items():
            object.__setattr__(self, attribute, value)

    @property
    def combination(self) -> Combination:
        """The regression that the file holds."""
        if self._combination is None:
            raise UsageError("a combination needs its file: combined[file=PATH]")
        return self._combination

    def score(self, batch: Batch) -> MetricScores:
        rows, reasons = self._features(batch)
        values = predict(self.combination, rows)
        values[list(reasons)] = np.nan
        return MetricScores(self.spec, values, {}, reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        rows, reasons = self._features(Batch([sample]))
        if reasons:
            return None
        features = self.combination.features
        # each feature in turn at what is usual
        usual = np.repeat(rows, len(features), axis=0)
        np.fill_diagonal(usual, [feature.mean for feature in features])
        value = float(predict(self.combination, rows)[0])
        pulls = value - predict(self.combination, usual)
        clauses = [_clause(f, x, pull) for f, x, pull in zip(features, rows[0].tolist(), pulls.tolist(), strict=True)]
        return Evidence(self.spec, f"{value:.4f}; {'; '.join(clauses)}")

    def models(self) -> tuple[str, ...]:
        if self._combination is None:
            return ()
        inner = (model for metric in self._metrics() for model in metric.models())
        return tuple(dict.fromkeys([f"{self._combination.name}@{self._combination.sha256[:8]}", *inner]))

    def details(self) -> Mapping[str, str]:
        """Name the features that are not made any more as they were when the combination was fitted."""
        if self._combination is None:
            return {}
        changed = [
            feature.name
            for feature in self._combination.features
            if feature.signature and feature.is_metric
            if _made(feature.signature) != _made(self._computed[feature.name].metric.signature)
        ]
        return {"changed": "+".join(changed)} if changed else {}

    def _metrics(self) -> Sequence[Metric]:
        return tuple({feature.metric.spec: feature.metric for feature in self._computed.values()}.values())

    def _features(self, batch: Batch) -> tuple[FloatArray, dict[int, str]]:
        """Texts x features, and why rows have none."""
        features = self.combination.features
        scored = {metric.spec: metric.score(batch) for metric in self._metrics()}
        rows = np.full((len(batch), len(features)), np.nan)
        reasons: dict[int, str] = {}
        for at, feature in enumerate(features):
            why: Mapping[int, str]
            if feature.is_metric:
                metric, part = self._computed[feature.name]
                of_metric = scored[metric.spec]
                rows[:, at] = of_metric.values if part is None else of_metric.parts[part]
                why = of_metric.reasons
            else:
                rows[:, at], why = _column(batch.samples, feature.name)
            for row in np.flatnonzero(~np.isfinite(rows[:, at])).tolist():
                reasons.setdefault(row, f"{feature.name}: {why.get(row, 'has no value')}")
        return rows, reasons


def _checked(path: str, feature: Feature) -> Computed | None:
    if not feature.is_metric:
        return None
    try:
        found = computed_feature(feature.name)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    if found is None:
        raise InputError(f"{path}: the feature {feature.name!r} is no metric of celadon and no part of one")
    return found


def _made(signature: str) -> str:
    """A signature but for the version of celadon, which changes with every release."""
    return signature.rpartition("|celadon:")[0]


def _column(samples: Sequence[Sample], name: str) -> tuple[FloatArray, dict[int, str]]:
    """A column of the input as numbers, and why a row has none."""
    values = np.full(len(samples), np.nan)
    reasons: dict[int, str] = {}
    for row, sample in enumerate(samples):
        value = _found(sample.extra, name)
        try:
            values[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            nothing = value is None or value == ""
            reasons[row] = "the row has no such column" if nothing else f"{str(value)[:40]!r} is no number"
    return values, reasons


def _found(row: Mapping[str, Any], name: str) -> Any:
    """A value by its name, or by its path through objects: ``scores.overall``."""
    if name in row:
        return row[name]
    head, dot, rest = name.partition(".")
    inner = row.get(head) if dot else None
    return _found(inner, rest) if isinstance(inner, Mapping) else None


def _clause(feature: Feature, value: float, pull: float) -> str:
    way = "changed nothing" if abs(pull) < 5e-5 else f"pulled it {'up' if pull > 0 else 'down'} by {abs(pull):.4f}"
    outside = not feature.low <= value <= feature.high
    beyond = f", outside of the {feature.low:.4g} to {feature.high:.4g} that it was fitted on" if outside else ""
    return f"{feature.name} {value:.4g} (usually {feature.mean:.4g}{beyond}) {way}"
