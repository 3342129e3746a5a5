"""The table of an instrument: what a metric says of sound passages, of their damaged copies and of corrections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from celadon.core import FloatArray
from celadon.instrument.cells import is_spoken
from celadon.instrument.damage import KINDS, OF_DOCUMENTS, damaged
from celadon.instrument.figures import (
    QUANTILES,
    Cell,
    Corrections,
    Genre,
    Hits,
    Instrument,
    Joined,
    Length,
    System,
)
from celadon.instrument.halves import Half, document_of, half_of
from celadon.instrument.passages import REPLY, SIZES, Passage
from celadon.meta.correlation import spearman
from celadon.text.prose import read_prose

Score = Callable[[Sequence[Passage]], FloatArray]
"""Scores texts, higher being better; NaN where there is no score."""

_STEPS = 20
_LENGTHS = 10
_OTHER_WORDS = (6, 40)


def measure(
    metric: str,
    score: Score,
    sound: Sequence[Passage],
    corrections: Iterable[Mapping[str, Any]] = (),
    *,
    gate: float | None = None,
    false_alarms: float = 0.03,
    seed: int = 0,
) -> Instrument:
    """Measure a metric.

    Parameters
    ----------
    metric
        Its name.
    score
        Scores passages.
    sound
        Passages that nothing is wrong with.
    corrections
        Rows with ``before``, ``after`` and ``kind``.
    gate
        The least score that passes; by default the one that lets ``false_alarms`` of the sound passages fall below it.
    false_alarms
        See ``gate``.
    seed
        Of the damage.
    """
    values = score(sound)
    sizes = np.array([passage.size for passage in sound])
    is_long = (sizes != REPLY) & ~np.isnan(values)
    if gate is None:
        gate = float(np.quantile(values[is_long], false_alarms)) if is_long.any() else float("nan")
    hits = []
    compared = (sizes == SIZES[0]) & ~np.isnan(values)
    for kind, copies in damaged_copies(sound, seed):
        hits.append(_hits(kind, values[compared], score(copies), gate))
    counts = np.array([passage.words for passage in sound], dtype=np.float64)
    return Instrument(
        metric=metric,
        gate=gate,
        cells=tuple(_cells(sound, values, gate)),
        length=spearman(values[is_long], counts[is_long]).value,
        lengths=tuple(_lengths(values[is_long], counts[is_long])),
        joined=_joined(sound, values, score),
        hits=tuple(hits),
        corrections=tuple(_corrections(list(corrections), score)),
        systems=tuple(_systems(sound, values)),
        genres=tuple(_genres(sound, values)),
    )


def _cells(sound: Sequence[Passage], values: FloatArray, gate: float) -> Iterable[Cell]:
    keys = [(passage.cell, passage.size) for passage in sound]
    for cell, size in sorted(set(keys)):
        is_here = [key == (cell, size) for key in keys]
        here = values[is_here]
        counted = not any(is_spoken(passage) for passage, inside in zip(sound, is_here, strict=True) if inside)
        known = here[~np.isnan(here)]
        below = int((known < gate).sum())
        low, high = wilson(below, len(known))
        mean = float(known.mean()) if len(known) else float("nan")
        share = below / len(known) if len(known) else float("nan")
        yield Cell(cell, size, counted, len(here), int(np.isnan(here).sum()), mean, share, low, high)


def _genres(sound: Sequence[Passage], values: FloatArray) -> Iterable[Genre]:
    names = np.array([passage.genre or passage.cell for passage in sound])
    spoken = {passage.genre or passage.cell for passage in sound if is_spoken(passage)}
    known = ~np.isnan(values)
    if not known.any():
        return
    scale = _scale(values[known])
    for name in sorted(set(names[known].tolist())):
        here = np.sort(values[known & (names == name)])
        quantiles = np.quantile(here, [float(share) for share in QUANTILES], method="inverted_cdf")
        below = np.searchsorted(here, [float(score) for score in scale]) / len(here)
        yield Genre(
            genre=name,
            counted=name not in spoken,
            passages=len(here),
            quantiles=dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
            below=dict(zip(scale, below.tolist(), strict=True)),
        )


def _scale(values: FloatArray) -> list[str]:
    """Return about twenty round scores, written out: from 0 to 1 where no score is outside, else over all scores."""
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    width = (high - low) / _STEPS or 1.0
    power = 10.0 ** np.floor(np.log10(width))
    step = next(power * part for part in (1, 2, 5, 10) if power * part >= width * (1 - 1e-9))
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    first, last = int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9))
    return [f"{at * step + 0.0:.{decimals}f}" for at in range(first, last + 1)]


def _systems(sound: Sequence[Passage], values: FloatArray) -> Iterable[System]:
    names = np.array([passage.system for passage in sound])
    documents = np.array([passage.document for passage in sound])
    for name in sorted(set(names.tolist()) - {""}):
        here = names == name
        known = here & ~np.isnan(values)
        count, nulls = int(known.sum()), int((here & ~known).sum())
        if not count:
            yield System(name, nulls, nulls, *(float("nan"),) * 3)
            continue
        mean = float(values[known].mean())
        _, document = np.unique(documents[known], return_inverse=True)
        sums = np.bincount(document, values[known] - mean)
        half = float(stats.norm.ppf(0.975) * np.sqrt((sums**2).sum()) / count) if len(sums) > 1 else float("nan")
        yield System(name, count + nulls, nulls, mean, mean - half, mean + half)


def _lengths(values: FloatArray, words: FloatArray) -> Iterable[Length]:
    """Group passages by length into tenths."""
    order = np.argsort(words, kind="stable")
    for group in np.array_split(order, min(_LENGTHS, max(len(order), 1))):
        if len(group):
            lower, median, upper = np.quantile(values[group], (0.25, 0.5, 0.75)).tolist()
            shortest, longest = int(words[group[0]]), int(words[group[-1]])
            yield Length(shortest, longest, len(group), lower, median, upper)


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a share."""
    if not trials:
        return float("nan"), float("nan")
    interval = stats.binomtest(hits, trials).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def damaged_copies(
    sound: Sequence[Passage], seed: int, kinds: Iterable[str] = tuple(KINDS)
) -> Iterable[tuple[str, list[Passage]]]:
    """Damage the passages of the first size, in every way; copies that are not changed are left out."""
    wanted = frozenset(kinds)
    chosen = [at for at, passage in enumerate(sound) if passage.size == SIZES[0]]
    proses = {at: read_prose(sound[at].text, sound[at].markup) for at in chosen}
    sentences = {at: [prose.text[start:end] for start, end in prose.sentences] for at, prose in proses.items()}
    fewest, most = _OTHER_WORDS
    others = [(at, s) for at in chosen for s in sentences[at] if fewest < len(s.split()) < most]
    for number, kind in enumerate(KINDS):
        if kind not in wanted:
            continue
        copies = []
        for at in chosen:
            passage, prose = sound[at], proses[at]
            if not prose.sentences or (kind in OF_DOCUMENTS and len(prose.sentences) < 2):
                continue
            random = np.random.default_rng([seed, number, at])
            foreign = [s for other, s in others if sound[other].document != passage.document] if kind == "mixed" else []
            places = [prose.source_span(start, end) for start, end in prose.sentences]
            text = damaged(kind, passage.text, places, foreign, random)
            if text is not None:
                copies.append(passage._replace(text=text))
        yield kind, copies


