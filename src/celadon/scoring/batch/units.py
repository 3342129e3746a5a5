"""What models say of the texts of a batch, unit by unit: of each sentence, or of a text as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from celadon.core import NO_WORDS, FloatArray, IntArray, UsageError
from celadon.models.encoders.encoder import Encoded
from celadon.models.language.language_model import LanguageModel, TokenScores
from celadon.models.store.places import HF_PREFIX
from celadon.scoring.batch.prose import ended
from celadon.text.scripts import is_in_scripts, is_wordless

if TYPE_CHECKING:
    from celadon.scoring.batch import Batch

CONTEXTS = ("sentence", "document")


class Unit(NamedTuple):
    """Some of a sample's text, with its characters; a sentence of prose with the mark of its end."""

    owner: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a batch in order: the sample of each, its characters, and why a sample has none."""

    owner: IntArray
    starts: IntArray
    ends: IntArray
    reasons: Mapping[int, str]


@dataclass(frozen=True, eq=False)
class Acceptabilities(Units):
    """How acceptable each sentence is: ``values`` are from 0 to 1."""

    values: FloatArray


@dataclass(frozen=True, eq=False)
class Encodings(Units):
    """What a sentence encoder says of each sentence."""

    encoded: Encoded


@dataclass(frozen=True, eq=False)
class Parses(Units):
    """What a parser says of each sentence: its parse, or a :class:`celadon.parsing.Failure`."""

    results: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Likelihoods(Units):
    """What a language model says of each unit.

    Characters of tokens count from the unit's beginning. ``logprobs`` and ``unigrams`` are sums over tokens, the latter
    NaN where the model has no table of them; ``lengths`` are never 0.
    """

    tokens: tuple[TokenScores, ...]
    logprobs: FloatArray
    unigrams: FloatArray
    lengths: IntArray

    def of(self, sample: int) -> list[TokenScores]:
        """Return the scored tokens of one sample, unit by unit, with their characters in its text."""
        shifted = []
        for unit in np.flatnonzero(self.owner == sample).tolist():
            scores, start = self.tokens[unit], int(self.starts[unit])
            shifted.append(replace(scores, starts=scores.starts + start, ends=scores.ends + start))
        return shifted


def acceptabilities_of(batch: Batch, model: str) -> Acceptabilities:
    """Judge the sentences of all texts by an encoder of ours, or by ``hf:`` a classifier trained on CoLA."""
    if not model.startswith(HF_PREFIX):
        read = batch.encodings(model)
        values = 1 / (1 + np.exp(-read.encoded.acceptability))
        return Acceptabilities(read.owner, read.starts, read.ends, read.reasons, values)
    from celadon.models.encoders.transformers_heads import acceptability_classifier

    classifier = acceptability_classifier(model)
    units, reasons = readable_units(batch, (), model)
    return Acceptabilities(*columns_of(units), reasons, classifier.probabilities([unit.text for unit in units]))


def encodings_of(batch: Batch, model: str) -> Encodings:
    """Encode the sentences of all texts, equal ones once."""
    from celadon.models.encoders.encoder import sentence_encoder

    encoder = sentence_encoder(model)
    units, reasons = readable_units(batch, encoder.scripts, encoder.name)
    return Encodings(*columns_of(units), reasons, encoder.encode([unit.text for unit in units]))


def parses_of(batch: Batch, name: str, recent: bool) -> Parses:
    """Parse the sentences of all texts, equal ones once."""
    from celadon.parsing.loading import parser, recent_parses

    units, reasons = readable_units(batch, (), name)
    distinct = list(dict.fromkeys(unit.text for unit in units))
    parses = recent_parses.known(name, distinct) if recent else {}
    if missing := [text for text in distinct if text not in parses]:
        new = dict(zip(missing, parser(name).parse(missing), strict=True))
        recent_parses.add(name, new.items())
        parses |= new
    return Parses(*columns_of(units), reasons, tuple(parses[unit.text] for unit in units))


def likelihoods_of(batch: Batch, model: str, context: str, variant: str, recent: bool) -> Likelihoods:
    """Score the tokens of all texts by a language model."""
    from celadon.models.language.language_model import language_model

    loaded = language_model(model)
    units, reasons = readable_units(batch, loaded.scripts, loaded.name, context)
    scored = _scored(loaded, (model, variant), [unit.text for unit in units], recent)
    known = {unit.owner for unit, scores in zip(units, scored, strict=True) if _any_known(scores)}
    for row in range(len(batch)):
        if row not in known:
            reasons.setdefault(row, f"{loaded.name} knows no piece of the text")
    kept = [(unit, s) for unit, s in zip(units, scored, strict=True) if len(s) and unit.owner not in reasons]
    return Likelihoods(
        *columns_of([unit for unit, _ in kept]),
        reasons=dict(sorted(reasons.items())),
        tokens=tuple(scores for _, scores in kept),
        logprobs=np.array([scores.logprobs.sum() for _, scores in kept], dtype=np.float64),
        unigrams=np.array([scores.unigrams.sum() for _, scores in kept], dtype=np.float64),
        lengths=np.array([len(scores) for _, scores in kept], dtype=np.int64),
    )


def _any_known(scores: TokenScores) -> bool:
    """Return whether the model has a piece for anything in the text; the mark of the end does not count."""
    return bool((scores.known & (scores.ends > scores.starts)).any())


def _scored(model: LanguageModel, key: tuple[str, str], texts: Sequence[str], recent: bool) -> list[TokenScores]:
    """Score texts, each once; the model sorts them by length and runs them in full batches."""
    from celadon.models.language.language_model import recent_scores

    known: dict[str, TokenScores] = {}
    if recent:
        kept = ((text, recent_scores.get((*key, text))) for text in texts)
        known = {text: scores for text, scores in kept if scores is not None}
    if missing := [text for text in dict.fromkeys(texts) if text not in known]:
        scores = _pseudo(model, missing, key[1]) if key[1] else model.score(missing)
        known.update(zip(missing, scores, strict=True))
        recent_scores.add(((*key, text), known[text]) for text in missing)
    return [known[text] for text in texts]


def _pseudo(model: LanguageModel, texts: Sequence[str], variant: str) -> list[TokenScores]:
    pseudo: Callable[[Sequence[str], str], list[TokenScores]] | None = getattr(model, "pseudo", None)
    if pseudo is None:
        raise UsageError(f"pseudo-log-likelihood needs a masked model, as hf:bert-base-cased; {model.name} is none")
    return pseudo(texts, variant)


def readable_units(
    batch: Batch, scripts: tuple[str, ...], name: str, context: str = "sentence"
) -> tuple[list[Unit], dict[int, str]]:
    """Return the units that a model of some scripts can read, and why samples have none; units have words."""
    if context not in CONTEXTS:
        raise UsageError(f"unknown context {context!r}; known: {', '.join(CONTEXTS)}")
    unreadable = unreadable_texts((sample.text for sample in batch.samples), scripts, name)
    units, reasons = [], {}
    for row, sample in enumerate(batch.samples):
        text = sample.text
        if text in unreadable:
            reasons[row] = batch.nothing.get(row, unreadable[text])
            continue
        whole = (len(text) - len(text.lstrip()), len(text.rstrip()))
        for start, end in batch.sentences()[row] if context == "sentence" else (whole,):
            if not is_wordless(text[start:end]):
                units.append(Unit(row, start, end, ended(text[start:end]) if batch.proses else text[start:end]))
    return units, reasons


def unreadable_texts(texts: Iterable[str], scripts: tuple[str, ...], name: str) -> dict[str, str]:
    """Return why each text that a model cannot read cannot be: it has no words, or other letters than the model's."""
    foreign = f"less than half of the text's letters are {' or '.join(scripts)}, which is all {name} knows"
    reasons = {}
    for text in dict.fromkeys(texts):
        if is_wordless(text):
            reasons[text] = NO_WORDS
        elif not is_in_scripts(text, scripts):
            reasons[text] = foreign
    return reasons


