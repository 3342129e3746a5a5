"""What a trained encoder is written as: a folder that celadon opens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from celadon.core import InputError
from celadon.models.encoders.onnx_encoder import CHECK, FORMAT
from celadon.models.networks.self_check import write_reference_check
from celadon.train.encoders.encoder_graph import Precision, encoder_graph
from celadon.train.encoders.encoder_network import EncoderNetwork
from celadon.train.model_folder import new_folder

WINDOW = 256
_MARKS = {"cls_id": "[CLS]", "sep_id": "[SEP]", "pad_id": "[PAD]"}


def write_encoder(
    network: EncoderNetwork,
    tokenizer_json: str,
    folder: Path,
    *,
    card: str = "",
    facts: Mapping[str, Any] = MappingProxyType({}),
    window: int = WINDOW,
    scripts: Sequence[str] = ("Latin",),
    precision: Precision = "int8",
) -> None:
    """Write an encoder to a new folder, which appears whole or not at all, with its manifest.

    Parameters
    ----------
    network
        The trained network.
    tokenizer_json
        What its tokenizer is stored as.
    folder
        Must not exist, or be empty.
    card
        What people should know of the encoder, in Markdown.
    facts
        More for ``model.json``; nobody reads it to encode.
    window
        The most tokens that are read at once, the two marks included.
    scripts
        The Unicode scripts that it knows.
    precision
        How the graph stores its weights.
    """
    weights = {name: weight.detach().float().cpu().numpy() for name, weight in network.named_parameters()}
    marks = _marks(tokenizer_json)
    described = {"format": FORMAT, "name": folder.name, "window": window, "scripts": list(scripts)}
    described |= marks | dict(facts)
    graph = encoder_graph(weights, network.shape, window, precision)
    with new_folder(folder) as draft:
        (draft / "model.onnx").write_bytes(graph)
        write_reference_check(draft, graph, network.shape.vocabulary, window, CHECK)
        (draft / "tokenizer.json").write_text(tokenizer_json, encoding="utf-8")
        np.save(draft / "order.npy", np.stack([weights["order_weight"], weights["order_offset"]]))
        text = json.dumps(described, ensure_ascii=False, indent=2)
        (draft / "model.json").write_text(text + "\n", encoding="utf-8")
        if card:
            (draft / "card.md").write_text(card, encoding="utf-8")


def _marks(tokenizer_json: str) -> dict[str, int]:
    """The numbers of the marks."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(tokenizer_json)
    found = {}
    for name, mark in _MARKS.items():
        number = tokenizer.token_to_id(mark)
        if number is None:
            raise InputError(f"the tokenizer has no {mark}; take the one of a BERT")
        found[name] = number
    return found
