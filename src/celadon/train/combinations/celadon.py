"""Fitting the weights of `celadon` on documents damaged by known amounts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear, minimize

from celadon.core import FloatArray, IntArray, Sample, UsageError
from celadon.io import atomic_write_text
from celadon.meta.correlation import spearman
from celadon.metrics.reading.features import (
    LIKELIHOODS,
    SENTENCE_FEATURES,
    TEXT_FEATURES,
    ReadingModels,
    reading_features,
)
from celadon.metrics.reading.weights import (
    ASPECTS,
    BIAS,
    COHERENCE,
    FEATURES,
    FOCUS,
    FORMAT,
    GRAMMATICALITY,
    REDUNDANCY,
    TIERS,
    Standing,
)
from celadon.scoring.batch import Batch
from celadon.scoring.batch.units import least, means
from celadon.train.combinations.damaged_documents import CIRCLED, SEVERAL, Document, make_documents
from celadon.train.combinations.ratings import Progress, quiet, read_ratings
from celadon.train.corpus import Corpus
from celadon.train.reporting import SILENT, Report, made_by

# Which damage each aspect must tell; what another aspect is about leaves it whole, unless it says nothing either way.
TELLS: Mapping[str, frozenset[str]] = {
    GRAMMATICALITY: frozenset({"broken", "looped", "cut", CIRCLED}),
    REDUNDANCY: frozenset({"repeated", "repeated_changed", "repeated_beginning", "looped", CIRCLED}),
    FOCUS: frozenset({"mixed"}),
    COHERENCE: frozenset({"reordered", "mixed", "beheaded"}),
}
INDIFFERENT: Mapping[str, frozenset[str]] = {
    GRAMMATICALITY: frozenset({"repeated_changed", "repeated_beginning"}),
    REDUNDANCY: frozenset({"broken", "beheaded"}),
    FOCUS: frozenset({"repeated", "repeated_changed", "repeated_beginning", "reordered", "beheaded", CIRCLED}),
    COHERENCE: frozenset({"repeated", "repeated_changed", "repeated_beginning", CIRCLED}),
}
# Which way each feature may count; the sum of a weak feature's weight and another's must not turn it round.
_GOOD = frozenset({"acceptability", *LIKELIHOODS, "likeness", "least_likeness", "order", "least_order"})
_AT_ONCE = 256
_RIDGE = 1e-3
_WEAK = 0.05
# a text that has lost more is as bad as can be
_LEAST_WORTH = 0.05
# of two texts that are otherwise alike, the one that is better in any aspect is above
_LEAST_WEIGHT = 0.02
OVERALL = "overall"
LIKELIHOOD_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
# Of shares that agree alike, to about a standard error, the least: likelihood is what generators themselves strive for.
_ALIKE = 0.001
# with a larger share nothing but its worst sentence would count in a long text
WORST_SHARES = (0.0, 0.25, 0.5)


class _Shares(NamedTuple):
    """That of likelihood beside acceptability, and that of the worst sentence beside the mean."""

    share: float
    worst: float


_UNRATED = _Shares(0.2, 0.5)  # where no ratings help to choose


class Rated(NamedTuple):
    """Sentences or texts with people's ratings of their grammaticality, higher being better."""

    name: str
    texts: Sequence[str]
    ratings: FloatArray


@dataclass(frozen=True, eq=False)
class _Seen:
    """The features of documents, sentences with the document of each."""

    owner: IntArray
    starts: IntArray
    ends: IntArray
    of_sentences: Mapping[str, FloatArray]
    likeness: FloatArray
    of_texts: Mapping[str, FloatArray]


class FittedCeladon(NamedTuple):
    """The content of a file of weights, and how well each aspect tells what was done to documents kept apart."""

    content: Mapping[str, Any]
    figures: Mapping[str, float]


