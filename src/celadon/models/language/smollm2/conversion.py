"""Makes a folder that ONNX Runtime can run (``celadon-lm/1``) of SmolLM2's GGUF file: no torch, no onnx."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, UsageError
from celadon.io.atomic import atomic_write_text, output_errors
from celadon.models.language.smollm2.gguf import Float32Array, Gguf, read_gguf
from celadon.models.language.smollm2.layout import (
    EMBEDDING_BLOCK,
    HEAD_PARTS,
    SMOLLM2,
    LlamaShape,
    Precision,
    Smoothing,
    no_smoothing,
    plan_weights,
    read_smoothing,
)
from celadon.models.networks.quantization import quantise_blocks, quantise_rows
from celadon.models.networks.self_check import CHECK_FILE
from celadon.models.store.places import byte_bar

if TYPE_CHECKING:
    from tokenizers import Tokenizer


# What SmolLM2 saw before every text in training; <|im_start|>, which the file names, makes every probability worse.
BEGIN = "<|endoftext|>"
# How GGUF marks tokens that stand for no text.
_CONTROL = 3


def build_tokenizer(file: Gguf) -> Tokenizer:
    """Return the tokenizer: pairs of bytes, every digit by itself."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    kind = (file.get("tokenizer.ggml.model"), file.get("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise InputError(f"{file.path}: its tokenizer is {kind[0]} in the way of {kind[1]}, not that of SmolLM2")
    tokens, types = file.get("tokenizer.ggml.tokens"), file.get("tokenizer.ggml.token_type")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    merges = [_pair(file, merge) for merge in file.get("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    # as in the model's own tokenizer.json
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    marks = [token for token, kind in zip(tokens, types, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    return tokenizer


def _pair(file: Gguf, merge: str) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    if not left or not right:
        raise InputError(f"{file.path}: {merge!r} is no pair of tokens; the file is damaged")
    return left, right


Array = npt.NDArray[Any]


def shape_of(file: Gguf, positions: int) -> LlamaShape:
    """Read the size of a model; contexts of more than ``positions`` tokens are not used."""
    return LlamaShape(
        vocabulary=len(file.get("tokenizer.ggml.tokens")),
        width=file.get("llama.embedding_length"),
        layers=file.get("llama.block_count"),
        heads=file.get("llama.attention.head_count"),
        key_heads=file.get("llama.attention.head_count_kv"),
        inner=file.get("llama.feed_forward_length"),
        positions=min(positions, file.get("llama.context_length")),
        # float32 in the file, of which the decimal that was meant has few digits
        epsilon=float(np.format_float_positional(np.float32(file.get("llama.attention.layer_norm_rms_epsilon")))),
        theta=float(file.get("llama.rope.freq_base")),
    )


def weights_of(
    file: Gguf, shape: LlamaShape, precision: Precision, smoothing: Smoothing
) -> Iterator[tuple[str, Array]]:
    """Yield every weight that :func:`~celadon.models.language.smollm2.layout.plan_weights` names, in any order."""
    yield from _rotations(shape)
    embedding = file.tensor("token_embd.weight")
    if precision is Precision.FP32:
        yield "embedding", embedding
    else:
        yield from _embedding_int8(embedding)
        yield from _head_int8(embedding * smoothing.head, shape)
    for layer in range(shape.layers):
        for name, matrix in layer_matrices(file, shape, layer, smoothing):
            if precision is Precision.FP32:
                yield f"{name}.{layer}", matrix.T
            else:
                levels, scales = quantise_rows(matrix)
                yield f"{name}.{layer}", levels.T
                yield f"{name}_scales.{layer}", scales
        yield f"attention_norm.{layer}", file.tensor(f"blk.{layer}.attn_norm.weight") / smoothing.attention[layer]
        yield f"mlp_norm.{layer}", file.tensor(f"blk.{layer}.ffn_norm.weight") / smoothing.mlp[layer]
    head = smoothing.head if precision is Precision.INT8 else np.float32(1)
    yield "last_norm", file.tensor("output_norm.weight") / head


def _rotations(shape: LlamaShape) -> Iterator[tuple[str, Float32Array]]:
    frequencies = shape.theta ** (-np.arange(0, shape.head_width, 2) / shape.head_width)
    angles = np.arange(shape.positions)[:, None] * frequencies
    yield "cosines", np.cos(angles).astype(np.float32)
    yield "sines", np.sin(angles).astype(np.float32)


def layer_matrices(
    file: Gguf, shape: LlamaShape, layer: int, smoothing: Smoothing
) -> Iterator[tuple[str, Float32Array]]:
    """Yield the matrices of one layer, outputs by inputs."""
    inner = smoothing.inner[layer]

    def tensor(name: str) -> Float32Array:
        return file.tensor(f"blk.{layer}.{name}.weight")

    queries = _halves_apart(tensor("attn_q"), shape.heads)
    keys = _halves_apart(tensor("attn_k"), shape.key_heads)
    yield "qkv", np.concatenate([queries, keys, tensor("attn_v")]) * smoothing.attention[layer]
    yield "out", tensor("attn_output")
    yield "gate_up", np.concatenate([tensor("ffn_gate"), tensor("ffn_up") / inner[:, None]]) * smoothing.mlp[layer]
    yield "down", tensor("ffn_down") * inner


def _halves_apart(matrix: Float32Array, heads: int) -> Float32Array:
    """Undo GGUF's order of rows, where the two numbers that rotate together are neighbours, to halves of the head."""
    outputs, inputs = matrix.shape
    return matrix.reshape(heads, outputs // heads // 2, 2, inputs).swapaxes(1, 2).reshape(outputs, inputs)


def _embedding_int8(embedding: Float32Array) -> Iterator[tuple[str, Array]]:
    """Yield blocks of bytes with a scale each: without loss where the file stores the embedding so (Q8_0)."""
    levels, scales = quantise_blocks(embedding, EMBEDDING_BLOCK)
    yield "embedding", levels
    yield "embedding_scales", scales


def _head_int8(embedding: Float32Array, shape: LlamaShape) -> Iterator[tuple[str, Array]]:
    levels, scales = quantise_rows(embedding)
    yield "head", levels.reshape(HEAD_PARTS, shape.head_part, shape.width).swapaxes(1, 2)
    yield "head_scales", scales


# Measured on two cores: less leaves them idle between the layers, more leaves the caches.
_BATCH_POSITIONS = 256

_CARD = """# {name}

SmolLM2-135M-Instruct by Hugging Face (Apache-2.0), from weights of four bits (GGUF, Q4_1), for ONNX Runtime.

- computed in: {computed}
- read after: `{begin}`; the end of a text is left out of its probability and its length
- window: {window:,} tokens; longer texts are read in windows of which half was read before (the model was trained on up
  to {context:,} tokens, mostly on 2,048)
- unigrams: counted over English Wikipedia (the sentences of `enwiki`, split as for scoring), one added to every count;
  the model's own training texts are not at hand
"""
_COMPUTED = {
    Precision.FP32: "float32; the same log-probabilities as transformers",
    Precision.INT8: "int8: weights scaled per output, activations per token in two bytes each, and in each token the "
    "numbers that are always large made smaller where the weights can make up for it; sums are in integers, so no "
    "score depends on the batch",
}


def convert(
    gguf_path: Path, into: Path, precision: str = Precision.FP32, progress: Callable[[str], None] | None = None
) -> None:
    """Convert SmolLM2-135M.

    Parameters
    ----------
    gguf_path
        Its GGUF file, with tensors in F32, F16, Q4_1 or Q8_0.
    into
        The folder to write; ``model.json`` comes last.
    precision
        ``fp32`` or ``int8``.
    progress
        Told in a line what is done.
    """
    if precision not in tuple(Precision):
        raise UsageError(f"there is no precision {precision!r}; take fp32 or int8")
    chosen, file = Precision(precision), read_gguf(gguf_path)
    shape = shape_of(file, SMOLLM2.positions)
    if shape != SMOLLM2:
        raise InputError(f"{gguf_path}: is not SmolLM2-135M but {shape}")
    if progress is not None:
        progress(f"writing the weights in {precision}")
    package = files("celadon.models.language.smollm2")
    graph, unigrams = package.joinpath(f"{chosen}.onnx").read_bytes(), package.joinpath("unigrams.npy").read_bytes()
    name = "smollm2" if chosen is Precision.FP32 else "smollm2-int8"
    smoothing = read_smoothing(shape) if chosen is Precision.INT8 else no_smoothing(shape)
    write_folder(file, into, name, chosen, shape, graph, unigrams, smoothing)
    check = package.joinpath(f"{chosen}.{CHECK_FILE}")
    # there is none while celadon.train.language_models.smollm2 makes it
    if check.is_file():
        (into / CHECK_FILE).write_bytes(check.read_bytes())


def write_folder(
    file: Gguf,
    into: Path,
    name: str,
    precision: Precision,
    shape: LlamaShape,
    graph: bytes,
    unigrams: bytes,
    smoothing: Smoothing,
) -> None:
    """Write a model of any size.

    Parameters
    ----------
    file, into
        From where to where.
    name
        The model's name.
    precision, shape
        What ``graph`` was built for.
    graph
        The ONNX graph without weights.
    unigrams
        The unigram table, as an npy file.
    smoothing
        What to divide activations by.
    """
    with output_errors(str(into)):
        into.mkdir(parents=True, exist_ok=True)
        _write_weights(file, into / "weights.bin", shape, precision, smoothing)
        (into / "model.onnx").write_bytes(graph)
        (into / "unigrams.npy").write_bytes(unigrams)
        (into / "tokenizer.json").write_text(build_tokenizer(file).to_str(), encoding="utf-8")
        computed, context = _COMPUTED[precision], file.get("llama.context_length")
        card = _CARD.format(name=name, computed=computed, begin=BEGIN, window=shape.positions, context=context)
        (into / "card.md").write_text(card, encoding="utf-8")
    described = json.dumps(_description(file, name, shape), ensure_ascii=False, indent=2)
    atomic_write_text(str(into / "model.json"), described + "\n")


def _write_weights(file: Gguf, path: Path, shape: LlamaShape, precision: Precision, smoothing: Smoothing) -> None:
    plan = plan_weights(shape, precision)
    total = max(weight.offset + weight.size for weight in plan.values())
    written = set()
    with path.open("wb") as out, byte_bar("converting", total) as bar:
        out.truncate(total)
        for name, array in weights_of(file, shape, precision, smoothing):
            if array.shape != plan[name].shape or array.dtype.name != plan[name].kind:
                raise InputError(f"{file.path}: {name} is {array.shape} where {plan[name].shape} is expected")
            out.seek(plan[name].offset)
            out.write(np.ascontiguousarray(array).astype(np.dtype(plan[name].kind).newbyteorder("<"), copy=False).data)
            bar.update(plan[name].size)
            written.add(name)
    if missing := plan.keys() - written:
        raise AssertionError(f"not filled: {sorted(missing)}")


def _description(file: Gguf, name: str, shape: LlamaShape) -> dict[str, Any]:
    return {
        "format": "celadon-lm/1",
        "kind": "onnx",
        "name": name,
        "unit": "bpe",
        "begin": BEGIN,
        "begin_id": file.get("tokenizer.ggml.tokens").index(BEGIN),
        "end": None,
        "end_id": None,
        "unknown_id": None,
        "window": shape.positions,
        "batch_positions": _BATCH_POSITIONS,
        "scripts": ["Latin"],
    }
