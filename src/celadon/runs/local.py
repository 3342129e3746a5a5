"""The local engine: one pass over the input, in batches, in constant memory.

Where a metric is relative to the scored set, scored rows wait on disk and go through a second pass from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from celadon.core import Fitted, InputError, Metric, MetricScores, UsageError, fitted_constants
from celadon.io import (
    Chunk,
    Fields,
    Reader,
    Rejects,
    Spill,
    StagedText,
    Writer,
    check_distinct,
    open_writer,
    rejects_path,
)
from celadon.io.remote import shown_name
from celadon.io.tree_file import TreeFile, read_trees
from celadon.report.collector import ReportCollector
from celadon.runs.choice import (
    Progress,
    chosen_metrics,
    default_metrics,
    no_progress,
    score_columns,
    usable_rows,
    with_trees,
)
from celadon.runs.faults import BadRowsError, Faults
from celadon.runs.waiting_scores import packed, unpacked
from celadon.scoring.batch import Batch
from celadon.scoring.cache.score_cache import CacheSettings, ScoreCache, scores_through
from celadon.scoring.fitting import BATCH_ROWS, Fitting, second_pass
from celadon.scoring.scores import flat_columns, merged_reasons
from celadon.scoring.summary import DEFAULT_RESAMPLES, DEFAULT_SEED, Summarizer, Summary

REPORT_TITLE = "How well do these texts read?"


@dataclass(frozen=True)
class Job:
    """What is to be done.

    Attributes
    ----------
    inputs
        Files, globs, or ``-`` for the standard input.
    fields
        Which column is what.
    metrics
        As they are asked for, or made already; empty for the defaults.
    standardize_on
        A file that gives metrics relative to a set their constants, instead of the rows that are scored.
    trees
        A CoNLL-U file with the dependency trees of the references, found by the rows' ids.
    output, report
        Where scores and the HTML report go, if anywhere.
    skip_bad
        Whether bad rows are set aside in ``rejects`` instead of failing the run.
    rejects
        Where they go; beside the output if None.
    cache
        Where scores are kept and taken from, if anywhere.
    watch
        Told the rows of every batch and their scores, in the order of the input.
    """

    inputs: Sequence[str]
    fields: Fields = field(default_factory=Fields)
    metrics: Sequence[str | Metric] = ()
    standardize_on: str | None = None
    trees: str | None = None
    output: str | None = None
    report: str | None = None
    skip_bad: bool = False
    rejects: str | None = None
    format: str | None = None
    seed: int = DEFAULT_SEED
    resamples: int = DEFAULT_RESAMPLES
    batch_rows: int = BATCH_ROWS
    max_text_chars: int = 1_000_000
    cache: CacheSettings | None = None
    watch: Callable[[Chunk, Mapping[str, MetricScores]], None] | None = None

    @property
    def rejects_path(self) -> str:
        """Where bad rows go."""
        return self.rejects or rejects_path(self.output or "celadon")


@dataclass(frozen=True)
class Outcome:
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


def run(job: Job, progress: Progress = no_progress) -> Outcome:
    """Score the input and write what was asked for; nothing is written unless all of it can be.

    Parameters
    ----------
    job
        What is to be done.
    progress
        Called after each batch.
    """
    _check_paths(job)
    trees = None if job.trees is None else read_trees(job.trees)
    chosen = chosen_metrics(job, trees, progress)
    with ExitStack() as stack:
        rejects = stack.enter_context(Rejects(job.rejects_path)) if job.skip_bad else None
        faults = Faults(rejects)
        reader = Reader(
            job.inputs,
            job.fields,
            format=job.format,
            chunk_rows=job.batch_rows,
            max_text_chars=job.max_text_chars,
            on_bad=faults.add,
        )
        scoring: _Scoring | None = None
        rows = 0
        for chunk in reader:
            if scoring is None and not faults.fatal:
                scoring = _Scoring(job, chosen or default_metrics(chunk), trees, stack)
            usable = usable_rows(chunk, chosen, faults)
            # after a fatal fault the rest is read only to count what else is wrong
            if scoring is not None and not faults.fatal and len(usable):
                scoring.add(usable)
                rows += len(usable)
            progress(reader, rows)
        if faults.fatal:
            raise BadRowsError(faults.first, faults.count)
        if scoring is None or rows == 0:
            _commit_rejects_alone(rejects)
            raise InputError(f"none of the {reader.rows_read:,} rows can be scored; see {job.rejects_path}")
        summary = scoring.finish(rejected=faults.count, progress=progress)
        if rejects is not None:
            rejects.commit()
        found = (0, 0) if scoring.cache is None else (scoring.cache.hits, scoring.cache.misses)
        return Outcome(summary, reader.rows_read, rows, faults.count, scoring.renamed, scoring.fitted, *found)


def _commit_rejects_alone(rejects: Rejects | None) -> None:
    if rejects is not None:
        rejects.commit()


def _check_paths(job: Job) -> None:
    written = [path for path in (job.output, job.report, job.rejects_path if job.skip_bad else None) if path]
    read = [*job.inputs, *(path for path in (job.standardize_on, job.trees) if path)]
    for path in written:
        check_distinct(path, read)
    places = [Path(path).resolve() for path in written]
    if len(set(places)) < len(places):
        raise UsageError("output, report and rejects must be different files")


class _Scoring:
    """Scores chunks; they are handed on at once, or wait until the whole set is known."""

    def __init__(self, job: Job, metrics: Sequence[Metric], trees: TreeFile | None, stack: ExitStack) -> None:
        self._metrics = tuple(metrics)
        self._trees = trees
        self.cache: ScoreCache | None = None if job.cache is None else stack.enter_context(job.cache.open())
        self._outputs = _Outputs(job, stack, self._metrics)
        self._fitting = Fitting(self._metrics)
        self._spill: Spill | None = None
        if self._fitting.waiting:
            self._spill = stack.enter_context(Spill(job.output or job.report))

    def add(self, chunk: Chunk) -> None:
        chunk = with_trees(chunk, self._trees)
        batch = Batch(chunk.samples)
        first = scores_through(self.cache, batch, self._metrics)
        if self._spill is None:
            self._outputs.add(chunk, second_pass(batch, first, self._metrics))
        else:
            self._fitting.add(batch, first)
            self._spill.write(chunk, packed(first))

    def finish(self, *, rejected: int, progress: Progress) -> Summary:
        if self._spill is not None:
            self._metrics = self._fitting.fitted()
            self._outputs.begin(self._metrics)
            rows = 0
            for waited, first in self._spill:
                chunk = with_trees(waited, self._trees)
                self._outputs.add(chunk, second_pass(Batch(chunk.samples), unpacked(first), self._metrics))
                rows += len(chunk)
                progress(self._spill, rows)
        return self._outputs.finish(rejected=rejected)

    @property
    def renamed(self) -> dict[str, str]:
        return self._outputs.renamed

    @property
    def fitted(self) -> dict[str, Fitted]:
        return fitted_constants(self._metrics)


class _Outputs:
    """Hands scores to the writer, the summary and the report."""

    def __init__(self, job: Job, stack: ExitStack, metrics: Sequence[Metric]) -> None:
        self.job = job
        self.writer: Writer | None = None
        if job.output is not None:
            self.writer = stack.enter_context(open_writer(job.output, score_columns(metrics)))
        self.begin(metrics)

    def begin(self, metrics: Sequence[Metric]) -> None:
        """Expect the scores of these metrics, of which none has come yet."""
        self.summarizer = Summarizer(metrics, resamples=self.job.resamples, seed=self.job.seed)
        self.collector = ReportCollector(metrics, seed=self.job.seed) if self.job.report is not None else None

    def add(self, chunk: Chunk, scores: Mapping[str, MetricScores]) -> None:
        if self.writer is not None:
            self.writer.write(chunk, flat_columns(scores), merged_reasons(scores, len(chunk)))
        self.summarizer.add(chunk.samples, scores)
        if self.collector is not None:
            self.collector.add(chunk.samples, scores)
        if self.job.watch is not None:
            self.job.watch(chunk, scores)

    def finish(self, *, rejected: int) -> Summary:
        summary = self.summarizer.summary()
        with ExitStack() as stack:
            report: StagedText | None = None
            if self.collector is not None and self.job.report is not None:
                names = [Path(shown_name(name)).name if name != "-" else "standard input" for name in self.job.inputs]
                page = self.collector.html(summary, title=REPORT_TITLE, inputs=names, rejected=rejected)
                report = stack.enter_context(StagedText(self.job.report, page))
            if self.writer is not None:
                self.writer.commit()
            if report is not None:
                report.commit()
        return summary

    @property
    def renamed(self) -> dict[str, str]:
        return dict(self.writer.renamed) if self.writer is not None else {}
