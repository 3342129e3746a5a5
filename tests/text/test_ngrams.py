"""N-gram counts against collections.Counter."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.text.characters import character_overlaps
from celadon.text.ngrams import Grams, make_grams, overlap

documents = st.lists(st.lists(st.integers(0, 5), max_size=12), min_size=1, max_size=8)


def plain(document: list[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(document[at : at + n]) for at in range(len(document) - n + 1))


def grams_of(rows: list[list[int]], n: int, vocabulary: int) -> Grams:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return make_grams(np.array([x for row in rows for x in row], dtype=np.int64), starts, vocabulary, n)


@settings(max_examples=200, deadline=None)
@given(documents, st.integers(1, 4), st.sampled_from([6, 1_000_000, 2**20]))
def test_overlap_and_totals(rows: list[list[int]], n: int, vocabulary: int) -> None:
    """Also with vocabularies so large that the codes must be renumbered to stay exact."""
    grams = grams_of(rows, n, vocabulary)
    assert grams.totals().tolist() == [plain(row, n).total() for row in rows]
    left, right = np.meshgrid(np.arange(len(rows)), np.arange(len(rows)))
    shared = overlap(grams, left.ravel(), right.ravel())
    expected = [
        (plain(rows[a], n) & plain(rows[b], n)).total() for a, b in zip(left.ravel(), right.ravel(), strict=True)
    ]
    assert shared.tolist() == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=20), min_size=2, max_size=6))
def test_characters(strings: list[str]) -> None:
    left, right = np.zeros(len(strings), dtype=np.int64), np.arange(len(strings))
    totals, shared = character_overlaps(strings, left, right, 3)
    dense = ["".join(string.split()) for string in strings]
    for order in (1, 2, 3):
        bags = [Counter(text[at : at + order] for at in range(len(text) - order + 1)) for text in dense]
        assert totals[order - 1].tolist() == [bag.total() for bag in bags]
        assert shared[order - 1].tolist() == [(bags[0] & bag).total() for bag in bags]
