"""A run: the input cut into pieces, scored by many workers into a folder, and gone on with where it was stopped."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from celadon.core import CeladonError, InputError, Metric, OutputError, UsageError, fitted_constants
from celadon.io import check_distinct
from celadon.io.arrow import require_pyarrow
from celadon.io.pieces import Piece, Plan, plan_pieces
from celadon.io.remote import is_url
from celadon.io.sources import expand_paths
from celadon.runs.bad_rows import BadRowsError
from celadon.runs.folder import MANIFEST, REJECTS, SHARDS, SUMMARY, RunFolder, locked_run, remember_run
from celadon.runs.local import Job, JobResult
from celadon.runs.manifest import ChangedRunError, Manifest, RunConfig, changed_config, changed_files
from celadon.runs.one_schema import differing, under_one_schema
from celadon.runs.processes import score_in_processes
from celadon.runs.report import write_report
from celadon.runs.resources import resources_of_worker
from celadon.runs.shards import ShardRecord
from celadon.runs.state import merged_summary, whole_shards
from celadon.scoring.scorer import ignore
from celadon.scoring.scores import score_columns
from celadon.scoring.summary import Summary

ENGINES = ("local", "ray")
DEFAULT_SHARD_ROWS = 8192
MOST_WORKERS_UNASKED = 8

Counted = Callable[[int, int], None]
"""Told how much is done, and of how much."""


@dataclass(frozen=True)
class RunSettings:
    """How a run is carried out; nothing of it but ``shard_rows`` shows in what comes of it."""

    engine: str = "local"  # ``local``: processes of this machine; ``ray``: a Ray cluster
    workers: int | None = None  # how many; None for one a core, on this machine at most 8
    # address, resources: of the Ray cluster; what metrics need of it
    # (:func:`celadon.runs.resources.resources_of_worker`)
    address: str | None = None
    resources: tuple[str, ...] = ()
    shard_rows: int | None = None  # rows of the input in a shard; None for what the folder's run has, or 8,192
    restart: bool = False  # whether the shards of an earlier run in the same folder are thrown away


@dataclass(frozen=True)
class RunListeners:
    """Who is told what while a run goes on: bytes looked through, rows scored, and a line now and then."""

    planned: Counted = lambda done, total: None
    scored: Counted = lambda done, total: None
    note: Callable[[str], None] = lambda line: None


@dataclass(frozen=True, kw_only=True)
class RunResult(JobResult):
    """What a run has come to, and what this start of it did."""

    folder: str
    # shards, shards_before: all shards, and those that were there already
    shards: int
    shards_before: int
    seconds: float  # how long this start scored
    rows_now: int  # rows scored by it
    peak_memory_bytes: int

    def as_json(self, how: Mapping[str, Any]) -> dict[str, Any]:
        """Return what ``summary.json`` holds; ``how`` describes the last start."""
        return {
            "rows_read": self.rows_read,
            "rows_scored": self.rows_scored,
            "rows_rejected": self.rows_rejected,
            "shards": self.shards,
            "constants": {metric: dict(fitted.constants) for metric, fitted in self.fitted.items()},
            "last_start": {**how, "rows": self.rows_now, "seconds": round(self.seconds, 3)},
            "peak_memory_bytes": self.peak_memory_bytes,
            "cache_hits": self.cache_hits,
            "cache_misses": self.cache_misses,
            **self.summary.to_dict(histograms=True),
        }


class FailedShardError(CeladonError):
    """A shard could not be made; the message is that of its worker."""

    def __init__(self, record: ShardRecord) -> None:
        super().__init__(record.error)
        self.exit_code = record.exit_code


def is_run(output: str) -> bool:
    """Tell whether an output is a run's folder: it ends in a slash, or is a folder already."""
    return output.endswith(("/", os.sep)) or (not is_url(output) and Path(output).is_dir())


