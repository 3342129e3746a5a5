"""What a trained encoder is written as: a folder that celadon opens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from celadon.core import InputError, IntArray
from celadon.models.onnx_encoder import FORMAT
from celadon.train.encoder_graph import Precision, encoder_graph
from celadon.train.encoder_network import EncoderNetwork
from celadon.train.model_folder import new_folder

WINDOW = 256
# Rows of random tokens show as well as real sentences which channels are large.
_ROWS, _TOKENS = 32, 32
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
        How the graph multiplies.
    """
    weights = {name: weight.detach().float().cpu().numpy() for name, weight in network.named_parameters()}
    marks = _marks(tokenizer_json)
    described = {"format": FORMAT, "name": folder.name, "window": window, "scripts": list(scripts)}
    described |= marks | dict(facts)
    largest = largest_inputs(network, _random_rows(network.shape.vocabulary, marks))
    graph = encoder_graph(weights, network.shape, window, precision, largest)
    with new_folder(folder) as draft:
        (draft / "model.onnx").write_bytes(graph)
        (draft / "tokenizer.json").write_text(tokenizer_json, encoding="utf-8")
        np.save(draft / "order.npy", np.stack([weights["order_weight"], weights["order_offset"]]))
        text = json.dumps(described, ensure_ascii=False, indent=2)
        (draft / "model.json").write_text(text + "\n", encoding="utf-8")
        if card:
            (draft / "card.md").write_text(card, encoding="utf-8")


def largest_inputs(network: EncoderNetwork, rows: IntArray) -> dict[str, npt.NDArray[np.float32]]:
    """The largest input of each channel of the products that read a layer's states, over rows of one length."""
    found: dict[str, npt.NDArray[np.float32]] = {}

    def noting(name: str) -> Callable[[nn.Module, tuple[torch.Tensor, ...]], None]:
        def note(_: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            found[name] = inputs[0].abs().amax(dim=(0, 1)).numpy()

        return note

    read = ("attention", "inner")
    hooks = [
        module.register_forward_pre_hook(noting(name))
        for name, module in network.named_modules()
        if name.endswith(read)
    ]
    training = network.training
    try:
        with torch.no_grad():
            network.eval()(torch.from_numpy(rows), torch.full((len(rows),), rows.shape[1]))
    finally:
        network.train(training)
        for hook in hooks:
            hook.remove()
    return found


def _random_rows(vocabulary: int, marks: Mapping[str, int]) -> IntArray:
    rows = np.random.default_rng(0).integers(vocabulary, size=(_ROWS, _TOKENS))
    rows[:, 0], rows[:, -1] = marks["cls_id"], marks["sep_id"]
    return rows


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
