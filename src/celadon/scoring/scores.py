"""Scores of many samples under many metrics, as users hold them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from celadon.core import (
    FloatArray,
    Metric,
    MetricScores,
    MissingExtraError,
    Sample,
    UsageError,
    fitted_constants,
)
from celadon.scoring.summary import DEFAULT_RESAMPLES, DEFAULT_SEED, Summarizer, Summary

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True)
class Scores:
    """What :func:`celadon.score` returns.

    Attributes
    ----------
    samples
        What was scored, in its order.
    metrics
        The metrics, in the order in which they were asked for.
    columns
        Each metric's scores, by its name with its options.
    """

    samples: tuple[Sample, ...]
    metrics: tuple[Metric, ...]
    columns: Mapping[str, MetricScores]

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, metric: str) -> FloatArray:
        """One number per sample, of a metric or of ``metric.part``; NaN where there is none."""
        for name, scores in self.columns.items():
            if metric == name:
                return scores.values
            if metric.startswith(f"{name}.") and metric.removeprefix(f"{name}.") in scores.parts:
                return scores.parts[metric.removeprefix(f"{name}.")]
        raise UsageError(f"no scores of {metric!r} here; there are: {', '.join(self.columns)}")

    @property
    def signatures(self) -> dict[str, str]:
        """How each metric's scores were made."""
        return {metric.spec: metric.signature for metric in self.metrics}

    @property
    def constants(self) -> dict[str, dict[str, float]]:
        """What each metric that is relative to a set took from it: means and standard deviations."""
        return {spec: dict(fitted.constants) for spec, fitted in fitted_constants(self.metrics).items()}

    def summary(self, *, resamples: int = DEFAULT_RESAMPLES, seed: int = DEFAULT_SEED) -> Summary:
        """Per system and metric: mean, corpus score, 95% bootstrap intervals, nulls.

        Parameters
        ----------
        resamples
            The number of bootstrap resamples.
        seed
            The same seed gives the same intervals.
        """
        summarizer = Summarizer(self.metrics, resamples=resamples, seed=seed)
        summarizer.add(self.samples, self.columns)
        return summarizer.summary()

    def to_dict(self) -> dict[str, list[Any]]:
        """All columns: those of the input, then the scores and their parts, then ``reason``."""
        names = dict.fromkeys(key for sample in self.samples for key in sample.extra)
        taken = {*flat_columns(self.columns), "reason"}
        table: dict[str, list[Any]] = {}
        for name in names:
            column = name
            while column in taken:
                column = f"input.{column}"
            table[column] = [sample.extra.get(name) for sample in self.samples]
        table.update(flat_columns(self.columns))
        table["reason"] = list(merged_reasons(self.columns, len(self.samples)))
        return table

    def to_polars(self) -> polars.DataFrame:
        """All columns as a polars frame."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError("polars", "polars") from None
        return polars.DataFrame(self.to_dict(), strict=False, infer_schema_length=None)

    def to_pandas(self) -> pandas.DataFrame:
        """All columns as a pandas frame."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("pandas", "pandas") from None
        return pandas.DataFrame(self.to_dict())

    def as_evaluate(self, metric: str) -> dict[str, Any]:
        """One metric's result in the shape that Hugging Face ``evaluate`` gives."""
        rows = [row for row in _all_together(self).rows if row.metric == metric]
        overall = rows[0].corpus if rows and rows[0].corpus is not None else rows[0].mean if rows else None
        return {
            metric: overall,
            "scores": nullable(self.columns[metric].values),
            "signature": self.signatures[metric],
        }


def _all_together(scores: Scores) -> Summary:
    summarizer = Summarizer(scores.metrics, resamples=1)
    summarizer.add([Sample("")] * len(scores.samples), scores.columns)
    return summarizer.summary()


def nullable(values: FloatArray) -> list[float | None]:
    """Plain numbers, None where there is none."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def score_columns(metrics: Sequence[Metric]) -> list[str]:
    """Return the columns of the scores, then those of their parts."""
    parts = [f"{metric.spec}.{part}" for metric in metrics for part in metric.info.parts]
    # a part of one metric may be a metric of its own, and both asked for
    return list(dict.fromkeys([*(metric.spec for metric in metrics), *parts]))


def flat_columns(columns: Mapping[str, MetricScores]) -> dict[str, list[float | None]]:
    """Each metric's values, then the parts of each as ``metric.part``."""
    flat = {name: nullable(scores.values) for name, scores in columns.items()}
    for name, scores in columns.items():
        flat.update({f"{name}.{part}": nullable(values) for part, values in scores.parts.items()})
    return flat


def merged_reasons(columns: Mapping[str, MetricScores], rows: int) -> Sequence[str | None]:
    """For each row why scores are null, as ``metric, metric: reason``; None where all scores are there."""
    merged: list[str | None] = [None] * rows
    affected = {row for scores in columns.values() for row in scores.reasons}
    for row in affected:
        why: dict[str, list[str]] = {}
        for name, scores in columns.items():
            if row in scores.reasons:
                why.setdefault(scores.reasons[row], []).append(name)
        merged[row] = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in why.items())
    return merged
