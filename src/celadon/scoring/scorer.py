"""The one path from samples to scores, for Python, files, shards, the service, the gate and reproduction."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from itertools import chain
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from celadon.core import (
    BoundMetric,
    Components,
    FloatArray,
    InputError,
    Metric,
    MetricScores,
    Sample,
    UsageError,
    is_set_relative,
)
from celadon.io import (
    DEFAULT_MAX_TEXT_CHARS,
    BadRow,
    Chunk,
    Fields,
    Reader,
    Spill,
)
from celadon.io.conllu import TreeFile, check_trees, digest_of, read_trees, with_trees
from celadon.metrics.registry import DEFAULTS_WITH_REFERENCES, DEFAULTS_WITHOUT_REFERENCES, load_all
from celadon.metrics.tree_accuracy import bind_trees, check_use_of_trees
from celadon.scoring.batch import Batch
from celadon.scoring.cache.score_cache import CacheSettings, Compute, FirstPass, ScoreCache
from celadon.scoring.needs import missing, refuse_missing
from celadon.scoring.scores import Scores
from celadon.scoring.set_statistics import InMemory, OnDisk, SetStatistics
from celadon.scoring.tables import is_table, samples_from_lists, samples_from_table

BATCH_ROWS = 512
"""Rows scored at a time: enough to keep the array operations busy, few enough to stay in the processor's caches."""

Progress: TypeAlias = Callable[[Reader | Spill, int], None]
"""Called after each batch with what is read, the input or the rows that wait, and how many of its rows are done."""


class ScoredChunk(NamedTuple):
    """Rows, their scores by metric, and the metrics, fitted where they are relative to the set."""

    chunk: Chunk
    scores: Mapping[str, MetricScores]
    metrics: tuple[Metric, ...]


class Cache(Protocol):
    """Where scores are kept."""

    def first_pass(self, batch: Batch, metrics: Sequence[Metric], compute: Compute) -> FirstPass:
        """Return the scores or components of a batch; ``compute`` makes those that are not kept."""
        ...


def no_progress(read: Reader | Spill, rows: int) -> None:
    """Do nothing."""


def ignore(row: BadRow) -> None:
    """Do nothing."""


