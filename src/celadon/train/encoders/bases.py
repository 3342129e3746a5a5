"""The encoders that training begins with: a BERT of transformers, the tagger of quire, or an encoder of ours.

The weights of the latter two are stored as bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer

from celadon.core import InputError, MissingExtraError
from celadon.models.store.model_files import load_tokenizer
from celadon.train.encoders.network import EncoderNetwork, EncoderShape

_TAGGER = "tagger.onnx"
_OURS = "model.onnx"
_HEAD = 64  # the width of an attention head in every BERT of this kind
_MATRICES = ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "ffn.lin1", "ffn.lin2")

Array = npt.NDArray[Any]
Weights = dict[str, torch.Tensor]


def base_network(
    folder: str | Path,
    *,
    layers: int = 0,
    findings: int = 0,
    meaning: int = 0,
    dropout: float = 0.1,
    seed: int = 0,
) -> EncoderNetwork:
    """Return a network with the body of a base; its heads are new, but for those that an encoder of ours has.

    Parameters
    ----------
    folder
        Holds ``tagger.onnx``, the ``config.json`` and ``model.safetensors`` of a BERT, or an encoder of ours.
    layers
        How many layers are used, counted from the first; 0 for all.
    findings, meaning
        The classes per token and the width of the projection to meaning: see :class:`EncoderShape`.
    dropout, seed
        As in :class:`EncoderNetwork`.
    """
    folder = Path(folder)
    try:
        shape, weights = _reader(folder)(folder)
        if not 0 <= layers <= shape.layers:
            raise ValueError(f"it has {shape.layers} layers, not {layers}")
        shape = replace(shape, layers=layers or shape.layers, findings=findings, meaning=meaning)
        shape = replace(shape, early=min(shape.early, shape.layers))
        network = EncoderNetwork(shape, dropout, seed)
        kept = {name: weight for name, weight in weights.items() if _layer_of(name) < shape.layers}
        missing = network.load_state_dict(kept, strict=False)
        if missing.unexpected_keys:
            raise ValueError(f"there is no place for {missing.unexpected_keys[0]}")
    except (KeyError, RuntimeError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{folder}: is not a BERT that can be continued: {reason}") from error
    return network


def encoder_tokenizer(base: Path) -> Tokenizer:
    """The tokenizer of an encoder, which puts the marks round a text and neither cuts nor pads."""
    from tokenizers.processors import BertProcessing

    tokenizer = load_tokenizer(base / "tokenizer.json")
    separator, first = (tokenizer.token_to_id(mark) for mark in ("[SEP]", "[CLS]"))
    if separator is None or first is None:
        raise InputError(f"{base}: its tokenizer has no [CLS] and [SEP]")
    tokenizer.post_processor = BertProcessing(("[SEP]", separator), ("[CLS]", first))
    return tokenizer


def is_tagger(folder: Path) -> bool:
    """Return whether a base is the tagger of quire."""
    return (folder / _TAGGER).is_file()


def _reader(folder: Path) -> Callable[[Path], tuple[EncoderShape, Weights]]:
    if is_tagger(folder):
        return _read_tagger
    return _read_ours if (folder / _OURS).is_file() else _read_bert


def _layer_of(name: str) -> int:
    first, _, rest = name.partition(".")
    return int(rest.split(".")[0]) if first == "layers" else -1


def _read_bert(folder: Path) -> tuple[EncoderShape, Weights]:
    config, weights = _read_config(folder / "config.json"), _read_weights(folder / "model.safetensors")
    shape = _shape_of(config)
    return shape, _body(weights, shape)


def _read_config(path: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise InputError(f"{path}: is not a JSON object")
    return config


def _read_weights(path: Path) -> Weights:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except SafetensorError as error:
        raise InputError(f"{path}: is not a safetensors file: {error}") from error


def _shape_of(config: Mapping[str, Any]) -> EncoderShape:
    if config.get("hidden_act") != "gelu" or config.get("position_embedding_type", "absolute") != "absolute":
        raise ValueError("only exact GELU and absolute positions are known")
    layers = int(config["num_hidden_layers"])
    return EncoderShape(
        vocabulary=int(config["vocab_size"]),
        hidden=int(config["hidden_size"]),
        layers=layers,
        heads=int(config["num_attention_heads"]),
        inner=int(config["intermediate_size"]),
        positions=int(config["max_position_embeddings"]),
        early=min(2, layers),
        epsilon=float(config["layer_norm_eps"]),
    )


def _body(weights: Mapping[str, torch.Tensor], shape: EncoderShape) -> Weights:
    """The body's weights under our names."""
    weights = {name.removeprefix("bert."): weight.float() for name, weight in weights.items()}
    # there is only ever one segment, so that its vector belongs to every place
    segment = weights["embeddings.token_type_embeddings.weight"][0]
    found = {
        "tokens.weight": weights["embeddings.word_embeddings.weight"],
        "places.weight": weights["embeddings.position_embeddings.weight"] + segment,
    }
    parts = {"embedded_norm": "embeddings.LayerNorm"}
    for at in range(shape.layers):
        theirs, ours = f"encoder.layer.{at}", f"layers.{at}"
        parts[f"{ours}.attended"] = f"{theirs}.attention.output.dense"
        parts[f"{ours}.attended_norm"] = f"{theirs}.attention.output.LayerNorm"
        parts[f"{ours}.inner"] = f"{theirs}.intermediate.dense"
        parts[f"{ours}.outer"] = f"{theirs}.output.dense"
        parts[f"{ours}.outer_norm"] = f"{theirs}.output.LayerNorm"
    for kind in ("weight", "bias"):
        found |= {f"{ours}.{kind}": weights[f"{theirs}.{kind}"] for ours, theirs in parts.items()}
        for at in range(shape.layers):
            split = [weights[f"encoder.layer.{at}.attention.self.{of}.{kind}"] for of in ("query", "key", "value")]
            found[f"layers.{at}.attention.{kind}"] = torch.cat(split)
    return found


