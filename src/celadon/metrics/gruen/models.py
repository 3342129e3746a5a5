"""What the signatures of GRUEN's parts say of their models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from celadon.models.networks.self_check import signed_name
from celadon.models.store.places import HF_PREFIX
from celadon.scoring.batch.order import LIKELIHOOD

if TYPE_CHECKING:
    from celadon.models.encoders.transformers_heads import AcceptabilityClassifier, OrderHead


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


def model_facts(acceptability: str = "", order: str = "") -> dict[str, str]:
    """How sentences were split, and what the heads of Hugging Face models say of themselves."""
    from celadon.text.sentences import splitter_version

    heads = {
        "acceptability": (acceptability, _acceptability_head),
        "order": (order, _open_order_head),
    }
    found = {
        name: "/".join(open_head(model).facts.values())
        for name, (model, open_head) in heads.items()
        if model.startswith(HF_PREFIX)
    }
    return {"sentences": splitter_version(), **found}


def _language_model(name: str) -> str:
    from celadon.models.language.loading import language_model

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
