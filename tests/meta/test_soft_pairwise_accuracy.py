"""Soft pairwise accuracy against a plain implementation, exhaustive enumeration and scipy's permutation test."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from celadon.meta.soft_pairwise_accuracy import pairwise_pvalues, soft_pairwise_accuracy


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


def test_against_a_plain_loop() -> None:
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
