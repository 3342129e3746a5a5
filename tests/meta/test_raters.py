"""Normalisation of ratings per rater, and their aggregation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from celadon.core import InputError, UsageError
from celadon.meta import raters

NAN = np.nan
GAPPED = np.array([[1.0, 10.0, NAN], [2.0, 40.0, 3.0], [4.0, 20.0, 3.0], [NAN, NAN, NAN]])

whole = arrays(np.float64, st.tuples(st.integers(2, 8), st.integers(1, 5)), elements=st.integers(1, 9).map(float))


def test_z_scores_are_those_of_scipy() -> None:
    ratings = np.array([[1.0, 6.0], [2.0, 3.0], [6.0, 5.0], [4.0, 5.0]])
    np.testing.assert_allclose(raters.z_scores(ratings), stats.zscore(ratings, ddof=1))
    np.testing.assert_allclose(raters.z_scores(ratings, ddof=0), stats.zscore(ratings, ddof=0))


def test_gaps_stay_and_do_not_count() -> None:
    found = raters.z_scores(GAPPED)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(GAPPED))
    np.testing.assert_allclose(found[:3, 0], stats.zscore([1, 2, 4], ddof=1))


def test_a_constant_rater_is_defined() -> None:
    np.testing.assert_array_equal(raters.z_scores(GAPPED)[1:3, 2], [0, 0])
    np.testing.assert_array_equal(raters.unit_range(GAPPED)[1:3, 2], [0.5, 0.5])


def test_unit_range_and_magnitudes() -> None:
    np.testing.assert_allclose(raters.unit_range(GAPPED)[:3, 1], [0, 1, 1 / 3])
    # 10, 40, 20: the logarithm of 20 is half way
    np.testing.assert_allclose(raters.magnitude_estimates(GAPPED)[:3, 1], [0, 1, 0.5])


def test_modulus() -> None:
    by_geometric_mean = raters.modulus_ratios(GAPPED)
    np.testing.assert_allclose(stats.gmean(by_geometric_mean[:3, 1]), 1)
    np.testing.assert_allclose(raters.modulus_ratios(GAPPED, [1, 10, 3])[:3, 1], [1, 4, 2])
    with pytest.raises(UsageError, match="modulus"):
        raters.modulus_ratios(GAPPED, [1, -1, 1])


def test_aggregates() -> None:
    np.testing.assert_allclose(raters.means(GAPPED), [5.5, 15, 9, NAN])
    np.testing.assert_allclose(raters.medians(GAPPED), [5.5, 3, 4, NAN])
    np.testing.assert_allclose(
        raters.geometric_means(GAPPED)[:3], [stats.gmean(row[np.isfinite(row)]) for row in GAPPED[:3]]
    )
    assert np.isnan(raters.geometric_means(GAPPED)[3])


def test_by_name() -> None:
    np.testing.assert_array_equal(raters.normalise(GAPPED, "z"), raters.z_scores(GAPPED))
    np.testing.assert_array_equal(raters.aggregate(GAPPED, "median"), raters.medians(GAPPED))
    with pytest.raises(UsageError, match="unknown normalisation 'zz'; known: none, z, range, magnitude"):
        raters.normalise(GAPPED, "zz")
    with pytest.raises(UsageError, match="unknown aggregation"):
        raters.aggregate(GAPPED, "mode")


@pytest.mark.parametrize(
    ("bad", "message"),
    [([1.0, 2.0], "1 dimension"), ([["a", "b"]], "not a matrix of numbers"), ([[1.0, np.inf]], "row 1.*rater 2")],
)
def test_what_is_no_matrix(bad: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        raters.ratings_matrix(bad)


def test_a_magnitude_is_positive() -> None:
    with pytest.raises(InputError, match=r"row 2: the rating 0 of rater 1"):
        raters.magnitude_estimates([[1.0], [0.0]])


@given(whole, st.floats(0.1, 10), st.floats(-5, 5))
def test_z_does_not_know_the_scale(ratings: np.ndarray, factor: float, shift: float) -> None:
    np.testing.assert_allclose(raters.z_scores(ratings), raters.z_scores(factor * ratings + shift), atol=1e-6)


@given(whole, st.floats(0.1, 10), st.floats(0.2, 3))
def test_magnitudes_do_not_know_unit_or_power(ratings: np.ndarray, factor: float, power: float) -> None:
    expected = raters.magnitude_estimates(ratings)
    np.testing.assert_allclose(raters.magnitude_estimates(factor * ratings**power), expected, atol=1e-6)
