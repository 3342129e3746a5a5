"""Scores that were made before: kept by what was scored and how, read again instead of made again."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeAlias, TypeVar

import numpy as np

from celadon.core import Components, Metric, MetricScores, is_set_relative, unbound
from celadon.models.store.places import Say, home, say_on_stderr
from celadon.scoring.batch import Batch
from celadon.scoring.cache.cached_rows import (
    Rows,
    contents_of,
    keys_of,
    layout_of,
    packed,
    unpacked,
    width_of,
    with_members,
)
from celadon.scoring.cache.score_file import KeptRow, ScoreFile, is_damage, open_or_replace

DEFAULT_MAX_BYTES = 1_000_000_000
_FILE = "scores-1.sqlite"
_NO = ("", "0", "false", "no", "off")

Result = TypeVar("Result")

FirstPass: TypeAlias = Mapping[str, MetricScores | Components]
"""What a first pass leaves of a batch, by metric: scores, or components where the set must be known first."""

Compute: TypeAlias = Callable[[Batch, Sequence[Metric]], FirstPass]


def is_wanted_everywhere() -> bool:
    """Tell whether ``CELADON_CACHE`` asks for the cache."""
    return os.environ.get("CELADON_CACHE", "").strip().lower() not in _NO


@dataclass(frozen=True)
class CacheSettings:
    """Which cache; plain data, for processes that open their own. Without a path it is the user's."""

    path: str | None = None
    max_bytes: int = DEFAULT_MAX_BYTES

    def open(self) -> ScoreCache:
        """Open the cache."""
        return ScoreCache(self.path, max_bytes=self.max_bytes)


