"""Overlap of words: ROUGE (Lin 2004), and LR2 and LR3 (Toutanova et al. 2016).

With several references ROUGE takes the one with the highest F; LR2 and LR3 take the union of their n-grams.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, IntArray, Metric, MetricInfo, MetricScores, Need, Sample, Section, UsageError
from celadon.metrics.references import (
    F_PARTS,
    READING,
    TOO_LONG,
    best_reference,
    f_measure,
    f_scores,
    matched_spans,
    null_reasons,
    ratio,
)
from celadon.scoring.batch import Batch, Words
from celadon.text.alignment import Ragged, too_long
from celadon.text.ngrams import Grams, expand, make_grams, overlap, shared_counts
from celadon.text.subsequences import common_positions, lcs_lengths, weighted_lcs, weighted_union
from celadon.text.words import Word, located_words, splitter

NORMALISATION, STEMS = "rouge", "rouge-stems"


def _rouge_info(name: str, meaning: str, unit: str) -> MetricInfo:
    return MetricInfo(name, meaning, READING.format(unit=unit), frozenset({Need.REFERENCES}), parts=F_PARTS)


def _grams_of(batch: Batch, n: int, normalisation: str) -> Grams:
    words = batch.words(normalisation)
    return batch.view(("n-grams", normalisation, n), lambda: make_grams(words.ids, words.starts, words.vocabulary, n))


@dataclass(frozen=True)
class _Rouge(Metric):
    """ROUGE of words as they are, or of their stems.

    Parameters
    ----------
    stemmer
        Whether words of more than three characters are stemmed, as rouge_score's ``use_stemmer`` does.
    """

    stemmer: bool = False

    @property
    def _normalisation(self) -> str:
        return STEMS if self.stemmer else NORMALISATION


class _NgramOverlap(Metric):
    """Shows which words of the text belong to an n-gram of a reference."""

    n: ClassVar[int]

    @property
    def _normalisation(self) -> str:
        return NORMALISATION

    def evidence(self, sample: Sample) -> Evidence | None:
        scores = self.score(Batch([sample]))
        if np.isnan(scores.values[0]):
            return None
        text = located_words(sample.text, self._normalisation)
        references = [located_words(reference, self._normalisation) for reference in sample.references]
        chosen = max(range(len(references)), key=lambda number: _shared(text, references[number], self.n).total())
        shared = _shared(text, references[chosen], self.n)
        listed = ", ".join(" ".join(gram) + (f" (x{count})" if count > 1 else "") for gram, count in shared.items())
        summary = f"{shared.total()} shared {self.n}-gram{'s' if shared.total() != 1 else ''}: {listed or 'none'}"
        marks = Section(
            "marks",
            spans=matched_spans(text, _covered(text, shared, self.n)),
            reference=chosen,
            reference_spans=matched_spans(references[chosen], _covered(references[chosen], shared, self.n)),
        )
        return Evidence(self.spec, summary, (marks,))


def _grams(found: list[Word], n: int) -> list[tuple[str, ...]]:
    return list(zip(*([word.form for word in found[offset:]] for offset in range(n)), strict=False))


def _shared(text: list[Word], reference: list[Word], n: int) -> Counter[tuple[str, ...]]:
    return Counter(_grams(text, n)) & Counter(_grams(reference, n))


def _covered(found: list[Word], shared: Counter[tuple[str, ...]], n: int) -> set[int]:
    left, covered = Counter(shared), set[int]()
    for position, gram in enumerate(_grams(found, n)):
        if left[gram] > 0:
            left[gram] -= 1
            covered.update(range(position, position + n))
    return covered


@dataclass(frozen=True)
class _RougeN(_Rouge, _NgramOverlap):
    """Shared n-grams, repeats counted as often as both have them, with the best reference."""

    @property
    def info(self) -> MetricInfo:
        unit = {1: "word", 2: "pair of neighbouring words"}.get(self.n, f"run of {self.n} words")
        shared = "words" if self.n == 1 else f"{self.n}-grams"
        return _rouge_info(f"rouge{self.n}", f"F of shared {shared} with the best reference", unit)

    def score(self, batch: Batch) -> MetricScores:
        words, grams = batch.words(self._normalisation), _grams_of(batch, self.n, self._normalisation)
        shared = overlap(grams, words.pair_text, words.pair_document)
        totals = grams.totals()
        recall = ratio(shared, totals[words.pair_document])
        # a reference that is shorter than the n-gram cannot say anything, not even of a text that equals it
        recall[totals[words.pair_document] == 0] = np.nan
        reasons = dict.fromkeys(words.pair_sample.tolist(), f"no reference has {self.n} words")
        return f_scores(self.spec, words, ratio(shared, totals[words.pair_text]), recall, reasons)


class Rouge1(_RougeN):
    """ROUGE-1."""

    n = 1


class Rouge2(_RougeN):
    """ROUGE-2."""

    n = 2


class Rouge3(_RougeN):
    """ROUGE-3."""

    n = 3


class Rouge4(_RougeN):
    """ROUGE-4."""

    n = 4


@dataclass(frozen=True)
class _UnionOverlap(_NgramOverlap):
    """Shared distinct n-grams against the union of all references' n-grams."""

    measure: ClassVar[str]

    @property
    def info(self) -> MetricInfo:
        extra = " and no other" if self.measure == "F" else ""
        return MetricInfo(
            name=f"lr{self.n}_{self.measure[0].lower()}",
            meaning=f"{self.measure} of distinct {self.n}-grams against the union of all references' {self.n}-grams",
            reading=f"1 when the text has every {self.n}-gram of the references{extra}",
            needs=frozenset({Need.REFERENCES}),
            parts=F_PARTS,
        )

    def score(self, batch: Batch) -> MetricScores:
        words, samples = batch.words(NORMALISATION), len(batch)
        grams = _grams_of(batch, self.n, NORMALISATION).keyed(samples)
        own = _distinct(grams, np.arange(samples), words.text)
        union = _distinct(grams, words.pair_sample, words.pair_document)
        both = np.intersect1d(own, union, assume_unique=True)
        shared, in_text, in_union = (np.bincount(keys // grams.size, minlength=samples) for keys in (both, own, union))
        precision, recall = ratio(shared, in_text), ratio(shared, in_union)
        reasons = null_reasons(words)
        for empty in np.flatnonzero(in_union == 0).tolist():
            reasons.setdefault(empty, f"no reference has {self.n} words")
        values = recall if self.measure == "recall" else f_measure(precision, recall)
        for column in (precision, recall, values):
            column[list(reasons)] = np.nan
        return MetricScores(self.spec, values, {"precision": precision, "recall": recall}, reasons)


def _distinct(grams: Grams, sample: IntArray, document: IntArray) -> IntArray:
    """The distinct n-grams that each sample has in its documents, as ``sample * size + code``."""
    at, chosen = expand(grams.starts, document)
    return np.unique(sample[chosen] * grams.size + grams.codes[at])


class Lr2F(_UnionOverlap):
    """LR2-F."""

    n, measure = 2, "F"


class Lr3F(_UnionOverlap):
    """LR3-F."""

    n, measure = 3, "F"


class Lr2R(_UnionOverlap):
    """LR2-R."""

    n, measure = 2, "recall"


class Lr3R(_UnionOverlap):
    """LR3-R."""

    n, measure = 3, "recall"


def _pairs(words: Words) -> tuple[Ragged, Ragged]:
    references = Ragged.chosen(words.ids, words.starts, words.pair_document)
    return references, Ragged.chosen(words.ids, words.starts, words.pair_text)


@dataclass(frozen=True)
class RougeL(_Rouge):
    """ROUGE-L: the longest common subsequence."""

    info: ClassVar[MetricInfo] = _rouge_info(
        "rougeL",
        "F of the longest common subsequence of words with the best reference",
        "word, in the same order,",
    )

    def score(self, batch: Batch) -> MetricScores:
        words = batch.words(self._normalisation)
        references, texts = _pairs(words)
        common = lcs_lengths(texts, references)
        return f_scores(self.spec, words, common / texts.lengths, common / references.lengths)

    def evidence(self, sample: Sample) -> Evidence | None:
        words = Batch([sample]).words(self._normalisation)
        references, texts = _pairs(words)
        if not len(words.pair_sample) or too_long(references.lengths, texts.lengths).any():
            return None
        common = lcs_lengths(texts, references)
        pair = int(best_reference(words.pair_sample, 2 * common / (texts.lengths + references.lengths), 1).pair[0])
        one, other = references.only(np.array([pair])), texts.only(np.array([pair]))
        text = located_words(sample.text, self._normalisation)
        number = int(words.pair_reference[pair])
        in_text = sorted(common_positions(other, one)[1].tolist())
        summary = f"{len(in_text)} words in common, in order: {' '.join(text[at].form for at in in_text)}"
        marks = Section(
            "marks",
            spans=matched_spans(text, set(in_text)),
            reference=number,
            reference_spans=matched_spans(
                located_words(sample.references[number], self._normalisation),
                set(common_positions(one, other)[1].tolist()),
            ),
        )
        return Evidence(self.spec, summary, (marks,))


@dataclass(frozen=True)
class RougeW(_Rouge):
    """ROUGE-W: a common subsequence in which unbroken runs count for more.

    Parameters
    ----------
    weight
        A run of k words counts k ** weight.
    variant
        ``paper``, or ``1.5.5`` for what the program of that version computes: line by line, the runs of the reference's
        words that are in any common subsequence, and a recall whose divisor is weighted twice.
    """

    weight: float = 1.2
    variant: str = "paper"
    info: ClassVar[MetricInfo] = _rouge_info(
        "rougeW",
        "F of the common subsequence of words with the best reference, unbroken runs counting for more",
        "word, in one unbroken run,",
    )

    def __post_init__(self) -> None:
        if self.variant not in ("paper", "1.5.5"):
            raise UsageError(f"metric 'rougeW': variant must be paper or 1.5.5, not {self.variant!r}")

    def score(self, batch: Batch) -> MetricScores:
        words = batch.words(self._normalisation)
        if self.variant == "1.5.5":
            return self._by_program(words)
        references, texts = _pairs(words)
        long = too_long(references.lengths, texts.lengths)
        common = np.full(len(long), np.nan)
        fits = np.flatnonzero(~long)
        common[fits] = weighted_lcs(references.only(fits), texts.only(fits), self.weight)
        recall = (common / references.lengths**self.weight) ** (1 / self.weight)
        precision = (common / texts.lengths**self.weight) ** (1 / self.weight)
        reasons = dict.fromkeys(words.pair_sample[long].tolist(), TOO_LONG)
        return f_scores(self.spec, words, precision, recall, reasons)

    def _by_program(self, words: Words) -> MetricScores:
        """Score as the program does with the best of several references (``-f B``): that of the greatest recall."""
        starts, lengths, firsts = _lines(words, self._normalisation)
        ids, ends = words.ids.tolist(), (starts + lengths).tolist()
        lines = [ids[begin:end] for begin, end in zip(starts.tolist(), ends, strict=True)]
        documents = [lines[begin:end] for begin, end in pairwise(firsts.tolist())]
        long = too_long(words.lengths[words.pair_document], words.lengths[words.pair_text])
        hits = np.full(len(long), np.nan)
        for pair in np.flatnonzero(~long).tolist():
            reference, text = documents[words.pair_document[pair]], documents[words.pair_text[pair]]
            hits[pair] = weighted_union(reference, text, self.weight)
        weighted = np.add.reduceat(np.append(lengths**self.weight, 0.0), firsts[:-1]) if len(firsts) > 1 else lengths
        base, power = weighted[words.pair_document], 1 / self.weight
        best = best_reference(words.pair_sample, hits / base, len(words.text))
        recall = best.take((hits / base**self.weight) ** power)
        precision = best.take((hits / words.lengths[words.pair_text] ** self.weight) ** power)
        known = np.isfinite(recall)
        values = np.where(known, f_measure(np.nan_to_num(precision), np.nan_to_num(recall)), np.nan)
        reasons = null_reasons(words)
        for row in np.flatnonzero(~known).tolist():
            reasons.setdefault(row, TOO_LONG)
        return MetricScores(self.spec, values, {"precision": precision, "recall": recall}, reasons)


@dataclass(frozen=True)
class RougeLsum(_Rouge):
    """ROUGE-Lsum: for each line of the reference, the union of its common subsequences with all lines of the text."""

    info: ClassVar[MetricInfo] = _rouge_info(
        "rougeLsum",
        "F of the union of common subsequences, line by line (a line is a sentence), with the best reference",
        "word, in the same order within lines,",
    )

    def score(self, batch: Batch) -> MetricScores:
        words = batch.words(self._normalisation)
        references, texts = _pairs(words)
        hits = _union_hits(words, self._normalisation)
        return f_scores(self.spec, words, hits / texts.lengths, hits / references.lengths)


def _lines(words: Words, normalisation: str) -> tuple[IntArray, IntArray, IntArray]:
    """Where each line begins and how long it is, and where each document's lines begin in that list."""
    split = splitter(normalisation)
    lengths = [
        [len(split(line)) for line in document.split("\n")] if "\n" in document else [int(length)]
        for document, length in zip(words.documents, words.lengths, strict=True)
    ]
    flat = np.array([length for document in lengths for length in document], dtype=np.int64)
    firsts = np.concatenate([[0], np.cumsum([len(document) for document in lengths])]).astype(np.int64)
    # words do not cross lines, so lines follow each other without gaps in the documents' words
    return np.concatenate([[0], np.cumsum(flat)])[:-1], flat, firsts


def _union_hits(words: Words, normalisation: str) -> IntArray:
    """Words of each pair's reference that are in the union, each counted at most as often as the text has it."""
    starts, lengths, firsts = _lines(words, normalisation)
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
