"""Alignment against exhaustive search and a plain dynamic programme."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.text.alignment import Ragged, align, groups

SUBSTITUTION, GAP = 4, 3

sequences = st.lists(st.integers(0, 4), max_size=9)


def ragged(rows: list[list[int]]) -> Ragged:
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    return Ragged(np.array([x for row in rows for x in row], dtype=np.int64), starts, lengths)


def every_alignment_best(reference: tuple[int, ...], text: tuple[int, ...]) -> tuple[int, int]:
    """The least (cost, operations) by plain recursion over all alignments."""

    @lru_cache(None)
    def best(i: int, j: int) -> tuple[int, int]:
        if i == len(reference) or j == len(text):
            gaps = len(reference) - i + len(text) - j
            return GAP * gaps, gaps
        same = reference[i] == text[j]
        cost, count = best(i + 1, j + 1)
        options = [(cost + (0 if same else SUBSTITUTION), count + (0 if same else 1))]
        for cost, count in (best(i + 1, j), best(i, j + 1)):
            options.append((cost + GAP, count + 1))
        return min(options)

    return best(0, 0)


def counts(reference: list[int], text: list[int], partner: np.ndarray) -> tuple[int, int]:
    """Cost and operations of an alignment, which must be monotone."""
    used = [int(at) for at in partner if at >= 0]
    assert used == sorted(set(used))
    assert all(0 <= at < len(text) for at in used)
    matches = sum(1 for word, at in zip(reference, partner, strict=True) if at >= 0 and word == text[at])
    substitutions = len(used) - matches
    gaps = len(reference) - len(used) + len(text) - len(used)
    return SUBSTITUTION * substitutions + GAP * gaps, substitutions + gaps


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(sequences, sequences), min_size=1, max_size=8))
def test_alignments_are_the_cheapest_with_the_fewest_operations(pairs: list[tuple[list[int], list[int]]]) -> None:
    alignment = align(ragged([r for r, _ in pairs]), ragged([t for _, t in pairs]))
    for number, (reference, text) in enumerate(pairs):
        found = counts(reference, text, alignment.of(number))
        assert found == every_alignment_best(tuple(reference), tuple(text))


@settings(max_examples=100, deadline=None)
@given(sequences, sequences)
def test_operations_are_the_same_with_the_sides_swapped(left: list[int], right: list[int]) -> None:
    forward = align(ragged([left]), ragged([right])).of(0)
    backward = align(ragged([right]), ragged([left])).of(0)
    assert counts(left, right, forward) == counts(right, left, backward)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(sequences, sequences), min_size=2, max_size=30))
def test_neighbours_do_not_change_an_alignment(pairs: list[tuple[list[int], list[int]]]) -> None:
    together = align(ragged([r for r, _ in pairs]), ragged([t for _, t in pairs]))
    for number, (reference, text) in enumerate(pairs):
        alone = align(ragged([reference]), ragged([text]))
        np.testing.assert_array_equal(together.of(number), alone.of(0))


def test_long_sequences_use_wider_numbers() -> None:
    generator = np.random.default_rng(3)
    for length in (40, 90, 700):
        reference = generator.integers(0, 50, length).tolist()
        text = generator.integers(0, 50, length + 7).tolist()
        partner = align(ragged([reference]), ragged([text])).of(0)
        cost, _ = counts(reference, text, partner)
        assert cost == plain_cost(reference, text)


def plain_cost(reference: list[int], text: list[int]) -> int:
    before = [GAP * j for j in range(len(text) + 1)]
    for i, word in enumerate(reference, 1):
        after = [GAP * i]
        for j, other in enumerate(text, 1):
            diagonal = before[j - 1] + (0 if word == other else SUBSTITUTION)
            after.append(min(diagonal, before[j] + GAP, after[j - 1] + GAP))
        before = after
    return before[-1]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=60))
def test_groups_take_every_pair_once(sizes: list[tuple[int, int]]) -> None:
    heights = np.array([h for h, _ in sizes], dtype=np.int64)
    widths = np.array([w for _, w in sizes], dtype=np.int64)
    taken = sorted(int(row) for group in groups(heights, widths) for row in group)
    assert taken == [row for row, (h, w) in enumerate(sizes) if h and w]
