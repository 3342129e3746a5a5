"""Paired differences against exhaustive tests and formulas."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from celadon.meta.paired_differences import PairedDifferences, PairedResult


def found(first: np.ndarray, second: np.ndarray, resamples: int = 1000, cut: int = 10**9) -> PairedResult:
    taken = PairedDifferences(1, resamples=resamples, seed=3)
    for at in range(0, len(first), cut):
        taken.add(first[at : at + cut, None], second[at : at + cut, None])
    (result,) = taken.results()
    return result


def test_the_p_value_is_that_of_all_exchanges() -> None:
    random = np.random.default_rng(1)
    first = random.normal(size=10)
    second = first + random.normal(0.4, 1, size=10)
    differences = second - first
    every = np.array([np.dot(signs, differences) for signs in product((1, -1), repeat=10)])
    exact = np.mean(np.abs(every) >= abs(differences.sum()) - 1e-12)
    result = found(first, second, resamples=8000)
    assert 0.02 < exact < 0.9
    assert result.pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 8000))


def test_the_interval_is_that_of_the_mean() -> None:
    random = np.random.default_rng(2)
    first = random.uniform(size=3000)
    second = first + random.gamma(2, 0.1, size=3000) - 0.15
    result = found(first, second, resamples=2000)
    low, high = stats.t.interval(0.95, 2999, np.mean(second - first), stats.sem(second - first))
    assert (result.low, result.high) == pytest.approx((low, high), abs=0.1 * (high - low))
    assert result.difference == pytest.approx(np.mean(second - first))
    assert (result.mean_a, result.mean_b) == pytest.approx((first.mean(), second.mean()))
    assert result.pvalue == 1 / 2001


def test_how_the_stream_is_cut_does_not_matter() -> None:
    random = np.random.default_rng(4)
    first, second = random.normal(size=(2, 1300))
    second[5] = np.nan
    whole = found(first, second)
    for cut in (1300, 700, 512, 37):
        assert found(first, second, cut=cut) == pytest.approx(whole, rel=1e-9)
    assert (whole.pairs, whole.nulls) == (1299, 1)


def test_counts_and_nothing_to_tell() -> None:
    first = np.array([0.1, 0.2, 0.3, np.nan, 0.5, 0.5])
    second = np.array([0.2, 0.1, 0.3 + 1e-9, 0.4, np.nan, 0.6])
    result = found(first, second)
    assert (result.higher, result.ties, result.lower, result.pairs, result.nulls) == (2, 1, 1, 4, 2)
    assert found(first[:3], first[:3]).pvalue == 1.0
    nothing = found(first[3:4], second[3:4])
    assert (nothing.pairs, nothing.nulls) == (0, 1)
    assert np.isnan([nothing.difference, nothing.low, nothing.pvalue]).all()


def test_each_null_is_rejected_as_often_as_it_should_be() -> None:
    random = np.random.default_rng(5)
    taken = PairedDifferences(400, resamples=400, seed=1)
    taken.add(np.zeros((40, 400)), random.standard_t(3, size=(40, 400)))
    rejected = np.mean([result.pvalue <= 0.05 for result in taken.results()])
    assert 0.02 < rejected < 0.09
