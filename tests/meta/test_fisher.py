"""Fisher's z, Steiger's and Meng's against R's cocor, statsmodels, scipy and nlpstats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from celadon.meta.fisher import fisher_independent, fisher_interval, meng, steiger

# Output of R's cocor 1.1 in public course notes and in rmcorr's vignette: r.jk, r.jh, r.kh, n, Steiger's z, Meng's z.
COCOR = [
    (-0.1741, 0.2015, 0.3734, 646, -8.6124, -8.5080),
    (0.1724, 0.1795, 0.5387, 646, -0.1909, -0.1909),
    (0.8066, 0.2383, 0.2255, 177, 8.5460, 8.3907),
]


@pytest.mark.parametrize(("a", "b", "between", "count", "by_steiger", "by_meng"), COCOR)
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
NLPSTATS = {
    "pearson": (0.8579734538447884, 0.7886460679604743, 0.9057585417176699),
    "spearman": (0.8631695704868909, 0.7820057141212756, 0.9155465663401761),
    "kendall": (0.6854910662454415, 0.6008915745862375, 0.7549033929711714),
}


@pytest.mark.parametrize("kind", NLPSTATS)
def test_interval_is_nlpstats(kind: Any) -> None:
    value, low, high = NLPSTATS[kind]
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
