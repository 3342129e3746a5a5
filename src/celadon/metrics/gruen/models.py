"""What the signatures of GRUEN's parts say of their models."""

from __future__ import annotations

from celadon.batch.order import LIKELIHOOD
from celadon.models.store.places import HF_PREFIX


def model_names(
    likelihood: str | None = None, acceptability: str | None = None, order: str | None = None
) -> tuple[str, ...]:
    """Each model as ``name@sha256-8``, once."""
    found = []
    if likelihood:
        found.append(_language_model(likelihood))
    if acceptability:
        found.append(_classifier(acceptability) if acceptability.startswith(HF_PREFIX) else _encoder(acceptability))
    if order and order.startswith(LIKELIHOOD):
        found.append(_language_model(order.removeprefix(LIKELIHOOD)))
    elif order:
        found.append(_order_head(order) if order.startswith(HF_PREFIX) else _encoder(order))
    return tuple(dict.fromkeys(found))


def model_facts() -> dict[str, str]:
    """How sentences were split."""
    from celadon.text.sentences import splitter_version

    return {"sentences": splitter_version()}


def _language_model(name: str) -> str:
    from celadon.models.loading import language_model

    model = language_model(name)
    return f"{model.name}@{model.digest[:8]}"


def _encoder(name: str) -> str:
    from celadon.models.encoder import sentence_encoder

    encoder = sentence_encoder(name)
    return f"encoder:{encoder.name}@{encoder.digest[:8]}"


def _classifier(name: str) -> str:
    from celadon.models.transformers_heads import acceptability_classifier

    model = acceptability_classifier(name)
    return f"{model.name}@{model.digest[:8]}"


def _order_head(name: str) -> str:
    from celadon.models.transformers_heads import order_head

    model = order_head(name)
    return f"{model.name}@{model.digest[:8]}"
