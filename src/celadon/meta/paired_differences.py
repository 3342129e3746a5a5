"""The mean of paired differences of a stream: its bootstrap interval and a test, in constant memory.

The interval is of the Poisson bootstrap. Of two tests the greater p-value counts. One turns the sign of every
difference at random, as if the two sides of each pair had been exchanged: where neither side is better, that changes
nothing. It rests on differences that are as often high as low, and rejects too often where they are skewed and few; the
other, Student's t against its own bootstrap replicates, does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.meta.intervals import Interval, expanded_interval
from celadon.meta.poisson import PoissonWeights

_BLOCK = 512
# The signs are drawn apart from the bootstrap's weights.
_SIGNS = 1
# Scores of one and the same text differ by so much with the batch it was in.
_TIE = 1e-6
# Two ways of adding the same numbers must count as equal.
_SAME = 1e-12


class PairedResult(NamedTuple):
    """What the pairs tell of one column; ``nulls`` pairs lack a value.

    ``difference`` is the mean of the second less the first, ``low`` and ``high`` its 95% bootstrap interval (NaN where
    there is none), ``pvalue`` the greater one of the permutation test and of the bootstrap of t, both two-sided, the
    observed pairs counted among the drawn ones. ``higher``, ``ties`` and ``lower`` count how the second compares with
    the first.
    """

    pairs: int
    nulls: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    pvalue: float
    higher: int
    ties: int
    lower: int

    @property
    def has_interval(self) -> bool:
        """Return whether there is an interval: not of one pair, nor of equal differences that have no range."""
        return math.isfinite(self.low)


class PairedDifferences:
    """Takes pairs piece by piece; how they are cut does not change the result.

    ``ranges`` are the least and the greatest value of each column; without them there are no bounds.
    """

    def __init__(
        self, columns: int, *, ranges: Sequence[Interval] | None = None, resamples: int = 1000, seed: int = 0
    ) -> None:
        self._columns = columns
        self._ranges = [Interval(-math.inf, math.inf)] * columns if ranges is None else ranges
        self._resamples = resamples
        self._seed = seed
        self._position = 0
        self._weights = PoissonWeights(resamples, seed)
        self._sums = np.zeros((2, columns))
        self._size, self._squares = np.zeros(columns), np.zeros(columns)
        self._pairs, self._higher, self._ties = (np.zeros(columns, dtype=np.int64) for _ in range(3))
        # of each resample the number of pairs, the sum of the differences and that of their squares
        self._drawn = np.zeros((resamples, 3 * columns))
        self._turned = np.zeros((resamples, columns))

    def add(self, first: FloatArray, second: FloatArray) -> None:
        """Take the next pairs, each side pairs x columns; NaN where there is no value."""
        known = np.isfinite(first) & np.isfinite(second)
        one, other = np.where(known, first, 0.0), np.where(known, second, 0.0)
        difference = other - one
        tied = known & (np.abs(difference) <= _TIE * np.maximum(np.abs(one), 1.0))
        self._pairs += known.sum(axis=0)
        self._ties += tied.sum(axis=0)
        self._higher += (~tied & (difference > 0)).sum(axis=0)
        self._sums += [one.sum(axis=0), other.sum(axis=0)]
        self._size += np.abs(difference).sum(axis=0)
        self._squares += (difference**2).sum(axis=0)
        positions: IntArray = np.arange(self._position, self._position + len(first), dtype=np.int64)
        table = np.concatenate([known.astype(np.float64), difference, difference**2], axis=1)
        self._weights.add_to(self._drawn, table, positions)
        for start in range(0, len(first), _BLOCK):
            self._turn(difference[start : start + _BLOCK], self._position + start)
        self._position += len(first)

    def _turn(self, difference: FloatArray, position: int) -> None:
        """Add the differences with their random signs; these depend on the position alone."""
        done = 0
        while done < len(difference):
            block, at = divmod(position + done, _BLOCK)
            count = min(_BLOCK - at, len(difference) - done)
            draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence([self._seed, _SIGNS, block])))
            bits = np.frombuffer(draws.bytes(_BLOCK * -(-self._resamples // 8)), dtype=np.uint8).reshape(_BLOCK, -1)
            signs = np.unpackbits(bits[at : at + count], axis=1, count=self._resamples).astype(np.float64) * 2 - 1
            self._turned += signs.T @ difference[done : done + count]
            done += count

    def results(self) -> tuple[PairedResult, ...]:
        """What the pairs up to now tell, column by column."""
        return tuple(map(self._result, range(self._columns)))

    def _result(self, at: int) -> PairedResult:
        pairs = int(self._pairs[at])
        if not pairs:
            nan = float("nan")
            return PairedResult(0, self._position, nan, nan, nan, nan, nan, nan, 0, 0, 0)
        first, second = (float(total) / pairs for total in self._sums[:, at])
        observed = float(self._sums[1, at] - self._sums[0, at])
        drawn = self._drawn[:, at :: self._columns]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = drawn[:, 1] / drawn[:, 0]
        widest = self._ranges[at].high - self._ranges[at].low
        interval = expanded_interval(observed / pairs, means, pairs, low=-widest, high=widest)
        least = abs(observed) - _SAME * float(self._size[at])
        extreme = int((np.abs(self._turned[:, at]) >= least).sum())
        pvalue = max((1 + extreme) / (1 + self._resamples), self._skewed_pvalue(at, drawn, widest))
        return PairedResult(
            pairs,
            self._position - pairs,
            first,
            second,
            observed / pairs,
            interval.low if interval else float("nan"),
            interval.high if interval else float("nan"),
            pvalue,
            int(self._higher[at]),
            int(self._ties[at]),
            pairs - int(self._higher[at]) - int(self._ties[at]),
        )

    def _skewed_pvalue(self, at: int, drawn: FloatArray, widest: float) -> float:
        """Compare Student's t with its replicates in the resamples; these are as skewed as the differences."""
        pairs = int(self._pairs[at])
        mean = float(self._sums[1, at] - self._sums[0, at]) / pairs
        variance = float(self._squares[at]) / pairs - mean**2
        tiny = _SAME * float(self._squares[at]) / pairs
        if variance <= tiny:
            # all differences are equal: how likely is it to see none of those that would make up for them
            share = 0.0 if mean == 0 or not math.isfinite(widest) else abs(mean) / (widest + abs(mean))
            return min(1.0, 2 * (1 - share) ** pairs)
        counts, sums, squares = drawn[drawn[:, 0] > 0].T
        off = sums / counts - mean
        spreads = squares / counts - (sums / counts) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            replicates = np.where(spreads > tiny, off / np.sqrt(spreads / counts), np.sign(off) * math.inf)
        t = mean / math.sqrt(variance / pairs)
        above, below = (1 + int(side.sum()) for side in (replicates >= t, replicates <= t))
        return min(1.0, 2 * min(above, below) / (1 + len(replicates)))
