"""Summaries of streams: against numpy on the whole data, and independent of how the stream is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon import Sample
from celadon.core import MetricScores, UsageError
from celadon.metrics.registry import load
from celadon.scoring.summary import GrowingHistogram, Summarizer, Summary

METRIC = load("rouge1")


def summarize(values: list[float], systems: list[str | None], cut: int, resamples: int = 200) -> Summary:
    summarizer = Summarizer([METRIC], resamples=resamples, seed=7)
    for begin in range(0, len(values), cut):
        part = values[begin : begin + cut]
        samples = [Sample("x", system=system) for system in systems[begin : begin + cut]]
        reasons = {row: "null" for row, value in enumerate(part) if np.isnan(value)}
        summarizer.add(samples, {"rouge1": MetricScores("rouge1", np.array(part), {}, reasons)})
    return summarizer.summary()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=1, max_size=80), st.integers(1, 30))
def test_cuts_do_not_matter(values: list[float], cut: int) -> None:
    systems = [("a", "b", None)[number % 3] for number in range(len(values))]
    whole, pieces = summarize(values, systems, len(values)), summarize(values, systems, cut)
    for one, other in zip(whole.rows, pieces.rows, strict=True):
        assert (one.system, one.count, one.nulls, one.histogram) == (
            other.system,
            other.count,
            other.nulls,
            other.histogram,
        )
        if one.mean is None:
            assert other.mean is None
        else:
            assert other.mean == pytest.approx(one.mean)
            assert other.mean_interval == pytest.approx(one.mean_interval)


def test_a_field_that_is_no_system_is_refused() -> None:
    """Totals are kept per system, so their number must be bounded."""
    with pytest.raises(UsageError, match="more than 500 systems"):
        summarize([0.5] * 600, [str(number) for number in range(600)], 100, resamples=2)


def test_means_and_nulls_are_those_of_numpy() -> None:
    values = np.random.default_rng(1).random(500)
    values[::7] = np.nan
    row = summarize(values.tolist(), [None] * 500, 64).rows[0]
    assert row.mean == pytest.approx(np.nanmean(values))
    assert row.nulls == np.isnan(values).sum()
    assert sum(row.histogram.counts) == row.count


def test_the_interval_is_that_of_an_ordinary_bootstrap() -> None:
    generator = np.random.default_rng(2)
    values = generator.beta(2, 5, 400)
    row = summarize(values.tolist(), [None] * 400, 100, resamples=4000).rows[0]
    ordinary = np.quantile(values[generator.integers(0, 400, (4000, 400))].mean(axis=1), [0.025, 0.975])
    assert row.mean_interval == pytest.approx(tuple(ordinary), abs=0.15 * (ordinary[1] - ordinary[0]))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e6, 1), min_size=1, max_size=60), st.integers(1, 7))
def test_a_histogram_grows_and_loses_nothing(values: list[float], cut: int) -> None:
    histogram = GrowingHistogram(-np.inf, 1.0)
    for begin in range(0, len(values), cut):
        histogram.add(np.array(values[begin : begin + cut]))
    bins = histogram.bins()
    assert sum(bins.counts) == len(values)
    edges = np.array(bins.edges)
    width = edges[1] - edges[0]
    # counted where they belong, up to the rounding of an edge
    for edge, below in zip(edges[1:-1], np.cumsum(bins.counts), strict=False):
        assert (np.array(values) < edge - width / 100).sum() <= below <= (np.array(values) <= edge + width / 100).sum()


@given(st.lists(st.floats(-1e300, 1e300) | st.floats(-9, 9), min_size=1, max_size=40), st.integers(0, 2**32))
def test_neither_order_nor_cuts_show_in_a_histogram(values: list[float], seed: int) -> None:
    generator = np.random.default_rng(seed)
    whole, pieces = GrowingHistogram(-np.inf, np.inf), GrowingHistogram(-np.inf, np.inf)
    whole.add(np.array(values))
    for part in np.split(generator.permutation(values), np.sort(generator.integers(0, len(values) + 1, 4))):
        pieces.add(part)
    assert whole.bins() == pieces.bins()
