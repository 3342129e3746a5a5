"""`celadon`: how well a text reads, from 0 to 1, by aspects of which four are metrics of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, FloatArray, MetricInfo, MetricScores
from celadon.metrics.aspects import aspect_evidence
from celadon.metrics.gruen.models import model_facts, model_names
from celadon.metrics.prose_metric import ProseMetric
from celadon.metrics.reading import evidence
from celadon.metrics.reading.judgement import Judgement, judge
from celadon.metrics.reading.rates import REPETITION
from celadon.metrics.reading.weights import (
    ASPECTS,
    COHERENCE,
    FOCUS,
    GRAMMATICALITY,
    REDUNDANCY,
    TIERS,
    ReadingWeights,
    weights_of,
)
from celadon.scoring.batch import Batch
from celadon.scoring.batch.units import least

PROSE = "prose"
"""The part that says how much of a text was judged."""


@dataclass(frozen=True)
class _Reading(ProseMetric):
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
        super().__post_init__()
        self.used_weights()

    def used_weights(self) -> ReadingWeights:
        """Return the weights: those of the file that was given, or the tier's."""
        return weights_of(self.tier, self.weights)

    def judged(self, batch: Batch) -> Judgement:
        """Return how the texts of a batch of prose read."""
        return judge(batch, self.tier, self.used_weights())

    def models(self) -> tuple[str, ...]:
        used = TIERS[self.tier]
        return model_names(likelihood=used.likelihood, acceptability=used.encoder)

    def details(self) -> Mapping[str, str]:
        # the file by its content, not by its name
        return {"weights": self.used_weights().sha256[:8], **model_facts(self.markup)}


@dataclass(frozen=True)
class Celadon(_Reading):
    """What faults of each kind leave of a sound text."""

    explains: ClassVar[tuple[str, ...]] = ASPECTS
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon",
        meaning="how well a text reads: grammatical, not repetitive, focused, coherent, complete",
        reading="97 in 100 sound passages of many genres are above 0.6; a rate of faults, whatever the length",
        parts=(*ASPECTS, PROSE),
        comparable=True,
    )

    def score_prose(self, batch: Batch) -> MetricScores:
        judged = self.judged(batch)
        values = self.used_weights().score(judged.aspects)
        values[list(judged.reasons)] = np.nan
        return MetricScores(self.spec, values, {**judged.aspects, PROSE: judged.prose}, judged.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        if self.judged(batch).reasons:
            return None
        aspects = [
            aspect(self.tier, self.weights, markup=self.markup).prose_evidence(batch) for aspect in ASPECT_METRICS
        ]
        return aspect_evidence(self.spec, [*aspects, *evidence.of_whole(self.info.name, batch)])


@dataclass(frozen=True)
class CeladonGrammaticality(_Reading):
    """The share of the text that stands in sound sentences."""

    explains: ClassVar[tuple[str, ...]] = (GRAMMATICALITY,)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon.grammaticality",
        meaning="how grammatical and fluent the sentences are, each by its length",
        reading="the share of the words that stand in sound sentences, by acceptability, fluency and marks",
        parts=("worst", "sentences"),
        comparable=True,
    )

    def score_prose(self, batch: Batch) -> MetricScores:
        judged = self.judged(batch)
        many = np.bincount(judged.rates.owner, minlength=len(batch)).astype(np.float64)
        many[list(judged.reasons)] = np.nan
        parts = {"worst": judged.worst, "sentences": many}
        return MetricScores(self.spec, judged.aspects[GRAMMATICALITY], parts, judged.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        judged = self.judged(batch)
        return None if judged.reasons else evidence.of_sentences(self.spec, batch.samples[0].text, judged)


@dataclass(frozen=True)
class CeladonRedundancy(_Reading):
    """How little is said twice."""

    explains: ClassVar[tuple[str, ...]] = (REDUNDANCY,)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon.redundancy",
        meaning="how free of repetition a text is, inside sentences, between them and in other words",
        reading="1 where nothing is said twice, near 0 where everything is",
        parts=REPETITION,
        comparable=True,
    )

    def score_prose(self, batch: Batch) -> MetricScores:
        judged = self.judged(batch)
        parts: dict[str, FloatArray] = {name: judged.rates.of_texts[name] for name in REPETITION}
        return MetricScores(self.spec, judged.aspects[REDUNDANCY], parts, judged.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        return None if self.judged(batch).reasons else evidence.of_repetition(self.spec, batch)


@dataclass(frozen=True)
class CeladonFocus(_Reading):
    """Whether the sentences have to do with each other."""

    explains: ClassVar[tuple[str, ...]] = (FOCUS,)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon.focus",
        meaning="how much of a text keeps to the matter of the sentences around it",
        reading="the share of the words in sentences that have to do with a neighbor; the usual for one alone",
        parts=("least",),
        comparable=True,
    )

    def score_prose(self, batch: Batch) -> MetricScores:
        judged = self.judged(batch)
        rates, known = judged.rates, ~np.isnan(judged.rates.nearest)
        parts = {"least": least(rates.owner[known], rates.nearest[known], len(batch))}
        return MetricScores(self.spec, judged.aspects[FOCUS], parts, judged.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        judged = self.judged(batch)
        return None if judged.reasons else evidence.of_likeness(self.spec, judged, self.used_weights().weak)


@dataclass(frozen=True)
class CeladonCoherence(_Reading):
    """Whether the sentences stand in a natural order."""

    explains: ClassVar[tuple[str, ...]] = (COHERENCE,)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="celadon.coherence",
        meaning="how natural the order of the sentences is",
        reading="the probability that neighbors stand in their right order; the usual for one alone",
        parts=("doubted",),
        comparable=True,
    )

    def score_prose(self, batch: Batch) -> MetricScores:
        judged = self.judged(batch)
        rates = judged.rates
        doubted = np.bincount(rates.owner[rates.in_order < 0.5], minlength=len(batch)).astype(np.float64)
        doubted[list(judged.reasons)] = np.nan
        return MetricScores(self.spec, judged.aspects[COHERENCE], {"doubted": doubted}, judged.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        if self.judged(batch).reasons:
            return None
        return evidence.of_order(self.spec, batch.samples[0].text, batch.order(TIERS[self.tier].encoder))


ASPECT_METRICS = (CeladonGrammaticality, CeladonRedundancy, CeladonFocus, CeladonCoherence)
