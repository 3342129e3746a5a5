"""Which weights a graph reads and where each stands in the weight file: for who builds the graph and who fills it.

Factors make activations easier to round: some numbers of every token are always large, and take all the steps. A factor
divides one number of all tokens and multiplies the weights that this number meets, so the model stays the same but for
rounding. Division costs nothing: it goes into the weights that made the number (a norm, or the rows of a matrix). The
factors of SmolLM2 come from :mod:`celadon.train.language_models.smollm2` and are shipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.models.language.smollm2.gguf import Float32Array

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

    ``heads`` ask and ``key_heads`` answer; ``inner`` is inside the MLP; ``positions`` is the longest context, with the
    mark for the beginning; ``epsilon`` is added to the mean square in the normalization; ``theta`` is the base of the
    rotary frequencies.
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


# The file holds logarithms in steps of a quarter to the base 2, as signed bytes.
STEPS = 4


@dataclass(frozen=True, eq=False)
class Smoothing:
    """Factors for what goes into the attention and the MLP of each layer, into the second matrix of its MLP, and the
    head.
    """

    attention: Float32Array
    mlp: Float32Array
    inner: Float32Array
    head: Float32Array


def no_smoothing(shape: LlamaShape) -> Smoothing:
    """Return factors of one."""
    return unpack_smoothing(np.zeros(smoothing_size(shape), dtype=np.int8), shape)


def read_smoothing(shape: LlamaShape) -> Smoothing:
    """Read the factors of SmolLM2."""
    with files("celadon.models.language.smollm2").joinpath("smoothing.npy").open("rb") as file:
        return unpack_smoothing(np.load(file, allow_pickle=False), shape)


def smoothing_size(shape: LlamaShape) -> int:
    """Return how many factors a model of this size has."""
    return shape.layers * (2 * shape.width + shape.inner) + shape.width


def unpack_smoothing(packed: npt.NDArray[np.int8], shape: LlamaShape) -> Smoothing:
    """Return the factors of a file's numbers."""
    factors = np.exp2(packed.astype(np.float32) / STEPS)
    layers = factors[: -shape.width].reshape(shape.layers, -1)
    attention, mlp, inner = np.split(layers, [shape.width, 2 * shape.width], axis=1)
    return Smoothing(attention, mlp, inner, factors[-shape.width :])


def pack_smoothing(factors: Smoothing) -> npt.NDArray[np.int8]:
    """Return the numbers of a file, the nearest to the factors."""
    layers = np.concatenate([factors.attention, factors.mlp, factors.inner], axis=1)
    logarithms = np.log2(np.concatenate([layers.ravel(), factors.head])) * STEPS
    packed: npt.NDArray[np.int8] = np.clip(np.rint(logarithms), -127, 127).astype(np.int8)
    return packed
