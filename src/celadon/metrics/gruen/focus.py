"""Focus: adjacent sentences that have nothing to do with each other (GRUEN, Zhu and Bhat 2020).

Two adjacent sentences are compared by Word Mover's similarity (:mod:`celadon.models.words.word_mover`); where that is
below the threshold the transition is weak and costs the penalty. The paper's threshold, 0.05, is for other vectors and
another similarity; here all vectors have their own, found on articles that they were not trained on. A transition of
which one sentence has no content word with a vector cannot be judged and is not weak. Sentences without letters and
digits, as a line of asterisks, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from celadon.core import Evidence, MetricInfo, MetricScores, Section, Span, UsageError
from celadon.metrics.gruen.models import PENALTY
from celadon.metrics.prose_metric import ProseMetric
from celadon.models.words.word_vectors import WordVectors
from celadon.scoring.batch import NO_WORDS, Batch
from celadon.scoring.batch.prose import reading_facts
from celadon.text.scripts import is_in_scripts, is_wordless

PARTS = ("pairs", "weak", "least", "mean")
WEAK = "weak transition"
"""The label of a sentence that has little to do with the one before it."""

Place = tuple[int, int]


class Transition(NamedTuple):
    """Two adjacent sentences, and their Word Mover's similarity: NaN where one has no known content word."""

    first: Place
    second: Place
    similarity: float


@dataclass(frozen=True)
class Transitions:
    """The transitions of each text of a batch, in order; none of a text that has a reason not to be judged."""

    of: tuple[tuple[Transition, ...], ...]
    reasons: Mapping[int, str]


def transitions(batch: Batch, model: str = "builtin") -> Transitions:
    """Compare the adjacent sentences of all texts, once for a batch."""
    return batch.view(("transitions", model), lambda: _compare(batch, model))


def _compare(batch: Batch, model: str) -> Transitions:
    from celadon.models.words.word_mover import similarities
    from celadon.models.words.word_vectors import word_vectors

    vectors = word_vectors(model)
    reasons: dict[int, str] = {}
    neighbours: list[tuple[Place, Place]] = []
    counts = [0] * len(batch)
    for row, (sample, places) in enumerate(zip(batch.samples, batch.sentences(), strict=True)):
        if why := _unknown(sample.text, vectors):
            reasons[row] = batch.nothing.get(row, why)
            continue
        worded = [(start, end) for start, end in places if not is_wordless(sample.text[start:end])]
        neighbours += pairwise(worded)
        counts[row] = max(len(worded) - 1, 0)
    ends = np.cumsum(counts).tolist()
    owners = np.repeat(np.arange(len(batch)), counts).tolist()
    texts = [batch.samples[owner].text for owner in owners]
    pairs = [(text[a:b], text[c:d]) for text, ((a, b), (c, d)) in zip(texts, neighbours, strict=True)]
    found = similarities(pairs, vectors).tolist()
    judged = [Transition(*places, similarity) for places, similarity in zip(neighbours, found, strict=True)]
    return Transitions(tuple(tuple(judged[end - n : end]) for n, end in zip(counts, ends, strict=True)), reasons)


def _unknown(text: str, vectors: WordVectors) -> str | None:
    """Why vectors cannot tell anything of a text."""
    from celadon.text.words import words

    if is_wordless(text):
        return NO_WORDS
    if not is_in_scripts(text, vectors.scripts):
        known = " or ".join(vectors.scripts)
        return f"less than half of the text's letters are {known}, which is all the word vectors know"
    if not any(word in vectors for word in words(text.lower(), vectors.normalisation)):
        return "the word vectors know no word of the text"
    return None


def transition_sections(transitions: Sequence[Transition], threshold: float, note: str) -> tuple[Section, ...]:
    """Mark the sentences after weak transitions, and show these transitions, the weakest first.

    ``note`` is a format that takes the similarity.
    """
    weak = [each for each in transitions if each.similarity < threshold]
    marks = tuple(Span(*each.second, WEAK, note.format(each.similarity), each.similarity) for each in weak)
    pairs = [
        Section(
            "transition",
            "Weak transitions",
            (Span(*each.first, "first"), Span(*each.second, WEAK, "", each.similarity)),
        )
        for each in sorted(weak, key=lambda each: each.similarity)
    ]
    return (Section("marks", spans=marks), *pairs)


@dataclass(frozen=True)
class GruenFocus(ProseMetric):
    """Minus the penalty for every weak transition from a sentence to the next.

    Parameters
    ----------
    model
        The word vectors: ``builtin``, or a folder that ``celadon train vectors`` made.
    threshold
        The similarity below which a transition is weak; by default the vectors' own.
    penalty
        What a weak transition costs.
    """

    model: str = "builtin"
    threshold: float | None = None
    penalty: float = PENALTY
    explains: ClassVar[tuple[str, ...]] = ("focus",)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="gruen.focus",
        meaning="minus 0.1 for each sentence whose words have nothing to do with those of the sentence before",
        reading="0 where every sentence goes on from the last, as in a text of one; long texts may lose more",
        low=-math.inf,
        high=0.0,
        parts=PARTS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.penalty < math.inf:
            raise UsageError(f"gruen.focus: the penalty is a number from 0 on, not {self.penalty:g}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise UsageError(f"gruen.focus: the threshold is a similarity from 0 to 1, not {self.threshold:g}")

    def used_threshold(self) -> float:
        """Return the threshold: the one that was given, or that of the vectors."""
        from celadon.models.words.word_vectors import word_vectors

        threshold = word_vectors(self.model).threshold if self.threshold is None else self.threshold
        if threshold is None:
            raise UsageError(f"gruen.focus: the vectors {self.model} have no threshold of their own; give threshold=")
        return threshold

    def score_prose(self, batch: Batch) -> MetricScores:
        threshold, found = self.used_threshold(), transitions(batch, self.model)
        parts = {name: np.full(len(batch), np.nan) for name in PARTS}
        for row, of_text in enumerate(found.of):
            if row not in found.reasons:
                known = [each.similarity for each in of_text if not math.isnan(each.similarity)]
                parts["pairs"][row] = len(of_text)
                parts["weak"][row] = sum(similarity < threshold for similarity in known)
                if known:
                    parts["least"][row], parts["mean"][row] = min(known), math.fsum(known) / len(known)
        # 0 less the penalty is never -0
        return MetricScores(self.spec, 0.0 - self.penalty * parts["weak"], parts, found.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        found = transitions(batch, self.model)
        if found.reasons:
            return None
        each, threshold = found.of[0], self.used_threshold()
        sections = transition_sections(each, threshold, "similarity {:.3f} to the sentence before")
        return Evidence(self.spec, _summary(each, threshold), sections)

    def models(self) -> tuple[str, ...]:
        from celadon.models.words.word_vectors import word_vectors

        vectors = word_vectors(self.model)
        return (f"{vectors.name}@{vectors.digest[:8]}",)

    def details(self) -> Mapping[str, str]:
        from importlib.metadata import version

        return {"threshold": f"{self.used_threshold():g}", **reading_facts(self.markup), "pot": version("POT")}


def _summary(found: tuple[Transition, ...], threshold: float) -> str:
    if not found:
        return "one sentence, so there is no transition to judge"
    weak = sum(each.similarity < threshold for each in found)
    many = "1 transition" if len(found) == 1 else f"{len(found):,} transitions"
    unknown = sum(math.isnan(each.similarity) for each in found)
    told = f"{weak:,} of {many} between sentences weak, with a Word Mover's similarity below {threshold:g}"
    return f"{told}; {unknown:,} could not be judged for want of known content words" if unknown else told
