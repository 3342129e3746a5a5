"""What `celadon` looks at: for each sentence and each word whether something is wrong, never an extreme over a text.

All of it can be averaged over words, so that two passages together have the mean of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, IntArray
from celadon.metrics.meteor import function_words
from celadon.metrics.reading.features import ALIKE, GAP, ReadingModels
from celadon.metrics.reading.fluency import fluency
from celadon.models.encoders.word_findings import FINDING_KINDS, FindingKind, WordFindings
from celadon.scoring.batch import Batch, Encodings
from celadon.scoring.batch.units import same_units
from celadon.text.repetition import longest_loop, repeated_grams, sentence_words
from celadon.text.surface_marks import hanging_end, unknown_marks

NEIGHBORS = 4
"""How many sentences before and after a sentence it may have to do with."""
RECENT = 12
"""How many sentences before a sentence it may say again."""
WINDOW = 80
"""How many words back a repeated n-gram may have come."""
SOON = 20
"""How many words back an echoed word may have come."""
GRAMMAR = ("acceptability", "capped", "weakest", "unknown", "loose")
"""The features of a sentence."""
DOUBTFUL = 0.7
"""The probability from which on a word is named: at 0.5 sound text has twice as many."""
REPETITION = ("echoes", "bigrams", "trigrams", "loops")
"""The features of a text that are shares of its words."""


class Finding(NamedTuple):
    """A word that is likely wrong: its characters, what is wrong with it, and how likely it is wrong."""

    start: int
    end: int
    kind: FindingKind
    probability: float


@dataclass(frozen=True, eq=False)
class Rates:
    """The features of the sentences and of the texts of a batch.

    Attributes
    ----------
    owner, starts, ends, words
        The text of each sentence, its characters, and the number of its words.
    of_sentences
        ``acceptability``: the encoder's logit. ``capped``, ``weakest``: how fluent the sentence is by the language
        model, and its weakest passage. ``unknown``, ``loose``: 1 where there is a mark for an unknown word; where
        the last word must have another after it.
    findings
        The words of each sentence that are likely wrong: see :class:`Finding`; none for an encoder that does
        not name words.
    passages
        The characters of each sentence's weakest passage.
    nearest
        The greatest cosine with one of the ``NEIGHBORS`` on both sides that does not say the same; NaN for a sentence
        that has none: to say something again is no sign of focus.
    again
        The greatest cosine with one of the ``RECENT`` sentences before; NaN for a first sentence.
    in_order
        For each sentence but the last, the probability that it and its neighbors stand in their right order.
    of_texts
        ``echoes``: the share of content words that came within the last ``SOON`` words. ``bigrams``, ``trigrams``: the
        share of n-grams that came within the last ``WINDOW`` words. ``loops``: the share of words that repeat, in
        their sentence, what stood there before.
    broken_off
        Whether each text ends without a mark of its end.
    reasons
        For each text that cannot be read, why.
    """

    owner: IntArray
    starts: IntArray
    ends: IntArray
    words: FloatArray
    of_sentences: Mapping[str, FloatArray]
    findings: tuple[tuple[Finding, ...], ...]
    passages: tuple[tuple[int, int], ...]
    nearest: FloatArray
    again: FloatArray
    in_order: FloatArray
    of_texts: Mapping[str, FloatArray]
    broken_off: FloatArray
    reasons: Mapping[int, str]

    def mean(self, values: FloatArray, prior: float = 0.0, usual: float = 0.0) -> FloatArray:
        """Return the mean over each text's words, with so many more that are as usual.

        Sentences that have no value are left out; a text without any other has NaN, or what is usual.
        """
        known = ~np.isnan(values)
        owner, weights, count = self.owner[known], self.words[known], len(self.broken_off)
        total = np.bincount(owner, weights=weights, minlength=count) + prior
        weighted = np.bincount(owner, weights=weights * values[known], minlength=count) + prior * usual
        mean: FloatArray = np.divide(weighted, total, out=np.full(count, np.nan), where=total > 0)
        return mean


def joined_rates(parts: Sequence[Rates]) -> Rates:
    """Return the features of several batches as those of one."""
    offsets = np.cumsum([0, *(len(part.broken_off) for part in parts)]).tolist()

    def column(values: Iterable[FloatArray]) -> FloatArray:
        return np.concatenate(list(values))

    return Rates(
        owner=np.concatenate([part.owner + offset for part, offset in zip(parts, offsets, strict=False)]),
        starts=np.concatenate([part.starts for part in parts]),
        ends=np.concatenate([part.ends for part in parts]),
        words=column(part.words for part in parts),
        of_sentences={name: column(part.of_sentences[name] for part in parts) for name in GRAMMAR},
        findings=tuple(findings for part in parts for findings in part.findings),
        passages=tuple(passage for part in parts for passage in part.passages),
        nearest=column(part.nearest for part in parts),
        again=column(part.again for part in parts),
        in_order=column(part.in_order for part in parts),
        of_texts={name: column(part.of_texts[name] for part in parts) for name in REPETITION},
        broken_off=column(part.broken_off for part in parts),
        reasons={
            row + offset: reason
            for part, offset in zip(parts, offsets, strict=False)
            for row, reason in part.reasons.items()
        },
    )


def reading_rates(batch: Batch, models: ReadingModels) -> Rates:
    """Look at all texts, once for a batch."""
    return batch.view(("rates", models), lambda: _look(batch, models))


def _look(batch: Batch, models: ReadingModels) -> Rates:
    encodings = batch.encodings(models.encoder)
    likelihoods = batch.token_scores(models.likelihood)
    # a sentence that one of the two models cannot read is left out
    ours, theirs = same_units(encodings, likelihoods)
    fluencies = [fluency(likelihoods.tokens[at]) for at in theirs.tolist()]
    reasons = {**likelihoods.reasons, **encodings.reasons}
    owner, starts, ends = encodings.owner[ours], encodings.starts[ours], encodings.ends[ours]
    surface = [_surface(batch, row) if row not in reasons else _Surface.empty() for row in range(len(batch))]
    texts = [sample.text for sample in batch.samples]
    places = list(zip(owner.tolist(), starts.tolist(), ends.tolist(), strict=True))
    marks = np.array([_marks(texts[row][start:end]) for row, start, end in places], dtype=np.float64).reshape(-1, 3)
    nearest, again = _likenesses(encodings)
    again[_is_verse(batch, encodings)] = np.nan
    in_order = np.full(len(encodings.owner), np.nan)
    orders = batch.order(models.encoder)
    starts_at = {
        place: at for at, place in enumerate(zip(encodings.owner.tolist(), encodings.starts.tolist(), strict=True))
    }
    for row, border, kept in zip(orders.owner.tolist(), orders.borders.tolist(), orders.kept.tolist(), strict=True):
        in_order[starts_at[row, border[0]]] = 1 / (1 + np.exp(-kept))
    return Rates(
        owner=owner,
        starts=starts,
        ends=ends,
        words=np.maximum(marks[:, 2], 1.0),
        of_sentences={
            "acceptability": encodings.encoded.acceptability[ours].astype(np.float64),
            "capped": np.array([each.capped for each in fluencies]),
            "weakest": np.array([each.weakest for each in fluencies]),
            "unknown": marks[:, 0],
            "loose": marks[:, 1],
        },
        findings=_findings(encodings, ours),
        passages=tuple(
            (start + each.passage[0], start + each.passage[1])
            for start, each in zip(starts.tolist(), fluencies, strict=True)
        ),
        nearest=nearest[ours],
        again=again[ours],
        in_order=in_order[ours],
        of_texts={name: np.array([each.rates[at] for each in surface]) for at, name in enumerate(REPETITION)},
        broken_off=np.array([each.broken_off for each in surface]),
        reasons=reasons,
    )


def _findings(encodings: Encodings, rows: IntArray) -> tuple[tuple[Finding, ...], ...]:
    """Return the words of some sentences that are likely wrong."""
    words = encodings.encoded.words
    if words is None:
        return ((),) * len(rows)
    return tuple(
        _findings_of(words[row], int(encodings.starts[row]), int(encodings.ends[row] - encodings.starts[row]))
        for row in rows.tolist()
    )


def _findings_of(words: WordFindings, offset: int, length: int) -> tuple[Finding, ...]:
    wrong = 1.0 - words.probabilities[:, 0].astype(np.float64)
    kinds = 1 + words.probabilities[:, 1:].argmax(axis=1)
    # the mark that ends a sentence may not be the text's own
    return tuple(
        Finding(offset + start, offset + min(end, length), FINDING_KINDS[kinds[at]], float(wrong[at]))
        for at, (start, end) in enumerate(words.spans.tolist())
        if wrong[at] >= DOUBTFUL and start < length
    )


def _is_verse(batch: Batch, encodings: Encodings) -> npt.NDArray[np.bool_]:
    """Return whether each sentence is a line of verse, which may be a refrain."""
    verse = {
        (row, start)
        for row, prose in enumerate(batch.proses)
        for (start, _), is_verse in zip(prose.sentences, prose.source.verse, strict=True)
        if is_verse
    }
    places = zip(encodings.owner.tolist(), encodings.starts.tolist(), strict=True)
    return np.array([place in verse for place in places], dtype=np.bool_)


def _likenesses(encodings: Encodings) -> tuple[FloatArray, FloatArray]:
    """Return for each sentence the greatest cosine with its neighbors, and with the sentences not long before it."""
    count = len(encodings.owner)
    nearest, again = np.full(count, np.nan), np.full(count, np.nan)
    meaning = encodings.encoded.meaning.astype(np.float64)
    for apart in range(1, RECENT + 1):
        first = np.flatnonzero(encodings.owner[:-apart] == encodings.owner[apart:])
        # no matrix product: its rounding may depend on the number of sentences
        cosines = (meaning[first] * meaning[first + apart]).sum(axis=1)
        again[first + apart] = np.fmax(again[first + apart], cosines)
        if apart <= NEIGHBORS:
            others = cosines < ALIKE
            for side in (first[others], first[others] + apart):
                nearest[side] = np.fmax(nearest[side], cosines[others])
    return nearest, again


class _Surface(NamedTuple):
    """What can be seen of a text without a model."""

    rates: Sequence[float]
    broken_off: float

    @classmethod
    def empty(cls) -> _Surface:
        return cls([np.nan] * len(REPETITION), np.nan)


def _surface(batch: Batch, row: int) -> _Surface:
    text, places, broken = batch.samples[row].text, batch.sentences()[row], False
    if batch.proses:
        source = batch.proses[row].source
        broken = source.broken_off
        # a song has a refrain
        places = tuple(place for place, is_verse in zip(places, source.verse, strict=True) if not is_verse)
    words = [each for each in sentence_words(text, places) if each]
    ignored = function_words()
    looped = sum(loop.words for sentence in words if (loop := longest_loop(sentence, GAP, ignored)))
    grams = [
        repeated_grams(words, n, ignored, within).share_in_text for n, within in ((1, SOON), (2, WINDOW), (3, WINDOW))
    ]
    total = sum(map(len, words))
    return _Surface([*grams, looped / total if total else 0.0], float(broken))


def _marks(sentence: str) -> tuple[bool, bool, int]:
    """Whether a sentence has a mark for an unknown word, whether it ends too early, and how many words it has."""
    return bool(unknown_marks(sentence)), hanging_end(sentence) is not None, len(sentence.split())
