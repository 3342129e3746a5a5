"""Intervals from bootstrap replicates: against Student's and the exact binomial, and how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from celadon.meta.intervals import equal_interval, expanded_interval, expanded_tail
from celadon.meta.poisson import PoissonWeights


def replicates(values: np.ndarray, resamples: int = 1000, seed: int = 1) -> np.ndarray:
    """Means of Poisson resamples, resamples x columns."""
    totals = np.zeros((resamples, values.shape[1] + 1))
    table = np.concatenate([values, np.ones((len(values), 1))], axis=1)
    PoissonWeights(resamples, seed).add_to(totals, table, np.arange(len(values)))
    with np.errstate(invalid="ignore"):
        return totals[:, :-1] / totals[:, -1:]


def test_the_tail_is_that_of_students_interval() -> None:
    for units in (2, 5, 30):
        reach = stats.t.isf(0.025, units - 1) * np.sqrt(units / (units - 1))
        assert expanded_tail(units) == pytest.approx(stats.norm.sf(reach))
    assert expanded_tail(10**6) == pytest.approx(0.025, abs=1e-5)


def test_interval_of_a_mean_is_that_of_an_ordinary_bootstrap() -> None:
    rng = np.random.default_rng(4)
    values = rng.exponential(size=600)
    interval = expanded_interval(values.mean(), replicates(values[:, None], 4000)[:, 0], 600)
    ordinary = np.quantile(values[rng.integers(0, 600, size=(4000, 600))].mean(axis=1), [0.025, 0.975])
    error = values.std() / np.sqrt(600)
    # The standard error of a 2.5 % quantile of 4,000 replicates is 0.04 standard deviations; four of two such.
    assert interval == pytest.approx(ordinary, abs=0.24 * error)


@pytest.mark.parametrize("units", [2, 3, 5, 10, 50])
def test_the_interval_holds_the_truth_in_95_of_100_cases(units: int) -> None:
    values = np.random.default_rng(units).normal(size=(units, 800))
    drawn = replicates(values)
    intervals = [expanded_interval(values[:, at].mean(), drawn[:, at], units) for at in range(800)]
    held = np.mean([interval is not None and interval.low <= 0 <= interval.high for interval in intervals])
    # three standard errors of 800 cases are 0.023
    assert 0.925 <= held <= 0.985


def test_one_unit_has_no_interval() -> None:
    assert expanded_interval(0.5, np.full(100, 0.5), 1, low=0, high=1) is None
    assert expanded_interval(0.5, np.array([np.nan, np.inf]), 9) is None


@pytest.mark.parametrize("units", [2, 3, 8, 20])
def test_the_interval_stays_within_the_range(units: int) -> None:
    values = np.random.default_rng(2).beta(8, 0.5, size=(units, 50))
    drawn = replicates(values)
    for at in range(50):
        interval = expanded_interval(values[:, at].mean(), drawn[:, at], units, low=0, high=1)
        assert interval is not None
        assert 0 <= interval.low <= values[:, at].mean() <= interval.high <= 1


@pytest.mark.parametrize("units", [2, 10, 1000])
def test_equal_values_have_the_interval_of_a_share(units: int) -> None:
    """All ones is the exact binomial interval of as many successes; values within the range reach to both sides."""
    exact = stats.binomtest(units, units).proportion_ci(method="exact")
    assert expanded_interval(1.0, np.ones(50), units, low=0, high=1) == pytest.approx((exact.low, 1.0))
    within = expanded_interval(0.25, np.full(50, 0.25), units, low=0, high=1)
    assert within == pytest.approx((0.25 * exact.low, 0.25 + 0.75 * (1 - exact.low)))
    assert equal_interval(1.0, units, low=-np.inf, high=1) is None
