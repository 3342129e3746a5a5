"""Corrections for many comparisons against statsmodels, scipy and the figures of the papers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats import multitest

from celadon.meta.multiple import benjamini_hochberg, holm


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=12, deadline=None)
def test_against_statsmodels(pvalues: list[float]) -> None:
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
