"""The aspects of how a text reads, from its features and the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from celadon.core import FloatArray
from celadon.metrics.reading.features import Features, reading_features
from celadon.metrics.reading.weights import ASPECTS, GRAMMATICALITY, TIERS, ReadingWeights
from celadon.scoring.batch import Batch
from celadon.scoring.batch.units import least, means


@dataclass(frozen=True, eq=False)
class Judgement:
    """How the texts of a batch read.

    Attributes
    ----------
    features
        What was looked at.
    sentences
        The grammaticality of each sentence, from 0 to 1.
    mean, worst
        That of the mean and of the worst sentence of each text.
    aspects
        Each aspect of each text, from 0 to 1; NaN where there is a reason.
    reasons
        For each text that cannot be judged, why.
    """

    features: Features
    sentences: FloatArray
    mean: FloatArray
    worst: FloatArray
    aspects: Mapping[str, FloatArray]
    reasons: Mapping[int, str]


def judge(batch: Batch, tier: str, weights: ReadingWeights) -> Judgement:
    """Judge all texts, once for a batch."""
    return batch.view(("judgement", tier, weights.sha256), lambda: _judge(batch, tier, weights))


def _judge(batch: Batch, tier: str, weights: ReadingWeights) -> Judgement:
    found, samples = reading_features(batch, TIERS[tier]), len(batch)
    sentences = weights.value(GRAMMATICALITY, found.of_sentences)
    mean, worst = (reduce(found.owner, sentences, samples) for reduce in (means, least))
    aspects = {GRAMMATICALITY: weights.worst * worst + (1 - weights.worst) * mean}
    aspects |= {name: weights.value(name, found.of_texts) for name in ASPECTS if name != GRAMMATICALITY}
    reasons = dict(found.reasons)
    for row in np.flatnonzero(np.isnan(mean)).tolist():
        reasons.setdefault(row, "the language model and the encoder have no sentence of the text in common")
    for column in (*aspects.values(), mean, worst):
        column[list(reasons)] = np.nan
    return Judgement(found, sentences, mean, worst, aspects, dict(sorted(reasons.items())))
