"""Fitting the weights of `celadon` on sound passages of many genres, their damaged copies and corrections."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from scipy import stats
from scipy.optimize import minimize

from celadon.core import FloatArray, InputError, Sample, UsageError
from celadon.instrument.cells import is_spoken
from celadon.instrument.halves import Half, document_of, half_of
from celadon.instrument.measure import damaged_copies
from celadon.instrument.passages import REPLY, SIZES, Passage, drawn, passages
from celadon.io import atomic_write_text, read_table_rows
from celadon.metrics.reading.features import ReadingModels
from celadon.metrics.reading.rates import Rates, joined_rates, reading_rates
from celadon.metrics.reading.weights import (
    AGAIN,
    ASPECTS,
    BIAS,
    COHERENCE,
    COMPLETE,
    FOCUS,
    FORMAT,
    GRAMMATICALITY,
    NEAREST,
    REDUNDANCY,
    REPEATS,
    TIERS,
    Cost,
    ReadingWeights,
    fault_of,
)
from celadon.scoring.batch import Batch
from celadon.text.sentences import split_sentences
from celadon.text.structure import Markup
from celadon.train.combinations.damaged_documents import extracts_of
from celadon.train.combinations.ratings import Progress, quiet
from celadon.train.corpus import Corpus, Sentence
from celadon.train.encoders.genres import may_be_used
from celadon.train.reporting import SILENT, Report, made_by

FITTED = ("dropped", "repeated", "mixed", "cut", "looped", "shuffled")
"""Kinds of damage that weights are fitted on. The others, swapped words, agreement and articles, only measure."""
GATE, FALSE_ALARMS = 0.6, 0.03
"""The score that so many of the sound passages are below."""
# what a spread of each aspect costs from the beginning, in comparison: chosen on the development half
_SLOPES = {GRAMMATICALITY: 0.7, REDUNDANCY: 0.25, FOCUS: 0.33, COHERENCE: 0.03, COMPLETE: 0.0}
# a text that breaks off is below the gate, whatever its length
_BREAKING_OFF = -float(np.log(0.55))
# marks that no damage makes: as the weights of version 0.1 have them
_MARKS = {"unknown": -3.3, "loose": -1.3}
EVIDENCE = {"acceptability": 1.0, "capped": 0.5, "weakest": 0.325}
"""What counts in the grammaticality of a sentence, in comparison: between what GUG's training part would choose (twice
as much likelihood) and what damage of the development half would (none, for likelihood differs from genre to genre)."""
_AT_ONCE = 256
_RIDGE = 1e-3
_WEAK = 0.05
_RARE = 0.0075
_EXTRACTED = 1_000
_TINY = 1e-9
_LEAST_SPREAD = 1e-3


class Group(NamedTuple):
    """Passages with their features: ``kind`` is what was done to them, empty for sound ones."""

    kind: str
    passages: Sequence[Passage]
    rates: Rates


class Pairs(NamedTuple):
    """Sentences before and after corrections."""

    before: Rates
    after: Rates


class FittedCeladon(NamedTuple):
    """The content of a file of weights, and how well damaged copies are told from sound passages that are fitted on."""

    content: Mapping[str, Any]
    figures: Mapping[str, float]


def fit_celadon(
    corpus: Sequence[str | Path],
    output: str | Path,
    *,
    tier: str = "builtin",
    encoder: str | None = None,
    genres: Sequence[str] = (),
    edits: Sequence[str] = (),
    per_cell: int = 60,
    extracts: int = 200,
    slope: float = 1.0,
    seed: int = 0,
    report: Report = SILENT,
) -> FittedCeladon:
    """Fit the weights of `celadon`, and write them to a JSON file.

    Parameters
    ----------
    corpus
        Text files; the articles kept apart are a genre.
    output
        The file.
    tier, encoder
        Which models read the passages; another sentence encoder than the tier's.
    genres, edits
        Sound texts of other genres, and sentences before and after a correction, one JSON object a line. Only documents
        of the fit half are used (:mod:`celadon.instrument.halves`).
    per_cell
        The most passages of each genre and length.
    extracts
        How many extracts of articles, which are sound too.
    slope
        How much faults cost from the beginning, beside what they cost beyond what is usual.
    seed
        For all that is drawn.
    report
        Receives the progress.
    """
    if tier not in TIERS:
        raise UsageError(f"unknown tier {tier!r}; known: {', '.join(TIERS)}")
    models = TIERS[tier]._replace(encoder=encoder) if encoder else TIERS[tier]
    texts = Corpus(tuple(map(Path, corpus)))
    with report.bar("reading the corpus", texts.size) as bar:
        articles = [article for article in texts.articles(bar.update) if article[0].held_out]
    rows: list[Mapping[str, Any]] = [
        {"id": _article(number), "genre": "encyclopedia", "text": "\n\n".join(text for text, _ in article)}
        for number, article in enumerate(articles)
    ]
    fit = [article for number, article in enumerate(articles) if half_of(_article(number)) is Half.FIT]
    rows += [row for path in genres for row in read_table_rows(path) if may_be_used(row)]
    sound = drawn(passages(rows, frozenset({Half.FIT})), per_cell, np.random.default_rng(seed))
    sound += _extracts(fit[:_EXTRACTED], extracts, np.random.default_rng([seed, 1]))
    corrections = [row for path in edits for row in read_table_rows(path) if _is_correction(row)]
    with report.count("texts") as progress:
        fitted = fit_passages(sound, corrections, models, slope=slope, seed=seed, progress=progress)
    options = {"tier": tier, "per_cell": per_cell, "extracts": extracts, "slope": slope, "seed": seed}
    named = {"genres": list(map(Path, genres)), "edits": list(map(Path, edits))}
    content = {
        **fitted.content,
        "area_under_curve": {name: round(value, 3) for name, value in fitted.figures.items()},
        "made_by": made_by("celadon", corpus, output=Path(output), **options, **named),
    }
    atomic_write_text(str(output), json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return fitted


def _article(number: int) -> str:
    return f"article {number}"


def _extracts(articles: Sequence[Sequence[Sentence]], count: int, random: np.random.Generator) -> list[Passage]:
    """Return sentences of articles with others between them left out, as in a summary: sound, but less connected."""
    split = [[[text[start:end] for start, end in split_sentences(text)] for text, _ in article] for article in articles]
    texts = [" ".join(sentences) for sentences in extracts_of(split, count, random)]
    return [
        Passage("extract", f"extract {at}", SIZES[0], text, Markup.PLAIN, len(text.split()))
        for at, text in enumerate(texts)
    ]


def _is_correction(row: Mapping[str, Any]) -> bool:
    return half_of(document_of(row)) is Half.FIT and row.get("kind") != "wording"


def fit_passages(
    sound: Sequence[Passage],
    corrections: Sequence[Mapping[str, Any]],
    models: ReadingModels,
    *,
    slope: float = 1.0,
    seed: int = 0,
    progress: Progress = quiet,
) -> FittedCeladon:
    """Fit the weights on sound passages, copies of them that are damaged here, and corrections."""
    copies = [("", list(sound)), *damaged_copies(sound, seed, FITTED)]
    if not all(passages for _, passages in copies):
        raise InputError("there are too few sound passages of several sentences; give more text")
    sides = [[_corrected(row, side) for row in corrections] for side in ("before", "after")]
    total = sum(len(passages) for _, passages in copies) + sum(map(len, sides))
    done = 0

    def look(batch: Sequence[Passage]) -> Rates:
        nonlocal done
        pieces = []
        for start in range(0, len(batch), _AT_ONCE):
            piece = batch[start : start + _AT_ONCE]
            samples = [Sample(passage.text, markup=passage.markup) for passage in piece]
            pieces.append(reading_rates(Batch(samples).prose(), models))
            done += len(piece)
            progress(done, total)
        return joined_rates(pieces)

    groups = [Group(kind, passages, look(passages)) for kind, passages in copies]
    return _fit(groups, Pairs(*map(look, sides)) if corrections else None, models, slope)


def _corrected(row: Mapping[str, Any], side: str) -> Passage:
    markup = Markup.RST if str(row.get("file", "")).endswith((".rst", ".txt")) else Markup.MARKDOWN
    return Passage("", document_of(row), REPLY, str(row[side]), markup, 0)


def _fit(groups: Sequence[Group], pairs: Pairs | None, models: ReadingModels, slope: float) -> FittedCeladon:
    """Fit the curves of sentences, then what repetition costs, then what each aspect costs, and the scale last."""
    by_kind = {group.kind: group.rates for group in groups}
    sound = by_kind[""]
    curves = {
        GRAMMATICALITY: _grammar(sound, by_kind["dropped"], pairs),
        FOCUS: _curve(NEAREST, sound, sound.nearest, by_kind["mixed"], by_kind["mixed"].nearest, (-3, 15, 8, -10)),
        AGAIN: _curve(AGAIN, sound, sound.again, by_kind["repeated"], by_kind["repeated"].again, (-12, 14, -1, 8)),
    }
    usual = {FOCUS: 1.0, COHERENCE: float(np.nanmean(sound.in_order))}
    free = {name: Cost(0.0, 0.0, 0.0) for name in ASPECTS}
    draft = ReadingWeights(
        curves=curves, repetition=dict.fromkeys(REPEATS, 0.0), usual=usual, costs=free, weak=0.0, sha256=""
    )
    near = sound.nearest[~np.isnan(sound.nearest)]
    if len(near):
        usual[FOCUS] = float(draft.probability(FOCUS, {NEAREST: near}).mean())
    repetition = _repetition(draft, by_kind)
    draft = msgspec.structs.replace(draft, repetition=repetition, usual=usual)
    faults = {kind: _faults(draft, rates) for kind, rates in by_kind.items()}
    written = np.array([passage.size != REPLY and not is_spoken(passage) for passage in groups[0].passages])
    costs = _costs(faults, slope)
    total = {kind: _total(costs, each) for kind, each in faults.items()}
    # so that the share of false alarms is what it should be
    scale = -np.log(GATE) / float(np.nanquantile(total[""][written], 1 - FALSE_ALARMS))
    scaled = {name: Cost(cost.slope * scale, cost.steepness, cost.level, scale) for name, cost in costs.items()}
    scaled[COMPLETE] = Cost(_BREAKING_OFF, 0.0, 0.0)
    content = {
        "format": FORMAT,
        "models": models._asdict(),
        "curves": {name: _rounded(curve) for name, curve in curves.items()},
        "repetition": _rounded(repetition),
        "usual": _rounded(usual),
        "costs": {name: _rounded(msgspec.structs.asdict(cost)) for name, cost in scaled.items()},
        "weak": round(float(np.quantile(near, _WEAK)), 3) if len(near) else 0.0,
        "passages": {group.kind or "sound": len(group.passages) for group in groups},
    }
    total = {kind: _total(scaled, each) for kind, each in faults.items()}
    figures = {kind: _area(total[""], values) for kind, values in total.items() if kind}
    return FittedCeladon(content, figures)


def _grammar(sound: Rates, damaged: Rates, pairs: Pairs | None) -> dict[str, float]:
    """Return the curve that tells passages with words dropped from sound ones, and what people corrected."""

    def logits(rates: Rates, bias: float, weight: float) -> FloatArray:
        columns = [share * rates.of_sentences[name] for name, share in EVIDENCE.items()]
        logits: FloatArray = bias + weight * np.sum(columns, axis=0)
        return logits

    def loss(parameters: FloatArray) -> float:
        bias, weight, level, steepness = parameters
        values = [rates.mean(_logistic(logits(rates, bias, weight))) for rates in (sound, damaged)]
        total = _log_loss(level + steepness * values[0], level + steepness * values[1])
        if pairs is not None:
            raised = [rates.mean(logits(rates, bias, weight)) for rates in (pairs.after, pairs.before)]
            total += 0.3 * float(np.nanmean(np.logaddexp(0, -2 * (raised[0] - raised[1]))))
        return total + _RIDGE * float(weight) ** 2

    bounds = [(None, None), (0, None), (None, None), (0, None)]
    bias, weight = _minimized(loss, [0.0, 0.8, -5.0, 6.0], bounds)[:2].tolist()
    return {BIAS: bias, **{name: weight * share for name, share in EVIDENCE.items()}, **_MARKS}


def _curve(
    name: str, sound: Rates, of_sound: FloatArray, damaged: Rates, of_damaged: FloatArray, start: Sequence[float]
) -> dict[str, float]:
    """Return the curve of a feature of sentences whose mean tells damaged passages from sound ones."""
    if np.isnan(of_sound).all() or np.isnan(of_damaged).all():
        return {BIAS: float(start[0]), name: float(start[1])}

    def loss(parameters: FloatArray) -> float:
        bias, weight, level, steepness = parameters
        values = [
            rates.mean(_logistic(bias + weight * feature))
            for rates, feature in ((sound, of_sound), (damaged, of_damaged))
        ]
        # of the damaged, more or less: the sign of the steepness tells
        return _log_loss(-level - steepness * values[0], -level - steepness * values[1]) + _RIDGE / 10 * float(
            parameters @ parameters
        )

    bias, weight, _, _ = _minimized(loss, start, [(None, None), (0, None), (None, None), (None, None)])
    return {BIAS: float(bias), name: float(weight)}


def _repetition(draft: ReadingWeights, by_kind: Mapping[str, Rates]) -> dict[str, float]:
    """Return the weights with which repeats tell repeated sentences and loops from sound passages."""

    def columns(rates: Rates) -> FloatArray:
        return np.stack(list(draft.repeats(rates).values()), axis=1)

    sound, *damaged = (columns(by_kind[kind]) for kind in ("", "repeated", "looped"))
    spread = np.nanstd(sound, axis=0) + _TINY

    def loss(parameters: FloatArray) -> float:
        totals = [parameters[0] + rows / spread @ parameters[1:] for rows in (sound, *damaged)]
        losses = [_log_loss(-totals[0], -total) for total in totals[1:]]
        return float(np.mean(losses)) + _RIDGE * float(parameters[1:] @ parameters[1:])

    solution = _minimized(loss, [-1.0, *np.ones(len(REPEATS))], [(None, None), *[(0, None)] * len(REPEATS)])
    weights = solution[1:] / spread
    # a redundancy of 0.6 is unusual in sound text
    weights *= -np.log(GATE) / float(np.nanquantile(sound @ weights, 1 - _RARE))
    return dict(zip(REPEATS, weights.tolist(), strict=True))


def _faults(weights: ReadingWeights, rates: Rates) -> dict[str, FloatArray]:
    return {name: fault_of(name, values) for name, values in weights.aspects(rates).items()}


def _costs(faults: Mapping[str, Mapping[str, FloatArray]], slope: float) -> dict[str, Cost]:
    """Return what each aspect costs: the likelihood that nothing is wrong is the product over aspects."""
    spread = {name: float(np.nanstd(faults[""][name])) for name in ASPECTS}
    # an aspect that is the same for all sound passages says nothing
    per_spread = {name: 1 / each if each > _LEAST_SPREAD else 0.0 for name, each in spread.items()}
    mean = {name: float(np.nanmean(faults[""][name])) for name in ASPECTS}
    count = len(ASPECTS)

    def hazard(parameters: FloatArray, of: Mapping[str, FloatArray]) -> FloatArray:
        terms = [
            np.logaddexp(0.0, level + steepness * (of[name] - mean[name]) * per_spread[name])
            for name, level, steepness in zip(ASPECTS, parameters[:count], parameters[count:], strict=True)
        ]
        total: FloatArray = np.sum(terms, axis=0)
        return total

    def loss(parameters: FloatArray) -> float:
        total = 2.0 * float(np.nanmean(hazard(parameters, faults[""])))
        for kind in FITTED:
            wrong = -np.expm1(-hazard(parameters, faults[kind]))
            total -= float(np.nanmean(np.log(wrong + _TINY))) / len(FITTED)
        return total / 3 + _RIDGE * float(parameters[count:] @ parameters[count:])

    solution = _minimized(loss, [*[-3.0] * count, *[1.0] * count], [*[(None, None)] * count, *[(0, None)] * count])
    return {
        name: Cost(
            slope * _SLOPES[name] * per_spread[name],
            steepness * per_spread[name],
            level - steepness * mean[name] * per_spread[name],
        )
        for name, level, steepness in zip(ASPECTS, solution[:count].tolist(), solution[count:].tolist(), strict=True)
    }


def _total(costs: Mapping[str, Cost], faults: Mapping[str, FloatArray]) -> FloatArray:
    total: FloatArray = np.sum([costs[name](faults[name]) for name in ASPECTS], axis=0)
    return total


def _area(sound: FloatArray, damaged: FloatArray) -> float:
    """Return how often a damaged copy costs more than a sound passage."""
    left, right = sound[~np.isnan(sound)], damaged[~np.isnan(damaged)]
    return float(stats.mannwhitneyu(right, left).statistic / (len(left) * len(right)))


def _log_loss(sound: FloatArray, damaged: FloatArray) -> float:
    """Return the logistic loss of logits that are to be high for sound texts and low for damaged ones."""
    return float(np.nanmean(np.logaddexp(0, -sound)) + np.nanmean(np.logaddexp(0, damaged)))


def _logistic(logits: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-logits))


def _minimized(
    loss: Callable[[FloatArray], float], start: Sequence[float], bounds: Sequence[tuple[float | None, float | None]]
) -> FloatArray:
    solution: FloatArray = minimize(loss, np.array(start), method="L-BFGS-B", bounds=bounds, options={"maxiter": 300}).x
    return solution


def _rounded(numbers: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.4g}") for name, value in numbers.items()}
