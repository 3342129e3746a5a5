"""What is kept of a stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import Sample
from celadon.report.keep import Kept, Lowest, Reservoir, priorities
from tests.report.news import METRICS, Lengthy, Ratio, collected, news

STREAM = news(30)


def kept(position: int) -> Kept:
    return Kept(position, None, None, "", (), (), ())


def drawn(total: int, size: int, seed: int, cuts: list[int]) -> list[int]:
    reservoir = Reservoir(size, seed)
    for start, end in zip([0, *cuts], [*cuts, total], strict=True):
        reservoir.add(start, end - start, lambda row, start=start: kept(start + row))
    return [one.position for one in reservoir.drawn(size)]


@given(st.lists(st.integers(0, 200), max_size=6).map(sorted), st.integers(0, 60), st.integers(-5, 2**70))
def test_the_sample_does_not_depend_on_the_cuts(cuts: list[int], size: int, seed: int) -> None:
    whole = drawn(200, size, seed, [])
    assert drawn(200, size, seed, cuts) == whole
    assert whole == sorted(set(whole))
    assert len(whole) == size


def test_the_sample_is_those_of_smallest_priority() -> None:
    expected = sorted(np.argsort(priorities(3, 0, 500))[:40].tolist())
    assert drawn(500, 40, 3, [7, 90, 91]) == expected


def test_the_sample_is_uniform() -> None:
    times = np.zeros(50)
    for seed in range(2000):
        times[drawn(50, 10, seed, [])] += 1
    # each row is drawn with chance 1/5; chi-square with 49 degrees of freedom, 99.99% point about 94
    assert ((times - 400) ** 2 / (400 * 0.8)).sum() < 94
    assert abs(np.corrcoef(np.arange(50), times)[0, 1]) < 0.5


@given(
    st.lists(st.one_of(st.just(float("nan")), st.integers(0, 5).map(float)), max_size=60),
    st.lists(st.integers(0, 60), max_size=5).map(sorted),
    st.integers(0, 12),
)
def test_lowest_keeps_the_earlier_of_equal_rows(keys: list[float], cuts: list[int], size: int) -> None:
    lowest = Lowest(size)
    cuts = [min(cut, len(keys)) for cut in cuts]
    for start, end in zip([0, *cuts], [*cuts, len(keys)], strict=True):
        lowest.add(np.array(keys[start:end], dtype=float), start, lambda row, start=start: kept(start + row))
    ranked = sorted((key, place) for place, key in enumerate(keys) if not np.isnan(key))
    assert [one.position for one in lowest.rows()] == [place for _, place in ranked[:size]]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=4).map(sorted))
def test_the_report_does_not_depend_on_the_cuts(cuts: list[int]) -> None:
    metrics = METRICS[:3]
    whole, summary = collected(STREAM, metrics, texts=20, extremes=3)
    parts, _ = collected(STREAM, metrics, cuts, texts=20, extremes=3)
    facts = {"title": "t", "inputs": ["i"]}
    assert parts.html(summary, **facts) == whole.html(summary, **facts)


@pytest.mark.parametrize(("metric", "best_first"), [(Ratio(), True), (Lengthy(), False)])
def test_best_follows_the_direction(metric: Ratio | Lengthy, best_first: bool) -> None:
    samples = [Sample("a b c d"[: 2 * n - 1], ("a b c d",), id=str(n)) for n in range(1, 5)]
    collector, _ = collected(samples, [metric])
    best, worst = collector._ends(0)
    order = [[one.id for one in best], [one.id for one in worst]]
    assert order == ([["4", "3"], ["1", "2"]] if best_first else [["1", "2"], ["4", "3"]])