class ScoreCache:
    """Scores by signature and text. Whatever goes wrong with its file, nothing but its use is lost.

    Threads may share one; processes open their own of the same file.

    Without a path it is the file in the user's celadon folder; the least recently used scores go where it exceeds
    ``max_bytes``. ``say`` is told once what went wrong. ``hits`` and ``misses`` count scores of one text under one
    metric.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        *,
        say: Say = say_on_stderr,
    ) -> None:
        self.path = home() / _FILE if path is None else Path(path)
        self.max_bytes = max_bytes
        self.hits = 0
        self.misses = 0
        self._say = say
        self._lock = Lock()
        self._file = open_or_replace(self.path, max_bytes, say)

    def look_up(self, keys: Sequence[bytes]) -> Mapping[bytes, KeptRow]:
        """What is kept under these keys."""
        nothing: dict[bytes, KeptRow] = {}
        return self._safely(lambda file: file.look_up(keys), nothing)

    def keep(self, rows: Sequence[tuple[bytes, KeptRow]]) -> None:
        """Keep rows under their keys."""
        if rows:
            self._safely(lambda file: file.keep(rows), None)

    def count(self, hits: int, misses: int) -> None:
        """Add to the counts."""
        with self._lock:
            self.hits += hits
            self.misses += misses

    def first_pass(self, batch: Batch, metrics: Sequence[Metric], compute: Compute) -> FirstPass:
        """Return what ``compute`` returns, with as much of it as can be from the cache.

        Texts that are not there are scored together by all metrics that lack the same ones. Metrics that wait for the
        whole set, and those of other packages or made of these, which need not tell their version, are never kept.
        """
        if not len(batch):
            return compute(batch, metrics)
        looked_up = _look_up(self, batch, [metric for metric in metrics if _can_be_kept(metric)])
        every = tuple(range(len(batch)))
        groups: dict[tuple[int, ...], list[Metric]] = {}
        for metric in metrics:
            missed = looked_up[metric.spec].missed if metric.spec in looked_up else every
            groups.setdefault(missed, []).append(metric)
        computed: dict[str, MetricScores | Components] = {}
        for missed, group in groups.items():
            if missed:
                part = batch if missed == every else Batch([batch.samples[row] for row in missed])
                computed.update(compute(part, group))
        new = ((known, computed[spec]) for spec, known in looked_up.items() if spec in computed)
        self.keep([row for known, scores in new for row in _to_keep(known, scores)])
        return {
            metric.spec: _together(looked_up[metric.spec], computed.get(metric.spec), metric, batch)
            if metric.spec in looked_up
            else computed[metric.spec]
            for metric in metrics
        }

    @property
    def hit_rate(self) -> float:
        """The part of all scores that were there; 0 before the first."""
        return self.hits / max(self.hits + self.misses, 1)

    def close(self) -> None:
        """Close the file; the counts stay."""
        self._safely(lambda file: file.close(), None)
        self._file = None

    def __enter__(self) -> ScoreCache:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _safely(self, act: Callable[[ScoreFile], Result], otherwise: Result) -> Result:
        with self._lock:
            if self._file is None:
                return otherwise
            try:
                return act(self._file)
            except sqlite3.ProgrammingError:
                raise
            except sqlite3.DatabaseError as error:
                failed, self._file = self._file, None
                _close(failed)
                if is_damage(error):
                    self._file = open_or_replace(self.path, self.max_bytes, self._say, check=True)
                else:
                    self._say(f"{self.path}: {error}; going on without the cache")
                return otherwise


def _close(file: ScoreFile) -> None:
    try:
        file.close()
    except sqlite3.Error:
        # what is wrong with it was said already
        return


def _can_be_kept(metric: Metric) -> bool:
    return all(
        not is_set_relative(each) and type(unbound(each)).__module__.partition(".")[0] == "celadon"
        for each in with_members(metric)
    )


@dataclass(frozen=True)
class _LookedUp:
    """What the cache has of a batch under one metric: the rows that are there, all of one layout, and the others."""

    keys: Sequence[bytes]
    layout: str
    kept: Mapping[int, KeptRow]
    missed: tuple[int, ...]


def _look_up(cache: ScoreCache, batch: Batch, metrics: Sequence[Metric]) -> dict[str, _LookedUp]:
    contents = contents_of(batch.samples)
    keys = {metric.spec: keys_of(metric, contents) for metric in metrics}
    kept = cache.look_up(list(dict.fromkeys(key for each in keys.values() for key in each)))
    looked_up = {spec: _usable(each, kept) for spec, each in keys.items()}
    misses = sum(len(each.missed) for each in looked_up.values())
    cache.count(len(batch) * len(keys) - misses, misses)
    return looked_up


def _usable(keys: Sequence[bytes], kept: Mapping[bytes, KeptRow]) -> _LookedUp:
    usable = {row: kept[key] for row, key in enumerate(keys) if key in kept}
    layouts = {each.layout for each in usable.values()}
    layout = layouts.pop() if len(layouts) == 1 else ""
    wide = width_of(layout) if layout else None
    # what has not the length that its layout tells cannot be read
    usable = {row: each for row, each in usable.items() if len(each.data) == wide}
    return _LookedUp(keys, layout, usable, tuple(row for row in range(len(keys)) if row not in usable))


def _to_keep(known: _LookedUp, new: MetricScores | Components) -> list[tuple[bytes, KeptRow]]:
    assert isinstance(new, MetricScores)
    layout = layout_of(new)
    if layout is None:
        return []
    rows = packed(new)
    return [
        (known.keys[row], KeptRow(layout, rows[at].tobytes(), new.reasons.get(at)))
        for at, row in enumerate(known.missed)
    ]


def _together(
    known: _LookedUp, new: MetricScores | Components | None, metric: Metric, batch: Batch
) -> MetricScores | Components:
    """The scores of the whole batch, in its order."""
    if new is not None and not known.kept:
        return new
    reasons = {row: each.reason for row, each in known.kept.items() if each.reason is not None}
    wide = len(next(iter(known.kept.values())).data)
    rows: Rows = np.empty((len(batch), wide), dtype=np.uint8)
    rows[list(known.kept)] = np.frombuffer(b"".join(each.data for each in known.kept.values()), dtype=np.uint8).reshape(
        len(known.kept), -1
    )
    if new is not None:
        assert isinstance(new, MetricScores)
        if layout_of(new) != known.layout:
            return metric.score(batch)
        rows[list(known.missed)] = packed(new)
        reasons |= {known.missed[at]: why for at, why in new.reasons.items()}
    return unpacked(metric.spec, known.layout, rows, reasons)
