"""The weights of `gleu` and `gleu_plus`: a hyperplane, and the normalisers that were fixed when it was found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np

from celadon.core import FloatArray, InputError, UsageError
from celadon.io.json_file import JsonFile, read_json
from celadon.metrics.gleu_features import (
    FURTHER_FEATURES,
    PAPER_FEATURES,
    PARSER_FEATURES,
    RULE_FEATURES,
    STRUCTURE_FEATURES,
)

FORMAT = "celadon-gleu/1"
STRUCTURE, PAPER = "structure", "paper"
VARIANTS = (STRUCTURE, PAPER)
"""The forms of `gleu`: the tree against a chain of tags, or the paper's own four features."""

GLEU, GLEU_PAPER = "gleu", "gleu[variant=paper]"
GLEU_PLUS, GLEU_PLUS_RULES = "gleu_plus", "gleu_plus[rules=true]"
FEATURES_OF: Mapping[str, tuple[str, ...]] = {
    GLEU: STRUCTURE_FEATURES,
    GLEU_PAPER: PAPER_FEATURES,
    GLEU_PLUS: (*PARSER_FEATURES, *FURTHER_FEATURES),
    GLEU_PLUS_RULES: (*PARSER_FEATURES, *FURTHER_FEATURES, *RULE_FEATURES),
}
_FILES = {
    GLEU: "gleu.json",
    GLEU_PAPER: "gleu_paper.json",
    GLEU_PLUS: "gleu_plus.json",
    GLEU_PLUS_RULES: "gleu_plus_rules.json",
}

FALLING = frozenset({"logprob", "confidence"})
"""Logarithms of probabilities: as a share of the lowest one that training saw, taken from 1, so that more is better."""


class Term(msgspec.Struct, frozen=True):
    """How a feature counts: it is divided by ``normaliser``, and what it is above ``centre`` is weighed."""

    normaliser: float
    centre: float
    weight: float

    def __post_init__(self) -> None:
        if not self.normaliser:
            raise ValueError("normaliser must not be 0")


class GleuWeights(JsonFile, frozen=True):
    """A hyperplane between fluent and disfluent sentences; ``bias`` scores one with all features at their centers."""

    FORMAT: ClassVar[str] = FORMAT

    terms: Mapping[str, Term] = msgspec.field(name="features")
    bias: float
    metric: str = ""

    def normalised(self, columns: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The features as they are weighed."""
        return {name: normalised(name, columns[name], term.normaliser) for name, term in self.terms.items()}

    def contributions(self, features: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """What each normalised feature adds to the score."""
        return {name: term.weight * (features[name] - term.centre) for name, term in self.terms.items()}

    def scores(self, contributions: Mapping[str, FloatArray]) -> FloatArray:
        """The signed distance of each sentence, in units of the margin."""
        return np.asarray(self.bias + sum(contributions.values()), dtype=np.float64)


def normalised(name: str, values: FloatArray, normaliser: float) -> FloatArray:
    """A feature as it is weighed."""
    return 1 - values / normaliser if name in FALLING else values / normaliser


def check_variant(variant: str) -> None:
    """Refuse a form of `gleu` that there is not."""
    if variant not in VARIANTS:
        raise UsageError(f"{GLEU}: variant must be {' or '.join(VARIANTS)}, not {variant!r}")


def weights_of(metric: str, path: str = "") -> GleuWeights:
    """Return the weights of a metric that come with the package, or those of a file."""
    return read_weights(path or str(Path(__file__).with_name(_FILES[metric])), metric)


def read_weights(path: str, metric: str) -> GleuWeights:
    """Read and check weights; the message of an ``InputError`` says where the file is wrong."""
    weights = read_json(path, f"the weights of {metric}", GleuWeights)
    if weights.metric != metric:
        raise InputError(f"{path}: has the weights of {weights.metric!r}, not of {metric}")
    for name in FEATURES_OF[metric]:
        if name not in weights.terms:
            raise InputError(f"{path}: features.{name}: is missing")
    return weights
