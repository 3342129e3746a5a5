"""How fluent a sentence is by its scored tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.metrics.reading.fluency import CAP, PASSAGE, fluency
from celadon.models.language.language_model import TokenScores

gains = st.lists(st.floats(-20, 20), min_size=1, max_size=40)


def scored(values: list[float]) -> TokenScores:
    """Tokens of two characters each, one after another, that are so much likelier than on their own."""
    size = len(values)
    unigrams = np.full(size, -8.0)
    starts = np.arange(size) * 2
    return TokenScores(unigrams + np.array(values), unigrams, starts, starts + 2, np.ones(size, dtype=np.bool_))


@given(gains)
def test_each_token_counts_and_none_more_than_the_cap(values: list[float]) -> None:
    found = fluency(scored(values))
    assert found.capped == pytest.approx(sum(min(value, CAP) for value in values) / len(values))


@given(gains)
def test_the_weakest_passage_is_the_one_with_the_least_mean(values: list[float]) -> None:
    found = fluency(scored(values))
    size = min(PASSAGE, len(values))
    every = [sum(min(v, CAP) for v in values[at : at + size]) / size for at in range(len(values) - size + 1)]
    assert found.weakest == pytest.approx(min(every))
    start, end = found.passage
    assert end - start == 2 * size
    assert every[start // 2] == pytest.approx(min(every))


@given(gains, st.data())
def test_what_the_model_does_not_know_tells_nothing(values: list[float], data: st.DataObject) -> None:
    known = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    found = fluency(replace(scored(values), known=np.array(known)))
    expected = fluency(scored([value for value, kept in zip(values, known, strict=True) if kept] or values))
    assert (found.capped, found.weakest) == (expected.capped, expected.weakest)
    assert 0 <= found.passage[0] < found.passage[1] <= 2 * len(values)


def test_what_is_easy_does_not_make_up_for_what_is_wrong() -> None:
    """Two sentences of the same SLOR: the one is even, the other has a word that fits nowhere among easy ones."""
    even, uneven = [1.5] * 10, [2.5] * 8 + [2.0, -7.0]
    assert sum(even) == sum(uneven)
    assert fluency(scored(even)).capped > fluency(scored(uneven)).capped + 0.3
    assert fluency(scored(uneven)).passage == (4, 20)
