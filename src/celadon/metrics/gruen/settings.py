"""All weights, thresholds and models of GRUEN in one place."""

from __future__ import annotations

from typing import NamedTuple

from celadon.core import UsageError


class Tier(NamedTuple):
    """Which models judge.

    Attributes
    ----------
    likelihood
        The language model of the likelihoods.
    acceptability
        The encoder or classifier of acceptability.
    order
        The encoder, ``lm:NAME`` or ``hf:NAME`` that tells the order.
    vectors
        The word vectors of focus.
    """

    likelihood: str
    acceptability: str
    order: str
    vectors: str = "builtin"


TIERS = {
    "builtin": Tier("builtin", "builtin", "builtin"),
    "standard": Tier("smollm2-int8", "builtin", "lm:smollm2-int8"),
    "paper": Tier("hf:bert-base-cased", "hf:textattack/bert-base-uncased-CoLA", "hf:albert/albert-base-v2"),
}


class Scale(NamedTuple):
    """How a mean log-probability becomes a number from 0 to 1: a logistic curve, 0.5 at ``centre``.

    The paper adds up log-probabilities without bounds, so that long sentences and rare words cost without end, and does
    not say how they come to lie beside an acceptability from 0 to 1. Here the mean over tokens is taken, and the curve
    is that of a logistic regression of whether a sentence is sound, on sentences of held-out articles and damaged
    copies (benchmarks/gruen_settings.py).
    """

    centre: float
    width: float


SCALES = {"builtin": Scale(-4.87, 0.8), "smollm2-int8": Scale(-4.64, 1.36)}
OTHER_SCALE = Scale(-4.0, 1.0)
"""Of models that were not measured."""

ACCEPTABILITY_SHARE = 0.8
"""How much of a sentence's grammaticality is acceptability; the rest is likelihood.

Of 0, 0.2, 0.4, 0.5, 0.6, 0.8 and 1 the one that agrees best with the ratings of GUG's training part and of Sulem et al.
(benchmarks/gruen_settings.py)."""

PENALTY = 0.1
"""What a sign of redundancy and a weak transition cost, as in the paper."""


class Weights(NamedTuple):
    """What each part counts in the sum.

    The paper adds the parts as they are. An order model that is little better than a guess leaves a loss near ln 2 on
    every text of several sentences, which must not drown the rest: coherence counts a tenth. Set by hand.
    """

    grammaticality: float = 1.0
    redundancy: float = 1.0
    focus: float = 1.0
    coherence: float = 0.1


WEIGHTS = Weights()


def tier_of(name: str) -> Tier:
    """Return the models of a tier."""
    if name not in TIERS:
        raise UsageError(f"gruen: unknown tier {name!r}; known: {', '.join(TIERS)}")
    return TIERS[name]