def fit_celadon(
    corpus: Sequence[str | Path],
    output: str | Path,
    *,
    tier: str = "builtin",
    encoder: str | None = None,
    documents: int = 2_000,
    extracts: int = 0,
    treebank: Sequence[str] = (),
    rated: Sequence[str] = (),
    seed: int = 0,
    report: Report = SILENT,
) -> FittedCeladon:
    """Fit the weights of `celadon` on damaged documents, and write them to a JSON file.

    Parameters
    ----------
    corpus
        Text files; paragraphs of the articles kept apart are damaged by known amounts.
    output
        The file.
    tier, encoder
        Which models read the documents; another sentence encoder than the tier's.
    documents, extracts, treebank
        How many paragraphs, how many extracts of articles, and CoNLL-U files with more documents.
    rated
        Texts with ratings of grammaticality, each as ``FILE:COLUMN``.
    seed
        For all that is drawn.
    report
        Receives the progress.
    """
    if tier not in TIERS:
        raise UsageError(f"unknown tier {tier!r}; known: {', '.join(TIERS)}")
    models = TIERS[tier]._replace(encoder=encoder) if encoder else TIERS[tier]
    ratings = [_read_rated(each) for each in rated]
    texts = Corpus(tuple(map(Path, corpus)))
    with report.bar("reading the corpus", texts.size) as bar:
        made = make_documents(texts, documents, seed, bar.update, treebank, extracts)
    with report.count("texts") as progress:
        fitted = fit_documents(made, models, ratings, progress)
    options = {"tier": tier, "documents": documents, "extracts": extracts, "seed": seed}
    named = {"treebank": list(map(Path, treebank)), "rated": list(map(Path, rated))}
    content = {
        **fitted.content,
        "rank_correlation": {name: round(value, 3) for name, value in fitted.figures.items()},
        "made_by": made_by("celadon", corpus, output=Path(output), **options, **named),
    }
    atomic_write_text(str(output), json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return fitted


def _read_rated(named: str) -> Rated:
    path, _, column = named.rpartition(":")
    if not path:
        raise UsageError(f"--rated {named}: is FILE:COLUMN")
    table = read_ratings(path, column)
    known = np.flatnonzero(~np.isnan(table.values))
    return Rated(table.name, [sample.text for sample in table.samples(known)], table.values[known])


def fit_documents(
    documents: Sequence[Document], models: ReadingModels, rated: Sequence[Rated] = (), progress: Progress = quiet
) -> FittedCeladon:
    """Fit the weights on sound and damaged documents.

    Rated texts help to choose how much likelihood counts beside acceptability, and the worst sentence beside the mean.
    """
    texts = [document.text for document in documents]
    everything = [*texts, *(text for each in rated for text in each.texts)]
    seen = _see(everything, models, progress)
    parts = [_part(seen, 0, len(texts))]
    for each in rated:
        start = len(texts) + sum(len(before.texts) for before in rated[: rated.index(each)])
        parts.append(_part(seen, start, start + len(each.texts)))
    return _Fit(documents, parts[0], list(zip(rated, parts[1:], strict=True))).content(models)


def _see(texts: Sequence[str], models: ReadingModels, progress: Progress) -> _Seen:
    pieces = []
    for start in range(0, len(texts), _AT_ONCE):
        piece = texts[start : start + _AT_ONCE]
        found = reading_features(Batch([Sample(text) for text in piece]), models)
        pieces.append((start, found))
        progress(start + len(piece), len(texts))
    return _Seen(
        owner=np.concatenate([found.owner + start for start, found in pieces]),
        starts=np.concatenate([found.starts for _, found in pieces]),
        ends=np.concatenate([found.ends for _, found in pieces]),
        of_sentences={
            name: np.concatenate([found.of_sentences[name] for _, found in pieces]) for name in SENTENCE_FEATURES
        },
        likeness=np.concatenate([found.likeness for _, found in pieces]),
        of_texts={name: np.concatenate([found.of_texts[name] for _, found in pieces]) for name in TEXT_FEATURES},
    )


def _part(seen: _Seen, start: int, end: int) -> _Seen:
    inside = (seen.owner >= start) & (seen.owner < end)
    return _Seen(
        seen.owner[inside] - start,
        seen.starts[inside],
        seen.ends[inside],
        {name: values[inside] for name, values in seen.of_sentences.items()},
        seen.likeness[inside],
        {name: values[start:end] for name, values in seen.of_texts.items()},
    )


class _Fit:
    """The steps of a fit: grammaticality of sentences, the aspects of texts, how far each can be trusted."""

    def __init__(self, documents: Sequence[Document], seen: _Seen, rated: Sequence[tuple[Rated, _Seen]]) -> None:
        self.documents, self.seen, self.rated = documents, seen, rated
        self.kinds = np.array([document.kind for document in documents])
        self.amounts = np.array([document.amount for document in documents])
        self.worth = np.maximum(1 - np.array([document.cost for document in documents]), _LEAST_WORTH)
        self.fitted = np.array([not document.apart for document in documents])
        sound = self.kinds == ""
        self.usual = {name: _known_mean(values[sound]) for name, values in seen.of_texts.items()}
        self.texts = {
            name: np.where(np.isnan(values), self.usual[name], values) for name, values in seen.of_texts.items()
        }

    def content(self, models: ReadingModels) -> FittedCeladon:
        grammar, share, worst = self._grammaticality()
        aspects = {GRAMMATICALITY: grammar}
        for name in ASPECTS[1:]:
            rows = self.fitted & ~np.isin(self.kinds, [SEVERAL, *sorted(INDIFFERENT[name])])
            features = {feature: self.texts[feature][rows] for feature in FEATURES[name]}
            aspects[name] = _logistic(features, self._target(name)[rows])
        values = self._values(aspects, worst)
        overall = self._overall(values)
        sound = np.isin(self.seen.owner, np.flatnonzero(self.kinds == "")) & ~np.isnan(self.seen.likeness)
        content = {
            "format": FORMAT,
            "models": models._asdict(),
            "aspects": {name: _rounded(weights) for name, weights in aspects.items()},
            "worst": worst,
            "likelihood_share": share,
            "usual": _rounded(self.usual),
            "overall": {name: _rounded(msgspec.structs.asdict(standing)) for name, standing in overall.items()},
            "weak": round(float(np.quantile(self.seen.likeness[sound], _WEAK)), 3) if sound.any() else 0.0,
            "documents": {"fitted": int(self.fitted.sum()), "apart": int((~self.fitted).sum())},
        }
        figures = {
            **{name: self._tells(name, values[name], ~self.fitted) for name in ASPECTS},
            OVERALL: self._told(overall, values),
        }
        for each, seen in self.rated:
            figures[each.name] = self._correlation(grammar, each, seen, worst)
        return FittedCeladon(content, figures)

    def _target(self, aspect: str) -> FloatArray:
        """The share of a document that is whole in an aspect."""
        return np.where(np.isin(self.kinds, sorted(TELLS[aspect])), 1 - self.amounts, 1.0)

    def _grammaticality(self) -> tuple[dict[str, float], float, float]:
        """The weights of a sentence, the share of likelihood in them, and that of the worst sentence."""
        owner = self.seen.owner
        target = 1 - self._is_broken()
        known = self.fitted[owner] & ~np.isin(self.kinds[owner], [SEVERAL, *sorted(INDIFFERENT[GRAMMATICALITY])])
        fits = {}
        for share in LIKELIHOOD_SHARES if self.rated else (_UNRATED.share,):
            features, unmix = _mixed(self.seen.of_sentences, share, known)
            weights = _logistic({name: values[known] for name, values in features.items()}, target[known])
            fits[share] = unmix(weights)
        if not self.rated:
            return fits[_UNRATED.share], *_UNRATED
        # a document is asked for the share of its sound sentences, which says nothing of how much the worst one counts
        worst = {share: max(WORST_SHARES, key=lambda each: self._people(fits[share], each)) for share in fits}
        agreement = {share: self._agreement(fits[share], worst[share]) for share in fits}
        chosen = min(share for share in fits if agreement[share] >= max(agreement.values()) - _ALIKE)
        return fits[chosen], chosen, worst[chosen]

    def _is_broken(self) -> FloatArray:
        """For each sentence 1 where it is, or is part of, one that was damaged."""
        found = np.zeros(len(self.seen.owner))
        for at, (owner, start, end) in enumerate(zip(self.seen.owner, self.seen.starts, self.seen.ends, strict=True)):
            found[at] = any(start < last and first < end for first, last in self.documents[owner].broken)
        return found

    def _agreement(self, grammar: Mapping[str, float], worst: float) -> float:
        """How well it tells what people say, and as much what was done to documents.

        Learners and those who simplify write other faults than generators, which loop and break off.
        """
        values = _grammar(grammar, self.seen, len(self.kinds), worst)
        damage = self._tells(GRAMMATICALITY, values, self.fitted)
        return self._people(grammar, worst) + float(np.nan_to_num(damage))

    def _people(self, grammar: Mapping[str, float], worst: float) -> float:
        """The mean rank correlation with the ratings."""
        found = [self._correlation(grammar, rated, seen, worst) for rated, seen in self.rated]
        return float(np.nan_to_num(found).mean())

    @staticmethod
    def _correlation(grammar: Mapping[str, float], rated: Rated, seen: _Seen, worst: float) -> float:
        values = _grammar(grammar, seen, len(rated.texts), worst)
        return spearman(values, rated.ratings).value

    def _values(self, aspects: Mapping[str, Mapping[str, float]], worst: float) -> dict[str, FloatArray]:
        found = {GRAMMATICALITY: _grammar(aspects[GRAMMATICALITY], self.seen, len(self.kinds), worst)}
        for name in ASPECTS[1:]:
            found[name] = _value(aspects[name], self.texts)
        return found

    def _overall(self, values: Mapping[str, FloatArray]) -> dict[str, Standing]:
        """What each aspect is in sound documents, and the weights with which all tell what a document is worth."""
        sound = self.fitted & (self.kinds == "")
        found = {}
        for name in ASPECTS:
            logits = np.log(values[name][sound]) - np.log1p(-values[name][sound])
            found[name] = Standing(float(np.nanmean(logits)), max(float(np.nanstd(logits)), _RIDGE), 1.0)
        shortfalls = np.stack([found[name].shortfall(values[name]) for name in ASPECTS], axis=1)
        rows = self.fitted & np.isfinite(shortfalls).all(axis=1)
        weights = lsq_linear(shortfalls[rows], -np.log(self.worth[rows]), (_LEAST_WEIGHT, np.inf)).x
        return {
            name: msgspec.structs.replace(found[name], weight=float(weight))
            for name, weight in zip(ASPECTS, weights, strict=True)
        }

    def _told(self, overall: Mapping[str, Standing], values: Mapping[str, FloatArray]) -> float:
        """How well the score tells what a document is worth: the rank correlation on those kept apart."""
        losses = np.sum([overall[name].loss(values[name]) for name in ASPECTS], axis=0)
        rows = ~self.fitted & np.isfinite(losses)
        return spearman(-losses[rows], self.worth[rows]).value

    def _tells(self, aspect: str, values: FloatArray, some: npt.NDArray[np.bool_]) -> float:
        """The rank correlation of an aspect with its damage on some of the documents."""
        rows = some & np.isin(self.kinds, ["", *TELLS[aspect]])
        return spearman(values[rows], self._target(aspect)[rows]).value


def _known_mean(values: FloatArray) -> float:
    """The mean of those that are known; 0 where none is, so that such a feature tells nothing."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


def _grammar(weights: Mapping[str, float], seen: _Seen, texts: int, worst: float) -> FloatArray:
    sentences = _value(weights, seen.of_sentences)
    return worst * least(seen.owner, sentences, texts) + (1 - worst) * means(seen.owner, sentences, texts)


def _value(weights: Mapping[str, float], features: Mapping[str, FloatArray]) -> FloatArray:
    total = weights[BIAS] + sum(weights[name] * features[name] for name in weights if name != BIAS)
    found: FloatArray = 1 / (1 + np.exp(-np.asarray(total)))
    return found


def _mixed(
    features: Mapping[str, FloatArray], share: float, rows: npt.NDArray[np.bool_]
) -> tuple[dict[str, FloatArray], Callable[[Mapping[str, float]], dict[str, float]]]:
    """Acceptability and likelihoods as one feature, these with a given share once all have the same spread."""
    shares = {"acceptability": 1 - share, **dict.fromkeys(LIKELIHOODS, share / len(LIKELIHOODS))}
    spreads = {name: float(np.std(features[name][rows])) for name in shares}
    # what is the same for all sentences tells nothing, whatever its share
    parts = {name: each / spreads[name] if spreads[name] else 0.0 for name, each in shares.items()}
    mixed = {"acceptability": sum(part * features[name] for name, part in parts.items())}
    mixed |= {name: values for name, values in features.items() if name not in parts}

    def unmix(weights: Mapping[str, float]) -> dict[str, float]:
        return {**weights, **{name: weights["acceptability"] * part for name, part in parts.items()}}

    return {name: np.asarray(values) for name, values in mixed.items()}, unmix


def _logistic(features: Mapping[str, FloatArray], target: FloatArray) -> dict[str, float]:
    """Logistic regression on shares, each weight with its proper sign."""
    names = list(features)
    columns = np.stack([features[name] for name in names], axis=1)
    centre, spread = columns.mean(axis=0), columns.std(axis=0)
    spread[spread == 0] = 1.0
    scaled = (columns - centre) / spread

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        logits = weights[0] + scaled @ weights[1:]
        value = float(np.mean(np.logaddexp(0, logits) - target * logits)) + _RIDGE * float(weights[1:] @ weights[1:])
        slope = (1 / (1 + np.exp(-logits)) - target) / len(target)
        return value, np.concatenate([[slope.sum()], scaled.T @ slope + 2 * _RIDGE * weights[1:]])

    bounds = [(None, None), *((0, None) if name in _GOOD else (None, 0) for name in names)]
    found = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = found[1:] / spread
    return {BIAS: float(found[0] - weights @ centre), **dict(zip(names, weights.tolist(), strict=True))}


def _rounded(numbers: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.4g}") for name, value in numbers.items()}
