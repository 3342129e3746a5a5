"""Redundancy: pairs of sentences that repeat each other, by the four features of GRUEN (Zhu and Bhat 2020).

Every pair of a text's sentences costs the penalty once for each feature by which it repeats itself: A, a common
substring; B, a common run of words; C, few edits; D, common words (:mod:`celadon.text.repetition`). Sentences without
letters and digits, as a line of asterisks, are left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from heapq import nsmallest
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, FloatArray, MetricInfo, MetricScores, Section, Span, UsageError
from celadon.metrics.gruen.models import PENALTY
from celadon.metrics.prose_metric import ProseMetric
from celadon.scoring.batch import NO_WORDS, Batch
from celadon.scoring.batch.prose import reading_facts
from celadon.text.repetition import (
    MAX_CHARACTERS,
    NORMALISATION,
    Place,
    RepeatedPair,
    SharedParts,
    repeated_pairs,
    shared_parts,
)
from celadon.text.scripts import is_wordless

PARTS = ("sentences", "pairs", "A", "B", "C", "D")
FEATURES: Mapping[str, str] = {
    "A": "common substring",
    "B": "common run of words",
    "C": "few edits",
    "D": "common words",
}
SHOWN = 20
"""So many pairs, those with the most features, are shown as evidence."""
REPEATED = "repeated"
"""The label of what two sentences share."""
TOO_LONG = f"too long to compare all pairs of its sentences: more than {MAX_CHARACTERS:,} characters"


@dataclass(frozen=True)
class RedundancyThresholds:
    """From which shares on two sentences repeat each other, as for :func:`celadon.text.repetition.repeated_pairs`."""

    common_substring: float = 0.8
    common_run: float = 0.8
    edit_distance: float = 0.6
    common_words: float = 0.8

    def __post_init__(self) -> None:
        for name, share in asdict(self).items():
            if not 0 <= share <= 1:
                raise UsageError(f"gruen.redundancy: {name} is a share from 0 to 1, not {share:g}")


DEFAULTS = RedundancyThresholds()


@dataclass(frozen=True)
class Redundancies:
    """What the sentences of each text of a batch repeat.

    ``parts`` are the numbers of sentences, of repeating pairs and of pairs with each feature, and ``features`` the
    features of all pairs; NaN where null.
    """

    parts: Mapping[str, FloatArray]
    features: FloatArray
    reasons: Mapping[int, str]


def redundancies(batch: Batch, thresholds: RedundancyThresholds = DEFAULTS) -> Redundancies:
    """Count what the sentences of each text repeat; once for a batch, and once for equal texts."""
    return batch.view(("redundancies", thresholds), lambda: _count_all(batch, thresholds))


def _count_all(batch: Batch, thresholds: RedundancyThresholds) -> Redundancies:
    rows = np.full((len(batch), len(PARTS)), np.nan)
    reasons: dict[int, str] = {}
    counted: dict[str, tuple[int, ...]] = {}
    for row, (sample, places) in enumerate(zip(batch.samples, batch.sentences(), strict=True)):
        if why := _unusable(sample.text):
            reasons[row] = batch.nothing.get(row, why)
            continue
        if sample.text not in counted:
            sentences = _with_words(sample.text, places)
            features = Counter(pair.features for pair in _pairs(sample.text, sentences, thresholds))
            by_letter = (sum(n for found, n in features.items() if letter in found) for letter in FEATURES)
            counted[sample.text] = (len(sentences), features.total(), *by_letter)
        rows[row] = counted[sample.text]
    parts = {name: rows[:, column].copy() for column, name in enumerate(PARTS)}
    return Redundancies(parts, np.sum([parts[letter] for letter in FEATURES], axis=0), reasons)


def _unusable(text: str) -> str | None:
    if is_wordless(text):
        return NO_WORDS
    return TOO_LONG if len(text) > MAX_CHARACTERS else None


def _with_words(text: str, places: Iterable[Place]) -> list[Place]:
    return [(start, end) for start, end in places if not is_wordless(text[start:end])]


def _pairs(text: str, sentences: list[Place], thresholds: RedundancyThresholds) -> Iterator[RepeatedPair]:
    return repeated_pairs([text[start:end] for start, end in sentences], **asdict(thresholds))


@dataclass(frozen=True)
class RedundantPair:
    """Two sentences that repeat each other, with places in the text.

    ``numbers`` count from 1, ``features`` are some of ``ABCD``, and ``shared`` has places in the one and in the other,
    in order and without overlap.
    """

    numbers: tuple[int, int]
    sentences: tuple[Place, Place]
    features: str
    shared: tuple[tuple[Place, ...], tuple[Place, ...]]


@dataclass(frozen=True)
class GruenRedundancy(ProseMetric):
    """Minus the penalty for every feature of every pair of sentences.

    Parameters
    ----------
    common_substring, common_run, edit_distance, common_words
        The thresholds of A, B, C and D, as in :class:`RedundancyThresholds`.
    penalty
        What one feature of one pair costs.
    """

    common_substring: float = DEFAULTS.common_substring
    common_run: float = DEFAULTS.common_run
    edit_distance: float = DEFAULTS.edit_distance
    common_words: float = DEFAULTS.common_words
    penalty: float = PENALTY
    explains: ClassVar[tuple[str, ...]] = ("redundancy",)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="gruen.redundancy",
        meaning="minus 0.1 for each of four signs that a sentence repeats another, over all pairs of sentences",
        reading="0 where no two sentences are alike, as in a text of one; pairs add up, so long texts may lose more",
        low=-math.inf,
        high=0.0,
        parts=PARTS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.penalty < math.inf:
            raise UsageError(f"gruen.redundancy: the penalty is a number from 0 on, not {self.penalty:g}")
        self._thresholds()

    def _thresholds(self) -> RedundancyThresholds:
        return RedundancyThresholds(self.common_substring, self.common_run, self.edit_distance, self.common_words)

    def score_prose(self, batch: Batch) -> MetricScores:
        found = redundancies(batch, self._thresholds())
        # 0 less the penalty is never -0
        return MetricScores(self.spec, 0.0 - self.penalty * found.features, found.parts, found.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        text = batch.samples[0].text
        if _unusable(text):
            return None
        sentences = _with_words(text, batch.sentences()[0])
        total = 0

        def counted() -> Iterator[RepeatedPair]:
            nonlocal total
            for pair in _pairs(text, sentences, self._thresholds()):
                total += 1
                yield pair

        worst = nsmallest(SHOWN, counted(), key=lambda pair: (-len(pair.features), pair))
        pairs = tuple(_located(text, sentences, pair) for pair in worst)
        sections = (Section("marks", spans=_spans(text, pairs)), *map(_section, pairs))
        return Evidence(self.spec, _summary(len(sentences), pairs, total), sections)

    def details(self) -> Mapping[str, str]:
        return {"words": NORMALISATION, **reading_facts(self.markup)}


def _located(text: str, sentences: list[Place], pair: RepeatedPair) -> RedundantPair:
    places = (sentences[pair.first], sentences[pair.second])
    (start, end), (other_start, other_end) = places
    parts = shared_parts(text[start:end], text[other_start:other_end])
    shared = (_united(text, start, parts, 0), _united(text, other_start, parts, 1))
    return RedundantPair((pair.first + 1, pair.second + 1), places, pair.features, shared)


def _section(pair: RedundantPair) -> Section:
    sentences = [Span(*place, str(number)) for number, place in zip(pair.numbers, pair.sentences, strict=True)]
    shared = [Span(*place, REPEATED) for side in pair.shared for place in side]
    why = ", ".join(FEATURES[letter] for letter in pair.features)
    return Section("pair", "Said twice", (*sentences, *shared), (why,), {"features": pair.features})


def _united(text: str, offset: int, parts: SharedParts, side: int) -> tuple[Place, ...]:
    """The common substring and the common words of one side, as places in the text."""
    places = list(parts.words[side])
    if parts.substring:
        places.append(parts.substring[side])
    return tuple(_joined(text, [(start + offset, end + offset) for start, end in places]))


def _joined(text: str, places: Iterable[Place]) -> Iterator[Place]:
    """Put places in order, trim them, and join those with no word between."""
    current: Place | None = None
    for start, end in sorted(places):
        inside = text[start:end]
        if not inside.strip():
            continue
        trimmed = (start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip()))
        if current and is_wordless(text[current[1] : trimmed[0]]):
            current = (current[0], max(current[1], trimmed[1]))
            continue
        if current:
            yield current
        current = trimmed
    if current:
        yield current


def _spans(text: str, pairs: Iterable[RedundantPair]) -> tuple[Span, ...]:
    """What is shared in any pair, sentence by sentence."""
    shared: dict[Place, list[Place]] = {}
    others: dict[Place, list[int]] = {}
    for pair in pairs:
        for side in (0, 1):
            shared.setdefault(pair.sentences[side], []).extend(pair.shared[side])
            others.setdefault(pair.sentences[side], []).append(pair.numbers[1 - side])
    return tuple(
        Span(start, end, REPEATED, f"in sentence {', '.join(map(str, sorted(others[sentence])))} too")
        for sentence in sorted(shared)
        for start, end in _joined(text, shared[sentence])
    )


def _summary(sentences: int, pairs: tuple[RedundantPair, ...], total: int) -> str:
    if sentences == 1:
        return "one sentence, so none repeats another"
    if not total:
        return f"{sentences:,} sentences, none of which repeats another"
    named = [f"{pair.numbers[0]} and {pair.numbers[1]} ({pair.features})" for pair in pairs[:5]]
    more = f" and {total - len(named):,} more" if total > len(named) else ""
    letters = [letter for letter in FEATURES if any(letter in pair.features for pair in pairs)]
    meaning = ", ".join(f"{letter}: {FEATURES[letter]}" for letter in letters)
    return (
        f"{total:,} of {math.comb(sentences, 2):,} pairs of sentences repeat each other: "
        f"{', '.join(named)}{more} ({meaning})"
    )
