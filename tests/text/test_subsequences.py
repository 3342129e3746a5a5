"""Common subsequences against plain dynamic programmes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from celadon.text.subsequences import common_positions, lcs_lengths, weighted_lcs
from tests.text.test_alignment import ragged

sequences = st.lists(st.integers(0, 4), max_size=12)
pairs_of_sequences = st.lists(st.tuples(sequences, sequences), min_size=1, max_size=8)


def plain_length(left: list[int], right: list[int]) -> int:
    table = np.zeros((len(left) + 1, len(right) + 1), dtype=int)
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            table[i, j] = table[i - 1, j - 1] + 1 if a == b else max(table[i - 1, j], table[i, j - 1])
    return int(table[-1, -1])


def plain_weighted(left: list[int], right: list[int], weight: float) -> float:
    """The algorithm as Lin (2004) states it: scores c and the lengths w of the runs that end at each cell."""
    c = np.zeros((len(left) + 1, len(right) + 1))
    w = np.zeros_like(c)
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            if a == b:
                k = w[i - 1, j - 1]
                c[i, j] = c[i - 1, j - 1] + (k + 1) ** weight - k**weight
                w[i, j] = k + 1
            else:
                c[i, j] = max(c[i - 1, j], c[i, j - 1])
    return float(c[-1, -1])


@settings(max_examples=150, deadline=None)
@given(pairs_of_sequences)
def test_lengths(pairs: list[tuple[list[int], list[int]]]) -> None:
    left, right = ragged([a for a, _ in pairs]), ragged([b for _, b in pairs])
    assert lcs_lengths(left, right).tolist() == [plain_length(a, b) for a, b in pairs]


@settings(max_examples=150, deadline=None)
@given(pairs_of_sequences)
def test_positions_are_those_that_rouge_score_finds(pairs: list[tuple[list[int], list[int]]]) -> None:
    left, right = ragged([a for a, _ in pairs]), ragged([b for _, b in pairs])
    pair, position = common_positions(left, right)
    for number, (a, b) in enumerate(pairs):
        ours = sorted(position[pair == number].tolist())
        assert ours == (rouge_scorer.lcs_ind(a, b) if a and b else [])


@settings(max_examples=150, deadline=None)
@given(pairs_of_sequences, st.sampled_from([1.0, 1.2, 2.0]))
def test_weighted(pairs: list[tuple[list[int], list[int]]], weight: float) -> None:
    left, right = ragged([a for a, _ in pairs]), ragged([b for _, b in pairs])
    expected = [plain_weighted(a, b, weight) for a, b in pairs]
    assert weighted_lcs(left, right, weight).tolist() == pytest.approx(expected)
