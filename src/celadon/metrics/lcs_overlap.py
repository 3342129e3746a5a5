"""Overlap of subsequences: ROUGE-L, ROUGE-W and ROUGE-Lsum (Lin 2004), with the reference that gives the highest F."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, IntArray, Metric, MetricInfo, MetricScores, Need, Sample, Section
from celadon.metrics.references import F_PARTS, READING, TOO_LONG, best_reference, f_scores, matched_spans
from celadon.scoring.batch import Batch, Words
from celadon.text.alignment import Ragged, too_long
from celadon.text.ngrams import expand, shared_counts
from celadon.text.subsequences import common_positions, lcs_lengths, weighted_lcs
from celadon.text.words import located_words, splitter

NORMALISATION = "rouge"


def _pairs(words: Words) -> tuple[Ragged, Ragged]:
    references = Ragged.chosen(words.ids, words.starts, words.pair_document)
    return references, Ragged.chosen(words.ids, words.starts, words.pair_text)


@dataclass(frozen=True)
class RougeL(Metric):
    """ROUGE-L: the longest common subsequence."""

    info: ClassVar[MetricInfo] = MetricInfo(
        name="rougeL",
        meaning="F of the longest common subsequence of words with the best reference",
        reading=READING.format(unit="word, in the same order,"),
        needs=frozenset({Need.REFERENCES}),
        parts=F_PARTS,
    )

    def score(self, batch: Batch) -> MetricScores:
        words = batch.words(NORMALISATION)
        references, texts = _pairs(words)
        common = lcs_lengths(texts, references)
        return f_scores(self.spec, words, common / texts.lengths, common / references.lengths)

    def evidence(self, sample: Sample) -> Evidence | None:
        words = Batch([sample]).words(NORMALISATION)
        references, texts = _pairs(words)
        if not len(words.pair_sample) or too_long(references.lengths, texts.lengths).any():
            return None
        common = lcs_lengths(texts, references)
        pair = int(best_reference(words.pair_sample, 2 * common / (texts.lengths + references.lengths), 1).pair[0])
        one, other = references.only(np.array([pair])), texts.only(np.array([pair]))
        text = located_words(sample.text, NORMALISATION)
        number = int(words.pair_reference[pair])
        in_text = sorted(common_positions(other, one)[1].tolist())
        summary = f"{len(in_text)} words in common, in order: {' '.join(text[at].form for at in in_text)}"
        marks = Section(
            "marks",
            spans=matched_spans(text, set(in_text)),
            reference=number,
            reference_spans=matched_spans(
                located_words(sample.references[number], NORMALISATION), set(common_positions(one, other)[1].tolist())
            ),
        )
        return Evidence(self.spec, summary, (marks,))


@dataclass(frozen=True)
class RougeW(Metric):
    """ROUGE-W: a common subsequence in which unbroken runs count for more.

    Parameters
    ----------
    weight
        A run of k words counts k ** weight.
    """

    weight: float = 1.2
    info: ClassVar[MetricInfo] = MetricInfo(
        name="rougeW",
        meaning="F of the common subsequence of words with the best reference, unbroken runs counting for more",
        reading=READING.format(unit="word, in one unbroken run,"),
        needs=frozenset({Need.REFERENCES}),
        parts=F_PARTS,
    )

    def score(self, batch: Batch) -> MetricScores:
        words = batch.words(NORMALISATION)
        references, texts = _pairs(words)
        long = too_long(references.lengths, texts.lengths)
        common = np.full(len(long), np.nan)
        fits = np.flatnonzero(~long)
        common[fits] = weighted_lcs(references.only(fits), texts.only(fits), self.weight)
        recall = (common / references.lengths**self.weight) ** (1 / self.weight)
        precision = (common / texts.lengths**self.weight) ** (1 / self.weight)
        reasons = dict.fromkeys(words.pair_sample[long].tolist(), TOO_LONG)
        return f_scores(self.spec, words, precision, recall, reasons)


@dataclass(frozen=True)
class RougeLsum(Metric):
    """ROUGE-Lsum: for each line of the reference, the union of its common subsequences with all lines of the text."""

    info: ClassVar[MetricInfo] = MetricInfo(
        name="rougeLsum",
        meaning="F of the union of common subsequences, line by line (a line is a sentence), with the best reference",
        reading=READING.format(unit="word, in the same order within lines,"),
        needs=frozenset({Need.REFERENCES}),
        parts=F_PARTS,
    )

    def score(self, batch: Batch) -> MetricScores:
        words = batch.words(NORMALISATION)
        references, texts = _pairs(words)
        hits = _union_hits(words)
        return f_scores(self.spec, words, hits / texts.lengths, hits / references.lengths)


def _lines(words: Words) -> tuple[IntArray, IntArray, IntArray]:
    """Where each line begins and how long it is, and where each document's lines begin in that list."""
    split = splitter(NORMALISATION)
    lengths = [
        [len(split(line)) for line in document.split("\n")] if "\n" in document else [int(length)]
        for document, length in zip(words.documents, words.lengths, strict=True)
    ]
    flat = np.array([length for document in lengths for length in document], dtype=np.int64)
    firsts = np.concatenate([[0], np.cumsum([len(document) for document in lengths])]).astype(np.int64)
    # words do not cross lines, so lines follow each other without gaps in the documents' words
    return np.concatenate([[0], np.cumsum(flat)])[:-1], flat, firsts


def _union_hits(words: Words) -> IntArray:
    """Words of each pair's reference that are in the union, each counted at most as often as the text has it."""
    starts, lengths, firsts = _lines(words)
    counts = np.diff(firsts)
    line, pair = expand(firsts, words.pair_document)
    # every line of the reference meets every line of the text
    reference_line = np.repeat(line, counts[words.pair_text[pair]])
    owner = np.repeat(pair, counts[words.pair_text[pair]])
    text_line, _ = expand(firsts, words.pair_text[pair])
    found, position = common_positions(
        Ragged(words.ids, starts[reference_line], lengths[reference_line]),
        Ragged(words.ids, starts[text_line], lengths[text_line]),
    )
    room = len(words.ids) + 1
    in_union = np.unique(owner[found] * room + starts[reference_line[found]] + position)
    at, text_pair = expand(words.starts, words.pair_text)
    size = words.vocabulary
    left = in_union // room * size + words.ids[in_union % room]
    return shared_counts(left, text_pair * size + words.ids[at], size, len(words.pair_sample))
