"""Which texts of a stream are kept: a uniform sample and the extremes, both in constant memory."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, Tree

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Kept:
    """One text with what the report shows of it; ``values`` and ``reasons`` are in the order of the metrics.

    ``aspects`` are those of the metric that explains the texts aspect by aspect, where there is one; ``trees`` came
    with the references; ``source`` is kept where an explanation needs it; ``markup`` and ``language`` are
    those of the sample.
    """

    position: int
    id: str | None
    system: str | None
    text: str
    references: tuple[str, ...]
    values: tuple[float, ...]
    reasons: tuple[str, ...]
    aspects: tuple[float, ...] = ()
    trees: tuple[Tree | str, ...] = ()
    source: str | None = None
    markup: str = "auto"
    language: str = ""


def _mix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter 64-bit numbers one to one (the last step of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def priorities(seed: int, start: int, count: int) -> npt.NDArray[np.uint64]:
    """Return a random-looking number for each position from ``start`` on; no two positions share one."""
    key = _mix(np.array([seed & _MASK], dtype=np.uint64))
    steps = np.arange(start + 1, start + 1 + count, dtype=np.uint64) * np.uint64(_GOLDEN)
    return _mix(key + steps)


class Reservoir:
    """A uniform sample: the rows with the smallest priorities, so that the cuts of the stream do not matter."""

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.seed = seed
        self._heap: list[tuple[int, Kept]] = []

    def add(self, start: int, count: int, keep: Callable[[int], Kept]) -> None:
        """Offer ``count`` rows that begin at position ``start``; ``keep`` makes what is kept of a row."""
        if self.size < 1:
            return
        numbers = priorities(self.seed, start, count)
        rows = np.arange(count)
        if len(self._heap) == self.size:
            rows = np.flatnonzero(numbers < np.uint64(-self._heap[0][0]))
        for row in rows.tolist():
            item = -int(numbers[row])
            if len(self._heap) < self.size:
                heapq.heappush(self._heap, (item, keep(row)))
            elif item > self._heap[0][0]:
                heapq.heapreplace(self._heap, (item, keep(row)))

    def drawn(self, count: int) -> list[Kept]:
        """Return at most ``count`` of the sample, still drawn uniformly, in the order of the stream."""
        first = heapq.nlargest(count, self._heap, key=lambda item: item[0])
        return sorted((kept for _, kept in first), key=lambda kept: kept.position)


class Lowest:
    """The rows with the lowest keys, lowest first; of equal ones the earlier row."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._items: list[tuple[float, int, Kept]] = []

    def add(self, keys: FloatArray, start: int, keep: Callable[[int], Kept]) -> None:
        """Offer the rows that begin at position ``start``; those whose key is not finite are passed over."""
        rows = np.flatnonzero(np.isfinite(keys))
        if len(self._items) == self.size and self.size:
            rows = rows[keys[rows] < self._items[-1][0]]
        rows = rows[np.argsort(keys[rows], kind="stable")[: self.size]]
        if len(rows):
            new = [(float(keys[row]), start + row, keep(row)) for row in rows.tolist()]
            self._items = sorted([*self._items, *new], key=lambda item: item[:2])[: self.size]

    def rows(self) -> list[Kept]:
        """Return the rows, lowest first."""
        return [kept for _, _, kept in self._items]
