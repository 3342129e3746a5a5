"""Pairwise accuracy and tie calibration against hand-worked cases, mt-metrics-eval's own figures and a plain loop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from celadon.meta.pairwise_accuracy import (
    calibrate_ties,
    pairwise_accuracy,
    pairwise_pvalues,
    soft_pairwise_accuracy,
    system_pairwise_accuracy,
)

NAN = np.nan
# The regression example of mt-metrics-eval's tau_optimization_test.py (google-research/mt-metrics-eval, 0b82d96).
METRIC = np.array([[0, 5, 2, 3, 2], [NAN, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [NAN] * 5]).T
HUMAN = np.array([[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, NAN, 3, 2], [NAN] * 5]).T
ACCURACIES = [
    0.4666666666666667,
    0.4916666666666668,
    0.38333333333333347,
    0.29166666666666674,
    0.2666666666666667,
    0.2,
    0.15833333333333335,
    0.15833333333333335,
    0.1166666666666667,
]


def plain(metric: np.ndarray, human: np.ndarray, epsilon: float) -> float:
    values = []
    for x, y in zip(metric.T, human.T, strict=True):
        there = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        right = []
        for i, j in itertools.combinations(there, 2):
            difference = 0 if abs(x[i] - x[j]) <= epsilon else np.sign(x[i] - x[j])
            right.append(difference == np.sign(y[i] - y[j]))
        if right:
            values.append(np.mean(right))
    return float(np.mean(values))


def test_calibration_is_that_of_mt_metrics_eval() -> None:
    found = calibrate_ties(METRIC, HUMAN)
    assert found.thresholds.tolist() == list(range(9))
    assert found.accuracies == pytest.approx(ACCURACIES)
    assert (found.epsilon, found.value) == (1.0, pytest.approx(0.4916666666666668))


@pytest.mark.parametrize(
    ("human", "accuracies", "epsilon"),
    [([1, 2, 3, 4], [6, 4, 3, 1, 0], 0.0), ([1, 1, 1, 4], [3, 3, 4, 4, 3], 4.0)],
)
def test_small_cases_of_mt_metrics_eval(human: list[float], accuracies: list[int], epsilon: float) -> None:
    found = calibrate_ties([0, 2, 6, 8], human)
    assert found.thresholds.tolist() == [0, 2, 4, 6, 8]
    assert found.accuracies == pytest.approx(np.array(accuracies) / 6)
    assert found.epsilon == epsilon
    assert found.value == pytest.approx(max(accuracies) / 6)


TABLE = hnp.arrays(np.float64, (5, 4), elements=st.sampled_from([NAN, 0.0, 1.0, 2.0, 3.5, 7.0]))


@given(TABLE, TABLE)
@settings(max_examples=60, deadline=None)
def test_against_a_plain_loop(metric: np.ndarray, human: np.ndarray) -> None:
    found = calibrate_ties(metric, human)
    if found.reason:
        assert pairwise_accuracy(metric, human).reason == found.reason
        return
    for threshold, accuracy in zip(found.thresholds, found.accuracies, strict=True):
        assert accuracy == pytest.approx(plain(metric, human, threshold))
        assert pairwise_accuracy(metric, human, epsilon=threshold).value == pytest.approx(accuracy)
    assert found.value == pytest.approx(found.accuracies.max())
    assert found.thresholds[0] == 0


def test_direction() -> None:
    rng = np.random.default_rng(24)
    x, y = rng.normal(size=(2, 6, 10))
    assert pairwise_accuracy(-x, y, lower_is_better=True) == pairwise_accuracy(x, y)
    assert pairwise_accuracy(x, y).value + pairwise_accuracy(-x, y).value == pytest.approx(1)
    assert pairwise_accuracy(y, y).value == pytest.approx(1)


def test_systems() -> None:
    # Pairs: AB right, AC right, BC wrong; a tie of people that the metric does not see is wrong.
    assert system_pairwise_accuracy([1, 3, 2], [1, 2, 3]).value == pytest.approx(2 / 3)
    assert system_pairwise_accuracy([1, 2, 3], [1, 2, 2]).value == pytest.approx(2 / 3)
    metric, human = np.array([[1, 2], [3, 4], [2, NAN]]), np.array([[1, 1], [2, 2], [3, 3]])
    assert system_pairwise_accuracy(metric, human).value == pytest.approx(2 / 3)
    assert system_pairwise_accuracy([1], [1]).reason == "fewer than 2 systems"
    assert pairwise_accuracy([1], [1]).reason == "no item has two scores"
    with pytest.raises(ValueError, match="one shape"):
        pairwise_accuracy([1, 2], [1, 2, 3])


def test_p_is_that_of_all_exchanges() -> None:
    rng = np.random.default_rng(25)
    scores = np.round(rng.normal(size=(3, 6)), 1)
    found = pairwise_pvalues(scores, resamples=20_000)
    signs = np.array(list(itertools.product([1, -1], repeat=6)))
    for i, j in itertools.permutations(range(3), 2):
        difference = scores[i] - scores[j]
        exact = np.mean(signs @ difference >= difference.sum() - 1e-9)
        assert found[i, j] == pytest.approx(exact, abs=0.0142)
    assert np.isnan(np.diag(found)).all()


def test_p_is_scipys() -> None:
    rng = np.random.default_rng(26)
    x = rng.normal(size=12)
    y = x - 0.3 + rng.normal(size=12)
    peer = stats.permutation_test(
        (x, y),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert pairwise_pvalues(np.stack([x, y]), resamples=20_000)[0, 1] == pytest.approx(peer.pvalue, abs=0.0142)


def test_soft_accuracy_against_a_plain_loop() -> None:
    rng = np.random.default_rng(27)
    human = rng.normal(size=(5, 40)) + 0.3 * rng.normal(size=(5, 1))
    metric = human + rng.normal(size=human.shape)
    found = soft_pairwise_accuracy(metric, human, resamples=4000)
    assert (found.pairs, found.items, found.nulls) == (10, 40, 0)
    gaps = []
    for i, j in itertools.combinations(range(5), 2):
        pair = []
        for table in (human, metric):
            difference = table[i] - table[j]
            signs = rng.choice([-1.0, 1.0], size=(4000, 40))
            pair.append(np.mean(signs @ difference >= difference.sum()))
        gaps.append(abs(pair[0] - pair[1]))
    assert found.value == pytest.approx(1 - np.mean(gaps), abs=0.01)


def test_laws() -> None:
    rng = np.random.default_rng(28)
    human = rng.normal(size=(6, 50)) + 0.2 * rng.normal(size=(6, 1))
    metric = human + rng.normal(size=human.shape)
    assert soft_pairwise_accuracy(human, human).value == 1.0
    assert soft_pairwise_accuracy(3 * human + 2, human).value == pytest.approx(1.0)
    up = soft_pairwise_accuracy(metric, human)
    assert soft_pairwise_accuracy(-metric, human, lower_is_better=True) == up
    assert soft_pairwise_accuracy(metric, human, seed=0) == up
    order = rng.permutation(6)
    assert soft_pairwise_accuracy(metric[order], human[order]).value == pytest.approx(up.value, abs=0.005)
    assert soft_pairwise_accuracy(-human, human).value < 0.7 < up.value


def test_nulls_and_reasons() -> None:
    human = np.arange(12.0).reshape(3, 4)
    metric = human.copy()
    metric[1, 2] = np.nan
    found = soft_pairwise_accuracy(metric, human)
    assert (found.items, found.nulls) == (3, 1)
    assert soft_pairwise_accuracy(metric[:1], human[:1]).reason == "fewer than 2 systems"
    assert soft_pairwise_accuracy(np.full((3, 4), np.nan), human).reason == "no item is scored for all systems"
    with pytest.raises(ValueError, match="systems x items"):
        soft_pairwise_accuracy(metric, human[:2])