def columns_of(units: Sequence[Unit]) -> tuple[IntArray, IntArray, IntArray]:
    """Return the owners, beginnings and ends of units."""
    columns = np.array([unit[:3] for unit in units], dtype=np.int64).reshape(-1, 3)
    return columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy()


def same_units(left: Units, right: Units) -> tuple[IntArray, IntArray]:
    """Return which units of the one are which of the other; those that only one has are left out."""
    apart = 1 + max(int(units.starts.max(initial=0)) for units in (left, right))
    ours, theirs = (units.owner * apart + units.starts for units in (left, right))
    _, of_left, of_right = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    return of_left, of_right


def means(owner: IntArray, values: FloatArray, samples: int) -> FloatArray:
    """Return the mean of each text's values; NaN for a text without."""
    count = np.bincount(owner, minlength=samples).astype(np.float64)
    total = np.bincount(owner, weights=values, minlength=samples)
    mean: FloatArray = np.divide(total, count, out=np.full(samples, np.nan), where=count > 0)
    return mean


def least(owner: IntArray, values: FloatArray, samples: int) -> FloatArray:
    """Return the least of each text's values; NaN for a text without."""
    lowest = np.full(samples, np.inf)
    np.minimum.at(lowest, owner, values)
    lowest[np.bincount(owner, minlength=samples) == 0] = np.nan
    return lowest
