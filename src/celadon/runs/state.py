"""What is in a run's folder: its shards, how far it has come, and whether all of it is as it was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from celadon.core import InputError, Metric
from celadon.runs.folder import SHARDS, SUMMARY, RunFolder, is_running, part_name
from celadon.runs.manifest import Manifest, RunConfig
from celadon.runs.shards import ShardRecord
from celadon.scoring.summary import Summarizer, Summary

RUNNING, FINISHED, STOPPED = "running", "finished", "stopped"


@dataclass(frozen=True)
class RunState:
    """How far a run has come."""

    folder: RunFolder
    manifest: Manifest
    state: str  # ``running``, ``finished`` or ``stopped``
    shards: tuple[ShardRecord, ...]  # what is known of each whole shard
    # summary, last_start: of a finished run
    summary: Summary | None = None
    last_start: dict[str, float | int | str] | None = None


def whole_shards(folder: RunFolder, count: int) -> dict[int, ShardRecord]:
    """Return what is known of each shard that is whole: its own note is there, and all files that it tells of."""
    sizes = folder.sizes()
    shards: dict[int, ShardRecord] = {}
    for index in range(count):
        name = f"{SHARDS}/{part_name(index)}.json"
        noted = _record_in(folder, name) if name in sizes else None
        record = None if noted is None or noted.index != index else _as_it_is(folder, noted, sizes)
        if record is not None:
            shards[index] = record
    return shards


def _record_in(folder: RunFolder, name: str) -> ShardRecord | None:
    data = folder.read(name)
    try:
        return None if data is None else ShardRecord.from_dict(json.loads(data))
    except (ValueError, TypeError, KeyError):
        return None


def _as_it_is(folder: RunFolder, noted: ShardRecord, sizes: Mapping[str, int]) -> ShardRecord | None:
    """What is known of a shard whose files are all there, of which one may wait to be put in its place."""
    record = noted
    if noted.recast_from:
        name = f"{part_name(noted.index)}.parquet"
        after, before = noted.files[name], noted.recast_from
        is_old = sizes.get(name) == before["bytes"]
        if is_old and before["bytes"] == after["bytes"]:
            is_old = hashlib.sha256(folder.read(name) or b"").hexdigest() == before["sha256"]
        record = noted.before_recast() if is_old else noted
    return record if all(sizes.get(name) == facts["bytes"] for name, facts in record.files.items()) else None


def merged_summary(folder: RunFolder, metrics: Sequence[Metric], config: RunConfig, shards: int) -> Summary:
    """Return the summary of all shards, put together in their order, so that it does not depend on who made them."""
    summarizer = Summarizer(metrics, config.resamples, config.seed)
    for index in range(shards):
        name = f"{SHARDS}/{part_name(index)}.npz"
        data = folder.read(name)
        if data is None:
            raise InputError(f"{folder.name}{name}: is gone; start the run again, and it is made anew")
        with np.load(BytesIO(data), allow_pickle=False) as arrays:
            summarizer.merge(arrays)
    return summarizer.summary()


def state_of(place: str) -> RunState:
    """Look at a run. Raises InputError if there is no run at this place."""
    folder = RunFolder(place)
    manifest = Manifest.read(folder)
    if manifest is None:
        raise InputError(f"{folder.name}: is not a run; celadon runs lists those that are known")
    shards = tuple(whole_shards(folder, len(manifest.pieces)).values())
    stored = folder.read(SUMMARY)
    if is_running(folder):
        return RunState(folder, manifest, RUNNING, shards)
    if stored is None:
        return RunState(folder, manifest, STOPPED, shards)
    values = json.loads(stored)
    return RunState(folder, manifest, FINISHED, shards, Summary.from_dict(values), values["last_start"])


def wrong_files(state: RunState, progress: Callable[[int, int], None] = lambda done, total: None) -> list[str]:
    """Hash every file of every whole shard; tell in lines which are not as they were written."""
    files = [(name, facts) for shard in state.shards for name, facts in shard.files.items()]
    wrong = []
    for number, (name, facts) in enumerate(files, start=1):
        data = state.folder.read(name)
        if data is None:
            wrong.append(f"{state.folder.name}{name}: is gone")
        elif hashlib.sha256(data).hexdigest() != facts["sha256"]:
            wrong.append(f"{state.folder.name}{name}: has another content than was written (sha256)")
        progress(number, len(files))
    return wrong
