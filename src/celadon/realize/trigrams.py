"""The language model of FERGUS: trigrams of words, with all probabilities that a sentence can need in one table.

The file (``trigrams.npz``) keeps for each word the words that follow it, and for each such pair the words that follow
that; a logarithm is one of 256 steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray
from celadon.models.language.ngram_lm import KeyArray, NgramTables, find
from celadon.realize.trees import known_form

BEGIN, END = "<s>", "</s>"

_STEPS = 256
_LEAST = -30.0

Table = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Trigrams:
    """A trigram model of words."""

    words: tuple[str, ...]  # the vocabulary: the two marks, classes of unknown words, words
    tables: NgramTables  # the n-grams

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def look_up(self, words: Sequence[str]) -> IntArray:
        """The numbers of words; of those that are not known, the numbers of their classes."""
        other = self.numbers["<a->"]
        return np.array([self.numbers.get(known_form(word, self.numbers), other) for word in words], dtype=np.int64)

    def table(self, words: Sequence[str]) -> Table:
        """Return the logarithm of P(c | a, b) for all a, b and c of some words, the begin mark and the end mark.

        Of two words after the begin mark the first is told by the begin mark as a and b.
        """
        ids = np.append(self.look_up(words), [self.tables.begin, self.tables.end]).astype(np.uint64)
        bits, size = np.uint64(self.tables.bits), len(ids)
        pair_keys = (ids[:, None] << bits | ids[None]).ravel()
        at, there = find(self.tables.keys[0], pair_keys)
        single, whole = self.tables.logprobs[0][ids], self.tables.backoffs[0][ids]
        pairs = (whole[:, None] + single[None]).ravel()
        pairs[there] = self.tables.logprobs[1][at[there]]
        backoff = np.zeros(size * size, dtype=np.float32)
        backoff[there] = self.tables.backoffs[1][at[there]]
        result = backoff.reshape(size, size, 1) + pairs.reshape(1, size, size)
        known = np.flatnonzero(there)
        keys: KeyArray = (pair_keys[known][:, None] << bits) | ids[None]
        at, there = find(self.tables.keys[1], keys.ravel())
        result.reshape(size * size, size)[known] = np.where(
            there.reshape(keys.shape), self.tables.logprobs[2][at].reshape(keys.shape), result.reshape(-1, size)[known]
        )
        begin = size - 2
        result[begin, begin] = pairs.reshape(size, size)[begin]
        return np.asarray(result, dtype=np.float32)


def packed(tables: NgramTables) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the file."""
    bits = np.uint64(tables.bits)
    mask = np.uint64((1 << tables.bits) - 1)
    pairs, triples = tables.keys
    place, there = find(pairs, triples >> bits)
    if not there.all() or tables.vocabulary > 1 << 16:
        raise ValueError("every trigram must begin with a bigram that is there, of at most 65,536 words")
    arrays: dict[str, npt.NDArray[Any]] = {
        "pair_counts": np.bincount((pairs >> bits).astype(np.int64), minlength=tables.vocabulary).astype(np.uint32),
        "pair_words": (pairs & mask).astype(np.uint16),
        "triple_counts": np.bincount(place, minlength=len(pairs)).astype(np.uint32),
        "triple_words": (triples & mask).astype(np.uint16),
        "marks": np.array([tables.begin, tables.end]),
    }
    named = {f"logprobs{order}": values for order, values in enumerate(tables.logprobs, 1)}
    named |= {f"backoffs{order}": values for order, values in enumerate(tables.backoffs, 1)}
    for name, values in named.items():
        arrays[name], arrays[f"{name}_steps"] = _stepped(np.maximum(np.asarray(values, dtype=np.float64), _LEAST))
    return arrays


def unpacked(arrays: Mapping[str, npt.NDArray[Any]]) -> NgramTables:
    """The tables of a file's arrays."""
    vocabulary = len(arrays["pair_counts"])
    bits = np.uint64(max(1, (vocabulary - 1).bit_length()))
    firsts = np.repeat(np.arange(vocabulary, dtype=np.uint64), arrays["pair_counts"])
    pairs = firsts << bits | arrays["pair_words"].astype(np.uint64)
    triples = np.repeat(pairs, arrays["triple_counts"]) << bits | arrays["triple_words"].astype(np.uint64)
    read = {
        name: arrays[f"{name}_steps"][arrays[name]].astype(np.float32)
        for name in ("logprobs1", "logprobs2", "logprobs3", "backoffs1", "backoffs2")
    }
    begin, end = arrays["marks"].tolist()
    sizes = vocabulary, len(pairs), len(triples), vocabulary, len(pairs)
    if tuple(map(len, read.values())) != sizes or not (0 <= begin < vocabulary and 0 <= end < vocabulary):
        raise ValueError("the arrays of the trigrams do not fit each other")
    if (np.diff(pairs.astype(np.int64)) <= 0).any() or (np.diff(triples.astype(np.int64)) <= 0).any():
        raise ValueError("the trigrams are not in order")
    logprobs = read["logprobs1"], read["logprobs2"], read["logprobs3"]
    return NgramTables(begin, end, (pairs, triples), logprobs, (read["backoffs1"], read["backoffs2"]))


def _stepped(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.uint8], Table]:
    """Values as numbers of steps, and the value of each step: a mean of values, about as many to each step."""
    different = np.unique(values)
    if len(different) <= _STEPS:
        edges = different[1:]
    else:
        edges = np.unique(np.sort(values)[np.linspace(0, len(values) - 1, _STEPS + 1).astype(np.int64)][1:-1])
    number = np.searchsorted(edges, values, side="right").astype(np.uint8)
    counts = np.bincount(number, minlength=_STEPS)
    sums = np.bincount(number, weights=values, minlength=_STEPS)
    return number, (sums / np.maximum(counts, 1)).astype(np.float32)
