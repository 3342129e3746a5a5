"""The local engine: one pass over the input, in batches, in constant memory.

Where a metric is relative to the scored set, scored rows wait on disk and go through a second pass from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from celadon.batch import Batch
from celadon.core import Fitted, InputError, Metric, MetricScores, SetRelativeMetric, UsageError
from celadon.engine.waiting_scores import packed, unpacked
from celadon.fitting import BATCH_ROWS, Fitting, first_pass, fitted_on_file, missing, second_pass
from celadon.io import (
    BadRow,
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
from celadon.io.tree_file import TreeFile, read_trees
from celadon.metrics.registry import DEFAULTS_WITH_REFERENCES, DEFAULTS_WITHOUT_REFERENCES, load_all
from celadon.metrics.tree_accuracy import check_use_of_trees, told_of_trees
from celadon.report import ReportCollector
from celadon.scores import flat_columns, merged_reasons
from celadon.summary import DEFAULT_RESAMPLES, DEFAULT_SEED, Summarizer, Summary

SHOWN_BAD_ROWS = 10

Progress: TypeAlias = Callable[[Reader | Spill, int], None]
"""Told after each batch what is gone through, the input or the rows that wait, and how many of its rows are done."""


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

    @property
    def rejects_path(self) -> str:
        """Where bad rows go."""
        return self.rejects or rejects_path(self.output or "celadon")


@dataclass(frozen=True)
class Outcome:
    """What was done: rows read = rows scored + rows rejected; ``fitted`` has the constants of set-relative metrics."""

    summary: Summary
    rows_read: int
    rows_scored: int
    rows_rejected: int
    renamed: dict[str, str]
    fitted: dict[str, Fitted]


class BadRowsError(InputError):
    """The input has malformed rows; the message lists the first of them and counts the rest."""

    def __init__(self, first: Sequence[BadRow], count: int) -> None:
        lines = [str(bad) for bad in first]
        if count > len(first):
            lines.append(f"... and {count - len(first):,} more")
        rows = "row is" if count == 1 else "rows are"
        lines.append(f"{count:,} {rows} malformed; nothing was written (--skip-bad scores the rest)")
        super().__init__("\n".join(lines))


class _Faults:
    """Takes bad rows: to the rejects, or the first few into the error that ends the run."""

    def __init__(self, rejects: Rejects | None) -> None:
        self.rejects = rejects
        self.first: list[BadRow] = []
        self.count = 0

    def add(self, bad: BadRow) -> None:
        self.count += 1
        if self.rejects is not None:
            self.rejects.add(bad)
        elif len(self.first) < SHOWN_BAD_ROWS:
            self.first.append(bad)

    @property
    def fatal(self) -> bool:
        return self.rejects is None and self.count > 0


def run(job: Job, progress: Progress = lambda read, rows: None) -> Outcome:
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
    chosen = _chosen(job, trees, progress)
    with ExitStack() as stack:
        rejects = stack.enter_context(Rejects(job.rejects_path)) if job.skip_bad else None
        faults = _Faults(rejects)
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
                scoring = _Scoring(job, chosen or _defaults(chunk), trees, stack)
            usable = _usable(chunk, chosen, faults)
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
        return Outcome(summary, reader.rows_read, rows, faults.count, scoring.renamed, scoring.fitted)


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


def _chosen(job: Job, trees: TreeFile | None, progress: Progress) -> tuple[Metric, ...] | None:
    """The metrics asked for by name; None where there are none."""
    chosen = load_all(job.metrics) if job.metrics else None
    if trees is not None:
        check_use_of_trees(chosen or ())
        chosen = told_of_trees(chosen or (), trees.digest)
    if job.standardize_on is None:
        return chosen
    return fitted_on_file(
        chosen or (),
        job.standardize_on,
        job.fields,
        batch_rows=job.batch_rows,
        max_text_chars=job.max_text_chars,
        progress=progress,
    )


def _defaults(chunk: Chunk) -> tuple[Metric, ...]:
    """The metrics used when none is named: those that can say something of these rows."""
    referenced = any(sample.references for sample in chunk.samples)
    return load_all(DEFAULTS_WITH_REFERENCES if referenced else DEFAULTS_WITHOUT_REFERENCES)


def _usable(chunk: Chunk, chosen: Sequence[Metric] | None, faults: _Faults) -> Chunk:
    """Set aside the rows that lack what a metric asked for by name needs."""
    if chosen is None:
        return chunk
    lacking = missing(chunk.samples, chosen)
    for row, message in lacking.items():
        faults.add(chunk.bad(row, message))
    return chunk.without(lacking)


class _Scoring:
    """Scores chunks; they are handed on at once, or wait until the whole set is known."""

    def __init__(self, job: Job, metrics: Sequence[Metric], trees: TreeFile | None, stack: ExitStack) -> None:
        self._metrics = tuple(metrics)
        self._trees = trees
        self._outputs = _Outputs(job, stack, self._metrics)
        self._fitting = Fitting(self._metrics)
        self._spill: Spill | None = None
        if self._fitting.waiting:
            self._spill = stack.enter_context(Spill(job.output or job.report))

    def add(self, chunk: Chunk) -> None:
        chunk = self._with_trees(chunk)
        batch = Batch(chunk.samples)
        first = first_pass(batch, self._metrics)
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
                chunk = self._with_trees(waited)
                self._outputs.add(chunk, second_pass(Batch(chunk.samples), unpacked(first), self._metrics))
                rows += len(chunk)
                progress(self._spill, rows)
        return self._outputs.finish(rejected=rejected)

    def _with_trees(self, chunk: Chunk) -> Chunk:
        if self._trees is None:
            return chunk
        return replace(chunk, samples=tuple(map(self._trees.given_to, chunk.samples)))

    @property
    def renamed(self) -> dict[str, str]:
        return self._outputs.renamed

    @property
    def fitted(self) -> dict[str, Fitted]:
        relative = (metric for metric in self._metrics if isinstance(metric, SetRelativeMetric))
        return {metric.spec: metric.fitted for metric in relative if metric.fitted is not None}


class _Outputs:
    """Hands scores to the writer, the summary and the report."""

    def __init__(self, job: Job, stack: ExitStack, metrics: Sequence[Metric]) -> None:
        self.job = job
        self.writer: Writer | None = None
        if job.output is not None:
            parts = [f"{metric.spec}.{part}" for metric in metrics for part in metric.info.parts]
            # a part of one metric may be a metric of its own, and both asked for
            columns = dict.fromkeys([*(metric.spec for metric in metrics), *parts])
            self.writer = stack.enter_context(open_writer(job.output, list(columns)))
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

    def finish(self, *, rejected: int) -> Summary:
        summary = self.summarizer.summary()
        with ExitStack() as stack:
            report: StagedText | None = None
            if self.collector is not None and self.job.report is not None:
                names = [Path(name).name if name != "-" else "standard input" for name in self.job.inputs]
                title = "How well do these texts read?"
                page = self.collector.html(summary, title=title, inputs=names, rejected=rejected)
                report = stack.enter_context(StagedText(self.job.report, page))
            if self.writer is not None:
                self.writer.commit()
            if report is not None:
                report.commit()
        return summary

    @property
    def renamed(self) -> dict[str, str]:
        return dict(self.writer.renamed) if self.writer is not None else {}
