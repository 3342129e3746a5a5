"""Mover distances: what it costs to turn a text into its reference, by the vectors of its words or sentences.

Word Mover's Distance (Kusner, Sun, Kolkin and Weinberger 2015) moves words; Sentence Mover's moves sentences, each at
the mean of its words and as heavy as they are many, and Sentence and Word Mover's moves both (Clark, Celikyilmaz and
Smith 2019). Each is a similarity, ``exp(-distance)``, with the distance as a part, and exact
(:mod:`celadon.text.transport`). Of several references the nearest counts.

A text with more than ``window`` words that count is compared with its reference in stretches
(:mod:`celadon.text.windows`): the distance is the mean of theirs, each weighted by its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, FloatArray, MetricInfo, MetricScores, Need, Sample, UsageError
from celadon.metrics.idf import NONE, WINDOW, Counts, IdfMetric
from celadon.metrics.word_bags import (
    BOTH,
    DROP,
    KEEP,
    NO_WEIGHT,
    SENTENCES,
    WORDS,
    ReadText,
    WordReading,
    bags_and_points,
    file_counts,
    paired,
    read_texts,
    reference_counts,
    weighted_words,
)
from celadon.scoring.batch import Batch
from celadon.text.inverse_frequency import DocumentCounts
from celadon.text.transport import nearest_distances

UNIT, OWN = "unit", "own"
PARTS = ("distance", "known")
NO_KNOWN_REFERENCE = "no reference has a word that counts, has a vector and has a weight"
_READING = (
    "1 where text and reference have the same {what}; falls towards 0 as they get farther apart; compare only scores "
    "with the same vectors"
)


def _info(name: str, meaning: str, what: str) -> MetricInfo:
    return MetricInfo(
        name=name,
        meaning=meaning,
        reading=_READING.format(what=what),
        needs=frozenset({Need.REFERENCES}),
        parts=PARTS,
    )


@dataclass(frozen=True, kw_only=True)
class _Mover(IdfMetric):
    """What the three have in common.

    Parameters
    ----------
    vectors
        ``builtin``, ``glove``, a folder that ``celadon train vectors`` made, or a file of GloVe, word2vec or fastText.
    idf
        What a word weighs: ``none``, all alike; ``set``, by how few references of the scored set it stands in; or a
        file of texts, by how few of them.
    stopwords
        ``drop`` them or ``keep`` them.
    lengths
        Of the vectors: ``unit`` makes all of length 1, ``own`` leaves them as they are.
    window
        The most words of a text that are compared at a time.
    """

    unit = "words"
    known = "that the word vectors know"
    kind: ClassVar[str]
    vectors: str = "builtin"
    idf: str = NONE
    stopwords: str = DROP
    lengths: str = UNIT
    window: int = WINDOW

    def __post_init__(self) -> None:
        name = self.info.name
        for option, value, known in (
            ("stopwords", self.stopwords, (DROP, KEEP)),
            ("lengths", self.lengths, (UNIT, OWN)),
        ):
            if value not in known:
                raise UsageError(f"{name}: {option} is {' or '.join(known)}, not {value!r}")
        if self.window < 1:
            raise UsageError(f"{name}: the window is a number of words from 1 on, not {self.window}")
        if not self.vectors or not self.idf:
            raise UsageError(f"{name}: vectors and idf must not be empty")
        if self.lengths == OWN and self.vectors == "builtin":
            raise UsageError(f"{name}: the builtin vectors have no lengths of their own; give lengths={UNIT}")

    @property
    def reading(self) -> WordReading:
        """How texts are read."""
        return WordReading(self.vectors, self.stopwords, self.kind != WORDS)

    def file_counts(self) -> DocumentCounts:
        return _counts_of_file(self.idf, self.reading)

    def set_counts(self, batch: Batch) -> Counts:
        return Counts.of(reference_counts(batch, self.reading))

    def scores(self, batch: Batch, counts: Counts | None) -> MetricScores:
        read = read_texts(batch, self.reading)
        points, texts = weighted_words(
            read, self.reading.table, counts and counts.references, unit=self.lengths == UNIT
        )
        pairing = paired(batch.samples, texts, self.window)
        bags, vectors = bags_and_points(self.kind, pairing.pieces, points)
        found = nearest_distances(bags, pairing.left, pairing.right, pairing.weights, pairing.choices, vectors)
        distances = np.full(len(batch), np.inf)
        np.minimum.at(distances, [row for row, _, _ in pairing.choices], found)
        distances[np.isinf(distances)] = np.nan
        reasons = {}
        for row in np.flatnonzero(np.isnan(distances)).tolist():
            text = batch.samples[row].text
            weightless = "" if len(texts[text].words) else NO_WEIGHT
            reasons[row] = read[text].reason or weightless or NO_KNOWN_REFERENCE
        parts = {"distance": distances, "known": _known(batch, read)}
        return MetricScores(self.spec, np.exp(-distances), parts, reasons)

    def explain(self, sample: Sample, counts: Counts | None) -> Evidence | None:
        from celadon.metrics.movers_evidence import moved_sentences

        return moved_sentences(self, sample, counts and counts.references)

    def models(self) -> tuple[str, ...]:
        vectors = self.reading.table
        return (f"{vectors.name}@{vectors.digest[:8]}",)

    def facts(self) -> Mapping[str, str]:
        from importlib.metadata import version

        from celadon.text.sentences import splitter_version

        sentences = {"sentences": splitter_version()} if self.reading.sentences else {}
        return {**sentences, **self.idf_facts(), "pot": version("POT")}


def _known(batch: Batch, read: Mapping[str, ReadText]) -> FloatArray:
    """The share of the words that count of each text that have a vector; NaN where there are none."""
    found = (read[sample.text] for sample in batch.samples)
    return np.array([len(one.numbers) / one.counted if one.counted else np.nan for one in found], dtype=np.float64)


@lru_cache(maxsize=8)
def _counts_of_file(path: str, reading: WordReading) -> DocumentCounts:
    return file_counts(path, reading)


class Wmd(_Mover):
    """Word Mover's similarity with the nearest reference."""

    kind = WORDS
    info: ClassVar[MetricInfo] = _info(
        "wmd", "Word Mover's similarity: how little the words must be changed to be the reference's", "words"
    )

    def explain(self, sample: Sample, counts: Counts | None) -> Evidence | None:
        from celadon.metrics.movers_evidence import moved_words

        return moved_words(self, sample, counts and counts.references)


class Smd(_Mover):
    """Sentence Mover's similarity with the nearest reference."""

    kind = SENTENCES
    info: ClassVar[MetricInfo] = _info(
        "smd", "Sentence Mover's similarity: how near the sentences' mean vectors are to the reference's", "sentences"
    )


class SWmd(_Mover):
    """Sentence and Word Mover's similarity with the nearest reference."""

    kind = BOTH
    info: ClassVar[MetricInfo] = _info(
        "s_wmd", "Sentence and Word Mover's similarity: words and sentences moved together", "words and sentences"
    )
