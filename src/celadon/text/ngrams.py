"""N-grams of many documents at once, as numbers that are equal where the n-grams are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from celadon.core import IntArray

_ROOM = 2**61


class Grams(NamedTuple):
    """The n-grams of each document, in their order, as codes below ``size``.

    Those of document ``d`` are ``codes[starts[d]:starts[d + 1]]``.
    """

    codes: IntArray
    starts: IntArray
    size: int

    def totals(self) -> IntArray:
        """The number of n-grams of each document."""
        return np.diff(self.starts)

    def keyed(self, groups: int) -> Grams:
        """The same n-grams with codes so small that ``group * size + code`` is exact for this many groups."""
        if self.size * max(groups, 1) < _ROOM:
            return self
        codes, size = _renumbered(self.codes)
        return self._replace(codes=codes, size=size)


def _renumbered(codes: IntArray) -> tuple[IntArray, int]:
    distinct, codes = np.unique(codes, return_inverse=True)
    return codes, max(len(distinct), 1)


def make_grams(ids: IntArray, starts: IntArray, vocabulary: int, n: int) -> Grams:
    """Number the n-grams of every document; ``starts`` is where each begins in ``ids``, with one more at the end."""
    size = max(vocabulary, 1)
    if n == 1:
        return Grams(ids, starts, size)
    lengths = np.diff(starts)
    first = np.flatnonzero(np.arange(n, len(ids) + n) <= np.repeat(starts[1:], lengths))
    codes = ids[first]
    for offset in range(1, n):
        if size * max(vocabulary, 1) >= _ROOM:
            codes, size = _renumbered(codes)
        codes, size = codes * vocabulary + ids[first + offset], size * max(vocabulary, 1)
    return Grams(codes, np.concatenate([[0], np.cumsum(np.maximum(lengths - n + 1, 0))]), size)


def expand(starts: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of the items of the chosen groups, one group after another, and which choice each belongs to."""
    lengths = starts[chosen + 1] - starts[chosen]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    owner = np.repeat(np.arange(len(chosen)), lengths)
    return np.arange(total) + (starts[chosen] - ends + lengths)[owner], owner


def overlap(grams: Grams, left: IntArray, right: IntArray) -> IntArray:
    """For each pair of documents, the number of n-grams that they share, each at most as often as in both."""
    grams = grams.keyed(len(left))
    # a pair's two documents next to each other: what is nearly in order is sorted faster
    at, side = expand(grams.starts, np.stack([left, right], axis=1).ravel())
    return _shared(((side >> 1) * grams.size + grams.codes[at]) * 2 + (side & 1), grams.size, len(left))


def clipped_overlap(grams: Grams, text: IntArray, sample: IntArray, document: IntArray) -> IntArray:
    """For each text, how many of its n-grams its references have, each at most as often as the one that has it most.

    ``text`` is the document of each text; ``sample`` and ``document`` list the texts' references, in order.
    """
    if len(sample) == len(text) and (sample == np.arange(len(text))).all():
        return overlap(grams, text, document)
    grams = grams.keyed(max(len(text), len(document)))
    at, pair = expand(grams.starts, document)
    keys, counts = np.unique(pair * grams.size + grams.codes[at], return_counts=True)
    keys = sample[keys // grams.size] * grams.size + keys % grams.size
    order = np.argsort(keys, kind="stable")
    in_references, first = np.unique(keys[order], return_index=True)
    most = np.maximum.reduceat(counts[order], first) if len(first) else counts
    at, owner = expand(grams.starts, text)
    in_texts, counts = np.unique(owner * grams.size + grams.codes[at], return_counts=True)
    both, left, right = np.intersect1d(in_texts, in_references, assume_unique=True, return_indices=True)
    shared = np.minimum(counts[left], most[right])
    return np.bincount(both // grams.size, weights=shared, minlength=len(text)).astype(np.int64)


def shared_counts(left: IntArray, right: IntArray, size: int, groups: int) -> IntArray:
    """How many items each group has on both sides, repeats counted as often as both have them.

    Items are ``group * size + code``.
    """
    return _shared(np.concatenate([left * 2, right * 2 + 1]), size, groups)


def _shared(marked: IntArray, size: int, groups: int) -> IntArray:
    """Count shared items, of which the lowest bit says the side."""
    if not len(marked):
        return np.zeros(groups, dtype=np.int64)
    keys = np.sort(marked, kind="stable")
    items = keys >> 1
    edge = np.ones(len(keys) + 1, dtype=np.bool_)
    np.not_equal(items[1:], items[:-1], out=edge[1:-1])
    bounds = np.flatnonzero(edge)
    counts = bounds[1:] - bounds[:-1]
    several = np.flatnonzero(counts > 1)
    first, counts = bounds[several], counts[several]
    side = keys & 1
    up_to = np.cumsum(side)
    on_right = up_to[first + counts - 1] - up_to[first] + side[first]
    both = np.minimum(on_right, counts - on_right)
    return np.bincount(items[first] // size, weights=both, minlength=groups).astype(np.int64)
