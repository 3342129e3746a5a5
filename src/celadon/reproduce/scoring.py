"""Every metric that can run on a data set, run on it; every one that cannot, named with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from celadon.core import CeladonError, Components, Direction, FloatArray, Metric, Need, SetRelativeMetric, UsageError
from celadon.metrics.registry import load, load_all, names
from celadon.reproduce.published import OVER_CHARACTERS
from celadon.reproduce.sets import RatedSet, digest
from celadon.reproduce.store import ScoreStore, fingerprint
from celadon.scoring.api import score_batch
from celadon.scoring.batch import Batch
from celadon.scoring.fitting import Fitting, second_pass, waits

# Rows scored between two writes: what a killed run loses at most.
PIECE_ROWS = 256
SINGLE = "rougeL"
"""The metric that the SLOR paper also gives with a single reference."""

NOT_ASKED = "not asked for"
_NEVER = dict.fromkeys(("formula", "combined"), "is fitted to ratings, and needs a file")

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
    kept: dict[str, list[Mapping[str, FloatArray]]] = {metric.spec: [] for metric in metrics}
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
            columns = _read(store, name, metric, keys[metric.spec], data, len(samples))
            if columns is None:
                try:
                    columns = _components(metric, batch) if waits(metric) else {metric.spec: _values(metric, batch)}
                except Exception as error:  # noqa: BLE001  whatever it is, the other metrics go on, and it is reported
                    failed[metric.spec] = failure(error)
                    continue
                for column, values in columns.items():
                    store.write(name, column, keys[metric.spec], data, values)
            kept[metric.spec].append(columns)
    scores: dict[str, FloatArray] = {}
    for metric in (metric for metric in metrics if metric.spec not in failed):
        try:
            scores[metric.spec] = _joined(rated, metric, kept[metric.spec])
        except Exception as error:  # noqa: BLE001  as above
            failed[metric.spec] = failure(error)
    return scores, failed


def _read(
    store: ScoreStore, name: str, metric: Metric, key: str, data: str, rows: int
) -> Mapping[str, FloatArray] | None:
    """What is kept of a piece: its scores, or its components where the whole set must be known first."""
    names = [f"{metric.spec}.{part}" for part in metric.component_names] if waits(metric) else [metric.spec]
    found = {column: store.read(name, column, key, data, rows) for column in names}
    known = {column: values for column, values in found.items() if values is not None}
    return known if known.keys() == found.keys() else None


def _joined(rated: RatedSet, metric: Metric, parts: Sequence[Mapping[str, FloatArray]]) -> FloatArray:
    """The scores of the whole set; a set-relative metric takes its constants from it."""
    if not waits(metric):
        return np.concatenate([part[metric.spec] for part in parts])
    batch = Batch(rated.samples)
    if not metric.component_names:
        return _values(metric, batch)
    # a kept NaN has lost its reason, which no table shows
    columns = {
        part: np.concatenate([kept[f"{metric.spec}.{part}"] for kept in parts]) for part in metric.component_names
    }
    first = {metric.spec: Components(columns)}
    fitting = Fitting([metric])
    fitting.add(batch, first)
    return second_pass(batch, first, fitting.fitted())[metric.spec].values


def _values(metric: Metric, batch: Batch) -> FloatArray:
    return _checked(score_batch(batch, [metric])[metric.spec].values, batch)


def _components(metric: SetRelativeMetric[Any], batch: Batch) -> dict[str, FloatArray]:
    columns = metric.components(batch).columns
    return {f"{metric.spec}.{part}": _checked(columns[part], batch) for part in metric.component_names}


def _checked(column: FloatArray, batch: Batch) -> FloatArray:
    values = np.asarray(column, dtype=np.float64)
    if values.shape != (len(batch),):
        raise ValueError(f"{values.shape} scores of {len(batch)} texts")
    return values
