"""Repetitions of a judge against published values of R's psych, and flips against counting and simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from celadon.core import InputError
from celadon.meta.repeatability import averaging, flips, repeatability

# Shrout and Fleiss 1979, Table 2; psych::ICC(sf) prints ICC2 0.29 (0.019 to 0.76) and ICC3 0.71 (0.342 to 0.95)
JUDGES = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)


def test_intraclass_correlations_are_those_of_psych() -> None:
    one = repeatability(JUDGES)
    assert one.agreement.value == pytest.approx(0.29, abs=0.005)
    np.testing.assert_allclose((one.agreement.low, one.agreement.high), (0.019, 0.76), atol=0.005)
    assert one.consistency.value == pytest.approx(0.71, abs=0.005)
    np.testing.assert_allclose((one.consistency.low, one.consistency.high), (0.342, 0.95), atol=0.005)
    # ICC1 of psych is 0.17
    assert one.single == pytest.approx(0.17, abs=0.005)
    assert one.shift == pytest.approx(JUDGES.mean(axis=0).max() - JUDGES.mean(axis=0).min())
    assert one.spread == pytest.approx(np.sqrt(JUDGES.var(axis=1, ddof=1).mean()))


def test_flips_are_counted() -> None:
    scores = np.array([[1, 2, 5], [4, 4, 4], [5, 1, np.nan], [1, np.nan, np.nan], [4, 5, 1], [5, 5, 5], [2, 2, 2]])
    one = flips(scores, 3.5)
    assert one.any.value == pytest.approx(3 / 6)
    rates = []
    for row in scores:
        known = row[np.isfinite(row)] >= 3.5
        if len(known) > 1:
            rates.append(np.mean([a != b for a, b in combinations(known, 2)]))
    assert one.rate.value == pytest.approx(np.mean(rates))
    assert [size for size, *_ in one.expected] == [50, 200, 1000]
    assert all(low <= mean <= high for _, mean, low, high in one.expected)


def test_planted_flips_are_recovered_and_a_suite_holds_them() -> None:
    rng = np.random.default_rng(0)
    hits = inside = 0
    runs = 300
    chance = rng.uniform(0, 1, 20000)
    true = float(np.mean(2 * chance * (1 - chance)))
    for _ in range(runs):
        own = rng.choice(chance, 300)
        one = flips((rng.random((300, 4)) < own[:, None]).astype(float), 0.5)
        hits += one.rate.low <= true <= one.rate.high
        suite = rng.choice(chance, 200)
        changed = int(np.sum((rng.random(200) < suite) != (rng.random(200) < suite)))
        _, _, low, high = one.expected[1]
        inside += low <= changed <= high
    assert hits >= 0.92 * runs
    assert inside >= 0.88 * runs


def test_averaging_does_what_it_says() -> None:
    rng = np.random.default_rng(1)
    quality = rng.normal(3, 1, 20000)
    scores = quality[:, None] + rng.normal(0, 0.8, (20000, 10))
    rows = {row.repetitions: row for row in averaging(scores[:, :2], 3.5)}
    means = {k: (scores[:, :k].mean(axis=1), scores[:, k : 2 * k].mean(axis=1)) for k in (1, 2, 3, 5)}
    for k, (first, second) in means.items():
        assert rows[k].reliability == pytest.approx(np.corrcoef(first, second)[0, 1], abs=0.01)
        assert rows[k].flips == pytest.approx(np.mean((first >= 3.5) != (second >= 3.5)), abs=0.01)
    assert all(np.isnan(row.flips) for row in averaging(scores[:, :2]))


def test_one_column_is_no_repetition() -> None:
    with pytest.raises(InputError):
        repeatability(JUDGES[:, :1])
