"""What is looked at in a text to tell how well it reads: numbers for every sentence, and for every text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.metrics.gruen.redundancy import redundancies
from celadon.metrics.meteor import function_words
from celadon.metrics.reading.fluency import fluency
from celadon.scoring.batch import Batch, Encodings
from celadon.scoring.batch.units import least, means, same_units
from celadon.text.repetition import longest_loop, repeated_grams, sentence_words
from celadon.text.surface_marks import hanging_opening, loose_end, unknown_marks

LOOK_BACK = 2
"""How many sentences before a sentence it may go on from."""
GAP = 12
"""How many words may stand between a run of words and its repetition in the same sentence."""
RELATED = 0.2
"""The cosine of two sentences' meanings about which they begin to have to do with each other: nine in ten transitions
of Wikipedia are above 0.25, nineteen in twenty sentences of another article below. How much more alike they are counts
for less and less, lest repetition be rewarded."""
ALIKE = 0.6
"""The cosine from which on they say the same again."""
WITHIN = 120
"""How many words back a repeated n-gram may have come, so that long texts are not worse for their length."""
SOON = 20
"""How many words back an echoed word may have come."""

LIKELIHOODS = ("capped", "weakest")
"""The features that are the language model's: see :class:`celadon.metrics.reading.fluency.Fluency`."""
SENTENCE_FEATURES = ("acceptability", *LIKELIHOODS, "unknown", "loose")
TEXT_FEATURES = (
    "echoes",
    "bigrams",
    "trigrams",
    "loops",
    "pairs",
    "meanings",
    "likeness",
    "least_likeness",
    "order",
    "least_order",
    "hanging",
)
_REPETITIONS = ("echoes", "bigrams", "trigrams", "loops")


class ReadingModels(NamedTuple):
    """Which models read: a language model, and a sentence encoder."""

    likelihood: str = "builtin"
    encoder: str = "builtin"


@dataclass(frozen=True, eq=False)
class Features:
    """The features of the sentences and of the texts of a batch.

    Attributes
    ----------
    owner, starts, ends
        The text of each sentence, and its characters.
    of_sentences
        ``acceptability``: the encoder's logit. ``capped``, ``weakest``: how fluent the sentence is by the language
        model, and its weakest passage. ``unknown``, ``loose``: 1 where there is a mark for an unknown word; where the
        sentence breaks off.
    passages
        The characters of each sentence's weakest passage in its text.
    likeness
        Of each sentence the greatest cosine with the ``LOOK_BACK`` before it, bent so as to stay below ``RELATED``; NaN
        for a first one, and for one that says again what any before it said: that is no sign of focus.
    of_texts
        ``echoes``: the share of content words that came within the last ``SOON`` words. ``bigrams``, ``trigrams``: the
        share of word n-grams that came before in the text. ``loops``: the share of words, in the sentence that has
        most, that repeat what stood there before. ``pairs``: the signs by which sentences repeat each other (GRUEN's
        four), per sentence. ``meanings``: the mean over sentences, the first left out, of how far the greatest cosine
        with any before is above ``ALIKE``. ``likeness``, ``least_likeness``: of the sentences that have one.
        ``order``, ``least_order``: the probability that the parts of a text stand in their right order, over its
        splits. ``hanging``: 1 where the first word refers to nothing. NaN where a text of one sentence has none.
    reasons
        For each text that cannot be read, why; all its features are NaN.
    """

    owner: IntArray
    starts: IntArray
    ends: IntArray
    of_sentences: Mapping[str, FloatArray]
    passages: tuple[tuple[int, int], ...]
    likeness: FloatArray
    of_texts: Mapping[str, FloatArray]
    reasons: Mapping[int, str]


def reading_features(batch: Batch, models: ReadingModels) -> Features:
    """Look at all texts, once for a batch."""
    return batch.view(("reading", models), lambda: _look(batch, models))


def _look(batch: Batch, models: ReadingModels) -> Features:
    encodings = batch.encodings(models.encoder)
    likelihoods = batch.token_scores(models.likelihood)
    # a sentence that one of the two models cannot read is left out
    ours, theirs = same_units(encodings, likelihoods)
    fluencies = [fluency(likelihoods.tokens[at]) for at in theirs.tolist()]
    surface = batch.view("reading surface", lambda: _Surface.of(batch))
    said_again, likeness = _likenesses(encodings)
    repeated = redundancies(batch)
    reasons = {**repeated.reasons, **likelihoods.reasons, **encodings.reasons}
    owner, starts = encodings.owner[ours], encodings.starts[ours]
    marks = np.array([surface.marks[place] for place in zip(owner.tolist(), starts.tolist(), strict=True)])
    marks = marks.reshape(-1, 2).astype(np.float64)
    of_texts = {
        **{name: surface.of_texts[:, at].copy() for at, name in enumerate(_REPETITIONS)},
        "pairs": repeated.features / np.maximum(repeated.parts["sentences"], 1),
        **_of_neighbours(batch, models, encodings, said_again, likeness),
        "hanging": surface.of_texts[:, -1].copy(),
    }
    for column in of_texts.values():
        column[list(reasons)] = np.nan
    return Features(
        owner=owner,
        starts=starts,
        ends=encodings.ends[ours],
        of_sentences={
            "acceptability": encodings.encoded.acceptability[ours].astype(np.float64),
            **{name: np.array([getattr(each, name) for each in fluencies]) for name in LIKELIHOODS},
            "unknown": marks[:, 0],
            "loose": marks[:, 1],
        },
        passages=tuple(
            (start + each.passage[0], start + each.passage[1])
            for start, each in zip(starts.tolist(), fluencies, strict=True)
        ),
        likeness=likeness[ours],
        of_texts=of_texts,
        reasons=reasons,
    )


