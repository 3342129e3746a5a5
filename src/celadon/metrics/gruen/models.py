"""The models, scales and weights of GRUEN, and what signatures say of the models."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from celadon.core import UsageError
from celadon.models.networks.self_check import signed_name
from celadon.models.store.places import HF_PREFIX
from celadon.scoring.batch.order import LIKELIHOOD
from celadon.scoring.batch.prose import reading_facts

if TYPE_CHECKING:
    from celadon.models.encoders.transformers_heads import AcceptabilityClassifier, OrderHead


class Tier(NamedTuple):
    """Which models judge; ``order`` is an encoder, ``lm:NAME`` or ``hf:NAME``, ``vectors`` are those of focus."""

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


def model_names(
    likelihood: str | None = None, acceptability: str | None = None, order: str | None = None
) -> tuple[str, ...]:
    """Each model as ``name@sha256-8``, once."""
    found = []
    if likelihood:
        found.append(_language_model(likelihood))
    if acceptability:
        found.append(
            signed_name(_acceptability_head(acceptability))
            if acceptability.startswith(HF_PREFIX)
            else _encoder(acceptability)
        )
    if order and order.startswith(LIKELIHOOD):
        found.append(_language_model(order.removeprefix(LIKELIHOOD)))
    elif order:
        found.append(signed_name(_open_order_head(order)) if order.startswith(HF_PREFIX) else _encoder(order))
    return tuple(dict.fromkeys(found))


def model_facts(markup: str, acceptability: str = "", order: str = "") -> dict[str, str]:
    """How texts were read, and what the heads of Hugging Face models say of themselves."""
    heads = {
        "acceptability": (acceptability, _acceptability_head),
        "order": (order, _open_order_head),
    }
    found = {
        name: "/".join(open_head(model).facts.values())
        for name, (model, open_head) in heads.items()
        if model.startswith(HF_PREFIX)
    }
    return {**reading_facts(markup), **found}


def _language_model(name: str) -> str:
    from celadon.models.language.language_model import language_model

    return signed_name(language_model(name))


def _encoder(name: str) -> str:
    from celadon.models.encoders.encoder import sentence_encoder

    return f"encoder:{signed_name(sentence_encoder(name))}"


def _acceptability_head(name: str) -> AcceptabilityClassifier:
    from celadon.models.encoders.transformers_heads import acceptability_classifier

    return acceptability_classifier(name)


def _open_order_head(name: str) -> OrderHead:
    from celadon.models.encoders.transformers_heads import order_head

    return order_head(name)
