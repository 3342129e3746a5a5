"""METEOR: words matched exactly, by stem or by meaning, with a penalty for their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import ClassVar, NamedTuple

import numpy as np

from celadon.core import Evidence, Metric, MetricInfo, MetricScores, MissingExtraError, Need, Sample, Span, UsageError
from celadon.metrics.meteor_alignment import MODULES, Alignment, align, candidates
from celadon.metrics.references import NO_REFERENCE, NO_WORDS
from celadon.models.words.wordnet import load_wordnet, synsets, wordnet_version
from celadon.scoring.batch import Batch
from celadon.text.meteor_words import located_meteor_words, meteor_words
from celadon.text.stems import english_stem
from celadon.text.words import Word

# What a match by each module is worth: exact, stem, synonym.
WEIGHTS = (1.0, 0.6, 0.8)


class PairScore(NamedTuple):
    """The score of one text against one reference, and what it was made of."""

    value: float
    precision: float
    recall: float
    penalty: float
    chunks: int
    matches: int


@cache
def function_words() -> frozenset[str]:
    """Return the English function words, from the list in the package."""
    lines = resources.files("celadon.metrics").joinpath("function_words_en.txt").read_text(encoding="utf-8")
    return frozenset(line for line in lines.splitlines() if not line.startswith("#"))


@dataclass(frozen=True)
class Meteor(Metric):
    """METEOR 1.5 for English (Denkowski and Lavie 2014), without its paraphrase table.

    Text and reference are split by :mod:`celadon.text.meteor_words`, which does what METEOR's ``-norm`` does;
    punctuation counts. Words are aligned one to one (:mod:`celadon.metrics.meteor_alignment`). Precision and recall
    weigh a match by its module, exact 1, stem 0.6, synonym 0.8, and each word by ``delta`` if it is a content word and
    ``1 - delta`` if a function word. Their mean is ``P R / (alpha P + (1 - alpha) R)``; the score is that times
    ``1 - gamma (chunks / matches) ** beta``, without the penalty where all words of both are matched in one chunk.
    The best reference counts.

    Exact matches work in any script; stems and synonyms are English.

    Attributes
    ----------
    synonyms
        ``yes``, ``no``, or ``auto``: where WordNet is installed.
    stem
        Whether words with the same Snowball stem match.
    alpha
        How much recall counts against precision, 0 to 1.
    beta
        How the penalty grows with the number of chunks.
    gamma
        The greatest penalty, 0 to 1.
    delta
        The weight of content words, between 0 and 1.
    """

    synonyms: str = "auto"
    stem: bool = True
    alpha: float = 0.85
    beta: float = 0.2
    gamma: float = 0.6
    delta: float = 0.75

    info: ClassVar[MetricInfo] = MetricInfo(
        name="meteor",
        meaning="words shared with the best reference: the same, of the same stem or of the same meaning, and in order",
        reading="1 for a text equal to a reference; 0 where no word is shared; good systems often score 0.3 to 0.5",
        needs=frozenset({Need.REFERENCES}),
        parts=("precision", "recall", "penalty", "chunks", "matches"),
    )

    def __post_init__(self) -> None:
        if self.synonyms not in ("auto", "yes", "no"):
            raise UsageError(f"meteor: synonyms must be auto, yes or no, not {self.synonyms!r}")
        if not (0 <= self.alpha <= 1 and 0 <= self.gamma <= 1 and 0 < self.delta < 1 and self.beta >= 0):
            raise UsageError("meteor: alpha and gamma must be within 0 and 1, delta between them, beta not negative")

    def details(self) -> Mapping[str, str]:
        """Say whose synonyms were used."""
        version = wordnet_version() if self.synonyms != "no" else None
        return {"words": "meteor", **({"wordnet": version} if version else {"synonyms": "none"})}

    def score(self, batch: Batch) -> MetricScores:
        """Score every text against its best reference."""
        words = batch.view(("meteor words",), lambda: _split(batch.samples))
        table = np.full((len(PairScore._fields), len(batch)), np.nan)
        reasons: dict[int, str] = {}
        for row, sample in enumerate(batch.samples):
            text = words[sample.text]
            references = {reference: words[reference] for reference in sample.references if words[reference]}
            if text and references:
                table[:, row] = max((self.pair(text, reference) for reference in references.values()), key=_value)
            else:
                reasons[row] = NO_REFERENCE if text else NO_WORDS
        return MetricScores(self.spec, table[0], dict(zip(PairScore._fields[1:], table[1:], strict=True)), reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        """Show which words were matched, and how, in the text and the best reference."""
        text = located_meteor_words(sample.text)
        forms = [word.form for word in text]
        found = []
        for number, reference in enumerate(sample.references):
            located = located_meteor_words(reference)
            theirs = [word.form for word in located]
            if forms and theirs:
                alignment = self._align(forms, theirs)
                found.append((self._weigh(forms, theirs, alignment), number, located, alignment))
        if not found:
            return None
        score, number, reference_words, alignment = max(found, key=lambda one: one[0].value)
        notes = [MODULES[match.module] for match in alignment.matches]
        return Evidence(
            metric=self.spec,
            summary=f"{score.matches} words matched in {score.chunks} chunks: precision {score.precision:.3f}, "
            f"recall {score.recall:.3f}, penalty {score.penalty:.3f}",
            text_spans=_spans(text, [match.text for match in alignment.matches], notes, "insertion"),
            reference=number,
            reference_spans=_spans(reference_words, [m.reference for m in alignment.matches], notes, "deletion"),
        )

    def pair(self, text: Sequence[str], reference: Sequence[str]) -> PairScore:
        """Score the words of one text against those of one reference."""
        return self._weigh(text, reference, self._align(text, reference))

    def _align(self, text: Sequence[str], reference: Sequence[str]) -> Alignment:
        return align(candidates(text, reference, english_stem if self.stem else None, self._synsets()))

    def _synsets(self) -> Callable[[str], Sequence[int]] | None:
        if self.synonyms == "no":
            return None
        if load_wordnet() is not None:
            return synsets
        if self.synonyms == "yes":
            raise MissingExtraError("WordNet", "wordnet")
        return None

    def _weigh(self, text: Sequence[str], reference: Sequence[str], alignment: Alignment) -> PairScore:
        matched, chunks = alignment
        matches = len(matched)
        if not matches:
            return PairScore(0.0, 0.0, 0.0, 0.0, 0, 0)
        in_text, in_reference = self._word_weights(text), self._word_weights(reference)
        # Sums in different orders may differ in the last digit, so what is wholly matched could pass 1.
        precision = min(1.0, sum([WEIGHTS[m.module] * in_text[m.text] for m in matched]) / sum(in_text))
        recall = min(1.0, sum([WEIGHTS[m.module] * in_reference[m.reference] for m in matched]) / sum(in_reference))
        if precision == recall:
            mean = precision
        else:
            mean = precision * recall / (self.alpha * precision + (1.0 - self.alpha) * recall)
        whole = chunks == 1 and matches == len(text) == len(reference)
        penalty = 0.0 if whole else self.gamma * (chunks / matches) ** self.beta
        return PairScore((1.0 - penalty) * mean, precision, recall, penalty, chunks, matches)

    def _word_weights(self, words: Iterable[str]) -> list[float]:
        function, light, heavy = function_words(), 1.0 - self.delta, self.delta
        return [light if word in function else heavy for word in words]


def _value(score: PairScore) -> float:
    return score.value


def _split(samples: Iterable[Sample]) -> dict[str, list[str]]:
    """Split every distinct text and reference once."""
    documents = dict.fromkeys(document for sample in samples for document in (sample.text, *sample.references))
    return {document: meteor_words(document) for document in documents}


def _spans(words: Sequence[Word], matched: Sequence[int], notes: Sequence[str], unmatched: str) -> tuple[Span, ...]:
    note_of = dict(zip(matched, notes, strict=True))
    return tuple(
        Span(word.start, word.end, "match" if place in note_of else unmatched, note_of.get(place, ""))
        for place, word in enumerate(words)
    )