def _hits(kind: str, sound: FloatArray, copies: FloatArray, gate: float) -> Hits:
    nulls = int(np.isnan(copies).sum())
    # a copy that is not scored is not told from any sound text
    filled = np.where(np.isnan(copies), np.inf, copies)
    if not len(sound) or not len(copies):
        return Hits(kind, len(copies), nulls, float("nan"), float("nan"))
    auc = stats.mannwhitneyu(sound, filled).statistic / (len(sound) * len(copies))
    return Hits(kind, len(copies), nulls, float(auc), float((filled < gate).mean()))


def _joined(sound: Sequence[Passage], values: FloatArray, score: Score) -> Joined:
    """Join passages of the first size that stand next to each other in a document."""
    chosen = [at for at, passage in enumerate(sound) if passage.size == SIZES[0]]
    pairs = [(a, b) for a, b in pairwise(chosen) if sound[a].document == sound[b].document]
    both = [
        sound[a]._replace(text=f"{sound[a].text}\n\n{sound[b].text}", words=sound[a].words + sound[b].words)
        for a, b in pairs
    ]
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    weights = np.array([passage.words for passage in sound], dtype=np.float64)
    means = (weights[first] * values[first] + weights[second] * values[second]) / (weights[first] + weights[second])
    apart = np.abs(score(both) - means) if both else means
    apart = apart[~np.isnan(apart)]
    if not len(apart):
        return Joined(0, float("nan"), float("nan"))
    return Joined(len(apart), float(apart.mean()), float((apart <= 0.05).mean()))


def _corrections(rows: Sequence[Mapping[str, Any]], score: Score) -> Iterable[Corrections]:
    from celadon.text.structure import Markup

    def passages(field: str) -> list[Passage]:
        return [Passage(row["kind"], document_of(row), REPLY, row[field], Markup.AUTO, 0) for row in rows]

    if not rows:
        return
    before, after = score(passages("before")), score(passages("after"))
    raised = np.where(np.isnan(before) | np.isnan(after), 0.5, (after > before) + 0.5 * (after == before))
    kinds = np.array([row["kind"] for row in rows])
    for kind in sorted(set(kinds.tolist())):
        here = raised[kinds == kind]
        yield Corrections(kind, len(here), float(here.mean()))
    yield Corrections("all", len(raised), float(raised.mean()))


def of_half(rows: Iterable[Mapping[str, Any]], halves: frozenset[Half]) -> list[Mapping[str, Any]]:
    """Return the rows whose documents belong to some halves."""
    return [row for row in rows if half_of(document_of(row)) in halves]
