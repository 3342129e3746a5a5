"""Raters put on one scale, and how well they agree, against scipy and published tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from celadon.core import InputError, UsageError
from celadon.meta import raters
from celadon.meta.agreement import (
    krippendorff_alpha,
    leave_one_out,
    pairwise_correlation,
    pairwise_kappa,
    weighted_kappa,
)
from celadon.meta.reliability import (
    human_ceiling,
    intraclass_correlations,
    reliability_of_mean,
    spearman_brown,
)

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


# Krippendorff's example of four coders
CODERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
# Shrout and Fleiss 1979, Table 2: six targets, four judges
JUDGES = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)

scale = arrays(np.float64, st.tuples(st.integers(3, 12), st.integers(2, 5)), elements=st.integers(1, 5).map(float))


def simulated(items: int = 30, raters: int = 6, gaps: float = 0.3) -> np.ndarray:
    random = np.random.default_rng(12)
    quality = random.normal(3, 1, (items, 1))
    ratings = np.round(np.clip(quality + random.normal(0, 1, (items, raters)), 1, 5) * 2) / 2
    ratings[random.random(ratings.shape) < gaps] = NAN
    return ratings


class TestCorrelations:
    @pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
    def test_pairs_are_those_of_scipy(self, kind: str) -> None:
        ratings = simulated()
        peer = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
        expected = []
        for one, other in combinations(ratings.T, 2):
            both = np.isfinite(one) & np.isfinite(other)
            expected.append(peer(one[both], other[both]).statistic)
        found = pairwise_correlation(ratings, correlation=kind)
        figures = (max(expected), min(expected), np.mean(expected), np.std(expected, ddof=1))
        np.testing.assert_allclose(found[:4], figures)
        assert found.pairs == 15
        assert found.skipped == 0

    def test_leave_one_out(self) -> None:
        found = leave_one_out(JUDGES)
        expected = [
            stats.pearsonr(JUDGES[:, at], np.delete(JUDGES, at, axis=1).mean(axis=1)).statistic for at in range(4)
        ]
        np.testing.assert_allclose(found.correlations, expected)
        assert found.mean == pytest.approx(np.mean(expected))

    def test_pairs_without_a_correlation_are_counted(self) -> None:
        ratings = np.column_stack([JUDGES[:, :2], np.full(6, 3.0), [1, 2, NAN, NAN, NAN, NAN]])
        found = pairwise_correlation(ratings)
        assert (found.pairs, found.skipped) == (1, 5)
        nothing = pairwise_correlation(np.ones((4, 2)))
        assert nothing.pairs == 0
        assert np.isnan(nothing.mean)
        assert leave_one_out(ratings).skipped == 2

    def test_wrong_requests(self) -> None:
        with pytest.raises(InputError, match="at least 2 raters; here is 1"):
            pairwise_correlation(JUDGES[:, :1])
        with pytest.raises(UsageError, match="unknown correlation 'r'"):
            pairwise_correlation(JUDGES, correlation="r")


class TestKappa:
    @pytest.mark.parametrize(("weights", "peer"), [("quadratic", "quadratic"), ("linear", "linear"), ("none", None)])
    def test_is_that_of_scikit_learn(self, weights: str, peer: str | None) -> None:
        ratings = np.nan_to_num(np.round(simulated()), nan=3)
        expected = [
            cohen_kappa_score(one.astype(int), other.astype(int), weights=peer, labels=range(1, 6))
            for one, other in combinations(ratings.T, 2)
        ]
        found = pairwise_kappa(ratings, weights=weights)
        np.testing.assert_allclose(
            found[:4], (max(expected), min(expected), np.mean(expected), np.std(expected, ddof=1))
        )

    def test_an_unused_level_is_still_a_step(self) -> None:
        first, second = [1, 1, 2, 4, 4], [1, 2, 2, 4, 1]
        expected = cohen_kappa_score(first, second, weights="quadratic", labels=[1, 2, 3, 4])
        assert weighted_kappa(first, second) == pytest.approx(expected)
        assert weighted_kappa(first, second) != pytest.approx(cohen_kappa_score(first, second, weights="quadratic"))

    def test_gaps_and_constants(self) -> None:
        assert weighted_kappa([1, 2, NAN, 3], [1, 2, 5, 3]) == 1
        assert np.isnan(weighted_kappa([2, 2], [2, 2]))
        assert np.isnan(weighted_kappa([NAN, 2], [2, NAN]))
        with pytest.raises(UsageError, match="unknown weights"):
            weighted_kappa([1], [1], weights="cubic")
        with pytest.raises(InputError, match="same length"):
            weighted_kappa([1, 2], [1])

    @given(scale)
    def test_symmetric_and_blind_to_affine_maps(self, ratings: np.ndarray) -> None:
        first, second = ratings[:, 0], ratings[:, 1]
        expected = weighted_kappa(first, second)
        np.testing.assert_allclose(weighted_kappa(second, first), expected, atol=1e-9)
        np.testing.assert_allclose(weighted_kappa(3 * first - 7, 3 * second - 7), expected, atol=1e-9)


class TestAlpha:
    @pytest.mark.parametrize(
        ("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
    )
    def test_the_published_example(self, level: str, expected: float) -> None:
        found = krippendorff_alpha(CODERS, level=level)
        assert found.alpha == pytest.approx(expected, abs=5e-4)
        assert (found.items, found.ratings) == (11, 40)

    # krippendorff 0.9.0 on the same numbers
    @pytest.mark.parametrize(
        ("level", "expected"),
        [
            ("nominal", 0.0878993834080718),
            ("ordinal", 0.47562036409782293),
            ("interval", 0.476998291871058),
            ("ratio", 0.4113858064467165),
        ],
    )
    def test_with_gaps(self, level: str, expected: float) -> None:
        assert krippendorff_alpha(simulated(), level=level).alpha == pytest.approx(expected, abs=1e-12)

    def test_undefined(self) -> None:
        assert np.isnan(krippendorff_alpha(np.full((3, 2), 4.0)).alpha)
        assert np.isnan(krippendorff_alpha([[1, NAN], [NAN, 2]]).alpha)
        with pytest.raises(InputError, match="not negative"):
            krippendorff_alpha([[-1, 2], [1, 2]], level="ratio")
        with pytest.raises(UsageError, match="unknown level"):
            krippendorff_alpha(CODERS, level="cardinal")

    @given(scale)
    def test_invariances(self, ratings: np.ndarray) -> None:
        def alpha(level: str, values: np.ndarray) -> float:
            return krippendorff_alpha(values, level=level).alpha

        shuffled = ratings[:, ::-1]
        for level in ("nominal", "ordinal", "interval", "ratio"):
            np.testing.assert_allclose(alpha(level, ratings), alpha(level, shuffled), atol=1e-9)
        np.testing.assert_allclose(alpha("nominal", ratings), alpha("nominal", 6 - ratings), atol=1e-9)
        np.testing.assert_allclose(alpha("ordinal", ratings), alpha("ordinal", np.exp(ratings)), atol=1e-9)
        np.testing.assert_allclose(alpha("interval", ratings), alpha("interval", 7 - 2 * ratings), atol=1e-9)
        np.testing.assert_allclose(alpha("ratio", ratings), alpha("ratio", 4 * ratings), atol=1e-9)


class TestIntraclass:
    @pytest.mark.parametrize(
        ("kind", "expected"),
        [("1,1", 0.17), ("2,1", 0.29), ("3,1", 0.71), ("1,k", 0.44), ("2,k", 0.62), ("3,k", 0.91)],
    )
    def test_shrout_and_fleiss(self, kind: str, expected: float) -> None:
        assert intraclass_correlations(JUDGES).of(f"ICC({kind})").value == pytest.approx(expected, abs=5e-3)

    def test_the_six_of_pingouin(self) -> None:
        # pingouin 0.7.0: value, F, degrees of freedom, p, interval to two places
        expected = {
            "ICC(1,1)": (0.1657417684, 1.7946784922, 5, 18, 0.1647688083, -0.13, 0.72),
            "ICC(2,1)": (0.2897637795, 11.0272479564, 5, 15, 0.0001345665, 0.02, 0.76),
            "ICC(3,1)": (0.7148407148, 11.0272479564, 5, 15, 0.0001345665, 0.34, 0.95),
            "ICC(1,k)": (0.4427971337, 1.7946784922, 5, 18, 0.1647688083, -0.88, 0.91),
            "ICC(2,k)": (0.6200505476, 11.0272479564, 5, 15, 0.0001345665, 0.07, 0.93),
            "ICC(3,k)": (0.9093155424, 11.0272479564, 5, 15, 0.0001345665, 0.68, 0.99),
        }
        found = intraclass_correlations(JUDGES)
        assert [row.kind for row in found.rows] == list(expected)
        for row in found.rows:
            np.testing.assert_allclose(row[1:6], expected[row.kind][:5], atol=1e-9)
            np.testing.assert_allclose(row[6:], expected[row.kind][5:], atol=5.1e-3)

    def test_gaps_are_counted_and_edges_defined(self) -> None:
        gapped = np.vstack([JUDGES, [1, NAN, 2, 3]])
        assert intraclass_correlations(gapped)[:1] == intraclass_correlations(JUDGES)[:1]
        assert intraclass_correlations(gapped).left_out == 1
        perfect = intraclass_correlations([[1, 1], [2, 2], [3, 3]])
        assert [row.value for row in perfect.rows] == [1] * 6
        with pytest.raises(InputError, match="all are the same"):
            intraclass_correlations(np.ones((3, 3)))
        with pytest.raises(InputError, match="needs two items"):
            intraclass_correlations([[1, 2], [NAN, 3]])
        with pytest.raises(UsageError, match="unknown intraclass"):
            perfect.of("ICC(4,1)")

    @given(scale, st.floats(0.5, 4), st.floats(-3, 3))
    def test_blind_to_the_scale_and_bounded(self, ratings: np.ndarray, factor: float, shift: float) -> None:
        if np.ptp(ratings) == 0:
            return
        left = intraclass_correlations(ratings)
        right = intraclass_correlations(factor * ratings + shift)
        for one, other in zip(left.rows[:3], right.rows[:3], strict=True):
            np.testing.assert_allclose(one.value, other.value, atol=1e-6)
            assert one.value <= 1 + 1e-12
            if np.isfinite([one.low, one.high]).all():
                assert one.low - 1e-9 <= one.value <= one.high + 1e-9


class TestReliability:
    def test_one_way_is_the_intraclass_correlation(self) -> None:
        found, expected = reliability_of_mean(JUDGES), intraclass_correlations(JUDGES)
        assert found.single == pytest.approx(expected.of("ICC(1,1)").value)
        assert found.mean == pytest.approx(expected.of("ICC(1,k)").value)
        assert found.k == 4
        assert reliability_of_mean(JUDGES, k=8).mean == pytest.approx(spearman_brown(found.mean, 2))

    def test_items_with_different_numbers_of_ratings(self) -> None:
        # the variances are 1 and 1.5^2: one rating has a reliability of 0.31
        random = np.random.default_rng(3)
        ratings = random.normal(0, 1, (4000, 1)) + random.normal(0, 1.5, (4000, 6))
        ratings[np.arange(6) >= random.integers(1, 7, (4000, 1))] = NAN
        found = reliability_of_mean(ratings)
        assert found.single == pytest.approx(1 / (1 + 2.25), abs=0.03)
        assert found.left_out == np.count_nonzero(np.isfinite(ratings).sum(axis=1) < 2)
        assert found.items + found.left_out == 4000

    def test_the_ceiling_is_the_correlation_with_the_truth(self) -> None:
        random = np.random.default_rng(4)
        truth = random.normal(0, 1, 1500)
        ratings = truth[:, None] + random.normal(0, 1, (1500, 5))
        assert human_ceiling(ratings).ceiling == pytest.approx(np.corrcoef(truth, ratings.mean(axis=1))[0, 1], abs=0.02)

    def test_edges(self) -> None:
        assert human_ceiling([[1, 3], [3, 1], [2, 2]]).ceiling == 0
        assert np.isnan(human_ceiling(np.ones((3, 2))).ceiling)
        with pytest.raises(InputError, match="two items with two ratings"):
            reliability_of_mean([[1, 2], [NAN, 2]])

    @given(st.floats(0.01, 0.99), st.floats(0.2, 20))
    def test_spearman_brown_goes_back(self, reliability: float, factor: float) -> None:
        assert spearman_brown(spearman_brown(reliability, factor), 1 / factor) == pytest.approx(reliability)
