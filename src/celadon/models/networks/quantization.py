"""Weights as bytes: how every int8 graph of this project rounds them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Float32Array = npt.NDArray[np.float32]

LEVELS = 127.0


def quantise_rows(matrix: Float32Array) -> tuple[npt.NDArray[np.int8], Float32Array]:
    """Return a matrix, outputs by inputs, as bytes, and what a step is worth in each row.

    Processors without VNNI instructions add the products of two neighbours in 16 bits, where 255 * (a + b) must not
    exceed 32,767. The scale is chosen so that no two neighbours add up to more than 128: sums are the same everywhere.
    """
    largest = np.abs(matrix).max(axis=1)
    neighbours = np.abs(matrix[:, 0::2] + matrix[:, 1::2]).max(axis=1)
    scales = np.maximum(np.maximum(largest, neighbours), np.finfo(np.float32).tiny) / LEVELS
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def quantise_blocks(table: Float32Array, block: int) -> tuple[npt.NDArray[np.int8], Float32Array]:
    """Return a table that is looked up, not multiplied, as bytes, and what a step is worth in each block of a row."""
    blocks = table.reshape(len(table), -1, block)
    scales = np.maximum(np.abs(blocks).max(axis=-1, keepdims=True), np.finfo(np.float32).tiny) / np.float32(LEVELS)
    return np.rint(blocks / scales).astype(np.int8).reshape(table.shape), scales[:, :, 0]
