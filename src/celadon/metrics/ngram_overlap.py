"""Overlap of n-grams: ROUGE-N (Lin 2004) and LR2, LR3 (Toutanova et al. 2016).

With several references ROUGE-N takes the one with the highest F; LR2 and LR3 take the union of their n-grams.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, IntArray, Metric, MetricInfo, MetricScores, Need, Sample, Section
from celadon.metrics.references import F_PARTS, READING, f_measure, f_scores, matched_spans, null_reasons, ratio
from celadon.scoring.batch import Batch
from celadon.text.ngrams import Grams, expand, make_grams, overlap
from celadon.text.words import Word, located_words

NORMALISATION = "rouge"


def _grams_of(batch: Batch, n: int) -> Grams:
    words = batch.words(NORMALISATION)
    return batch.view(("n-grams", NORMALISATION, n), lambda: make_grams(words.ids, words.starts, words.vocabulary, n))


class _NgramOverlap(Metric):
    """Shows which words of the text belong to an n-gram of a reference."""

    n: ClassVar[int]

    def evidence(self, sample: Sample) -> Evidence | None:
        scores = self.score(Batch([sample]))
        if np.isnan(scores.values[0]):
            return None
        text = located_words(sample.text, NORMALISATION)
        references = [located_words(reference, NORMALISATION) for reference in sample.references]
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
class _RougeN(_NgramOverlap):
    """Shared n-grams, repeats counted as often as both have them, with the best reference."""

    @property
    def info(self) -> MetricInfo:
        unit = {1: "word", 2: "pair of neighbouring words"}.get(self.n, f"run of {self.n} words")
        return MetricInfo(
            name=f"rouge{self.n}",
            meaning=f"F of shared {'words' if self.n == 1 else f'{self.n}-grams'} with the best reference",
            reading=READING.format(unit=unit),
            needs=frozenset({Need.REFERENCES}),
            parts=F_PARTS,
        )

    def score(self, batch: Batch) -> MetricScores:
        words, grams = batch.words(NORMALISATION), _grams_of(batch, self.n)
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
        grams = _grams_of(batch, self.n).keyed(samples)
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
