"""The local engine: one pass over the input, in batches, in constant memory.

Where a metric is relative to the scored set, scored rows wait on disk and go through a second pass from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from celadon.core import Fitted, InputError, Metric, MetricScores, UsageError, fitted_constants
from celadon.io import (
    BadRow,
    Chunk,
    Fields,
    Reader,
    Rejects,
    StagedText,
    Writer,
    check_distinct,
    open_writer,
    rejects_path,
)
from celadon.io.remote import shown_name
from celadon.report.collector import ReportCollector
from celadon.runs.bad_rows import BadRows, BadRowsError
from celadon.scoring.cache.score_cache import CacheSettings
from celadon.scoring.scorer import BATCH_ROWS, Progress, ScoredChunk, Scorer, no_progress
from celadon.scoring.scores import flat_columns, merged_reasons, score_columns
from celadon.scoring.summary import DEFAULT_RESAMPLES, DEFAULT_SEED, Summarizer, Summary

REPORT_TITLE = "How well do these texts read?"


@dataclass(frozen=True)
class Job:
    """What is to be done."""

    inputs: Sequence[str]  # files, globs, or ``-`` for the standard input
    fields: Fields = field(default_factory=Fields)
    metrics: Sequence[str | Metric] = ()  # as they are asked for, or made already; empty for the defaults
    # a file that gives metrics relative to a set their constants, instead of the rows that are scored
    standardize_on: str | None = None
    trees: str | None = None  # a CoNLL-U file with the dependency trees of the references, found by the rows' ids
    # output, report: where scores and the HTML report go, if anywhere
    output: str | None = None
    report: str | None = None
    skip_bad: bool = False  # whether bad rows are set aside in ``rejects`` instead of failing the run
    rejects: str | None = None  # where they go; beside the output if None
    format: str | None = None
    seed: int = DEFAULT_SEED
    resamples: int = DEFAULT_RESAMPLES
    batch_rows: int = BATCH_ROWS
    max_text_chars: int = 1_000_000
    cache: CacheSettings | None = None  # where scores are kept and taken from, if anywhere
    # told the rows of every batch and their scores, in the order of the input
    watch: Callable[[Chunk, Mapping[str, MetricScores]], None] | None = None

    @property
    def rejects_path(self) -> str:
        """Where bad rows go."""
        return self.rejects or rejects_path(self.output or "celadon")

    def scorer(self, progress: Progress = no_progress) -> Scorer:
        """Return what scores the rows; ``progress`` is called while a set to standardize on is read."""
        return Scorer(
            self.metrics or None,
            fit_on=self.standardize_on,
            trees=self.trees,
            cache=self.cache,
            fields=self.fields,
            batch_rows=self.batch_rows,
            max_text_chars=self.max_text_chars,
            progress=progress,
        )

    def reader(self, on_bad: Callable[[BadRow], None]) -> Reader:
        """Return what reads the rows."""
        return Reader(
            self.inputs,
            self.fields,
            format=self.format,
            chunk_rows=self.batch_rows,
            max_text_chars=self.max_text_chars,
            on_bad=on_bad,
        )


@dataclass(frozen=True)
class JobResult:
    """What was done: rows read = rows scored + rows rejected; ``fitted`` has the constants of set-relative metrics.

    ``cache_hits`` and ``cache_misses`` count scores, each of one text under one metric.
    """

    summary: Summary
    rows_read: int
    rows_scored: int
    rows_rejected: int
    renamed: dict[str, str]
    fitted: dict[str, Fitted]
    cache_hits: int = 0
    cache_misses: int = 0


def run(job: Job, progress: Progress = no_progress) -> JobResult:
    """Score the input and write what was asked for; nothing is written unless all of it can be."""
    _check_paths(job)
    with ExitStack() as stack:
        scorer = stack.enter_context(job.scorer(progress))
        rejects = stack.enter_context(Rejects(job.rejects_path)) if job.skip_bad else None
        bad = BadRows(rejects)
        reader = job.reader(bad.add)
        outputs = _Outputs(job, stack)
        rows = 0

        def usable() -> Iterator[Chunk]:
            nonlocal rows
            for chunk in reader:
                good = scorer.usable(chunk, bad.add)
                # after a fatal fault the rest is read only to count what else is wrong
                if len(good) and not bad.fatal:
                    outputs.open(scorer.metrics)
                    rows += len(good)
                    yield good
                progress(reader, rows)
            if bad.fatal:
                raise BadRowsError(bad.first, bad.count)
            if not rows:
                if rejects is not None:
                    rejects.commit()
                raise InputError(f"none of the {reader.rows_read:,} rows can be scored; see {job.rejects_path}")

        for scored in scorer.stream(usable(), job.output or job.report, progress):
            outputs.add(scored)
        summary = outputs.finish(rejected=bad.count)
        if rejects is not None:
            rejects.commit()
        fitted = fitted_constants(outputs.metrics)
        return JobResult(summary, reader.rows_read, rows, bad.count, outputs.renamed, fitted, *scorer.cache_counts)


def _check_paths(job: Job) -> None:
    written = [path for path in (job.output, job.report, job.rejects_path if job.skip_bad else None) if path]
    read = [*job.inputs, *(path for path in (job.standardize_on, job.trees) if path)]
    for path in written:
        check_distinct(path, read)
    places = [Path(path).resolve() for path in written]
    if len(set(places)) < len(places):
        raise UsageError("output, report and rejects must be different files")


class _Outputs:
    """Hands scores to the writer, the summary and the report."""

    def __init__(self, job: Job, stack: ExitStack) -> None:
        self.job = job
        self.metrics: tuple[Metric, ...] = ()
        self._stack = stack
        self._writer: Writer | None = None
        self._collector: ReportCollector | None = None

    def open(self, metrics: Sequence[Metric]) -> None:
        """Begin the file of scores as soon as its columns are known, so that a wrong path is found out at once."""
        if self._writer is None and self.job.output is not None:
            self._writer = self._stack.enter_context(open_writer(self.job.output, score_columns(metrics)))

    def add(self, scored: ScoredChunk) -> None:
        chunk, scores, metrics = scored
        if not self.metrics:
            self.metrics = metrics
            self._summarizer = Summarizer(metrics, resamples=self.job.resamples, seed=self.job.seed)
            self._collector = ReportCollector(metrics, seed=self.job.seed) if self.job.report is not None else None
        if self._writer is not None:
            self._writer.write(chunk, flat_columns(scores), merged_reasons(scores, len(chunk)))
        self._summarizer.add(chunk.samples, scores)
        if self._collector is not None:
            self._collector.add(chunk.samples, scores)
        if self.job.watch is not None:
            self.job.watch(chunk, scores)

    def finish(self, *, rejected: int) -> Summary:
        summary = self._summarizer.summary()
        with ExitStack() as stack:
            report: StagedText | None = None
            if self._collector is not None and self.job.report is not None:
                names = [Path(shown_name(name)).name if name != "-" else "standard input" for name in self.job.inputs]
                page = self._collector.html(summary, title=REPORT_TITLE, inputs=names, rejected=rejected)
                report = stack.enter_context(StagedText(self.job.report, page))
            if self._writer is not None:
                self._writer.commit()
            if report is not None:
                report.commit()
        return summary

    @property
    def renamed(self) -> dict[str, str]:
        return dict(self._writer.renamed) if self._writer is not None else {}
