"""What metrics relative to a set wait for: its statistics, and its rows until these are complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from celadon.core import Components, InputError, Metric, MetricScores, Sample, UsageError, is_set_relative
from celadon.io import BadRow, Chunk, Fields, Reader, Spill, read_table_rows
from celadon.io.sources import STDIN, find_sources
from celadon.scoring.batch import Batch
from celadon.scoring.cache.score_cache import FirstPass
from celadon.scoring.needs import refuse_missing
from celadon.scoring.scores import Scores

if TYPE_CHECKING:
    from celadon.scoring.scorer import Progress

_COLUMN_ROWS = 8192


class SetStatistics:
    """The statistics of a set, gathered batch by batch, for the metrics that are relative to it."""

    def __init__(self, metrics: Iterable[Metric], guard: Callable[[Metric], AbstractContextManager[Any]]) -> None:
        self.metrics = [metric for metric in metrics if is_set_relative(metric)]
        self._guard = guard
        self._sums: dict[str, Any] = {}

    def add(self, batch: Batch, first: FirstPass) -> None:
        for metric in self.metrics:
            components = first.get(metric.spec)
            if isinstance(components, Components):
                with self._guard(metric):
                    new = metric.statistics(batch, components)
                    old = self._sums.get(metric.spec)
                    self._sums[metric.spec] = new if old is None else old.merged(new)

    def fit(self, metrics: Iterable[Metric], origin: str) -> tuple[Metric, ...]:
        fitted: list[Metric] = []
        for metric in metrics:
            with self._guard(metric):
                fitted.append(metric.fit(self._sums[metric.spec], origin) if is_set_relative(metric) else metric)
        return tuple(fitted)

    def add_samples(self, samples: Sequence[Sample]) -> None:
        refuse_missing(samples, self.metrics)
        batch = Batch(samples)
        self.add(batch, {metric.spec: metric.components(batch) for metric in self.metrics})

    def add_scores(self, scores: Scores) -> bool:
        """Take the components from scores where these have them."""
        if any(metric.spec not in scores.columns or not metric.component_names for metric in self.metrics):
            return False
        parts = {metric.spec: Components(scores.columns[metric.spec].parts) for metric in self.metrics}
        self.add(Batch(scores.samples), parts)
        return True

    def add_file(self, path: str, fields: Fields, batch_rows: int, max_text_chars: int, progress: Progress) -> None:
        """Take the components from the columns of an earlier output, else score the texts for them."""
        if path == STDIN:
            raise UsageError("the constants cannot come from the standard input; give a file to standardise on")
        if self._add_columns(path):
            return
        reader = Reader([path], fields, chunk_rows=batch_rows, max_text_chars=max_text_chars, on_bad=_refuse)
        rows = 0
        for chunk in reader:
            self.add_samples(chunk.samples)
            rows += len(chunk)
            progress(reader, rows)

    def _add_columns(self, path: str) -> bool:
        """Take the components from a file of scores; False where it is none."""
        columns = [f"{metric.spec}.{name}" for metric in self.metrics for name in metric.component_names]
        complete = all(metric.component_names for metric in self.metrics)
        if not complete or any(source.format == "txt" for source in find_sources([path], None)):
            return False
        rows = read_table_rows(path)
        first = next(rows)
        if not all(name in first for name in columns):
            return False
        rows = chain([first], rows)
        while some := list(islice(rows, _COLUMN_ROWS)):
            values = {name: np.array([row.number(name) for row in some], dtype=np.float64) for name in columns}
            parts = {
                metric.spec: Components({name: values[f"{metric.spec}.{name}"] for name in metric.component_names})
                for metric in self.metrics
            }
            self.add(Batch([Sample("")] * len(some)), parts)
        return True


def _refuse(row: BadRow) -> None:
    raise InputError(str(row))


class InMemory(list[tuple[Chunk, FirstPass]]):
    """Rows that wait for the whole set."""

    def write(self, chunk: Chunk, first: FirstPass) -> None:
        self.append((chunk, first))


class OnDisk:
    """Rows that wait for the whole set on disk, with their scores as plain values."""

    def __init__(self, spill: Spill) -> None:
        self.spill = spill

    def write(self, chunk: Chunk, first: FirstPass) -> None:
        self.spill.write(chunk, {spec: _plain(vars(result)) for spec, result in first.items()})

    def __iter__(self) -> Iterator[tuple[Chunk, FirstPass]]:
        for chunk, first in self.spill:
            yield chunk, {spec: _from_plain(values) for spec, values in first.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _from_plain(values: Mapping[str, Any]) -> MetricScores | Components:
    restored = {name: _restored(value) for name, value in values.items()}
    return MetricScores(**restored) if "metric" in values else Components(**restored)


def _restored(value: Any) -> Any:
    if isinstance(value, tuple):
        kind, shape, data = value
        # a copy, because an array over bytes cannot be written to
        return np.frombuffer(data, dtype=kind).reshape(shape).copy()
    return {key: _restored(each) for key, each in value.items()} if isinstance(value, dict) else value