class Scorer:
    """Scores samples, in one pass, or in two where a metric is relative to the scored set.

    Parameters
    ----------
    metrics
        Names with options, or metrics. None: those that suit the first samples, with or without references.
    fit_on
        Gives metrics that are relative to a set their constants, instead of the samples that are scored: a file of
        texts or of scores, samples, a table, or earlier scores.
    trees
        Dependency trees of the references: a CoNLL-U file, or for :meth:`score` a list with trees for each sample.
    cache
        Where scores are kept and taken from.
    fields
        Which column is what, where ``fit_on`` has columns.
    batch_rows, max_text_chars
        Rows scored at a time; a longer text of a ``fit_on`` file is malformed.
    strict
        Whether a sample that lacks what a metric needs is an error; by default it is where metrics are named.
    progress
        Called while a ``fit_on`` file is read.
    on_failure
        Called with a metric that fails and the error; the metric is left out from then on. By default the error is
        raised.

    Attributes
    ----------
    metrics
        The metrics; empty until the first samples decide.
    """

    def __init__(
        self,
        metrics: Iterable[str | Metric] | str | Metric | None = None,
        *,
        fit_on: Any = None,
        trees: Any = None,
        cache: CacheSettings | Cache | None = None,
        fields: Fields | None = None,
        batch_rows: int = BATCH_ROWS,
        max_text_chars: int = DEFAULT_MAX_TEXT_CHARS,
        strict: bool | None = None,
        progress: Progress = no_progress,
        on_failure: Callable[[Metric, Exception], None] | None = None,
    ) -> None:
        self.metrics = load_all([metrics] if isinstance(metrics, str | Metric) else metrics or ())
        if metrics is not None and not self.metrics:
            raise UsageError("no metric was named")
        self.strict = metrics is not None if strict is None else strict
        self.fields = fields or Fields()
        self.batch_rows = batch_rows
        self.max_text_chars = max_text_chars
        self._fit_on, self._trees, self._cache, self._on_failure = fit_on, trees, cache, on_failure
        self._failed: set[str] = set()
        self._tree_file: TreeFile | None = None
        if trees is not None:
            check_use_of_trees(self.metrics)
        if isinstance(trees, str | os.PathLike):
            self._tree_file = read_trees(os.fspath(trees))
            self.metrics = bind_trees(self.metrics, self._tree_file.digest)
        if fit_on is not None:
            self.metrics = self._fitted_on(fit_on, progress)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that :meth:`from_dict` makes the same scorer of; sets and trees must be in files."""
        return {
            "metrics": [metric.spec for metric in self.metrics],
            "signatures": [metric.signature for metric in self.metrics],
            "named": self.strict,
            "fields": asdict(self.fields),
            "standardize_on": _absolute(self._fit_on),
            "trees": _absolute(self._trees),
            "batch_rows": self.batch_rows,
            "max_text_chars": self.max_text_chars,
            "cache": asdict(self._cache) if isinstance(self._cache, CacheSettings) else None,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make the scorer that :meth:`to_dict` described.

        Raises
        ------
        InputError
            A metric would make other scores here: other weights, or another version.
        """
        scorer = cls(
            values["metrics"],
            fit_on=values["standardize_on"],
            trees=values["trees"],
            cache=None if values["cache"] is None else CacheSettings(**values["cache"]),
            fields=Fields(**values["fields"]),
            batch_rows=values["batch_rows"],
            max_text_chars=values["max_text_chars"],
            strict=values["named"],
        )
        for metric, signature in zip(scorer.metrics, values["signatures"], strict=True):
            if metric.signature != signature:
                raise InputError(
                    f"{metric.spec}: this worker would make other scores than the run says: {metric.signature} and "
                    f"not {signature}; all workers must have the same version and models"
                )
        return scorer

    @property
    def unfitted(self) -> tuple[Metric, ...]:
        """The metrics that have no scores before the whole set is known."""
        return tuple(filter(is_set_relative, self.metrics))

    @property
    def cache_counts(self) -> tuple[int, int]:
        """How many scores, each of one text under one metric, were in the cache, and how many were not."""
        return (self._cache.hits, self._cache.misses) if isinstance(self._cache, ScoreCache) else (0, 0)

    def close(self) -> None:
        """Close the cache."""
        if isinstance(self._cache, ScoreCache):
            self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def choose(self, samples: Sequence[Sample]) -> None:
        """Take the metrics that suit these samples, where none was named."""
        if not self.metrics:
            referenced = not samples or any(sample.references for sample in samples)
            self.metrics = load_all(DEFAULTS_WITH_REFERENCES if referenced else DEFAULTS_WITHOUT_REFERENCES)

    def usable(self, chunk: Chunk, on_bad: Callable[[BadRow], None]) -> Chunk:
        """Return the rows that can be scored, with their trees; the others are handed to ``on_bad``."""
        self.choose(chunk.samples)
        if self.strict:
            lacking = missing(chunk.samples, self.metrics)
            for row, message in lacking.items():
                on_bad(chunk.bad(row, message))
            chunk = chunk.without(lacking)
        return self._with_trees(chunk)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Score samples that are in memory.

        Raises
        ------
        InputError
            A sample lacks what a metric asked for needs.
        """
        self.choose(samples)
        if self.strict:
            refuse_missing(samples, self.metrics)
        samples, metrics = self._with_given_trees(tuple(samples))
        starts = range(0, max(len(samples), 1), self.batch_rows)
        chunks = (Chunk(samples[at : at + self.batch_rows], "", (), ()) for at in starts)
        scored = list(self._stream(chunks, metrics, InMemory(), no_progress))
        metrics = scored[-1].metrics
        return Scores(samples, metrics, {m.spec: _joined([each.scores[m.spec] for each in scored]) for m in metrics})

    def score_batch(self, samples: Sequence[Sample], specs: Sequence[str]) -> dict[str, MetricScores]:
        """Score one batch with some of the metrics, none of which may be unfitted."""
        batch, wanted = Batch(samples), {metric.spec: metric for metric in self.metrics}
        metrics = tuple(wanted[spec] for spec in specs)
        return self._second_pass(batch, self._first_pass(batch, metrics), metrics)

    def stream(
        self, chunks: Iterable[Chunk], beside: str | None = None, progress: Progress = no_progress
    ) -> Iterator[ScoredChunk]:
        """Score chunks of usable rows in constant memory.

        Parameters
        ----------
        chunks
            As :meth:`usable` returns them.
        beside
            The output in whose folder rows wait on disk, where the whole set must be known first.
        progress
            Called while rows that waited are read again.
        """
        chunks = iter(chunks)
        # the first chunk may decide on the metrics
        first = next(chunks, None)
        if first is None:
            return
        chunks = chain([first], chunks)
        if not self.unfitted:
            yield from self._stream(chunks, self.metrics, None, progress)
            return
        with Spill(beside) as spill:
            yield from self._stream(chunks, self.metrics, OnDisk(spill), progress)

    def _stream(
        self,
        chunks: Iterable[Chunk],
        metrics: tuple[Metric, ...],
        waiting: InMemory | OnDisk | None,
        progress: Progress,
    ) -> Iterator[ScoredChunk]:
        statistics = SetStatistics(metrics, self._guard)
        for chunk in chunks:
            batch = Batch(chunk.samples)
            first = self._first_pass(batch, metrics)
            if not statistics.metrics:
                metrics = self._left(metrics)
                yield ScoredChunk(chunk, self._second_pass(batch, first, metrics), metrics)
            elif waiting is not None:
                statistics.add(batch, first)
                waiting.write(chunk, first)
        if not statistics.metrics or waiting is None:
            return
        metrics = statistics.fit(self._left(metrics), "set")
        rows = 0
        for held, first in waiting:
            chunk = self._with_trees(held)
            scores = self._second_pass(Batch(chunk.samples), first, self._left(metrics))
            yield ScoredChunk(chunk, scores, self._left(metrics))
            rows += len(chunk)
            if isinstance(waiting, OnDisk):
                progress(waiting.spill, rows)

    def _first_pass(self, batch: Batch, metrics: tuple[Metric, ...]) -> FirstPass:
        if isinstance(self._cache, CacheSettings):
            self._cache = self._cache.open()
        metrics = self._left(metrics)
        if self._cache is None:
            return self._compute(batch, metrics)
        return self._cache.first_pass(batch, metrics, self._compute)

    def _compute(self, batch: Batch, metrics: Iterable[Metric]) -> dict[str, MetricScores | Components]:
        results: dict[str, MetricScores | Components] = {}
        for metric in metrics:
            with self._guard(metric):
                result = metric.components(batch) if is_set_relative(metric) else metric.score(batch)
                columns = result.columns.values() if isinstance(result, Components) else [result.values]
                for column in columns:
                    if np.shape(column) != (len(batch),):
                        raise ValueError(f"{np.shape(column)} scores of {len(batch)} texts")
                results[metric.spec] = result
        return results

    def _second_pass(self, batch: Batch, first: FirstPass, metrics: Iterable[Metric]) -> dict[str, MetricScores]:
        scores: dict[str, MetricScores] = {}
        for metric in metrics:
            result = first[metric.spec]
            if isinstance(result, MetricScores):
                scores[metric.spec] = result
                continue
            assert isinstance(metric, BoundMetric)
            with self._guard(metric):
                scores[metric.spec] = metric.combine(batch, result)
        return scores

    def _left(self, metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
        return tuple(metric for metric in metrics if metric.spec not in self._failed)

    @contextmanager
    def _guard(self, metric: Metric) -> Iterator[None]:
        """Leave out a metric that fails, where somebody is told of it."""
        try:
            yield
        except Exception as error:
            if self._on_failure is None:
                raise
            self._failed.add(metric.spec)
            self._on_failure(metric, error)

    def _with_trees(self, chunk: Chunk) -> Chunk:
        if self._tree_file is None:
            return chunk
        return replace(chunk, samples=tuple(map(self._tree_file.attach_to, chunk.samples)))

    def _with_given_trees(self, samples: tuple[Sample, ...]) -> tuple[tuple[Sample, ...], tuple[Metric, ...]]:
        """Samples with the trees that were given for them or that they carry, and metrics that are bound to these."""
        if self._tree_file is not None:
            return tuple(map(self._tree_file.attach_to, samples)), self.metrics
        if self._trees is not None:
            samples = with_trees(samples, self._trees)
        elif any(sample.trees for sample in samples):
            for sample in samples:
                if sample.trees:
                    check_trees(sample)
        else:
            return samples, self.metrics
        digest = digest_of((sample.id or "", tree) for sample in samples for tree in sample.trees)
        return samples, bind_trees(self.metrics, digest)

    def _fitted_on(self, fit_on: Any, progress: Progress) -> tuple[Metric, ...]:
        statistics = SetStatistics(self.metrics, nullcontext)
        if not statistics.metrics:
            raise UsageError(
                "nothing to standardise: no metric asked for by name is relative to the scored set, as rouge_lm is, "
                "and those that take idf=set"
            )
        if isinstance(fit_on, str | os.PathLike):
            where = os.fspath(fit_on)
            statistics.add_file(where, self.fields, self.batch_rows, self.max_text_chars, progress)
        elif isinstance(fit_on, Scores) and statistics.add_scores(fit_on):
            where = "the scores to standardise on"
        else:
            where = "the texts to standardise on"
            if isinstance(fit_on, Scores):
                samples = fit_on.samples
            elif is_table(fit_on):
                samples = samples_from_table(fit_on, self.fields)
            else:
                samples = samples_from_lists(fit_on, *[None] * 4)
            for at in range(0, max(len(samples), 1), self.batch_rows):
                statistics.add_samples(samples[at : at + self.batch_rows])
        try:
            return statistics.fit(self.metrics, "given")
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def _absolute(path: Any) -> str | None:
    """A path for a worker, which may have another current folder; links are to stay."""
    from celadon.io.remote import is_url

    if path is None or (isinstance(path, str) and is_url(path)):
        return path
    if not isinstance(path, str | os.PathLike):
        raise UsageError("only a set and trees in files can be handed to a worker")
    return os.path.abspath(path)  # noqa: PTH100


def _joined(scores: Sequence[MetricScores]) -> MetricScores:
    """The scores of consecutive batches as if they had been one."""
    first = scores[0]
    if len(scores) == 1:
        return first
    offsets = np.cumsum([0, *(len(part.values) for part in scores)]).tolist()
    statistics: list[FloatArray] = [part.statistics for part in scores if part.statistics is not None]
    return MetricScores(
        first.metric,
        np.concatenate([part.values for part in scores]),
        {name: np.concatenate([part.parts[name] for part in scores]) for name in first.parts},
        {row + at: why for part, at in zip(scores, offsets, strict=False) for row, why in part.reasons.items()},
        np.concatenate(statistics) if statistics else None,
    )
