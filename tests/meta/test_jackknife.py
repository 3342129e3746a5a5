"""Intervals by leaving out clusters, regressions on noisy ratings, gates and ridge against statsmodels and sklearn."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, cohen_kappa_score, precision_score, recall_score

from celadon.core import FloatArray, InputError
from celadon.meta.cross_validated_ridge import cross_validated_ridge
from celadon.meta.errors_in_variables import effect_given_rating, rating_error_variances
from celadon.meta.gate_agreement import gate_agreement
from celadon.meta.jackknife import correlation_difference, mean_estimate
from celadon.meta.significance import williams

ROWS = 60


def rated(seed: int = 0, rows: int = ROWS) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A judge, three raters, and a length that goes with quality but that the judge does not look at."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, rows)
    length = quality + rng.normal(0, 1, rows)
    return quality + rng.normal(0, 0.5, rows), quality[:, None] + rng.normal(0, 1, (rows, 3)), length


def test_a_mean_has_students_interval() -> None:
    values = rated()[0]
    one = mean_estimate(values)
    expected = stats.ttest_1samp(values, 0)
    # leaving out a row in turn gives n / (n - 1) times the variance
    assert one.error == pytest.approx(stats.sem(values) * np.sqrt(ROWS / (ROWS - 1)))
    assert one.pvalue == pytest.approx(expected.pvalue, abs=1e-6)


def test_a_regression_without_noise_is_statsmodels_with_hc3() -> None:
    judge, ratings, length = rated()
    people = ratings.mean(axis=1)
    model = sm.OLS(judge, sm.add_constant(np.column_stack([people, length]))).fit(cov_type="HC3", use_t=True)
    one = effect_given_rating(judge, people, [length])
    np.testing.assert_allclose(
        (one.value, one.error, one.low, one.high, one.pvalue),
        (model.params[2], model.bse[2], *model.conf_int()[2], model.pvalues[2]),
        rtol=1e-9,
    )
    slope = effect_given_rating(judge, people)
    simple = sm.OLS(judge, sm.add_constant(people)).fit(cov_type="HC3", use_t=True)
    np.testing.assert_allclose((slope.value, slope.error), (simple.params[1], simple.bse[1]), rtol=1e-9)


def test_a_known_error_is_taken_out_of_the_slope() -> None:
    judge, ratings, _ = rated(1, 5000)
    people = ratings.mean(axis=1)
    noise = np.full(5000, 1 / 3)
    plain, corrected = (effect_given_rating(judge, people, error_variances=some) for some in (None, noise))
    # attenuation: the slope is divided by the reliability (Spearman 1904)
    spread = float(np.sum((people - people.mean()) ** 2))
    assert corrected.value == pytest.approx(plain.value * spread / (spread - noise.sum()), rel=1e-9)
    assert corrected.low < 1 < corrected.high


def test_error_variances_are_those_of_the_mean() -> None:
    # people of different severity who rated everything: the error is what is left of the analysis of variance
    ratings = np.array(
        [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
    )
    # the residual mean square of Shrout and Fleiss 1979, Table 3, is 1.02
    assert rating_error_variances(ratings).mean() == pytest.approx(1.0194 / 4, abs=1e-4)
    gapped = np.array([[1.0, 3.0, np.nan], [2.0, np.nan, np.nan], [4.0, 4.0, 1.0], [np.nan] * 3])
    found = rating_error_variances(gapped)
    np.testing.assert_allclose(found[:3], [2 / 2, (2 + 6) / 3, 3 / 3])
    assert np.isnan(found[3])


def test_no_length_bias_is_found_where_length_only_goes_with_quality() -> None:
    runs, uncorrected, corrected = 300, 0, 0
    for seed in range(runs):
        judge, ratings, length = rated(seed, 150)
        people = ratings.mean(axis=1)
        uncorrected += effect_given_rating(judge, people, [length]).pvalue < 0.05
        noise = rating_error_variances(ratings)
        corrected += effect_given_rating(judge, people, [length], error_variances=noise).pvalue < 0.05
    # taking the ratings for the truth finds a bias that is not there
    assert uncorrected > 0.3 * runs
    assert corrected <= 0.085 * runs


def test_a_planted_bias_is_recovered() -> None:
    judge, ratings, length = rated(2, 2000)
    one = effect_given_rating(
        judge + 0.3 * length, ratings.mean(axis=1), [length], error_variances=rating_error_variances(ratings)
    )
    assert one.low < 0.3 < one.high
    assert one.high - one.low < 0.2


def test_raters_who_do_not_agree_say_nothing_of_quality() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(0, 1, (400, 3))
    one = effect_given_rating(rng.normal(0, 1, 400), ratings.mean(axis=1), error_variances=np.full(400, 1 / 3))
    assert np.isnan(one.value)
    assert "agree too little" in one.reason


def test_clusters_that_repeat_a_row_do_not_make_it_surer() -> None:
    judge, ratings, length = rated(3)
    people = ratings.mean(axis=1)
    once = effect_given_rating(judge, people, [length])
    again, rating, more = (np.tile(column, 3) for column in (judge, people, length))
    thrice = effect_given_rating(again, rating, [more], clusters=[*range(ROWS)] * 3)
    np.testing.assert_allclose(once[:5], thrice[:5], rtol=1e-9)


def test_a_difference_of_correlations_agrees_with_williams() -> None:
    rng = np.random.default_rng(5)
    quality = rng.normal(0, 1, 800)
    first, second, people = (quality + rng.normal(0, spread, 800) for spread in (1.0, 1.15, 0.5))
    one = correlation_difference(first, second, people)
    expected = williams(first, second, people)
    assert one.value == pytest.approx(expected.value_a - expected.value_b)
    assert one.value / one.error == pytest.approx(expected.statistic, rel=0.1)


def test_gates_are_those_of_sklearn() -> None:
    judge, ratings, _ = rated(7)
    one = gate_agreement(judge, ratings, gate=3.2)
    true, says = ratings.mean(axis=1) >= 3.2, judge >= 3.2
    assert one.accuracy.value == pytest.approx(accuracy_score(true, says))
    assert one.precision.value == pytest.approx(precision_score(true, says))
    assert one.recall.value == pytest.approx(recall_score(true, says))
    assert one.kappa.value == pytest.approx(cohen_kappa_score(true, says))
    interval = stats.binomtest(int((true == says).sum()), ROWS).proportion_ci(method="wilson")
    # rows that are not clustered vary by n / (n - 1) more than the binomial distribution has it
    np.testing.assert_allclose((one.accuracy.low, one.accuracy.high), (interval.low, interval.high), atol=0.003)
    base = true.mean()
    assert one.constant == max(base, 1 - base)
    assert one.coin == pytest.approx(base**2 + (1 - base) ** 2)
    assert one.gain.value == pytest.approx(one.accuracy.value - one.constant)
    others = [
        (ratings[:, [a, b]].mean(axis=1) >= 3.2, ratings[:, c] >= 3.2) for a, b, c in ((0, 1, 2), (0, 2, 1), (1, 2, 0))
    ]
    assert one.rater == pytest.approx(np.mean([accuracy_score(*pair) for pair in others]))
    assert one.rater_kappa == pytest.approx(np.mean([cohen_kappa_score(*pair) for pair in others]))


def test_a_gate_that_everything_passes_has_no_kappa() -> None:
    judge, ratings, _ = rated(7)
    one = gate_agreement(judge, ratings, gate=-10)
    assert (one.accuracy.value, one.constant, one.gain.value) == (1, 1, 0)
    assert np.isnan(one.kappa.value)
    assert 0.9 < one.accuracy.low < 1


def test_ridge_is_that_of_sklearn_and_its_predictions_are_honest() -> None:
    judge, ratings, length = rated(8, 200)
    people = ratings.mean(axis=1)
    rng = np.random.default_rng(0)
    columns = {"judge": judge, "length": 100 * length, **{f"noise{n}": rng.normal(0, 1, 200) for n in range(20)}}
    one = cross_validated_ridge(columns, people)
    matrix = np.column_stack(list(columns.values()))
    scaled = (matrix - matrix.mean(axis=0)) / matrix.std(axis=0)
    peer = Ridge(alpha=one.penalty * 200).fit(scaled, people)
    np.testing.assert_allclose(list(one.terms.values()), peer.coef_ / matrix.std(axis=0), rtol=1e-8)
    fitted = matrix @ np.array(list(one.terms.values())) + one.intercept
    np.testing.assert_allclose(fitted, peer.predict(scaled), rtol=1e-8)
    # 20 columns of noise: what was not seen is predicted worse than what was fitted
    assert np.mean((people - one.predictions) ** 2) > np.mean((people - fitted) ** 2)
    noise = cross_validated_ridge({name: columns[name] for name in columns if "noise" in name}, people)
    assert abs(np.corrcoef(noise.predictions, people)[0, 1]) < 0.25


def test_folds_do_not_divide_items() -> None:
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(40), 5)
    # a column that only knows the item by heart, and a rating of the item that nothing else tells
    rating = rng.normal(0, 1, 40)[item]
    columns = {f"is{n}": (item == n).astype(float) for n in range(40)}
    honest = cross_validated_ridge(columns, rating, clusters=item).predictions
    divided = cross_validated_ridge(columns, rating).predictions
    assert np.corrcoef(divided, rating)[0, 1] > 0.9
    assert np.corrcoef(honest, rating)[0, 1] < 0.2
    with pytest.raises(InputError, match="at least 10 rated items"):
        cross_validated_ridge({"a": rating[:9]}, rating[:9])