def _of_neighbours(
    batch: Batch, models: ReadingModels, encodings: Encodings, said_again: FloatArray, likeness: FloatArray
) -> dict[str, FloatArray]:
    """What sentences have to do with those before them, by text."""
    samples = len(batch)
    followers, judged = np.flatnonzero(~np.isnan(said_again)), np.flatnonzero(~np.isnan(likeness))
    orders = batch.order(models.encoder)
    in_order = 1 / (1 + np.exp(-orders.kept))
    return {
        "meanings": means(encodings.owner[followers], said_again[followers], samples),
        "likeness": means(encodings.owner[judged], likeness[judged], samples),
        "least_likeness": least(encodings.owner[judged], likeness[judged], samples),
        "order": means(orders.owner, in_order, samples),
        "least_order": least(orders.owner, in_order, samples),
    }


def _likenesses(encodings: Encodings) -> tuple[FloatArray, FloatArray]:
    """For each sentence how much it says again of any before it, and how much it has to do with the few right before.

    The greatest cosine in both: what is above ``ALIKE``, and bent at ``RELATED``. NaN for a first sentence, the latter
    also for one that says something again.
    """
    count = len(encodings.owner)
    any_before, right_before = np.full(count, np.nan), np.full(count, np.nan)
    borders = np.flatnonzero(np.diff(encodings.owner)) + 1
    for begin, end in zip([0, *borders.tolist()], [*borders.tolist(), count], strict=True):
        vectors = encodings.encoded.meaning[begin:end].astype(np.float64)
        for at in range(1, end - begin):
            # no matrix product over all: its rounding may depend on the number of sentences
            cosines = (vectors[:at] * vectors[at]).sum(axis=1)
            any_before[begin + at] = max(cosines.max() - ALIKE, 0.0)
            if not any_before[begin + at]:
                right_before[begin + at] = RELATED * np.tanh(cosines[-LOOK_BACK:].max() / RELATED)
    return any_before, right_before


class _Surface(NamedTuple):
    """What can be seen without a model: by text and beginning of a sentence its marks; the numbers of each text."""

    marks: Mapping[tuple[int, int], tuple[bool, bool]]
    of_texts: FloatArray

    @classmethod
    def of(cls, batch: Batch) -> _Surface:
        rows = np.full((len(batch), len(_REPETITIONS) + 1), np.nan)
        marks: dict[tuple[int, int], tuple[bool, bool]] = {}
        known: dict[str, tuple[list[tuple[bool, bool]], list[float]]] = {}
        for row, (sample, places) in enumerate(zip(batch.samples, batch.sentences(), strict=True)):
            text = sample.text
            if text not in known:
                known[text] = (_marks(text, places), _repetitions(text, places))
            of_sentences, rows[row] = known[text]
            for (start, _), mark in zip(places, of_sentences, strict=True):
                marks[row, start] = mark
        return cls(marks, rows)


def _marks(text: str, places: tuple[tuple[int, int], ...]) -> list[tuple[bool, bool]]:
    """Whether each sentence has a mark for an unknown word, and whether it breaks off."""
    sentences = [text[start:end] for start, end in places]
    last = len(sentences) - 1
    return [
        (bool(unknown_marks(sentence)), loose_end(sentence, last=at == last) is not None)
        for at, sentence in enumerate(sentences)
    ]


def _repetitions(text: str, places: tuple[tuple[int, int], ...]) -> list[float]:
    """Echoed words, repeated bigrams and trigrams, the worst loop, a hanging opening."""
    words = [each for each in sentence_words(text, places) if each]
    ignored = function_words()
    loops = 0.0
    for sentence in words:
        loop = longest_loop(sentence, GAP, ignored)
        loops = max(loops, loop.words / len(sentence) if loop else 0.0)
    grams = [
        repeated_grams(words, n, ignored, within).share_in_text for n, within in ((1, SOON), (2, WITHIN), (3, WITHIN))
    ]
    # of a text of one sentence, the answer to something perhaps, nobody knows what it refers to
    hanging = float(hanging_opening(text) is not None) if len(words) > 1 else np.nan
    return [*grams, loops, hanging]
