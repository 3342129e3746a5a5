"""Two passes for metrics that are relative to the scored set, and constants from another set that is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from celadon.core import (
    BoundMetric,
    Components,
    FloatArray,
    InputError,
    Metric,
    MetricScores,
    Need,
    Sample,
    SetRelativeMetric,
    UsageError,
    is_set_relative,
)
from celadon.io import DEFAULT_MAX_TEXT_CHARS, BadRow, Fields, Reader, TableRow, read_table_rows
from celadon.io.sources import STDIN, find_sources
from celadon.scoring.batch import Batch
from celadon.scoring.scores import Scores
from celadon.scoring.tables import is_table, samples_from_lists, samples_from_table

FirstPass: TypeAlias = Mapping[str, MetricScores | Components]
"""What the first pass leaves of a batch: scores, or components where the set must be known first."""

Progress: TypeAlias = Callable[[Reader, int], None]

BATCH_ROWS = 512
"""Rows scored at a time: enough to keep the array operations busy, few enough to stay in the processor's caches."""

_GIVEN = "given"
_COLUMN_ROWS = 8192


def waits(metric: Metric) -> TypeGuard[SetRelativeMetric[Any]]:
    """Whether a metric has no scores before the whole set is known."""
    return is_set_relative(metric)


def first_pass(batch: Batch, metrics: Iterable[Metric]) -> dict[str, MetricScores | Components]:
    """The scores of a batch, and the components of metrics that wait; views are shared among them all."""
    return {metric.spec: metric.components(batch) if waits(metric) else metric.score(batch) for metric in metrics}


def second_pass(batch: Batch, first: FirstPass, metrics: Iterable[Metric]) -> dict[str, MetricScores]:
    """All scores of a batch, once its metrics are fitted."""
    scores: dict[str, MetricScores] = {}
    for metric in metrics:
        made = first[metric.spec]
        if isinstance(made, Components):
            assert isinstance(metric, BoundMetric)
            made = metric.combine(batch, made)
        scores[metric.spec] = made
    return scores


class Fitting:
    """Gathers the statistics of a set, batch by batch, for the metrics that wait for it.

    Parameters
    ----------
    metrics
        All metrics, in their order.
    origin
        ``set`` where the set is what is scored, ``given`` where it is another.
    """

    def __init__(self, metrics: Sequence[Metric], origin: str = "set") -> None:
        self._metrics = tuple(metrics)
        self._origin = origin
        self._statistics: dict[str, Any] = {}

    @property
    def waiting(self) -> tuple[SetRelativeMetric[Any], ...]:
        """The metrics that wait."""
        return tuple(metric for metric in self._metrics if waits(metric))

    def add(self, batch: Batch, first: FirstPass) -> None:
        """Take what the first pass left of a batch."""
        for metric in self.waiting:
            components = first[metric.spec]
            assert isinstance(components, Components)
            new = metric.statistics(batch, components)
            old = self._statistics.get(metric.spec)
            self._statistics[metric.spec] = new if old is None else old.merged(new)

    def fitted(self) -> tuple[Metric, ...]:
        """All metrics, those that waited with their constants."""
        return tuple(
            metric.fit(self._statistics[metric.spec], self._origin) if waits(metric) else metric
            for metric in self._metrics
        )


def missing(samples: Sequence[Sample], metrics: Iterable[Metric]) -> dict[int, str]:
    """The rows that lack what a metric needs, each with a message."""
    wanting: dict[Need, str] = {}
    for metric in metrics:
        for need in metric.info.needs:
            wanting.setdefault(need, f"{metric.info.name} needs {need}, and this row has none")
    lacking: dict[int, str] = {}
    if Need.REFERENCES in wanting:
        rows = (row for row, sample in enumerate(samples) if not sample.references)
        lacking.update(dict.fromkeys(rows, wanting[Need.REFERENCES]))
    if Need.SOURCE in wanting:
        rows = (row for row, sample in enumerate(samples) if sample.source is None)
        lacking.update(dict.fromkeys(rows, wanting[Need.SOURCE]))
    return dict(sorted(lacking.items()))


