"""Williams' test against published output of R's psych and cocor, nlpstats, and its own null."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from celadon.meta.williams import williams, williams_from_correlations


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
