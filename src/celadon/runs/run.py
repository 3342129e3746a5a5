"""A run: the input cut into pieces, scored by many workers into a folder, and gone on with where it was stopped."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from celadon.core import CeladonError, InputError, Metric, OutputError, UsageError
from celadon.io import Chunk, Reader, check_distinct
from celadon.io.arrow import require_pyarrow
from celadon.io.pieces import Piece, Plan, plan_pieces
from celadon.io.remote import is_url
from celadon.io.sources import expand_paths
from celadon.io.tree_file import read_trees
from celadon.runs.choice import chosen_metrics, default_metrics, score_columns
from celadon.runs.faults import BadRowsError
from celadon.runs.folder import MANIFEST, REJECTS, SHARDS, SUMMARY, RunFolder
from celadon.runs.known_runs import remember_run
from celadon.runs.local import Job
from celadon.runs.lock import locked_run
from celadon.runs.manifest import ChangedRunError, Manifest, changed_files, changed_order
from celadon.runs.one_schema import differing, under_one_schema
from celadon.runs.order import RunOrder
from celadon.runs.outcome import RunOutcome, outcome_of_run
from celadon.runs.processes import score_in_processes
from celadon.runs.report import write_report
from celadon.runs.resources import resources_of_worker
from celadon.runs.shards import ShardOutcome
from celadon.runs.state import merged_summary, whole_shards
from celadon.runs.summary_file import summary_from_json
from celadon.scoring.fitting import waits

ENGINES = ("local", "ray")
DEFAULT_SHARD_ROWS = 8192
MOST_WORKERS_UNASKED = 8

Counted = Callable[[int, int], None]
"""Told how much is done, and of how much."""


@dataclass(frozen=True)
class RunSettings:
    """How a run is carried out; nothing of it but ``shard_rows`` shows in what comes of it.

    Attributes
    ----------
    engine
        ``local``: processes of this machine; ``ray``: a Ray cluster.
    workers
        How many; None for one a core, on this machine at most 8.
    address, resources
        Of the Ray cluster; what metrics need of it (:func:`celadon.runs.resources.resources_of_worker`).
    shard_rows
        Rows of the input in a shard; None for what the folder's run has, or 8,192.
    restart
        Whether the shards of an earlier run in the same folder are thrown away.
    """

    engine: str = "local"
    workers: int | None = None
    address: str | None = None
    resources: tuple[str, ...] = ()
    shard_rows: int | None = None
    restart: bool = False


@dataclass(frozen=True)
class RunListeners:
    """Who is told what while a run goes on: bytes looked through, rows scored, and a line now and then."""

    planned: Counted = lambda done, total: None
    scored: Counted = lambda done, total: None
    said: Callable[[str], None] = lambda line: None


class FailedShardError(CeladonError):
    """A shard could not be made; the message is that of its worker."""

    def __init__(self, outcome: ShardOutcome) -> None:
        super().__init__(outcome.error)
        self.exit_code = outcome.exit_code


def is_run(output: str) -> bool:
    """Tell whether an output is a run's folder: it ends in a slash, or is a folder already."""
    return output.endswith(("/", os.sep)) or (not is_url(output) and Path(output).is_dir())


def start_run(job: Job, settings: RunSettings, listeners: RunListeners | None = None) -> RunOutcome:
    """Score the input into a run's folder, or go on with it.

    Parameters
    ----------
    job
        What is to be done; its output is the folder.
    settings
        How.
    listeners
        Who is told how far it has come.

    Raises
    ------
    ChangedRunError
        The folder holds a run of another input, other metrics or other options.
    BadRowsError
        A row is malformed and ``skip_bad`` is not set; what is whole stays.
    UsageError
        Another process is at the same run, or the job cannot be a run.
    MissingExtraError
        pyarrow, which writes the shards, is not installed.
    """
    listeners = listeners or RunListeners()
    folder = _checked(job, settings)
    folder.make()
    with locked_run(folder):
        folder.sweep()
        if settings.restart:
            _throw_away(folder)
        try:
            return _Run(job, settings, listeners, folder).go()
        finally:
            folder.clean_up()


