"""`celadon`: how well a text reads, from 0 to 1, by four aspects that are metrics of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, FloatArray, Metric, MetricInfo, MetricScores, Sample
from celadon.metrics.aspects import aspect_evidence, batch_of
from celadon.metrics.gruen.models import model_facts, model_names
from celadon.metrics.reading import evidence as shown
from celadon.metrics.reading.judgement import Judgement, judge
from celadon.metrics.reading.weights import (
    ASPECTS,
    COHERENCE,
    FEATURES,
    FOCUS,
    GRAMMATICALITY,
    REDUNDANCY,
    TIERS,
    ReadingWeights,
    weights_of,
)
from celadon.scoring.batch import Batch


@dataclass(frozen=True)
class _Reading(Metric):
    """What `celadon` and its aspects have in common.

    Parameters
    ----------
    tier
        Which models read: ``builtin`` or ``standard``.
    weights
        A file that ``celadon train celadon`` made; by default the tier's own weights.
    """

    tier: str = "builtin"
    weights: str = ""

    def __post_init__(self) -> None:
        self.used_weights()

    def used_weights(self) -> ReadingWeights:
        """Return the weights: those of the file that was given, or the tier's."""
        return weights_of(self.tier, self.weights)

    def judged(self, batch: Batch) -> Judgement:
        """Return how the texts read."""
        return judge(batch, self.tier, self.used_weights())

    def models(self) -> tuple[str, ...]:
        used = TIERS[self.tier]
        return model_names(likelihood=used.likelihood, acceptability=used.encoder)

    def details(self) -> Mapping[str, str]:
        # the file by its content, not by its name
        return {"weights": self.used_weights().sha256[:8], **model_facts()}


@dataclass(frozen=True)
class Celadon(_Reading):
    """What the four aspects leave of a sound text."""

    explains: ClassVar[tuple[str, ...]] = ASPECTS
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon",
        meaning="how well a text reads: grammatical, not repetitive, focused, coherent",
        reading="roughly the share of the text that nothing is wrong with: 0.9 sound, 0.6 faulty, 0.3 hard to read",
        parts=ASPECTS,
    )

    def score(self, batch: Batch) -> MetricScores:
        found = self.judged(batch)
        return MetricScores(self.spec, self.used_weights().score(found.aspects), dict(found.aspects), found.reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        aspects = [aspect(self.tier, self.weights).evidence(sample) for aspect in ASPECT_METRICS]
        return aspect_evidence(self.spec, aspects)


@dataclass(frozen=True)
class CeladonGrammaticality(_Reading):
    """How sound the sentences are: the mean and the worst."""

    explains: ClassVar[tuple[str, ...]] = (GRAMMATICALITY,)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon.grammaticality",
        meaning="how grammatical and fluent the sentences are, the worst beside the mean",
        reading="1 where every sentence is sound; acceptability, fluency, unknown-word marks and loose ends decide",
        parts=("mean", "worst", "sentences"),
    )

    def score(self, batch: Batch) -> MetricScores:
        found = self.judged(batch)
        many = np.bincount(found.features.owner, minlength=len(batch)).astype(np.float64)
        many[list(found.reasons)] = np.nan
        parts = {"mean": found.mean, "worst": found.worst, "sentences": many}
        return MetricScores(self.spec, found.aspects[GRAMMATICALITY], parts, found.reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        found = self.judged(batch_of(sample.text))
        return None if found.reasons else shown.of_sentences(self.spec, sample.text, found)


@dataclass(frozen=True)
class _OfText(_Reading):
    """An aspect that is made of features of the text."""

    aspect: ClassVar[str]

    def score(self, batch: Batch) -> MetricScores:
        found = self.judged(batch)
        parts: dict[str, FloatArray] = {name: found.features.of_texts[name] for name in FEATURES[self.aspect]}
        return MetricScores(self.spec, found.aspects[self.aspect], parts, found.reasons)


@dataclass(frozen=True)
class CeladonRedundancy(_OfText):
    """How little is said twice."""

    explains: ClassVar[tuple[str, ...]] = (REDUNDANCY,)
    aspect: ClassVar[str] = REDUNDANCY
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon.redundancy",
        meaning="how free of repetition a text is, inside sentences, between them and in other words",
        reading="1 where nothing is said twice, 0 where nearly everything is",
        parts=FEATURES[REDUNDANCY],
    )

    def evidence(self, sample: Sample) -> Evidence | None:
        found = self.judged(batch_of(sample.text))
        return None if found.reasons else shown.of_repetition(self.spec, sample)


@dataclass(frozen=True)
class CeladonFocus(_OfText):
    """Whether the sentences have to do with each other."""

    explains: ClassVar[tuple[str, ...]] = (FOCUS,)
    aspect: ClassVar[str] = FOCUS
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon.focus",
        meaning="how much each sentence has to do with those before it",
        reading="1 where all keep to the matter, 0 where each has another",
        parts=FEATURES[FOCUS],
    )

    def evidence(self, sample: Sample) -> Evidence | None:
        found = self.judged(batch_of(sample.text))
        return None if found.reasons else shown.of_likeness(self.spec, found, self.used_weights().weak)


@dataclass(frozen=True)
class CeladonCoherence(_OfText):
    """Whether the sentences stand in a natural order and hang together."""

    explains: ClassVar[tuple[str, ...]] = (COHERENCE,)
    aspect: ClassVar[str] = COHERENCE
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon.coherence",
        meaning="how natural the order of the sentences is, and whether the first refers to nothing",
        reading="1 where each follows from the last, lower where they seem shuffled",
        parts=FEATURES[COHERENCE],
    )

    def evidence(self, sample: Sample) -> Evidence | None:
        batch = batch_of(sample.text)
        found = self.judged(batch)
        return None if found.reasons else shown.of_order(self.spec, sample.text, batch.order(TIERS[self.tier].encoder))


ASPECT_METRICS = (CeladonGrammaticality, CeladonRedundancy, CeladonFocus, CeladonCoherence)
