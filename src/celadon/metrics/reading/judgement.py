"""The aspects of how a text reads, from its features and the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from celadon.core import FloatArray
from celadon.metrics.reading.rates import Rates, reading_rates
from celadon.metrics.reading.weights import GRAMMATICALITY, TIERS, ReadingWeights
from celadon.scoring.batch import Batch
from celadon.scoring.batch.units import least

NOTHING_READ = "the language model and the encoder have no sentence of the text in common"


@dataclass(frozen=True, eq=False)
class Judgement:
    """How the texts of a batch read.

    Attributes
    ----------
    rates
        What was looked at.
    sentences
        The grammaticality of each sentence, from 0 to 1.
    worst
        That of the worst sentence of each text.
    aspects
        Each aspect of each text, from 0 to 1; NaN where there is a reason, or where a text of one sentence has none.
    prose
        The share of each text's words that were judged.
    reasons
        For each text that cannot be judged, why.
    """

    rates: Rates
    sentences: FloatArray
    worst: FloatArray
    aspects: Mapping[str, FloatArray]
    prose: FloatArray
    reasons: Mapping[int, str]


def judge(batch: Batch, tier: str, weights: ReadingWeights) -> Judgement:
    """Judge all texts, once for a batch."""
    return batch.view(("judgement", tier, weights.sha256), lambda: _judge(batch, tier, weights))


def _judge(batch: Batch, tier: str, weights: ReadingWeights) -> Judgement:
    rates, samples = reading_rates(batch, TIERS[tier]), len(batch)
    sentences = weights.probability(GRAMMATICALITY, rates.of_sentences)
    worst, aspects = least(rates.owner, sentences, samples), weights.aspects(rates)
    prose = np.array([each.source.share for each in batch.proses]) if batch.proses else np.ones(samples)
    reasons = dict(rates.reasons)
    for row in np.flatnonzero(np.isnan(worst)).tolist():
        reasons.setdefault(row, NOTHING_READ)
    for column in (*aspects.values(), worst, prose):
        column[list(reasons)] = np.nan
    return Judgement(rates, sentences, worst, aspects, prose, dict(sorted(reasons.items())))