def _read_ours(folder: Path) -> tuple[EncoderShape, Weights]:
    """Read an encoder that ``celadon train acceptability`` wrote: a matrix is levels * scales, some evened before."""
    stored = _read_tables(folder / _OURS)
    weights = {name: torch.from_numpy(table) for name, table in stored.items() if name.endswith((".weight", ".bias"))}
    for name in [name.removesuffix(".levels") for name in stored if name.endswith(".levels")]:
        levels = stored[f"{name}.levels"] * stored.get(f"{name}.evening", np.float32(1))
        weights[f"{name}.weight"] = torch.from_numpy(levels * stored[f"{name}.scales"]).T.contiguous()
    weights["tokens.weight"] = torch.from_numpy(stored["tokens"] * stored["token_scales"])
    weights["places.weight"] = torch.from_numpy(stored["places"])
    order = torch.from_numpy(np.load(folder / "order.npy"))
    weights |= {"order_weight": order[0], "order_offset": order[1]}
    vocabulary, hidden = weights["tokens.weight"].shape
    layers = 1 + max(map(_layer_of, weights))
    return EncoderShape(
        vocabulary,
        hidden,
        layers,
        heads=_attention_heads(folder / _OURS),
        inner=len(weights["layers.0.inner.weight"]),
        positions=len(weights["places.weight"]),
        early=min(2, layers),
        classifier=len(weights["classifier.weight"]),
        projection=len(weights["before.weight"]),
    ), weights


def _read_tagger(folder: Path) -> tuple[EncoderShape, Weights]:
    """Read a DistilBERT in bytes: each matrix is (levels - zero point) * scale.

    The products of layers have numbers for names, which rise from layer to layer in the order of ``_MATRICES``.
    """
    stored = _read_tables(folder / _TAGGER)
    quantized = (name.removesuffix("_quantized") for name in stored if name.endswith("_quantized"))
    numbered = (name for name in quantized if name.startswith("onnx::MatMul"))
    products = sorted(numbered, key=lambda name: int(name.split("_")[1]))
    weights: Weights = {}
    for part, ours in (("word", "tokens"), ("position", "places")):
        weights[f"{ours}.weight"] = _numbers(stored, f"distilbert.embeddings.{part}_embeddings.weight")
    parts = {"embedded_norm": "distilbert.embeddings.LayerNorm"}
    # the last product is that of the tagger's own head
    layers = (len(products) - 1) // len(_MATRICES)
    for layer in range(layers):
        theirs, ours = f"distilbert.transformer.layer.{layer}", f"layers.{layer}"
        names = products[layer * len(_MATRICES) :][: len(_MATRICES)]
        query, key, value, *others = (_numbers(stored, name).T for name in names)
        biases = [torch.from_numpy(stored[f"{theirs}.{name}.bias"]) for name in _MATRICES]
        weights[f"{ours}.attention.weight"] = torch.cat([query, key, value])
        weights[f"{ours}.attention.bias"] = torch.cat(biases[:3])
        for name, matrix, bias in zip(("attended", "inner", "outer"), others, biases[3:], strict=True):
            weights[f"{ours}.{name}.weight"], weights[f"{ours}.{name}.bias"] = matrix, bias
        parts[f"{ours}.attended_norm"] = f"{theirs}.sa_layer_norm"
        parts[f"{ours}.outer_norm"] = f"{theirs}.output_layer_norm"
    for kind in ("weight", "bias"):
        weights |= {f"{ours}.{kind}": torch.from_numpy(stored[f"{theirs}.{kind}"]) for ours, theirs in parts.items()}
    vocabulary, hidden = weights["tokens.weight"].shape
    shape = EncoderShape(
        vocabulary,
        hidden,
        layers,
        heads=max(1, hidden // _HEAD),
        inner=len(weights["layers.0.inner.weight"]),
        positions=len(weights["places.weight"]),
        early=min(2, layers),
    )
    return shape, {name: weight.contiguous() for name, weight in weights.items()}


def _read_tables(path: Path) -> dict[str, Array]:
    from onnx import numpy_helper

    # a copy, since torch warns of arrays that are read-only
    return {table.name: np.array(numpy_helper.to_array(table)) for table in _read_graph(path).initializer}


def _attention_heads(path: Path) -> int:
    attributes = (each for node in _read_graph(path).node for each in node.attribute)
    return next(int(each.i) for each in attributes if each.name == "num_heads")


def _read_graph(path: Path) -> Any:
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("onnx", "train") from None
    try:
        return onnx.load_model_from_string(path.read_bytes()).graph
    except Exception as error:
        raise InputError(f"{path}: cannot be read as an ONNX graph: {error}") from error


def _numbers(stored: Mapping[str, Array], name: str) -> torch.Tensor:
    levels, zero, scale = (stored[f"{name}_{part}"].astype(np.float32) for part in ("quantized", "zero_point", "scale"))
    return torch.from_numpy((levels - zero) * scale)
