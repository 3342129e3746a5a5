"""Character n-grams of many strings at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from celadon.core import IntArray
from celadon.text.ngrams import make_grams, overlap


def character_overlaps(
    documents: Sequence[str], left: IntArray, right: IntArray, longest: int
) -> tuple[IntArray, IntArray]:
    """Count the character n-grams of documents and those that pairs of them share; white space does not count.

    Returns ``totals[order - 1, document]`` and ``shared[order - 1, pair]`` for the orders from 1 to ``longest``.
    """
    dense = ["".join(document.split()) for document in documents]
    starts = np.concatenate([[0], np.cumsum([len(document) for document in dense])]).astype(np.int64)
    points = np.frombuffer("".join(dense).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    alphabet, ids = np.unique(points, return_inverse=True)
    totals = np.zeros((longest, len(documents)), dtype=np.int64)
    shared = np.zeros((longest, len(left)), dtype=np.int64)
    for order in range(1, longest + 1):
        grams = make_grams(ids.astype(np.int64), starts, len(alphabet), order)
        totals[order - 1] = grams.totals()
        shared[order - 1] = overlap(grams, left, right)
    return totals, shared