def fitted_on(metrics: Sequence[Metric], given: Any, fields: Fields) -> tuple[Metric, ...]:
    """The metrics with constants from a set of texts other than those that are scored.

    Parameters
    ----------
    metrics
        All metrics; those that are not relative to a set stay as they are.
    given
        A file as :func:`fitted_on_file` takes it, samples, a table with texts, or earlier scores.
    fields
        Which column is what, in a file or a table.
    """
    if isinstance(given, str | os.PathLike):
        return fitted_on_file(metrics, os.fspath(given), fields)
    fitting = _fitting(metrics)
    if isinstance(given, Scores) and _in_scores(fitting, given):
        return _fitted(fitting, "the scores to standardise on")
    if isinstance(given, Scores):
        samples = given.samples
    else:
        samples = samples_from_table(given, fields) if is_table(given) else samples_from_lists(given, *[None] * 4)
    for at in range(0, max(len(samples), 1), BATCH_ROWS):
        _add(fitting, samples[at : at + BATCH_ROWS])
    return _fitted(fitting, "the texts to standardise on")


def fitted_on_file(
    metrics: Sequence[Metric],
    path: str,
    fields: Fields,
    *,
    batch_rows: int = BATCH_ROWS,
    max_text_chars: int = DEFAULT_MAX_TEXT_CHARS,
    progress: Progress = lambda reader, rows: None,
) -> tuple[Metric, ...]:
    """The metrics with constants from a file.

    Parameters
    ----------
    metrics
        All metrics; those that are not relative to a set stay as they are.
    path
        What an earlier run wrote: the columns of the metrics' parts are taken from there. Else a file of texts, which
        are scored for it; any malformed row is an error.
    fields
        Which column is what.
    batch_rows
        Rows scored at a time.
    max_text_chars
        A longer text is malformed.
    progress
        Called after each batch with the reader and the number of rows scored so far.
    """
    fitting = _fitting(metrics)
    if path == STDIN:
        raise UsageError("the constants cannot come from the standard input; give a file to standardise on")
    if not _in_columns(fitting, path):
        reader = Reader([path], fields, chunk_rows=batch_rows, max_text_chars=max_text_chars, on_bad=_refuse)
        rows = 0
        for chunk in reader:
            _add(fitting, chunk.samples)
            rows += len(chunk)
            progress(reader, rows)
    return _fitted(fitting, path)


def _fitting(metrics: Sequence[Metric]) -> Fitting:
    fitting = Fitting(metrics, _GIVEN)
    if not fitting.waiting:
        raise UsageError(
            "nothing to standardise: no metric asked for by name is relative to the scored set, as rouge_lm is, and "
            "those that take idf=set"
        )
    return fitting


def _fitted(fitting: Fitting, where: str) -> tuple[Metric, ...]:
    try:
        return fitting.fitted()
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _refuse(row: BadRow) -> None:
    raise InputError(str(row))


def _add(fitting: Fitting, samples: Sequence[Sample]) -> None:
    for row, message in missing(samples, fitting.waiting).items():
        raise InputError(f"{samples[row].origin}: {message}")
    batch = Batch(samples)
    fitting.add(batch, first_pass(batch, fitting.waiting))


def _in_scores(fitting: Fitting, scores: Scores) -> bool:
    """Take the components from scores where these have them."""
    if any(metric.spec not in scores.columns or not metric.component_names for metric in fitting.waiting):
        return False
    parts = {metric.spec: Components(scores.columns[metric.spec].parts) for metric in fitting.waiting}
    fitting.add(Batch(scores.samples), parts)
    return True


def _in_columns(fitting: Fitting, path: str) -> bool:
    """Take the components from a file of scores; False where it is none."""
    wanted = [f"{metric.spec}.{name}" for metric in fitting.waiting for name in metric.component_names]
    told = all(metric.component_names for metric in fitting.waiting)
    if not told or any(source.format == "txt" for source in find_sources([path], None)):
        return False
    rows = read_table_rows(path)
    first = next(rows)
    if not all(name in first for name in wanted):
        return False
    every = chain([first], rows)
    while some := list(islice(every, _COLUMN_ROWS)):
        columns = {name: _numbers(some, name) for name in wanted}
        parts = {
            metric.spec: Components({name: columns[f"{metric.spec}.{name}"] for name in metric.component_names})
            for metric in fitting.waiting
        }
        fitting.add(Batch([Sample("")] * len(some)), parts)
    return True


def _numbers(rows: Sequence[TableRow], name: str) -> FloatArray:
    return np.array([number_in(row, name) for row in rows], dtype=np.float64)


def number_in(row: TableRow, name: str) -> float:
    """The number in a column of a table; NaN where the cell is empty or the row has none."""
    value = row.get(name)
    if value is None or value == "":
        return np.nan
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    raise InputError(f"{row.origin}: {name} is not a number: {str(value)[:40]!r}")