def _checked(job: Job, settings: RunSettings) -> RunFolder:
    """The folder, of a job that can be a run."""
    assert job.output is not None
    if settings.engine not in ENGINES:
        raise UsageError(f"unknown engine {settings.engine!r}; the engines are {', '.join(ENGINES)}")
    if settings.engine != "ray" and (settings.address is not None or settings.resources):
        raise UsageError("--address and --resources are for a Ray cluster; give --engine ray with them")
    if job.rejects is not None:
        raise UsageError(f"a run keeps malformed rows in its own folder, in {REJECTS}/; leave --rejects out")
    if settings.engine != "ray":
        # shards are Parquet; what installs Ray installs pyarrow too
        require_pyarrow(job.output)
    folder = RunFolder(job.output)
    if job.report is not None:
        check_distinct(job.report, job.inputs)
    inside = os.path.join(folder.place, "")  # noqa: PTH118
    for path in expand_paths(job.inputs):
        if not is_url(path) and os.path.realpath(path).startswith(inside):
            raise UsageError(f"{path}: is an input in the folder of the output; choose another folder for the run")
    return folder


def _throw_away(folder: RunFolder) -> None:
    """Remove the shards of an earlier run, and the manifest last: without it they would be a stranger's files."""
    if Manifest.read(folder) is None:
        return
    patterns = (SUMMARY, f"{SHARDS}/part-*", f"{REJECTS}/part-*", "part-*.parquet", MANIFEST)
    folder.remove(*(name for pattern in patterns for name in folder.names(pattern)))


