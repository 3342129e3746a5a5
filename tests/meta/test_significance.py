"""Tests of two metrics' agreement against cocor, nlpstats, statsmodels and scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as statsmodels
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats import multitest

from celadon.meta.significance import (
    benjamini_hochberg,
    fisher_independent,
    fisher_interval,
    holm,
    meng,
    squared_error_test,
    steiger,
    williams,
    williams_from_correlations,
)


def test_steigers_example_in_the_manual_of_psych() -> None:
    # The numbers of the example; worked by hand, t = 0.1 sqrt(112.2 / (2.04 * 0.62 + 0.2025 * 0.729)) = 0.8913.
    found = williams_from_correlations(0.5, 0.4, 0.1, 103)
    assert round(found.statistic, 2) == 0.89
    assert round(found.pvalue, 3) == 0.375


# Output of R's cocor 1.1 in public course notes and in rmcorr's vignette: r.jk, r.jh, r.kh, n, Williams' t.
COCOR = [
    (-0.1741, 0.2015, 0.3734, 646, -9.0340),
    (0.1724, 0.1795, 0.5387, 646, -0.1909),
    (0.8066, 0.2383, 0.2255, 177, 9.3823),
]


@pytest.mark.parametrize(("a", "b", "between", "count", "expected"), COCOR)
def test_published_values_of_cocor(a: float, b: float, between: float, count: int, expected: float) -> None:
    assert williams_from_correlations(a, b, between, count).statistic == pytest.approx(expected, abs=0.004)


def test_values_of_psych_in_the_tests_of_nlpstats() -> None:
    # Values of psych's r.test on numpy's legacy generator with seed 12, from nlpstats' williams_test.py.
    old = np.random.RandomState(12)
    x, y, z = (old.random_sample((9, 5)) for _ in range(3))
    values = [abs(float(stats.pearsonr(a.ravel(), b.ravel())[0])) for a, b in ((x, z), (y, z), (x, y))]
    found = williams_from_correlations(*values, 45, alternative="greater")
    assert found.pvalue == pytest.approx(0.2716978, abs=1e-6)
    assert williams_from_correlations(*values, 45).pvalue == pytest.approx(0.5433956, abs=1e-6)
    assert williams_from_correlations(*values, 45, alternative="less").pvalue == pytest.approx(1 - 0.2716978, abs=1e-6)


# nlpstats 0.0.1: williams_test(X, Y, H, "global", kind, alternative="greater").
NLPSTATS = {"pearson": 1.2825850374935016e-05, "spearman": 1.9756527495376173e-06, "kendall": 0.0013968063372784177}


@pytest.mark.parametrize("kind", NLPSTATS)
def test_from_columns_is_nlpstats(kind: Any) -> None:
    rng = np.random.default_rng(20)
    human = np.round(rng.normal(size=(7, 12)) + rng.normal(size=(7, 1)), 1)
    x = np.round(human + rng.normal(size=human.shape), 2)
    y = np.round(human + 2 * rng.normal(size=human.shape), 2)
    found = williams(x.ravel(), y.ravel(), human.ravel(), kind=kind, alternative="greater")
    assert found.pvalue == pytest.approx(NLPSTATS[kind], rel=1e-9)
    turned = williams(-x.ravel(), y.ravel(), human.ravel(), kind=kind, lower_is_better=(True, False))
    assert turned.pvalue == pytest.approx(2 * NLPSTATS[kind], rel=1e-9)


def test_exchange_turns_the_sign() -> None:
    one, other = williams_from_correlations(0.5, 0.3, 0.4, 50), williams_from_correlations(0.3, 0.5, 0.4, 50)
    assert one.statistic == -other.statistic
    assert one.pvalue == other.pvalue


def test_p_is_uniform_where_both_correlate_alike() -> None:
    rng = np.random.default_rng(10)
    pvalues = []
    for _ in range(500):
        human = rng.normal(size=60)
        x, y = human + rng.normal(size=60), human + rng.normal(size=60)
        pvalues.append(williams(x, y, human, alternative="greater").pvalue)
    assert stats.kstest(pvalues, "uniform").pvalue > 0.01


def test_no_result_has_a_reason() -> None:
    x, human = np.arange(6.0), np.array([1.0, 3, 2, 5, 4, 6])
    assert williams(x, 2 * x, human).reason == "the two metrics agree perfectly"
    assert williams(x[:3], human[:3], x[:3] ** 2).reason == "fewer than 4 rows"
    assert williams(np.ones(6), x, human).reason == "the metric is constant"
    assert williams_from_correlations(0.9, -0.9, 0.9, 50).reason == "no three variables correlate like this"
    assert williams([1, 2, 3, 4, np.nan, 2], x, human).nulls == 1


# Output of R's cocor 1.1 in public course notes and in rmcorr's vignette: r.jk, r.jh, r.kh, n, Steiger's z, Meng's z.
COCOR_Z = [
    (-0.1741, 0.2015, 0.3734, 646, -8.6124, -8.5080),
    (0.1724, 0.1795, 0.5387, 646, -0.1909, -0.1909),
    (0.8066, 0.2383, 0.2255, 177, 8.5460, 8.3907),
]


@pytest.mark.parametrize(("a", "b", "between", "count", "by_steiger", "by_meng"), COCOR_Z)
def test_dependent_are_cocors(
    a: float, b: float, between: float, count: int, by_steiger: float, by_meng: float
) -> None:
    assert steiger(a, b, between, count).statistic == pytest.approx(by_steiger, abs=0.004)
    assert meng(a, b, between, count).statistic == pytest.approx(by_meng, abs=0.004)


def test_independent_published() -> None:
    # cortesti .84 63 .75 42 (Stata): z = 1.207, Prob > |z| = 0.2275.
    found = fisher_independent(0.84, 63, 0.75, 42)
    assert found.statistic == pytest.approx(1.207, abs=5e-4)
    assert found.pvalue == pytest.approx(0.2275, abs=5e-4)
    assert fisher_independent(0.84, 63, 0.75, 42, alternative="greater").pvalue == pytest.approx(found.pvalue / 2)
    assert fisher_independent(0.84, 63, 0.75, 42, alternative="less").pvalue == pytest.approx(1 - found.pvalue / 2)


def test_the_stars_of_the_slor_paper() -> None:
    """Table 3 of Kann et al. (2018), 2,955 sentences, one-tailed against WordSLOR's 0.454.

    Eight of the nine stars follow from the printed correlations. That of ROUGE-L-mult (0.429) does not: with two
    independent correlations p is 0.12, and 0.11 at the edges of the rounding. Why it has a star we do not know.
    """
    starred = {
        "WordNCE": 0.403,
        "WPNCE": 0.413,
        "WordPPL": 0.325,
        "WPPPL": 0.344,
        "LR3-F-mult": 0.405,
        "LR2-F-mult": 0.375,
        "LR3-R-mult": 0.412,
        "ROUGE-L-single": 0.406,
    }

    def pvalue(value: float) -> float:
        return fisher_independent(0.454, 2955, value, 2955, alternative="greater").pvalue

    assert all(pvalue(value) < 0.05 for value in starred.values())
    assert pvalue(0.437) > 0.05
    assert pvalue(0.429) == pytest.approx(0.117, abs=0.002)


# nlpstats 0.0.1: fisher(X, H, "global", kind) at n = 84 from the values of its own correlate.
INTERVALS = {
    "pearson": (0.8579734538447884, 0.7886460679604743, 0.9057585417176699),
    "spearman": (0.8631695704868909, 0.7820057141212756, 0.9155465663401761),
    "kendall": (0.6854910662454415, 0.6008915745862375, 0.7549033929711714),
}


@pytest.mark.parametrize("kind", INTERVALS)
def test_interval_is_nlpstats(kind: Any) -> None:
    value, low, high = INTERVALS[kind]
    assert fisher_interval(value, 84, kind=kind) == pytest.approx((low, high), abs=1e-12)


def test_interval_is_scipys() -> None:
    rng = np.random.default_rng(11)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    peer = stats.pearsonr(x, y)
    expected = peer.confidence_interval(0.9)
    assert fisher_interval(float(peer.statistic), 30, confidence=0.9) == pytest.approx((expected.low, expected.high))


def test_edges() -> None:
    assert np.isnan(fisher_interval(0.5, 3).low)
    assert fisher_independent(0.5, 3, 0.4, 30).reason == "fewer than 4 rows"
    assert fisher_independent(1.0, 30, 0.4, 30).reason
    assert fisher_independent(np.nan, 30, 0.4, 30).reason
    assert steiger(0.5, 0.4, 1.0, 30).reason
    assert meng(0.5, 0.4, 0.3, 3).reason


@pytest.mark.parametrize("test", [steiger, meng])
def test_p_is_uniform_under_the_null(test: Any) -> None:
    rng = np.random.default_rng(12)
    pvalues = []
    for _ in range(500):
        human = rng.normal(size=80)
        x, y = human + rng.normal(size=80), human + rng.normal(size=80)
        a, b, between = np.corrcoef([human, x, y])[[0, 0, 1], [1, 2, 2]]
        pvalues.append(test(a, b, between, 80).pvalue)
    assert stats.kstest(pvalues, "uniform").pvalue > 0.01


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(13)
    human = rng.normal(size=200)
    return human + rng.normal(size=200), 3 - human + 1.5 * rng.normal(size=200), human


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_squared_errors_against_statsmodels(alternative: Any) -> None:
    a, b, human = data()
    found = squared_error_test(a, b, human, alternative=alternative)
    errors = [statsmodels.OLS(human, statsmodels.add_constant(x)).fit().resid ** 2 for x in (a, b)]
    word = {"two-sided": "two-sided", "less": "smaller", "greater": "larger"}[alternative]
    statistic, pvalue, degrees = statsmodels.stats.ttest_ind(*errors, alternative=word)
    assert degrees == 398
    assert (found.statistic, found.pvalue) == pytest.approx((statistic, pvalue))
    assert (found.error_a, found.error_b) == pytest.approx((errors[0].mean(), errors[1].mean()))
    by_row = squared_error_test(a, b, human, alternative=alternative, matched=True)
    assert by_row.pvalue == pytest.approx(stats.ttest_rel(*errors, alternative=alternative).pvalue)


def test_direction_does_not_matter() -> None:
    a, b, human = data()
    assert squared_error_test(-a, 5 * b, human).pvalue == pytest.approx(squared_error_test(a, b, human).pvalue)


def test_nulls_and_reasons() -> None:
    a, b, human = data()
    a[3] = np.nan
    assert squared_error_test(a, b, human).nulls == 1
    assert squared_error_test(a[:2], b[:2], human[:2]).reason == "fewer than 3 rows"
    assert squared_error_test(b, b, human, matched=True).reason == "the errors do not vary"
    assert squared_error_test(b, b, human).pvalue == pytest.approx(1.0)


def test_p_is_uniform_for_errors_of_two_samples() -> None:
    """Under the null of equal errors the paired form keeps its level."""
    rng = np.random.default_rng(14)
    pvalues = []
    for _ in range(300):
        human = rng.normal(size=150)
        a, b = human + rng.normal(size=150), human + rng.normal(size=150)
        pvalues.append(squared_error_test(a, b, human, matched=True).pvalue)
    assert stats.kstest(pvalues, "uniform").pvalue > 0.01


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=12, deadline=None)
def test_corrections_against_statsmodels(pvalues: list[float]) -> None:
    assert holm(pvalues) == pytest.approx(multitest.multipletests(pvalues, method="holm")[1])
    assert benjamini_hochberg(pvalues) == pytest.approx(multitest.multipletests(pvalues, method="fdr_bh")[1])
    assert benjamini_hochberg(pvalues) == pytest.approx(stats.false_discovery_control(pvalues))


def test_hand_worked() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])


def test_the_fifteen_of_benjamini_and_hochberg() -> None:
    """The fifteen p-values of the 1995 paper's example, of which its procedure finds four at 0.05."""
    values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528]
    values += [0.7590, 1.0000]
    assert (holm(values) <= 0.05).sum() == 3
    assert (benjamini_hochberg(values) <= 0.05).sum() == 4


def test_nan_is_no_comparison_and_shape_is_kept() -> None:
    table = np.array([[np.nan, 0.01], [0.04, 0.03]])
    assert holm(table) == pytest.approx(np.array([[np.nan, 0.03], [0.06, 0.06]]), nan_ok=True)
    assert benjamini_hochberg(table).shape == (2, 2)
    assert len(holm([])) == 0
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.2])
