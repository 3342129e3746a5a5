"""The t-test on squared errors against statsmodels and scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as statsmodels
from scipy import stats

from celadon.meta.squared_errors import squared_error_test


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(13)
    human = rng.normal(size=200)
    return human + rng.normal(size=200), 3 - human + 1.5 * rng.normal(size=200), human


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_against_statsmodels(alternative: Any) -> None:
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
