"""Which weights a graph reads and where each stands in the weight file: for who builds the graph and who fills it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

# Where a weight may begin: pages of memory, so that the file is mapped and not copied.
ALIGNMENT = 4096

# Numbers of a row of the int8 embedding that share a scale, as in the file that the weights come from.
EMBEDDING_BLOCK = 32

# The vocabulary is scored in so many parts, lest a long text need a gigabyte for its logits.
HEAD_PARTS = 8


class Precision(StrEnum):
    """How the weights are stored and multiplied."""

    FP32 = "fp32"
    INT8 = "int8"


@dataclass(frozen=True)
class LlamaShape:
    """The size of a Llama model, as its GGUF file states it.

    Attributes
    ----------
    vocabulary, width, layers, heads, key_heads, inner
        How many tokens, numbers per token, layers, heads that ask, heads that answer, and numbers inside the MLP.
    positions
        The longest context, with the mark for the beginning.
    epsilon
        Added to the mean square in the normalisation.
    theta
        The base of the rotary frequencies.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    key_heads: int
    inner: int
    positions: int
    epsilon: float
    theta: float

    @property
    def head_width(self) -> int:
        """Numbers per head."""
        return self.width // self.heads

    @property
    def packed(self) -> int:
        """Columns of the queries, keys and values together."""
        return (self.heads + 2 * self.key_heads) * self.head_width

    @property
    def head_part(self) -> int:
        """Tokens in one part of the vocabulary."""
        return self.vocabulary // HEAD_PARTS


# It was trained on up to 8,192 tokens, the bulk of it on 2,048; attention within 2,048 fits in little memory.
SMOLLM2 = LlamaShape(
    vocabulary=49152,
    width=576,
    layers=30,
    heads=9,
    key_heads=3,
    inner=1536,
    positions=2048,
    epsilon=1e-5,
    theta=100000.0,
)


class Weight(NamedTuple):
    """One array in the weight file; ``kind`` is numpy's name of its type."""

    kind: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return math.prod(self.shape) * np.dtype(self.kind).itemsize

    def part(self, number: int, shape: tuple[int, ...]) -> Weight:
        """Return the part with that number of those of equal shape that it consists of."""
        whole = Weight(self.kind, shape, 0)
        return whole._replace(offset=self.offset + number * whole.size)


def plan_weights(shape: LlamaShape, precision: Precision) -> dict[str, Weight]:
    """Return all weights by name, in the order of the file."""
    weights: dict[str, Weight] = {}
    end = 0
    for name, kind, dimensions in _arrays(shape, precision):
        weights[name] = Weight(kind, dimensions, -(-end // ALIGNMENT) * ALIGNMENT)
        end = weights[name].offset + weights[name].size
    return weights


def _arrays(shape: LlamaShape, precision: Precision) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    half = (shape.positions, shape.head_width // 2)
    yield "cosines", "float32", half
    yield "sines", "float32", half
    if precision is Precision.FP32:
        yield "embedding", "float32", (shape.vocabulary, shape.width)
    else:
        yield "embedding", "int8", (shape.vocabulary, shape.width)
        yield "embedding_scales", "float32", (shape.vocabulary, shape.width // EMBEDDING_BLOCK)
        yield "head", "int8", (HEAD_PARTS, shape.width, shape.head_part)
        yield "head_scales", "float32", (shape.vocabulary,)
    for layer in range(shape.layers):
        for name, (inputs, outputs) in linear_shapes(shape).items():
            yield f"{name}.{layer}", "float32" if precision is Precision.FP32 else "int8", (inputs, outputs)
            if precision is Precision.INT8:
                yield f"{name}_scales.{layer}", "float32", (outputs,)
        yield f"attention_norm.{layer}", "float32", (shape.width,)
        yield f"mlp_norm.{layer}", "float32", (shape.width,)
    yield "last_norm", "float32", (shape.width,)


def linear_shapes(shape: LlamaShape) -> dict[str, tuple[int, int]]:
    """Return the four matrices of a layer, inputs by outputs."""
    return {
        "qkv": (shape.width, shape.packed),
        "out": (shape.heads * shape.head_width, shape.width),
        "gate_up": (shape.width, 2 * shape.inner),
        "down": (shape.inner, shape.width),
    }
