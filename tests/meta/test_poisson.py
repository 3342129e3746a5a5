"""The Poisson bootstrap: its draws, its independence of cuts, and its intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from celadon.meta.intervals import Interval
from celadon.meta.paired_differences import PairedDifferences, PairedResult
from celadon.meta.poisson import PoissonWeights


def weights(rows: int, resamples: int, seed: int) -> np.ndarray:
    """Every row's draws: the totals of the unit rows."""
    totals = np.zeros((resamples, rows))
    PoissonWeights(resamples, seed).add_to(totals, np.eye(rows), np.arange(rows))
    return totals


def test_draws_are_poisson() -> None:
    drawn = weights(1500, 400, seed=1)
    # 600,000 draws: the standard errors of mean and variance are 0.0013 and 0.0022.
    assert drawn.mean() == pytest.approx(1.0, abs=0.006)
    assert drawn.var() == pytest.approx(1.0, abs=0.01)
    seen = np.bincount(drawn.astype(int).ravel(), minlength=8)[:8] / drawn.size
    assert seen == pytest.approx(stats.poisson.pmf(np.arange(8), 1), abs=0.003)
    # Neighbouring rows and neighbouring resamples have nothing to do with each other.
    assert np.corrcoef(drawn[:, :-1].ravel(), drawn[:, 1:].ravel())[0, 1] == pytest.approx(0, abs=0.006)
    assert np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1] == pytest.approx(0, abs=0.006)


@pytest.mark.parametrize("cuts", [[], [1], [511, 512, 513], [100, 700, 701, 1200], list(range(0, 1300, 77))])
def test_totals_do_not_depend_on_cuts(cuts: list[int]) -> None:
    rows = np.random.default_rng(2).integers(0, 9, size=(1300, 3)).astype(np.float64)
    whole, parts = np.zeros((50, 3)), np.zeros((50, 3))
    PoissonWeights(50, 7).add_to(whole, rows, np.arange(1300))
    stream = PoissonWeights(50, 7)
    for part in np.split(np.arange(1300), cuts):
        stream.add_to(parts, rows[part], part)
    assert np.array_equal(whole, parts)


def test_rows_may_be_left_out() -> None:
    rows = np.random.default_rng(3).normal(size=(1100, 1))
    kept = np.flatnonzero(rows[:, 0] > 0)
    some, zeroed = np.zeros((20, 1)), np.zeros((20, 1))
    PoissonWeights(20, 7).add_to(some, rows[kept], kept)
    PoissonWeights(20, 7).add_to(zeroed, np.maximum(rows, 0), np.arange(1100))
    assert some == pytest.approx(zeroed)


def test_seed() -> None:
    assert np.array_equal(weights(30, 10, 1), weights(30, 10, 1))
    assert not np.array_equal(weights(30, 10, 1), weights(30, 10, 2))


def found(first: np.ndarray, second: np.ndarray, resamples: int = 1000, cut: int = 10**9) -> PairedResult:
    taken = PairedDifferences(1, resamples=resamples, seed=3)
    for at in range(0, len(first), cut):
        taken.add(first[at : at + cut, None], second[at : at + cut, None])
    (result,) = taken.results()
    return result


def exact_exchanges(differences: np.ndarray) -> float:
    every = np.array([np.dot(signs, differences) for signs in product((1, -1), repeat=len(differences))])
    return float(np.mean(np.abs(every) >= abs(differences.sum()) - 1e-12))


def bootstrap_of_t(differences: np.ndarray, resamples: int) -> float:
    """The p-value of t against multinomial resamples: an ordinary bootstrap, not of the stream."""
    drawn = differences[np.random.default_rng(8).integers(0, len(differences), size=(resamples, len(differences)))]
    with np.errstate(divide="ignore", invalid="ignore"):
        replicates = (drawn.mean(axis=1) - differences.mean()) / drawn.std(axis=1)
    t = differences.mean() / differences.std()
    return 2 * min(float(np.mean(replicates >= t)), float(np.mean(replicates <= t)))


def test_the_p_value_is_that_of_all_exchanges() -> None:
    random = np.random.default_rng(1)
    first = random.normal(size=10)
    second = first + random.normal(0.4, 1, size=10)
    exact = exact_exchanges(second - first)
    result = found(first, second, resamples=8000)
    assert 0.02 < exact < 0.9
    assert bootstrap_of_t(second - first, 8000) < exact
    assert result.pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 8000))


def test_the_p_value_of_skewed_differences_is_that_of_the_bootstrap_of_t() -> None:
    """Forty differences, most a little below zero: t is far out, but so are its replicates."""
    differences = np.random.default_rng(3).exponential(size=40) - 1.35
    expected = bootstrap_of_t(differences, 20_000)
    result = found(np.zeros(40), differences, resamples=8000)
    with_signs = np.random.default_rng(1).choice([-1, 1], size=(20_000, 40)) @ differences
    assert np.mean(np.abs(with_signs) >= abs(differences.sum())) < expected / 2
    assert result.pvalue == pytest.approx(expected, rel=0.25)


def test_equal_differences_tell_as_much_as_the_range_admits() -> None:
    """Ten times -0.1 within 0 to 1: a share of 1/11 at the far end would make up for it, and be missed in 0.386."""
    taken = PairedDifferences(1, ranges=[Interval(0, 1)], resamples=1000, seed=3)
    taken.add(np.full((10, 1), 0.6), np.full((10, 1), 0.5))
    (result,) = taken.results()
    assert result.pvalue == pytest.approx(2 * (10 / 11) ** 10)
    assert result.low < -0.1 < 0 < result.high
    unbounded = found(np.full(10, 0.6), np.full(10, 0.5))
    assert unbounded.pvalue == 1
    assert np.isnan([unbounded.low, unbounded.high]).all()


@pytest.mark.parametrize("centred", ["exponential", "half zero", "one in ten"])
def test_few_skewed_differences_do_not_show_what_is_not_there(centred: str) -> None:
    """Ten pairs, 800 times: exchanging sides alone would reject a twentieth too often, or more."""
    random = np.random.default_rng(6)
    drawn = random.exponential(size=(10, 800)) - 1
    if centred == "half zero":
        drawn *= random.random((10, 800)) < 0.5
    elif centred == "one in ten":
        drawn = np.where(random.random((10, 800)) < 0.1, 0.9, -0.1)
    taken = PairedDifferences(800, resamples=600, seed=1)
    taken.add(np.zeros((10, 800)), drawn)
    assert np.mean([result.pvalue < 0.05 for result in taken.results()]) < 0.07


def test_the_interval_is_that_of_the_mean() -> None:
    random = np.random.default_rng(2)
    first = random.uniform(size=3000)
    second = first + random.gamma(2, 0.1, size=3000) - 0.15
    result = found(first, second, resamples=2000)
    low, high = stats.t.interval(0.95, 2999, np.mean(second - first), stats.sem(second - first))
    assert (result.low, result.high) == pytest.approx((low, high), abs=0.1 * (high - low))
    assert result.difference == pytest.approx(np.mean(second - first))
    assert (result.mean_a, result.mean_b) == pytest.approx((first.mean(), second.mean()))
    assert result.pvalue <= 2 / 2001


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
