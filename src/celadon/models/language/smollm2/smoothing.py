"""Factors that make activations easier to round: some numbers of every token are always large, and take all the steps.

A factor divides one number of all tokens and multiplies the weights that this number meets, so the model stays the
same but for rounding. Division costs nothing: it goes into the weights that made the number (a norm, or the rows of a
matrix). The factors of SmolLM2 come from :mod:`celadon.train.language_models.smollm2` and are shipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from celadon.models.language.smollm2.gguf import Float32Array
from celadon.models.language.smollm2.layout import LlamaShape

# The file holds logarithms in steps of a quarter to the base 2, as signed bytes.
STEPS = 4


@dataclass(frozen=True, eq=False)
class Smoothing:
    """The factors.

    Attributes
    ----------
    attention, mlp
        For what goes into the attention and the MLP of each layer.
    inner
        For what goes into the second matrix of each layer's MLP.
    head
        For what goes into the last matrix, which scores the vocabulary.
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
