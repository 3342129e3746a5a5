"""What is looked at in a text to tell how well it reads: one number each, for every text of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from celadon.batch import Batch, Encodings
from celadon.core import FloatArray, IntArray
from celadon.metrics.gruen.redundancy import redundancies
from celadon.metrics.meteor import function_words
from celadon.text.repetition import longest_loop, repeated_grams, sentence_words
from celadon.text.surface_marks import hanging_opening, loose_end, unknown_marks

LOOK_BACK = 2
"""How many sentences before a sentence it may go on from."""
GAP = 12
"""How many words may stand between a run of words and its repetition in the same sentence."""
WITHIN = 120
"""How many words back a repeated n-gram may have come, so that long texts are not worse for their length."""


class ReadingModels(NamedTuple):
    """Which models read: a language model, and a sentence encoder."""

    likelihood: str = "builtin"
    encoder: str = "builtin"


@dataclass(frozen=True, eq=False)
class Features:
    """The features of each text, NaN where it has none.

    Attributes
    ----------
    acceptability, least_acceptability
        The encoder's judgement of the sentences, 0 to 1: the mean, and that of the worst.
    slor, least_slor
        SLOR of the sentences.
    unknown, loose
        The share of sentences with a mark for an unknown word; that break off.
    bigrams, trigrams
        The share of word n-grams that came before in the text.
    loops
        The share of words, in the sentence that has most, that repeat what stood there before.
    pairs
        The signs by which sentences repeat each other (GRUEN's four), per sentence.
    meanings
        The mean over sentences, the first left out, of the greatest cosine with any before: how much is said again.
    likeness, least_likeness
        The greatest cosine of a sentence with the ``LOOK_BACK`` before it: the mean, and the least.
    order, least_order
        The probability that the parts of a text stand in their right order, over its splits.
    hanging
        Whether the first word refers to nothing.
    """

    acceptability: FloatArray
    least_acceptability: FloatArray
    slor: FloatArray
    least_slor: FloatArray
    unknown: FloatArray
    loose: FloatArray
    bigrams: FloatArray
    trigrams: FloatArray
    loops: FloatArray
    pairs: FloatArray
    meanings: FloatArray
    likeness: FloatArray
    least_likeness: FloatArray
    order: FloatArray
    least_order: FloatArray
    hanging: FloatArray
    sentences: FloatArray
    reasons: Mapping[int, str]


def reading_features(batch: Batch, models: ReadingModels) -> Features:
    """Look at all texts, once for a batch; a text of one sentence has NaN where two are needed."""
    return batch.view(("reading", models), lambda: _look(batch, models))


def _look(batch: Batch, models: ReadingModels) -> Features:
    samples = len(batch)
    encodings = batch.encodings(models.encoder)
    likelihoods = batch.token_scores(models.likelihood)
    judged = 1 / (1 + np.exp(-encodings.encoded.acceptability))
    slor = (likelihoods.logprobs - likelihoods.unigrams) / likelihoods.lengths
    orders = batch.order(models.encoder)
    in_order = 1 / (1 + np.exp(-orders.kept))
    said_again, likeness = _likenesses(encodings)
    repeated = redundancies(batch)
    surface = _surfaces(batch)
    sentences = np.bincount(encodings.owner, minlength=samples).astype(np.float64)
    followers = np.flatnonzero(~np.isnan(likeness))
    after = encodings.owner[followers]
    return Features(
        acceptability=_mean(encodings.owner, judged, samples),
        least_acceptability=_least(encodings.owner, judged, samples),
        slor=_mean(likelihoods.owner, slor, samples),
        least_slor=_least(likelihoods.owner, slor, samples),
        unknown=surface[:, 0],
        loose=surface[:, 1],
        bigrams=surface[:, 2],
        trigrams=surface[:, 3],
        loops=surface[:, 4],
        pairs=repeated.features / np.maximum(repeated.parts["sentences"], 1),
        meanings=_mean(after, said_again[followers], samples),
        likeness=_mean(after, likeness[followers], samples),
        least_likeness=_least(after, likeness[followers], samples),
        order=_mean(orders.owner, in_order, samples),
        least_order=_least(orders.owner, in_order, samples),
        hanging=surface[:, 5],
        sentences=sentences,
        reasons={**repeated.reasons, **likelihoods.reasons, **encodings.reasons},
    )


def _mean(owner: IntArray, values: FloatArray, samples: int) -> FloatArray:
    count = np.bincount(owner, minlength=samples).astype(np.float64)
    total = np.bincount(owner, weights=values, minlength=samples)
    found: FloatArray = np.divide(total, count, out=np.full(samples, np.nan), where=count > 0)
    return found


def _least(owner: IntArray, values: FloatArray, samples: int) -> FloatArray:
    found = np.full(samples, np.inf)
    np.minimum.at(found, owner, values)
    return np.where(np.isinf(found), np.nan, found)


def _likenesses(encodings: Encodings) -> tuple[FloatArray, FloatArray]:
    """For each sentence the greatest cosine with any before it, and with the few right before; NaN for a first one."""
    count = len(encodings.owner)
    any_before, right_before = np.full(count, np.nan), np.full(count, np.nan)
    borders = np.flatnonzero(np.diff(encodings.owner)) + 1
    for begin, end in zip([0, *borders.tolist()], [*borders.tolist(), count], strict=True):
        vectors = encodings.encoded.meaning[begin:end].astype(np.float64)
        for at in range(1, end - begin):
            # no matrix product over all: its rounding may depend on the number of sentences
            cosines = (vectors[:at] * vectors[at]).sum(axis=1)
            any_before[begin + at] = cosines.max()
            right_before[begin + at] = cosines[-LOOK_BACK:].max()
    return any_before, right_before


def _surfaces(batch: Batch) -> FloatArray:
    """Unknown marks, loose ends, repeated bigrams and trigrams, loops and a hanging opening of each text."""
    rows = np.full((len(batch), 6), np.nan)
    known: dict[str, list[float]] = {}
    for row, (sample, places) in enumerate(zip(batch.samples, batch.sentences(), strict=True)):
        if sample.text not in known:
            known[sample.text] = _surface(sample.text, places)
        rows[row] = known[sample.text]
    return rows


def _surface(text: str, places: tuple[tuple[int, int], ...]) -> list[float]:
    sentences = [text[start:end] for start, end in places]
    words = [each for each in sentence_words(text, places) if each]
    many = max(len(words), 1)
    marked = sum(bool(unknown_marks(sentence)) for sentence in sentences)
    loose = sum(loose_end(sentence, last=at == len(sentences) - 1) is not None for at, sentence in enumerate(sentences))
    ignored = function_words()
    loops = 0.0
    for sentence in words:
        loop = longest_loop(sentence, GAP, ignored)
        loops = max(loops, loop.words / len(sentence) if loop else 0.0)
    grams = [repeated_grams(words, n, ignored, WITHIN).share_in_text for n in (2, 3)]
    return [marked / many, loose / many, *grams, loops, float(hanging_opening(text) is not None)]
