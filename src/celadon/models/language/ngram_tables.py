"""The tables of an n-gram model: sorted arrays, read from disk as they are needed, searched for many tokens at once.

An n-gram is one number: the ids of its tokens, a fixed count of bits each, the first token in the highest bits. Numbers
in order thus stand together by their context. The tables are those of an ARPA file: where an n-gram is there, its
probability; where not, the backoff of its context and the probability of the n-gram without its first token.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray, UsageError

KeyArray: TypeAlias = npt.NDArray[np.uint64]
# 64 bits while a model is estimated, 32 on disk
LogArray: TypeAlias = npt.NDArray[np.floating[Any]]

_KEY_BITS = 64


class MarkedStream(NamedTuple):
    """Sentences one after another, each with its marks; ``opens`` is true at the begin marks."""

    ids: npt.NDArray[np.uint32]
    opens: npt.NDArray[np.bool_]

    def complete(self, order: int) -> npt.NDArray[np.bool_]:
        """Of the n-grams that end at position ``order - 1`` and after it, which lie within one sentence."""
        length = max(0, len(self.ids) - order + 1)
        whole = np.ones(length, dtype=np.bool_)
        for step in range(1, order):
            whole &= ~self.opens[step : step + length]
        return whole

    def keys(self, order: int, bits: int) -> KeyArray:
        """The n-grams that end at position ``order - 1`` and after it, whether they lie within a sentence or not."""
        length = max(0, len(self.ids) - order + 1)
        keys = self.ids[:length].astype(np.uint64)
        for step in range(1, order):
            keys <<= np.uint64(bits)
            keys |= self.ids[step : step + length]
        return keys


def marked(ids: npt.NDArray[Any], starts: npt.NDArray[Any], begin: int, end: int) -> MarkedStream:
    """Put marks round every sentence.

    Parameters
    ----------
    ids
        The tokens of all sentences.
    starts
        Where each sentence begins, with one more entry at the end.
    begin, end
        The marks.
    """
    bounds = np.asarray(starts, dtype=np.int64)
    marks = 2 * np.arange(len(bounds) - 1, dtype=np.int64)
    first = bounds[:-1] - bounds[0] + marks
    last = bounds[1:] - bounds[0] + marks + 1
    stream = np.empty(int(bounds[-1] - bounds[0]) + 2 * len(marks), dtype=np.uint32)
    inner = np.ones(len(stream), dtype=np.bool_)
    inner[first] = inner[last] = False
    stream[inner] = ids[bounds[0] : bounds[-1]]
    stream[first], stream[last] = begin, end
    opens = np.zeros(len(stream), dtype=np.bool_)
    opens[first] = True
    return MarkedStream(stream, opens)


def bits_of(vocabulary: int, order: int) -> int:
    """The bits of a token in a key.

    Raises
    ------
    UsageError
        So many tokens of such a vocabulary do not fit into a key.
    """
    bits = max(1, (vocabulary - 1).bit_length())
    if order < 1:
        raise UsageError(f"the order of an n-gram model must be at least 1, not {order}")
    if order * bits > _KEY_BITS:
        most = _KEY_BITS // order
        raise UsageError(
            f"order {order} does not go with a vocabulary of {vocabulary:,}: take at most {1 << most:,} tokens, "
            f"or order {_KEY_BITS // bits}"
        )
    return bits


def find(keys: KeyArray, wanted: KeyArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Where each wanted key stands among sorted ones, and whether it is there at all."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places, np.asarray(keys[places] == wanted)


@dataclass(frozen=True, eq=False)
class NgramTables:
    """An n-gram model by numbers; all logarithms are natural.

    Attributes
    ----------
    begin, end
        The ids of the marks round a sentence.
    keys
        The n-grams of order 2, of order 3 and so on, each array sorted.
    logprobs
        Their probabilities, those of the single tokens (by id, all of them) before them.
    backoffs
        What is added where a longer n-gram is missing; none for the highest order.
    """

    begin: int
    end: int
    keys: tuple[KeyArray, ...]
    logprobs: tuple[LogArray, ...]
    backoffs: tuple[LogArray, ...]

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.logprobs)

    @property
    def vocabulary(self) -> int:
        """The number of tokens, the marks included."""
        return len(self.logprobs[0])

    @property
    def bits(self) -> int:
        """The bits of a token in a key."""
        return bits_of(self.vocabulary, self.order)

    def score(self, ids: npt.NDArray[Any], starts: npt.NDArray[Any]) -> FloatArray:
        """The log-probability of every token, and after those of each sentence that of its end."""
        stream = marked(ids, starts, self.begin, self.end)
        result = self.logprobs[0][stream.ids].astype(np.float64)
        if self.order > 1:
            # of the n-gram that ends at each position, were it the context of the next token
            backoff = self.backoffs[0][stream.ids].astype(np.float64)
        for order in range(2, self.order + 1):
            ends = np.flatnonzero(stream.complete(order)) + order - 1
            places, there = find(self.keys[order - 2], stream.keys(order, self.bits)[ends - order + 1])
            shorter = backoff[ends - 1] + result[ends]
            result[ends] = shorter
            result[ends[there]] = self.logprobs[order - 1][places[there]]
            if order < self.order:
                backoff = np.zeros(len(stream.ids))
                backoff[ends[there]] = self.backoffs[order - 1][places[there]]
        return np.asarray(result[~stream.opens])

    def save(self, folder: Path) -> None:
        """Write the arrays, the logarithms in 32 bits; :func:`load_tables` reads them."""
        for order, logprobs in enumerate(self.logprobs, 1):
            np.save(folder / f"order{order}.logprobs.npy", np.asarray(logprobs, dtype=np.float32))
            if order > 1:
                np.save(folder / f"order{order}.keys.npy", self.keys[order - 2])
            if order < self.order:
                np.save(folder / f"order{order}.backoffs.npy", np.asarray(self.backoffs[order - 1], dtype=np.float32))


def load_tables(folder: Path, order: int, begin: int, end: int) -> NgramTables:
    """Open the tables in a folder, memory-mapped.

    Raises
    ------
    InputError
        An array is missing or is not what it should be.
    """
    orders = range(1, order + 1)
    logprobs = tuple(load_array(folder / f"order{n}.logprobs.npy", np.float32) for n in orders)
    keys = tuple(load_array(folder / f"order{n}.keys.npy", np.uint64, len(logprobs[n - 1])) for n in orders[1:])
    backoffs = tuple(
        load_array(folder / f"order{n}.backoffs.npy", np.float32, len(logprobs[n - 1])) for n in orders[:-1]
    )
    if not (0 <= begin < len(logprobs[0]) and 0 <= end < len(logprobs[0])):
        raise InputError(f"{folder}: its marks {begin} and {end} are not among its {len(logprobs[0])} tokens")
    return NgramTables(begin, end, keys, logprobs, backoffs)


def load_array(path: Path, kind: type[np.generic], length: int | None = None) -> npt.NDArray[Any]:
    """Open an array of one dimension, memory-mapped.

    Raises
    ------
    InputError
        It is missing, damaged, or of another type or length.
    """
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"{path}: is missing; train the model again") from None
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: cannot be read as an array ({error}); train the model again") from None
    fits = length is None or len(array) == length
    if array.ndim != 1 or array.dtype != kind or not fits:
        raise InputError(f"{path}: {array.dtype}{list(array.shape)} is not what belongs there; train the model again")
    return array
