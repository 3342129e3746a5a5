"""Limits learned from texts that are good enough, and how sure they are."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.compare.columns import Column, Limit, column_of
from celadon.core import Direction, FloatArray, InputError, MetricScores, UsageError
from celadon.instrument.measure import wilson
from celadon.io import Chunk, atomic_write_text
from celadon.io.json_file import JsonFile, read_json
from celadon.runs.local import Job
from celadon.runs.local import run as run_job
from celadon.scoring.scorer import Progress, no_progress

FEWEST = 20
"""With fewer good texts nothing can be learned."""


class Share(msgspec.Struct, frozen=True):
    """A share of texts and its interval of 95 %."""

    share: float
    low: float
    high: float


class CalibratedLimit(msgspec.Struct, frozen=True):
    """A limit of one column.

    Attributes
    ----------
    column, signature
        The metric or part, and the signature of the metric.
    bound, is_least
        The number, and whether values may not be lower.
    false_alarms
        The share of good texts, seen or not, that lie beyond it.
    caught
        The share of the bad texts that do; None without bad texts.
    """

    column: str
    signature: str
    bound: float
    is_least: bool
    false_alarms: Share
    caught: Share | None = None


class GateFile(JsonFile, frozen=True):
    """Limits that were learned together.

    Attributes
    ----------
    good, bad
        How many texts they were learned from, and tried on.
    wanted
        The share of false alarms that was asked for, of all limits together.
    false_alarms, caught
        The shares of good and of bad texts that break any limit.
    limits
        The limits.
    warnings
        What a reader should know.
    """

    FORMAT: ClassVar[str] = "celadon-gate/1"

    good: int
    wanted: float
    false_alarms: Share
    limits: tuple[CalibratedLimit, ...]
    bad: int = 0
    caught: Share | None = None
    warnings: tuple[str, ...] = ()

    def checked_limits(self, path: str) -> tuple[Limit, ...]:
        """Return the limits for a gate.

        Raises
        ------
        InputError
            A metric has another signature than when it was calibrated.
        """
        limits = []
        for limit in self.limits:
            column = column_of(limit.column)
            if column.metric.signature != limit.signature:
                raise InputError(
                    f"{path}: {limit.column} was calibrated as {limit.signature}, and here it is "
                    f"{column.metric.signature}; run celadon calibrate again"
                )
            limits.append(Limit(column, limit.bound, limit.is_least))
        return tuple(limits)


def calibrate_files(
    job: Job,
    columns: Sequence[Column],
    bad: Sequence[str] = (),
    false_alarms: float = 0.02,
    progress: Progress = no_progress,
) -> GateFile:
    """Score files of texts, and learn a limit for each column: see :func:`calibrate`.

    ``job`` has the good texts and how they are read; ``bad`` are files of texts that the gate should catch.
    """
    if not 0 < false_alarms < 0.5:
        raise UsageError(f"the share of false alarms is above 0 and below 0.5, not {false_alarms:g}")
    good_values = _values(job, columns, progress)
    bad_values = _values(replace(job, inputs=list(bad)), columns, progress) if bad else None
    return calibrate(columns, good_values, bad_values, false_alarms)


def _values(job: Job, columns: Sequence[Column], progress: Progress) -> dict[str, FloatArray]:
    pieces: dict[str, list[FloatArray]] = {column.name: [] for column in columns}

    def collect(chunk: Chunk, scores: Mapping[str, MetricScores]) -> None:
        for column in columns:
            pieces[column.name].append(column.values(scores))

    specs = list(dict.fromkeys(column.metric.spec for column in columns))
    run_job(replace(job, metrics=specs, resamples=1, watch=collect), progress)
    return {name: np.concatenate(each) if each else np.zeros(0) for name, each in pieces.items()}


def write_gate(path: str, gate: GateFile) -> None:
    """Write a gate as JSON that people can read."""
    content = {"format": GateFile.FORMAT, **msgspec.to_builtins(gate)}
    for name in ("facts", "sha256"):
        content.pop(name)
    atomic_write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_gate(path: str) -> GateFile:
    """Read a file that ``celadon calibrate`` wrote."""
    return read_json(path, "a gate", GateFile)


def calibrate(
    columns: Sequence[Column],
    good: Mapping[str, FloatArray],
    bad: Mapping[str, FloatArray] | None = None,
    false_alarms: float = 0.02,
) -> GateFile:
    """Learn a limit for each column.

    With several columns each gets an equal part of the false alarms. Texts without a score are left out.

    Parameters
    ----------
    columns
        What is limited.
    good, bad
        The values of each column, by its name, over texts that are good enough, and over some that are not.
    false_alarms
        The share of good texts that may break a limit.

    Raises
    ------
    InputError
        There are too few good texts with a score.
    """
    share = false_alarms / len(columns)
    limits, warnings = [], []
    for column in columns:
        values = _oriented(column, good[column.name])
        known = np.sort(values[~np.isnan(values)])
        if len(known) < FEWEST:
            raise InputError(
                f"{column.name}: {len(known)} texts have a score; at least {FEWEST} are needed to calibrate, and "
                f"{_enough(share)} for {share:.3g} false alarms"
            )
        if nulls := len(values) - len(known):
            warnings.append(
                f"{column.name}: {nulls:,} of {len(values):,} good texts have no score and were left out; "
                "celadon check --nulls says which of them pass"
            )
        rank = max(1, math.floor(share * (len(known) + 1)))
        if share * (len(known) + 1) < 1:
            warnings.append(
                f"{column.name}: {len(known)} texts are too few for {share:.3g} false alarms; the limit is the lowest "
                f"of them, and {_enough(share)} would do"
            )
        bound = float(known[rank - 1])
        low, high = stats.beta.interval(0.95, rank, len(known) - rank + 1)
        alarms = Share(rank / (len(known) + 1), float(low), float(high))
        caught = None if bad is None else _share(_oriented(column, bad[column.name]) < bound)
        is_least = column.metric.info.direction is not Direction.LOWER
        signed = bound if is_least else -bound
        limits.append(CalibratedLimit(column.name, column.metric.signature, signed, is_least, alarms, caught))
    return GateFile(
        good=len(next(iter(good.values()))),
        wanted=false_alarms,
        false_alarms=_share(_broken(columns, limits, good)),
        limits=tuple(limits),
        bad=0 if bad is None else len(next(iter(bad.values()))),
        caught=None if bad is None else _share(_broken(columns, limits, bad)),
        warnings=tuple(warnings),
    )


def _enough(share: float) -> str:
    return f"{math.ceil(3 / share):,}"


def _oriented(column: Column, values: FloatArray) -> FloatArray:
    """Return values of which more is better."""
    return -values if column.metric.info.direction is Direction.LOWER else values


def _broken(
    columns: Sequence[Column], limits: Sequence[CalibratedLimit], values: Mapping[str, FloatArray]
) -> npt.NDArray[np.bool_]:
    """Return which texts break any limit; a text without a score breaks none."""
    beyond = [
        values[column.name] < limit.bound if limit.is_least else values[column.name] > limit.bound
        for column, limit in zip(columns, limits, strict=True)
    ]
    broken: npt.NDArray[np.bool_] = np.any(beyond, axis=0)
    return broken


def _share(hits: npt.NDArray[np.bool_]) -> Share:
    low, high = wilson(int(hits.sum()), len(hits))
    return Share(float(hits.mean()) if len(hits) else math.nan, low, high)
