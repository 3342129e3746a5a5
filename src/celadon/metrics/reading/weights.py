"""The weights of `celadon`: few, in a JSON file that can be read, made by ``celadon train celadon``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec
import numpy as np

from celadon.core import FloatArray, UsageError
from celadon.io.json_file import JsonFile, read_json
from celadon.metrics.reading.features import SENTENCE_FEATURES, TEXT_FEATURES, ReadingModels

FORMAT = "celadon-reading/3"
TIERS = {"builtin": ReadingModels(), "standard": ReadingModels(likelihood="smollm2-int8")}
"""Which models read; each tier has its own weights."""

GRAMMATICALITY, REDUNDANCY, FOCUS, COHERENCE = ASPECTS = ("grammaticality", "redundancy", "focus", "coherence")
FEATURES: Mapping[str, tuple[str, ...]] = {
    GRAMMATICALITY: SENTENCE_FEATURES,
    REDUNDANCY: ("echoes", "bigrams", "trigrams", "loops", "pairs", "meanings"),
    FOCUS: ("likeness", "least_likeness"),
    COHERENCE: ("order", "least_order", "likeness", "hanging"),
}
"""What each aspect is made of."""
BIAS = "bias"
_STEEPNESS = 2.0
_NEARLY = 1e-9


class Standing(msgspec.Struct, frozen=True):
    """What an aspect's log-odds are in sound texts, and how much it counts.

    Attributes
    ----------
    usual, spread
        Their mean and standard deviation.
    weight
        By how much the logarithm of the score falls for each spread that a text is below what is usual.
    """

    usual: float
    spread: Annotated[float, msgspec.Meta(gt=0)]
    weight: float

    def loss(self, values: FloatArray) -> FloatArray:
        """Return what the aspect takes from the logarithm of the score."""
        return self.weight * self.shortfall(values)

    def shortfall(self, values: FloatArray) -> FloatArray:
        """Return by how many spreads texts are below what is usual: near 0 above it, a straight line below it."""
        kept = np.clip(values, _NEARLY, 1 - _NEARLY)
        below = (self.usual - np.log(kept / (1 - kept))) / self.spread
        with np.errstate(invalid="ignore"):  # of a text that has none
            found: FloatArray = np.logaddexp(0.0, _STEEPNESS * below) / _STEEPNESS
        return found


class ReadingWeights(JsonFile, frozen=True):
    """How features become aspects, and aspects the score.

    Attributes
    ----------
    aspects
        For each aspect the weight of each of its features, and its ``bias``: an aspect is the logistic function of the
        bias and the weighted features. That of grammaticality is of a sentence.
    worst
        The share of a text's grammaticality that its worst sentence has; the rest is the mean.
    usual
        What each feature is in a sound text: taken where a text of one sentence has none.
    overall
        How the aspects make the score.
    weak
        The likeness to the sentences before that is unusually small.
    """

    FORMAT: ClassVar[str] = FORMAT

    aspects: Mapping[str, Mapping[str, float]]
    worst: float
    usual: Mapping[str, float]
    overall: Mapping[str, Standing]
    weak: float

    def __post_init__(self) -> None:
        needed = {
            **{f"aspects.{name}": (self.aspects.get(name, {}), (BIAS, *FEATURES[name])) for name in ASPECTS},
            "usual": (self.usual, TEXT_FEATURES),
            "overall": (self.overall, ASPECTS),
        }
        for place, (found, names) in needed.items():
            if missing := [name for name in names if name not in found]:
                raise ValueError(f"{place}.{missing[0]}: is missing")

    def value(self, aspect: str, features: Mapping[str, FloatArray]) -> FloatArray:
        """Return an aspect, from 0 to 1, of its features."""
        weights = self.aspects[aspect]
        total = np.full(len(next(iter(features.values()))), weights[BIAS])
        for name in FEATURES[aspect]:
            values = features[name]
            known = np.where(np.isnan(values), self.usual[name], values) if name in self.usual else values
            total = total + weights[name] * known
        found: FloatArray = 1 / (1 + np.exp(-total))
        return found

    def score(self, aspects: Mapping[str, FloatArray]) -> FloatArray:
        """Return the score, from 0 to 1, of the aspects that are given: all of them, or those of an ablation."""
        losses = [self.overall[name].loss(values) for name, values in aspects.items()]
        found: FloatArray = np.exp(-np.sum(losses, axis=0))
        return found


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
