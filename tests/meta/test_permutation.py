"""Permutation tests against tables exchanged by hand, exhaustive enumeration, nlpstats and their own null."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from celadon.meta import permutation as module
from celadon.meta.correlation import KINDS, LEVELS, correlate
from celadon.meta.permutation import permutation_test


def tables(seed: int, shape: tuple[int, int], digits: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=shape) + rng.normal(size=(shape[0], 1))
    made = [human + rng.normal(size=shape), human + 2 * rng.normal(size=shape), human]
    return [np.round(table, digits) for table in made]


def by_hand(tables: list[np.ndarray], of_systems: np.ndarray, of_items: np.ndarray, level: Any, kind: Any) -> float:
    x, y, human = tables
    there = np.isfinite(x) & np.isfinite(y) & np.isfinite(human)
    x, y = ((t - t[there].mean()) / t[there].std() for t in (x, y))
    swap = of_systems[:, None] * of_items < 0
    systems, items = (place[there] for place in np.indices(x.shape))
    values = [
        correlate(t[there], human[there], systems=systems, items=items, level=level, kind=kind).value
        for t in (np.where(swap, y, x), np.where(swap, x, y))
    ]
    return values[0] - values[1]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_difference_is_that_of_the_exchanged_tables(level: Any, kind: Any, digits: int, missing: bool) -> None:
    given = tables(15, (6, 9), digits)
    if missing:
        given[0][2, 3] = given[1][4, 4] = given[2][0, 0] = np.nan
    there = np.isfinite(sum(given))
    ready = [np.where(there, (t - t[there].mean()) / t[there].std(), 0.0) for t in given]
    rng = np.random.default_rng(16)
    of_systems, of_items = (np.sign(rng.normal(size=(size, 12))) for size in (6, 9))
    found = module._prepare(module._Tables(*ready, there), level, kind)[0](of_systems, of_items)
    for column, value in enumerate(found):
        expected = by_hand(given, of_systems[:, column], of_items[:, column], level, kind)
        assert value == pytest.approx(expected, abs=1e-10)


def test_too_many_cells_for_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    given = tables(17, (5, 8), 0)
    quick = permutation_test(*given, kind="kendall", resamples=200)
    monkeypatch.setattr(module, "_MOST_SQUARED", 0)
    assert permutation_test(*given, kind="kendall", resamples=200) == quick


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("permute", ["both", "systems", "items"])
@pytest.mark.parametrize(
    ("level", "kind"), [("instance", "pearson"), ("system", "kendall"), ("within_item", "spearman")]
)
def test_p_is_that_of_all_exchanges(level: Any, kind: Any, permute: Any, alternative: Any) -> None:
    given = tables(18, (4, 4), 9)
    systems = [np.ones(4)] if permute == "items" else [np.array(s) for s in itertools.product([1, -1], repeat=4)]
    items = [np.ones(4)] if permute == "systems" else [np.array(s) for s in itertools.product([1, -1], repeat=4)]
    every = np.array([by_hand(given, s, t, level, kind) for s in systems for t in items])
    observed = by_hand(given, np.ones(4), np.ones(4), level, kind)
    extreme = {
        "two-sided": np.abs(every) >= abs(observed) - 1e-9,
        "greater": every >= observed - 1e-9,
        "less": every <= observed + 1e-9,
    }[alternative]
    found = permutation_test(
        *given, level=level, kind=kind, permute=permute, alternative=alternative, resamples=20_000, seed=1
    )
    assert found.statistic == pytest.approx(observed)
    # Four standard errors of a proportion of 20,000.
    assert found.pvalue == pytest.approx(extreme.mean(), abs=0.0142)


# nlpstats 0.0.1: permutation_test(X, Y, H, level, "pearson", method), 20,000 resamples (1,000 within items), seed 1.
NLPSTATS = {
    ("instance", "both"): (0.00025, 0.001),
    ("instance", "systems"): (0.03035, 0.008),
    ("instance", "items"): (0.00365, 0.003),
    ("system", "both"): (0.12055, 0.013),
    ("system", "systems"): (0.19605, 0.016),
    ("system", "items"): (0.16875, 0.015),
    ("within_item", "both"): (0.0, 0.002),
    ("within_item", "systems"): (0.016, 0.017),
    ("within_item", "items"): (0.007, 0.012),
}


@pytest.mark.parametrize(("level", "permute"), NLPSTATS)
def test_p_is_nlpstats(level: Any, permute: Any) -> None:
    rng = np.random.default_rng(20)
    human = np.round(rng.normal(size=(7, 12)) + rng.normal(size=(7, 1)), 1)
    x = np.round(human + rng.normal(size=human.shape), 2)
    y = np.round(human + 2 * rng.normal(size=human.shape), 2)
    expected, error = NLPSTATS[level, permute]
    found = permutation_test(x, y, human, level=level, permute=permute, resamples=20_000)
    assert found.pvalue == pytest.approx(expected, abs=error)


@pytest.mark.parametrize(("level", "permute"), [("instance", "both"), ("system", "systems"), ("within_item", "items")])
def test_p_is_uniform_under_the_null(level: Any, permute: Any) -> None:
    rng = np.random.default_rng(19)
    pvalues = []
    for seed in range(250):
        human = rng.normal(size=(8, 15))
        x, y = human + rng.normal(size=human.shape), human + rng.normal(size=human.shape)
        test = permutation_test(
            x, y, human, level=level, permute=permute, alternative="greater", resamples=199, seed=seed
        )
        pvalues.append(test.pvalue)
    # A p-value of 199 resamples is a multiple of 1/200: spread it over its step.
    spread = np.array(pvalues) - rng.random(250) / 200
    assert stats.kstest(spread, "uniform").pvalue > 0.01


def test_seed_direction_and_order() -> None:
    x, y, human = tables(21, (6, 9), 9)
    first = permutation_test(x, y, human, resamples=300, seed=1)
    assert first == permutation_test(x, y, human, resamples=300, seed=1)
    turned = permutation_test(-x, y, human, lower_is_better=(True, False), resamples=300, seed=1)
    assert turned == first
    exchanged = permutation_test(y, x, human, resamples=300, seed=1)
    assert exchanged.statistic == pytest.approx(-first.statistic)
    assert exchanged.pvalue == first.pvalue
    assert permutation_test(x, 3 * y + 1, human, resamples=300, seed=1).pvalue == first.pvalue


def test_a_metric_against_itself() -> None:
    x, _, human = tables(22, (6, 9), 9)
    found = permutation_test(x, x, human, resamples=100)
    assert (found.statistic, found.pvalue) == (0.0, 1.0)


def test_nulls_and_reasons() -> None:
    x, y, human = tables(23, (6, 9), 9)
    x[0, 0] = np.nan
    assert permutation_test(x, y, human, resamples=50).nulls == 1
    assert permutation_test(np.ones((6, 9)), y, human).reason == "the metric is constant"
    assert permutation_test(x[:2], y[:2], human[:2], level="system").reason == "fewer than 3 systems"
    with pytest.raises(ValueError, match="systems x items"):
        permutation_test(x, y, human[:3])
