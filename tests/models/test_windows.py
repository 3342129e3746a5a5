"""Windows and batches: every token is scored once, with context, and nothing is left out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from celadon.models.networks.windows import plan_batches, plan_windows

LENGTHS = st.integers(min_value=0, max_value=300)
ROOMS = st.integers(min_value=2, max_value=40)


@given(LENGTHS, ROOMS)
def test_every_token_is_scored_once_and_in_order(length: int, room: int) -> None:
    scored = [token for window in plan_windows(length, room) for token in range(window.first, window.end)]
    assert scored == list(range(length))


@given(LENGTHS, ROOMS)
def test_windows_fit_and_hold_half_a_window_of_context(length: int, room: int) -> None:
    for start, first, end in plan_windows(length, room):
        assert 0 <= start <= first < end <= length
        assert end - start <= room
        for token in range(first, end):
            assert token - start >= min(token, (room + 1) // 2)


def test_a_text_that_fits_is_read_at_once() -> None:
    assert plan_windows(8, 8) == [(0, 0, 8)]
    assert plan_windows(1, 8) == [(0, 0, 1)]


def test_a_text_that_does_not_fit_is_read_in_overlapping_windows() -> None:
    assert plan_windows(15, 8) == [(0, 0, 8), (4, 8, 12), (7, 12, 15)]


@given(st.lists(st.integers(min_value=1, max_value=50), max_size=60), st.integers(min_value=1, max_value=200))
def test_batches_hold_every_row_once_within_the_bound(lengths: list[int], positions: int) -> None:
    batches = list(plan_batches(lengths, positions))
    assert sorted(int(row) for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[row] for row in batch)
        assert len(batch) == 1 or longest * len(batch) <= positions


@given(st.lists(st.integers(min_value=1, max_value=50), min_size=1, max_size=60))
def test_rows_of_a_batch_are_neighbours_in_length(lengths: list[int]) -> None:
    in_order = np.concatenate(list(plan_batches(lengths, 64)))
    assert [lengths[row] for row in in_order] == sorted(lengths, reverse=True)
