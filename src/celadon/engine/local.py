"""The local engine: one pass over the input, in batches, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from celadon.api import BATCH_ROWS, missing, score_batch
from celadon.batch import Batch
from celadon.core import InputError, Metric, UsageError
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
from celadon.metrics.registry import DEFAULTS_WITH_REFERENCES, load_all
from celadon.report import ReportCollector
from celadon.scores import flat_columns, merged_reasons
from celadon.summary import DEFAULT_RESAMPLES, DEFAULT_SEED, Summarizer, Summary

SHOWN_BAD_ROWS = 10


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
        As they are asked for; empty for the defaults.
    output, report
        Where scores and the HTML report go, if anywhere.
    skip_bad
        Whether bad rows are set aside in ``rejects`` instead of failing the run.
    rejects
        Where they go; beside the output if None.
    """

    inputs: Sequence[str]
    fields: Fields = field(default_factory=Fields)
    metrics: Sequence[str] = ()
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
    """What was done: rows read = rows scored + rows rejected."""

    summary: Summary
    rows_read: int
    rows_scored: int
    rows_rejected: int
    renamed: dict[str, str]


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


def run(job: Job, progress: Callable[[Reader, int], None] = lambda reader, rows: None) -> Outcome:
    """Score the input and write what was asked for; nothing is written unless all of it can be.

    Parameters
    ----------
    job
        What is to be done.
    progress
        Called after each batch with the reader and the number of rows scored so far.
    """
    _check_paths(job)
    chosen = load_all(job.metrics) if job.metrics else None
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
                scoring = _Scoring(job, chosen or _defaults(chunk), stack)
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
        summary = scoring.finish(rejected=faults.count)
        if rejects is not None:
            rejects.commit()
        return Outcome(summary, reader.rows_read, rows, faults.count, scoring.renamed)


def _commit_rejects_alone(rejects: Rejects | None) -> None:
    if rejects is not None:
        rejects.commit()


def _check_paths(job: Job) -> None:
    written = [path for path in (job.output, job.report, job.rejects_path if job.skip_bad else None) if path]
    for path in written:
        check_distinct(path, job.inputs)
    places = [Path(path).resolve() for path in written]
    if len(set(places)) < len(places):
        raise UsageError("output, report and rejects must be different files")


def _defaults(chunk: Chunk) -> tuple[Metric, ...]:
    """The metrics used when none is named: those that can say something of these rows."""
    if any(sample.references for sample in chunk.samples):
        return load_all(DEFAULTS_WITH_REFERENCES)
    raise UsageError(
        "no references found (looked for references, reference, ref0, ref1, ...), and the default metrics need them; "
        "name their field with --references-field, or choose metrics with --metric"
    )


def _usable(chunk: Chunk, chosen: Sequence[Metric] | None, faults: _Faults) -> Chunk:
    """Set aside the rows that lack what a metric asked for by name needs."""
    if chosen is None:
        return chunk
    lacking = missing(chunk.samples, chosen)
    for row, message in lacking.items():
        faults.add(chunk.bad(row, message))
    return chunk.without(lacking)


class _Scoring:
    """Scores chunks and hands the scores to the writer, the summary and the report."""

    def __init__(self, job: Job, metrics: Sequence[Metric], stack: ExitStack) -> None:
        self.job = job
        self.metrics = metrics
        self.summarizer = Summarizer(metrics, resamples=job.resamples, seed=job.seed)
        self.writer: Writer | None = None
        if job.output is not None:
            parts = [f"{metric.spec}.{part}" for metric in metrics for part in metric.info.parts]
            self.writer = stack.enter_context(open_writer(job.output, [*(m.spec for m in metrics), *parts]))
        self.collector = ReportCollector(metrics, seed=job.seed) if job.report is not None else None

    def add(self, chunk: Chunk) -> None:
        scores = score_batch(Batch(chunk.samples), self.metrics)
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
