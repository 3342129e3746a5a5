"""Every metric that can run on a data set, run on it; every one that cannot, named with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from celadon.api import score_batch
from celadon.batch import Batch
from celadon.core import CeladonError, Direction, FloatArray, Metric, Need, UsageError
from celadon.metrics.registry import load, load_all, names
from celadon.reproduce.fingerprint import fingerprint
from celadon.reproduce.published import OVER_CHARACTERS
from celadon.reproduce.sets import RatedSet, digest
from celadon.reproduce.store import ScoreStore

# Rows scored between two writes: what a killed run loses at most.
PIECE_ROWS = 256
SINGLE = "rougeL"
"""The metric that the SLOR paper also gives with a single reference."""

NOT_ASKED = "not asked for"
_NEVER = {"formula": "is fitted to ratings, and needs a file"}

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

    Attributes
    ----------
    rated
        The texts and their ratings.
    scores
        One number per text for each metric, by its notation, turned round where lower is better.
    not_run
        Every other metric, with the reason.
    turned
        The metrics that were turned round.
    without_references
        The metrics that do not look at references.
    single
        Scores with the first reference alone, where there are more.
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
        not_run |= {name: why for name, why in _NEVER.items() if name not in not_run}
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
    kept: dict[str, list[FloatArray]] = {metric.spec: [] for metric in metrics}
    failed: dict[str, str] = {}
    for at in pieces(rated):
        samples = rated.samples[at : at + PIECE_ROWS]
        data = digest(samples)
        # one batch for all metrics: what is expensive to see of the texts is seen once
        batch = Batch(samples)
        for metric in metrics:
            advance(f"{rated.plan.title}: {metric.spec}")
            if metric.spec in failed:
                continue
            values = store.read(name, metric.spec, keys[metric.spec], data, len(samples))
            if values is None:
                try:
                    values = _values(metric, batch)
                except Exception as error:  # noqa: BLE001  whatever it is, the other metrics go on, and it is reported
                    failed[metric.spec] = failure(error)
                    continue
                store.write(name, metric.spec, keys[metric.spec], data, values)
            kept[metric.spec].append(values)
    return {spec: np.concatenate(parts) for spec, parts in kept.items() if spec not in failed}, failed


def _values(metric: Metric, batch: Batch) -> FloatArray:
    values = np.asarray(score_batch(batch, [metric])[metric.spec].values, dtype=np.float64)
    if values.shape != (len(batch),):
        raise ValueError(f"{values.shape} scores of {len(batch)} texts")
    return values