def start_run(job: Job, settings: RunSettings, listeners: RunListeners | None = None) -> RunResult:
    """Score the input into a run's folder, or go on with it.

    ``job``: its output is the folder.
    ``listeners``: who is told how far it has come.
    Raises ChangedRunError if the folder holds a run of another input, other metrics or other options.
    Raises BadRowsError if a row is malformed and ``skip_bad`` is not set; what is whole stays.
    Raises UsageError if another process is at the same run, or the job cannot be a run.
    Raises MissingExtraError if pyarrow, which writes the shards, is not installed.
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
        self.done: dict[int, ShardRecord] = {}
        self.rows_done = 0
        self.rows_all = 0

    def go(self) -> RunResult:
        earlier = Manifest.read(self.folder)
        if earlier is None:
            _check_free(self.folder)
        metrics, config = _config(self.job, self.folder)
        shard_rows = self.settings.shard_rows or (DEFAULT_SHARD_ROWS if earlier is None else earlier.shard_rows)
        if earlier is not None:
            self._refuse(changed_config(earlier, config, shard_rows, self.job.format))
        plan = plan_pieces(
            self.job.inputs,
            self.job.format,
            shard_rows,
            work_folder=self.folder.work,
            progress=self.listeners.planned,
        )
        if earlier is None:
            Manifest(config, plan.files, plan.pieces, shard_rows, self.job.format).write(self.folder)
        else:
            self._refuse(changed_files(earlier.files, plan.files))
        remember_run(self.folder)
        self.done = whole_shards(self.folder, len(plan.pieces))
        self._check_rejected()
        return self._finish(metrics, config, plan)

    def _refuse(self, changes: Sequence[str]) -> None:
        if changes:
            raise ChangedRunError(self.folder.name, changes)

    def _check_rejected(self) -> None:
        rejected = sum(record.rows_rejected for record in self.done.values())
        if rejected and not self.job.skip_bad:
            raise UsageError(
                f"{self.folder.name}: {rejected:,} malformed rows were set aside by an earlier start; "
                "give --skip-bad again, or choose another folder"
            )

    def _finish(self, metrics: Sequence[Metric], config: RunConfig, plan: Plan) -> RunResult:
        before = len(self.done)
        waiting = [piece for piece in plan.pieces if piece.index not in self.done]
        self.rows_all = sum(piece.rows for piece in plan.pieces)
        self.rows_done = self.rows_all - sum(piece.rows for piece in waiting)
        started = time.monotonic()
        if waiting:
            self._score(config, waiting, len(plan.pieces))
        seconds = time.monotonic() - started
        records = self._under_one_schema(metrics, [self.done[piece.index] for piece in plan.pieces])
        now = sum(self.done[piece.index].rows_scored for piece in waiting)
        stored = None if waiting else self.folder.read(SUMMARY)
        if not any(record.rows_scored for record in records):
            raise InputError(f"none of the {self.rows_all:,} rows can be scored; see {self.folder.name}{REJECTS}/")
        if stored is None:
            summary = merged_summary(self.folder, metrics, config, len(plan.pieces))
        else:
            summary = Summary.from_dict(json.loads(stored))
        rejected, scored = (sum(getattr(each, name) for each in records) for name in ("rows_rejected", "rows_scored"))
        result = RunResult(
            folder=self.folder.name,
            summary=summary,
            rows_read=scored + rejected,
            rows_scored=scored,
            rows_rejected=rejected,
            renamed={old: new for record in records for old, new in record.renamed.items()},
            fitted=fitted_constants(metrics),
            cache_hits=sum(record.cache_hits for record in records),
            cache_misses=sum(record.cache_misses for record in records),
            shards=len(records),
            shards_before=before,
            seconds=seconds,
            rows_now=now,
            peak_memory_bytes=max(record.peak_memory_bytes for record in records),
        )
        if self.job.report is not None:
            write_report(self.job.report, self.folder, config, plan, records, summary, self.listeners.scored)
        if stored is None:
            self.folder.write_text(SUMMARY, json.dumps(result.as_json(self._settings_told()), indent=1) + "\n")
        return result

    def _under_one_schema(self, metrics: Sequence[Metric], records: list[ShardRecord]) -> list[ShardRecord]:
        if not differing(records):
            return records
        self.listeners.note(f"{self.folder.name}: columns differ from shard to shard; giving all the same types")
        return under_one_schema(self.folder, records, score_columns(metrics), self.listeners.scored)

    def _score(self, config: RunConfig, waiting: Sequence[Piece], shards: int) -> None:
        """Make the shards that are not there."""
        if self.done:
            self.listeners.note(f"{self.folder.name}: {len(self.done):,} of {shards:,} shards are there; going on")
        # a run that has a summary is finished
        self.folder.remove(SUMMARY)
        settings = self.settings
        if settings.engine == "ray":
            from celadon.runs.ray_engine import score_on_ray

            needs = resources_of_worker(settings.resources, list(config.signatures))
            config = replace(config, threads=int(needs.cpus))
            score_on_ray(config, waiting, settings.workers, settings.address, self._take, needs)
            return
        workers = min(settings.workers or _workers(), len(waiting))
        score_in_processes(replace(config, threads=max(1, _cores() // workers)), waiting, workers, self._take)

    def _settings_told(self) -> dict[str, Any]:
        settings = self.settings
        workers = settings.workers or (_workers() if settings.engine == "local" else None)
        return {"engine": settings.engine, "workers": workers}

    def _take(self, record: ShardRecord) -> None:
        if record.bad:
            then = f"whole shards stay in {self.folder.name} (with --skip-bad the run goes on and sets such rows aside)"
            raise BadRowsError(record.bad, record.rows_rejected, then)
        if record.error:
            raise FailedShardError(record)
        self.done[record.index] = record
        self.rows_done += record.rows_scored + record.rows_rejected
        self.listeners.scored(self.rows_done, self.rows_all)


def _config(job: Job, folder: RunFolder) -> tuple[tuple[Metric, ...], RunConfig]:
    """The metrics of a job, and what workers must know."""
    scorer = job.scorer()
    if not scorer.metrics:
        reader = job.reader(ignore)
        chunk = next(iter(reader), None)
        if chunk is None:
            raise InputError(f"none of the {reader.rows_read:,} rows can be scored")
        scorer.choose(chunk.samples)
    for metric in scorer.unfitted:
        raise UsageError(
            f"{metric.spec} is relative to the whole set of texts, which no worker of a run sees; "
            "give it a set with --standardize-on, or score into one file"
        )
    return scorer.metrics, RunConfig(scorer.to_dict(), folder.place, job.skip_bad, job.seed, job.resamples)


def _check_free(folder: RunFolder) -> None:
    for pattern in ("part-*.parquet", f"{SHARDS}/part-*"):
        if names := folder.names(pattern):
            raise OutputError(f"{folder.name}: has {names[0]} but no {MANIFEST}, so it is not a run; choose another")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _workers() -> int:
    return min(_cores(), MOST_WORKERS_UNASKED)
