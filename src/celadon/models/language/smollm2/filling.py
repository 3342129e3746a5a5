"""The weights of a Llama model in the form that its graph reads, from a GGUF file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from celadon.models.language.smollm2.gguf import Float32Array, Gguf
from celadon.models.language.smollm2.layout import EMBEDDING_BLOCK, HEAD_PARTS, LlamaShape, Precision
from celadon.models.language.smollm2.smoothing import Smoothing
from celadon.models.networks.quantization import quantise_blocks, quantise_rows

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
