"""The weights of `celadon`: few, in a JSON file that can be read, made by ``celadon train celadon``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np

from celadon.core import FloatArray, UsageError
from celadon.io.json_file import JsonFile, read_json
from celadon.metrics.reading.features import ReadingModels
from celadon.metrics.reading.rates import GRAMMAR, REPETITION, Rates

FORMAT = "celadon-reading/4"
TIERS = {
    "builtin": ReadingModels(encoder="builtin-reader"),
    "standard": ReadingModels(likelihood="smollm2-int8"),
}
"""Which models read; each tier has its own weights."""

GRAMMATICALITY, REDUNDANCY, FOCUS, COHERENCE, COMPLETE = ASPECTS = (
    "grammaticality",
    "redundancy",
    "focus",
    "coherence",
    "complete",
)
AGAIN, NEAREST, BIAS = "again", "nearest", "bias"
REPEATS = (*REPETITION, AGAIN)
"""What redundancy is made of: shares of words, and of words in sentences that say something again."""
CURVES: Mapping[str, tuple[str, ...]] = {GRAMMATICALITY: GRAMMAR, FOCUS: (NEAREST,), AGAIN: (AGAIN,)}
"""The logistic curves of sentences, and the features of each."""


PRIOR = 20.0
"""See ``ReadingWeights.usual``."""
_LEAST = 1e-30


class Cost(msgspec.Struct, frozen=True):
    """What a fault takes from the logarithm of the score: a little from the beginning, and more beyond what is usual.

    Attributes
    ----------
    slope
        For each unit of the fault.
    steepness, level, scale
        Beyond what is usual: ``scale`` times the softplus function of ``level`` and the fault times ``steepness``.
    """

    slope: float
    steepness: float
    level: float
    scale: float = 1.0

    def __call__(self, fault: FloatArray) -> FloatArray:
        """Return the cost; 0 where there is no fault."""
        with np.errstate(invalid="ignore"):  # of a text that has none
            beyond = np.logaddexp(0.0, self.level + self.steepness * fault) - np.logaddexp(0.0, self.level)
        cost: FloatArray = self.slope * fault + self.scale * beyond
        return cost


class ReadingWeights(JsonFile, frozen=True):
    """How features become aspects, and aspects the score.

    Attributes
    ----------
    curves
        For each of ``CURVES`` the weight of each feature, and the ``bias``: the probability that a sentence is sound,
        keeps to the matter, or says again what one before it said.
    repetition
        What each of ``REPEATS`` costs redundancy, for a whole text of it.
    usual
        What focus and coherence are in a sound text; every text is taken to have ``PRIOR`` more words that are so.
    costs
        What each aspect takes from the logarithm of the score.
    weak
        The cosine with all neighbors below which a sentence is shown to be off the matter.
    """

    FORMAT: ClassVar[str] = FORMAT

    curves: Mapping[str, Mapping[str, float]]
    repetition: Mapping[str, float]
    usual: Mapping[str, float]
    costs: Mapping[str, Cost]
    weak: float

    def __post_init__(self) -> None:
        needed = {
            **{f"curves.{name}": (self.curves.get(name, {}), (BIAS, *of)) for name, of in CURVES.items()},
            "repetition": (self.repetition, REPEATS),
            "costs": (self.costs, ASPECTS),
            "usual": (self.usual, (FOCUS, COHERENCE)),
        }
        for place, (present, names) in needed.items():
            if missing := [name for name in names if name not in present]:
                raise ValueError(f"{place}.{missing[0]}: is missing")

    def probability(self, curve: str, features: Mapping[str, FloatArray]) -> FloatArray:
        """Return the value of a curve for each sentence; NaN where a feature is."""
        weights = self.curves[curve]
        logits = weights[BIAS] + sum(weights[name] * features[name] for name in CURVES[curve])
        probability: FloatArray = 1 / (1 + np.exp(-np.asarray(logits)))
        return probability

    def aspects(self, rates: Rates) -> dict[str, FloatArray]:
        """Return each aspect of each text, from 0 to 1; NaN for what a text of one sentence does not have."""
        repeats = self.repeats(rates)
        cost = np.sum([self.repetition[name] * repeats[name] for name in REPEATS], axis=0)
        return {
            GRAMMATICALITY: rates.mean(self.probability(GRAMMATICALITY, rates.of_sentences)),
            REDUNDANCY: np.exp(-cost),
            FOCUS: rates.mean(self.probability(FOCUS, {NEAREST: rates.nearest}), PRIOR, self.usual[FOCUS]),
            COHERENCE: rates.mean(rates.in_order, PRIOR, self.usual[COHERENCE]),
            COMPLETE: 1.0 - rates.broken_off,
        }

    def repeats(self, rates: Rates) -> dict[str, FloatArray]:
        """Return each of ``REPEATS``, as if every text had ``PRIOR`` more words that repeat nothing."""
        again = np.nan_to_num(self.probability(AGAIN, {AGAIN: rates.again}))
        known = rates.mean(np.ones(len(rates.owner)), PRIOR)
        return {**{name: known * rates.of_texts[name] for name in REPETITION}, AGAIN: rates.mean(again, PRIOR)}

    def score(self, aspects: Mapping[str, FloatArray]) -> FloatArray:
        """Return the score, from 0 to 1, of the aspects that are given: all of them, or those of an ablation."""
        costs = [self.costs[name](fault_of(name, values)) for name, values in aspects.items()]
        score: FloatArray = np.exp(-np.sum(costs, axis=0))
        return score


def fault_of(aspect: str, values: FloatArray) -> FloatArray:
    """Return how much is wrong in an aspect: 0 where nothing is."""
    if aspect == REDUNDANCY:
        return -np.log(np.maximum(values, _LEAST))
    return 1.0 - values


def weights_of(tier: str, path: str = "") -> ReadingWeights:
    """Return the weights of a tier, or those of a file."""
    if tier not in TIERS:
        raise UsageError(f"celadon: unknown tier {tier!r}; known: {', '.join(TIERS)}")
    return read_weights(path or str(Path(__file__).with_name(f"{tier}.json")))


def read_weights(path: str) -> ReadingWeights:
    """Read and check weights.

    Raises
    ------
    InputError
        The file cannot be read or has no such weights; the message says where.
    """
    return read_json(path, "the weights of celadon", ReadingWeights)