class _Run:
    """One start of a run, whose lock is held."""

    def __init__(self, job: Job, settings: RunSettings, listeners: RunListeners, folder: RunFolder) -> None:
        self.job = job
        self.settings = settings
        self.listeners = listeners
        self.folder = folder
        self.done: dict[int, ShardOutcome] = {}
        self.rows_done = 0
        self.rows_all = 0

    def go(self) -> RunOutcome:
        earlier = Manifest.read(self.folder)
        if earlier is None:
            _check_free(self.folder)
        metrics, order = _order(self.job, self.folder)
        shard_rows = self.settings.shard_rows or (DEFAULT_SHARD_ROWS if earlier is None else earlier.shard_rows)
        if earlier is not None:
            self._refuse(changed_order(earlier, order, shard_rows, self.job.format))
        plan = plan_pieces(
            self.job.inputs,
            self.job.format,
            shard_rows,
            work_folder=self.folder.work,
            progress=self.listeners.planned,
        )
        if earlier is None:
            Manifest(order, plan.files, plan.pieces, shard_rows, self.job.format).write(self.folder)
        else:
            self._refuse(changed_files(earlier.files, plan.files))
        remember_run(self.folder)
        self.done = whole_shards(self.folder, len(plan.pieces))
        self._check_rejected()
        return self._finish(metrics, order, plan)

    def _refuse(self, changes: Sequence[str]) -> None:
        if changes:
            raise ChangedRunError(self.folder.name, changes)

    def _check_rejected(self) -> None:
        rejected = sum(outcome.rows_rejected for outcome in self.done.values())
        if rejected and not self.job.skip_bad:
            raise UsageError(
                f"{self.folder.name}: {rejected:,} malformed rows were set aside by an earlier start; "
                "give --skip-bad again, or choose another folder"
            )

    def _finish(self, metrics: Sequence[Metric], order: RunOrder, plan: Plan) -> RunOutcome:
        before = len(self.done)
        waiting = [piece for piece in plan.pieces if piece.index not in self.done]
        self.rows_all = sum(piece.rows for piece in plan.pieces)
        self.rows_done = self.rows_all - sum(piece.rows for piece in waiting)
        started = time.monotonic()
        if waiting:
            self._score(order, waiting, len(plan.pieces))
        seconds = time.monotonic() - started
        outcomes = self._under_one_schema(metrics, [self.done[piece.index] for piece in plan.pieces])
        now = sum(self.done[piece.index].rows_scored for piece in waiting)
        told = None if waiting else self.folder.read(SUMMARY)
        if not any(outcome.rows_scored for outcome in outcomes):
            raise InputError(f"none of the {self.rows_all:,} rows can be scored; see {self.folder.name}{REJECTS}/")
        if told is None:
            summary = merged_summary(self.folder, metrics, order, len(plan.pieces))
        else:
            summary = summary_from_json(json.loads(told))
        outcome = outcome_of_run(self.folder, summary, metrics, outcomes, before, seconds, now)
        if self.job.report is not None:
            write_report(self.job.report, self.folder, order, plan, outcomes, summary, self.listeners.scored)
        if told is None:
            self.folder.write_text(SUMMARY, json.dumps(outcome.as_json(self._settings_told()), indent=1) + "\n")
        return outcome

    def _under_one_schema(self, metrics: Sequence[Metric], outcomes: list[ShardOutcome]) -> list[ShardOutcome]:
        if not differing(outcomes):
            return outcomes
        self.listeners.said(f"{self.folder.name}: columns differ from shard to shard; giving all the same types")
        return under_one_schema(self.folder, outcomes, score_columns(metrics), self.listeners.scored)

    def _score(self, order: RunOrder, waiting: Sequence[Piece], shards: int) -> None:
        """Make the shards that are not there."""
        if self.done:
            self.listeners.said(f"{self.folder.name}: {len(self.done):,} of {shards:,} shards are there; going on")
        # a run that has a summary is finished
        self.folder.remove(SUMMARY)
        settings = self.settings
        if settings.engine == "ray":
            from celadon.runs.ray_engine import score_on_ray

            needs = resources_of_worker(settings.resources, order.metrics)
            order = replace(order, threads=int(needs.cpus))
            score_on_ray(order, waiting, settings.workers, settings.address, self._take, needs)
            return
        workers = min(settings.workers or _workers(), len(waiting))
        score_in_processes(replace(order, threads=max(1, _cores() // workers)), waiting, workers, self._take)

    def _settings_told(self) -> dict[str, Any]:
        settings = self.settings
        workers = settings.workers or (_workers() if settings.engine == "local" else None)
        return {"engine": settings.engine, "workers": workers}

    def _take(self, outcome: ShardOutcome) -> None:
        if outcome.bad:
            then = f"whole shards stay in {self.folder.name} (with --skip-bad the run goes on and sets such rows aside)"
            raise BadRowsError(outcome.bad, outcome.rows_rejected, then)
        if outcome.error:
            raise FailedShardError(outcome)
        self.done[outcome.index] = outcome
        self.rows_done += outcome.rows_scored + outcome.rows_rejected
        self.listeners.scored(self.rows_done, self.rows_all)


def _order(job: Job, folder: RunFolder) -> tuple[tuple[Metric, ...], RunOrder]:
    """The metrics of a job, and what workers are told."""
    trees = None if job.trees is None else read_trees(job.trees)
    chosen = chosen_metrics(job, trees)
    metrics = chosen or default_metrics(_first_chunk(job))
    for metric in metrics:
        if waits(metric):
            raise UsageError(
                f"{metric.spec} is relative to the whole set of texts, which no worker of a run sees; "
                "give it a set with --standardize-on, or score into one file"
            )
    order = RunOrder(
        metrics=tuple(metric.spec for metric in metrics),
        signatures=tuple(metric.signature for metric in metrics),
        named=chosen is not None,
        fields=job.fields,
        output=folder.place,
        standardize_on=_absolute(job.standardize_on),
        trees=_absolute(job.trees),
        skip_bad=job.skip_bad,
        batch_rows=job.batch_rows,
        max_text_chars=job.max_text_chars,
        seed=job.seed,
        resamples=job.resamples,
        cache=job.cache,
    )
    return metrics, order


def _first_chunk(job: Job) -> Chunk:
    reader = Reader(
        job.inputs,
        job.fields,
        format=job.format,
        chunk_rows=job.batch_rows,
        max_text_chars=job.max_text_chars,
        on_bad=lambda bad: None,
    )
    chunk = next(iter(reader), None)
    if chunk is None:
        raise InputError(f"none of the {reader.rows_read:,} rows can be scored")
    return chunk


def _absolute(path: str | None) -> str | None:
    # a worker may have another current folder
    return path if path is None or is_url(path) else os.path.abspath(path)  # noqa: PTH100  links are to stay


def _check_free(folder: RunFolder) -> None:
    for pattern in ("part-*.parquet", f"{SHARDS}/part-*"):
        if found := folder.names(pattern):
            raise OutputError(f"{folder.name}: has {found[0]} but no {MANIFEST}, so it is not a run; choose another")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _workers() -> int:
    return min(_cores(), MOST_WORKERS_UNASKED)
