"""Simple and generation string accuracy (Bangalore, Rambow and Whittaker 2000).

Both rest on one alignment of text and reference (:mod:`celadon.text.alignment`). The generation accuracy counts the
deletion of a word here and its insertion there as one move.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, IntArray, Metric, MetricInfo, MetricScores, Need, Sample, Section, Span
from celadon.metrics.references import TOO_LONG, Best, best_reference, null_reasons
from celadon.scoring.batch import Batch, Words
from celadon.text.alignment import Alignment, Ragged, align, too_long
from celadon.text.operations import Operations, count_operations, least_operations
from celadon.text.words import Word, located_words, splitter


def aligned(batch: Batch, normalisation: str) -> tuple[Operations, Alignment]:
    """Return the alignment of every text with each of its references, and its operations."""
    return batch.view(("alignment", normalisation), lambda: _align(batch.words(normalisation)))


def _align(words: Words) -> tuple[Operations, Alignment]:
    references, texts = _pairs(words)
    alignment = align(references, texts)
    return count_operations(references, texts, alignment, words.vocabulary), alignment


def _pairs(words: Words) -> tuple[Ragged, Ragged]:
    """The references and texts of all pairs; one that is too long stays in its place with nothing in it."""
    references = Ragged.chosen(words.ids, words.starts, words.pair_document)
    texts = Ragged.chosen(words.ids, words.starts, words.pair_text)
    fits = ~too_long(references.lengths, texts.lengths)
    references = references._replace(lengths=np.where(fits, references.lengths, 0))
    return references, texts._replace(lengths=np.where(fits, texts.lengths, 0))


def _counted(batch: Batch, normalisation: str) -> Operations:
    """Return the operations of every text with each of its references, moves apart."""

    def count() -> Operations:
        words = batch.words(normalisation)
        return least_operations(*_pairs(words), words.vocabulary)

    return batch.view(("operations", normalisation), count)


def operations_of(counted: Operations, *, moves: bool) -> dict[str, IntArray]:
    """Return the operations that count against a text; insertions and deletions of a move are not counted again."""
    if not moves:
        return {name: getattr(counted, name) for name in ("substitutions", "insertions", "deletions")}
    return {
        "substitutions": counted.substitutions,
        "moves": counted.moves,
        "insertions": counted.insertions - counted.moves,
        "deletions": counted.deletions - counted.moves,
    }


def accuracy_info(name: str, meaning: str, reading: str, *, moves: bool = False) -> MetricInfo:
    """Return the description of an accuracy over operations."""
    parts = ("substitutions", *(["moves"] if moves else []), "insertions", "deletions", "reference_words")
    return MetricInfo(name, meaning, reading, frozenset({Need.REFERENCES}), low=-math.inf, parts=parts)


@dataclass(frozen=True)
class _StringAccuracy(Metric):
    """One minus the operations per word of the reference.

    Parameters
    ----------
    words
        The normalisation: surface (default), whitespace or rouge.
    """

    words: str = "surface"
    explains: ClassVar[tuple[str, ...]] = ("alignment",)
    moves: ClassVar[bool] = False
    """Whether a word deleted here and inserted there is one move."""

    def __post_init__(self) -> None:
        splitter(self.words)

    def _best(self, batch: Batch) -> tuple[dict[str, IntArray], IntArray, Best]:
        counted = aligned(batch, self.words)[0] if self.moves else _counted(batch, self.words)
        operations = operations_of(counted, moves=self.moves)
        values = np.full(len(counted.reference_words), np.nan)
        fits = counted.reference_words > 0
        problems = np.sum(list(operations.values()), axis=0)
        values[fits] = 1.0 - problems[fits] / counted.reference_words[fits]
        best = best_reference(batch.words(self.words).pair_sample, values, len(batch))
        return operations, counted.reference_words, best

    def score(self, batch: Batch) -> MetricScores:
        operations, reference_words, best = self._best(batch)
        reasons = null_reasons(batch.words(self.words))
        for row in np.flatnonzero(best.pair < 0).tolist():
            reasons.setdefault(row, TOO_LONG)
        parts = {name: best.take(column) for name, column in operations.items()}
        parts["reference_words"] = best.take(reference_words)
        problems = np.sum([parts[name] for name in operations], axis=0)
        return MetricScores(self.spec, 1.0 - problems / parts["reference_words"], parts, reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        batch = Batch([sample])
        operations, reference_words, best = self._best(batch)
        pair = int(best.pair[0])
        if pair < 0:
            return None
        number = int(batch.words(self.words).pair_reference[pair])
        _, alignment = aligned(batch, self.words)
        text = located_words(sample.text, self.words)
        reference = located_words(sample.references[number], self.words)
        text_spans, reference_spans = _spans(text, reference, alignment.of(pair).tolist(), moved=self.moves)
        counts = ", ".join(f"{name} {int(column[pair])}" for name, column in operations.items())
        summary = f"{counts}; reference words {int(reference_words[pair])}"
        alignment_of_words = Section("alignment", spans=text_spans, reference=number, reference_spans=reference_spans)
        return Evidence(self.spec, summary, (alignment_of_words,))


def _spans(
    text: list[Word], reference: list[Word], partner: list[int], *, moved: bool
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Label every word of both sides; the first words that are both deleted and inserted are the moved ones."""
    back = {at: number for number, at in enumerate(partner) if at >= 0}
    deleted = Counter(word.form for word, at in zip(reference, partner, strict=True) if at < 0)
    inserted = Counter(word.form for number, word in enumerate(text) if number not in back)
    moves = deleted & inserted if moved else Counter[str]()

    def label(word: Word, other: Word | None, alone: str, left: Counter[str]) -> Span:
        if other is not None:
            same = word.form == other.form
            return Span(word.start, word.end, "match" if same else "substitution", "" if same else other.form)
        if left[word.form] > 0:
            left[word.form] -= 1
            return Span(word.start, word.end, "move")
        return Span(word.start, word.end, alone)

    left = Counter(moves)
    text_spans = tuple(
        label(word, reference[back[number]] if number in back else None, "insertion", left)
        for number, word in enumerate(text)
    )
    left = Counter(moves)
    reference_spans = tuple(
        label(word, text[at] if at >= 0 else None, "deletion", left)
        for word, at in zip(reference, partner, strict=True)
    )
    return text_spans, reference_spans


_READING = "1 is the reference itself; each {unit} costs 1/R of it (R words in the reference); below 0 is possible"


@dataclass(frozen=True)
class SimpleStringAccuracy(_StringAccuracy):
    """1 - (I + D + S) / R."""

    info: ClassVar[MetricInfo] = accuracy_info(
        name="simple_string_accuracy",
        meaning="1 - (insertions + deletions + substitutions) / words, aligned with the best reference",
        reading=_READING.format(unit="word inserted, deleted or replaced"),
    )


@dataclass(frozen=True)
class GenerationStringAccuracy(_StringAccuracy):
    """1 - (M + I' + D' + S) / R."""

    moves: ClassVar[bool] = True
    info: ClassVar[MetricInfo] = accuracy_info(
        name="generation_string_accuracy",
        meaning="as simple_string_accuracy, but a word deleted here and inserted there is one move",
        reading=_READING.format(unit="word moved, inserted, deleted or replaced"),
        moves=True,
    )
