"""The Poisson bootstrap: resampling a stream in constant memory.

Each row is drawn Poisson(1) times in each resample, so a resample is a running weighted sum and no row is kept.
The draws depend on the seed and on the row's position alone, not on how the stream was cut into batches.
"""

from __future__ import annotations

import numpy as np

from celadon.core import FloatArray, IntArray

_BLOCK = 512
_LEVELS = 1 << 16
_KEPT_BLOCKS = 8


def _poisson_table() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """A table from a uniform 16-bit number to a Poisson(1) draw."""
    probability = np.exp(-1.0) / np.cumprod(np.concatenate([[1.0], np.arange(1.0, 12.0)]))
    edges = np.round(np.cumsum(probability) * _LEVELS).astype(np.int64)
    return np.searchsorted(edges, np.arange(_LEVELS), side="right").astype(np.float32)


class PoissonWeights:
    """How often each row is drawn in each resample; the same seed gives the same draws."""

    def __init__(self, resamples: int, seed: int) -> None:
        self.resamples = resamples
        self.seed = seed
        self._table = _poisson_table()
        self._blocks: dict[int, np.ndarray[tuple[int, int], np.dtype[np.float32]]] = {}

    def _block_weights(self, block: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        if block not in self._blocks:
            # a stream only goes on, and several systems' rows of one batch share its blocks
            for old in [number for number in self._blocks if number < block - _KEPT_BLOCKS]:
                del self._blocks[old]
            bits = np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, block])))
            draws = bits.integers(0, _LEVELS, size=(_BLOCK, self.resamples), dtype=np.uint16)
            self._blocks[block] = self._table[draws]
        return self._blocks[block]

    def add_to(self, totals: FloatArray, rows: FloatArray, positions: IntArray) -> None:
        """Add each row, times its draws, to the totals (resamples x columns) of every resample, in place.

        ``positions`` are those of the rows in the stream, increasing.
        """
        blocks = positions // _BLOCK
        bounds = np.flatnonzero(np.diff(blocks)) + 1
        for part in np.split(np.arange(len(positions)), bounds):
            if len(part):
                weights = self._block_weights(int(blocks[part[0]]))[positions[part] % _BLOCK]
                # in this order it takes half the time
                totals += (rows[part].T @ weights.astype(np.float64)).T
