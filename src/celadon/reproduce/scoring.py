"""Every metric that can run on a data set, run on it; every one that cannot, named with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from celadon.core import (
    CeladonError,
    Components,
    Direction,
    FloatArray,
    Metric,
    MetricScores,
    Need,
    UsageError,
    is_set_relative,
)
from celadon.metrics.registry import load, load_all, names
from celadon.reproduce.published import OVER_CHARACTERS
from celadon.reproduce.sets import RatedSet, digest
from celadon.reproduce.store import ScoreStore, fingerprint
from celadon.scoring.batch import Batch
from celadon.scoring.cache.score_cache import Compute, FirstPass
from celadon.scoring.scorer import Scorer

# Rows scored between two writes: what a killed run loses at most.
PIECE_ROWS = 256
SINGLE = "rougeL"
"""The metric that the SLOR paper also gives with a single reference."""

NOT_ASKED = "not asked for"

Advance: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Choice:
    """Which metrics run, how each is signed, under what its scores are kept, and why the others do not run."""

    metrics: tuple[Metric, ...]
    signatures: Mapping[str, str]
    keys: Mapping[str, str]
    not_run: Mapping[str, str]


@dataclass(frozen=True)
class ScoredSet:
    """A data set with its scores.

    ``scores`` has one number per text for each metric, turned round where lower is better (``turned``); ``not_run`` the
    reason for every other metric; ``single`` the scores with the first reference alone, where there are more.
    """

    rated: RatedSet
    scores: Mapping[str, FloatArray]
    not_run: Mapping[str, str]
    turned: frozenset[str] = frozenset()
    without_references: frozenset[str] = frozenset()
    single: Mapping[str, FloatArray] = field(default_factory=dict)


def choose(specs: Sequence[str] = (), without: Sequence[str] = ()) -> Choice:
    """Make the metrics asked for, or all there are; one that cannot be made is named with the reason."""
    for name in without:
        if name not in names():
            load(name)  # complains of the name, with the closest one
    not_run = dict.fromkeys(without, "left out by --without")
    if specs:
        asked = [metric for metric in load_all(specs) if metric.spec not in not_run and metric.info.name not in not_run]
        there = {metric.info.name for metric in asked}
        not_run = {**dict.fromkeys((name for name in names() if name not in there), NOT_ASKED), **not_run}
    else:
        asked = []
        for spec in (*names(), *OVER_CHARACTERS):
            if spec.partition("[")[0] in not_run:
                continue
            try:
                asked.append(load(spec))
            except CeladonError as error:
                not_run[spec] = str(error)
    signatures: dict[str, str] = {}
    for metric in asked:
        if metric.info.incomplete:
            not_run[metric.spec] = metric.info.incomplete
            continue
        try:
            signatures[metric.spec] = metric.signature
        except Exception as error:  # noqa: BLE001  a metric that fails, ours or a stranger's, must not stop the others
            not_run[metric.spec] = failure(error)
    if not signatures:
        raise UsageError("no metric is left to run")
    metrics = tuple(metric for metric in asked if metric.spec in signatures)
    keys = {metric.spec: f"{signatures[metric.spec]}|code:{fingerprint(metric)}" for metric in metrics}
    return Choice(metrics, signatures, keys, not_run)


def failure(error: Exception) -> str:
    """What went wrong, in one line."""
    lines = str(error).strip().splitlines()
    kind = "" if isinstance(error, CeladonError) else f"{type(error).__name__}: "
    return f"failed: {kind}{lines[0] if lines else ''}".rstrip(": ")


def runnable(rated: RatedSet, choice: Choice) -> tuple[list[Metric], dict[str, str]]:
    """The metrics that find what they need in a data set, and why the others do not run."""
    lacking: dict[Need, str] = {}
    if not any(sample.references for sample in rated.samples):
        lacking[Need.REFERENCES] = "needs references, and the set has none"
    if not any(sample.source is not None for sample in rated.samples):
        why = "the set has none" if rated.plan.source_is_text else "the set's are meaning representations, not texts"
        lacking[Need.SOURCE] = f"needs source texts, and {why}"
    able, unable = [], dict(choice.not_run)
    for metric in choice.metrics:
        reasons = [lacking[need] for need in sorted(metric.info.needs) if need in lacking]
        if reasons:
            unable[metric.spec] = "; ".join(reasons)
        else:
            able.append(metric)
    return able, unable


def pieces(rated: RatedSet) -> range:
    """Where the stretches of rows begin that are scored and kept one by one."""
    return range(0, len(rated.samples), PIECE_ROWS)


def _has_single(rated: RatedSet, able: Sequence[Metric]) -> bool:
    return any(metric.spec == SINGLE for metric in able) and any(len(s.references) > 1 for s in rated.samples)


def steps(rated: RatedSet, choice: Choice) -> int:
    """How often :func:`score_set` says that it got further."""
    able, _ = runnable(rated, choice)
    return len(pieces(rated)) * (len(able) + _has_single(rated, able))


def score_set(rated: RatedSet, choice: Choice, store: ScoreStore, advance: Advance) -> ScoredSet:
    """Score a data set, taking from the store what it has."""
    able, unable = runnable(rated, choice)
    scores, failed = _score(rated, rated.plan.name, able, choice.keys, store, advance)
    single: dict[str, FloatArray] = {}
    if _has_single(rated, able):
        only = [metric for metric in able if metric.spec == SINGLE]
        name = f"{rated.plan.name}-first-reference"
        single, _ = _score(rated.with_first_reference(), name, only, choice.keys, store, advance)
    turned = {metric.spec for metric in able if metric.info.direction is Direction.LOWER}
    return ScoredSet(
        rated,
        {spec: -values if spec in turned else values for spec, values in scores.items()},
        unable | failed,
        frozenset(turned & scores.keys()),
        frozenset(metric.spec for metric in able if Need.REFERENCES not in metric.info.needs),
        single,
    )


def _score(
    rated: RatedSet,
    name: str,
    metrics: Sequence[Metric],
    keys: Mapping[str, str],
    store: ScoreStore,
    advance: Advance,
) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """The scores of the metrics that run through, and why the others do not."""
    if not metrics:
        return {}, {}
    failed: dict[str, str] = {}

    def fail(metric: Metric, error: Exception) -> None:
        failed[metric.spec] = failure(error)

    def step(metric: Metric) -> None:
        advance(f"{rated.plan.title}: {metric.spec}")

    kept = _KeptScores(store, name, metrics, keys, step)
    scores = Scorer(metrics, cache=kept, batch_rows=PIECE_ROWS, strict=False, on_failure=fail).score(rated.samples)
    return {spec: column.values for spec, column in scores.columns.items()}, failed


class _KeptScores:
    """What the store has of a data set, piece by piece: scores, or components where the whole set must be known."""

    def __init__(
        self,
        store: ScoreStore,
        name: str,
        metrics: Sequence[Metric],
        keys: Mapping[str, str],
        step: Callable[[Metric], None],
    ) -> None:
        self._store, self._name, self._metrics, self._keys, self._step = store, name, metrics, keys, step

    def first_pass(self, batch: Batch, metrics: Sequence[Metric], compute: Compute) -> FirstPass:
        results: dict[str, MetricScores | Components] = {}
        data, left = digest(batch.samples), {metric.spec for metric in metrics}
        for metric in self._metrics:
            self._step(metric)
            if metric.spec not in left:
                continue
            kept = self._read(metric, data, len(batch))
            if kept is not None:
                results[metric.spec] = kept
            elif (new := compute(batch, [metric]).get(metric.spec)) is not None:
                results[metric.spec] = self._write(metric, data, new)
        return results

    def _read(self, metric: Metric, data: str, rows: int) -> MetricScores | Components | None:
        # a kept NaN has lost its reason, which no table shows
        key = self._keys[metric.spec]
        if not is_set_relative(metric):
            values = self._store.read(self._name, metric.spec, key, data, rows)
            return None if values is None else MetricScores(metric.spec, values)
        parts = metric.component_names
        columns = {part: self._store.read(self._name, f"{metric.spec}.{part}", key, data, rows) for part in parts}
        known = {part: values for part, values in columns.items() if values is not None}
        return Components(known) if parts and len(known) == len(parts) else None

    def _write(self, metric: Metric, data: str, new: MetricScores | Components) -> MetricScores | Components:
        """Keep what :meth:`_read` would read, and return it."""
        if isinstance(new, MetricScores):
            values = np.asarray(new.values, dtype=np.float64)
            self._store.write(self._name, metric.spec, self._keys[metric.spec], data, values)
            return MetricScores(metric.spec, values)
        columns = {part: np.asarray(values, dtype=np.float64) for part, values in new.columns.items()}
        for part, values in columns.items():
            self._store.write(self._name, f"{metric.spec}.{part}", self._keys[metric.spec], data, values)
        return Components(columns)
