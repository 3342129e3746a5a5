"""Correlations against scipy, numpy, hand-worked figures and nlpstats, and the laws they obey."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from celadon.meta.correlation import (
    KINDS,
    LEVELS,
    Kind,
    codes,
    correlate,
    correlate_columns,
    kendall,
    mean_squared_error_after_fit,
    pearson,
    reliable_rows,
    spearman,
)

SCIPY: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
OURS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
# Hundredths, so that no map of the tests below makes two different numbers equal.
COLUMN = hnp.arrays(np.int64, st.shared(st.integers(4, 30), key="rows"), elements=st.integers(-500, 500))


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20)
    human = np.round(rng.normal(size=(7, 12)) + rng.normal(size=(7, 1)), 1)
    metric = np.round(human + rng.normal(size=human.shape), 2)
    systems, items = np.indices(human.shape)
    return metric.ravel(), human.ravel(), systems.ravel(), items.ravel()


def tau_b_by_pairs(x: np.ndarray, y: np.ndarray) -> float:
    signs = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in itertools.combinations(range(len(x)), 2)]
    top = sum(a * b for a, b in signs)
    return float(top / np.sqrt(sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs)))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("kind", KINDS)
def test_value_and_p_are_scipys(kind: Kind, alternative: Any, ties: bool) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=60)
    y = x + 2 * rng.normal(size=60)
    if ties:
        x, y = np.round(x), np.round(y)
    found = OURS[kind](x, y, alternative=alternative)
    expected = SCIPY[kind](x, y, alternative=alternative)
    assert found.value == pytest.approx(expected.statistic, abs=1e-13)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    assert (found.count, found.nulls, found.reason) == (60, 0, "")


def test_tau_b_with_ties_by_counting_pairs() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 4, 25).astype(float), rng.integers(0, 3, 25).astype(float)
    assert kendall(x, y).value == pytest.approx(tau_b_by_pairs(x, y), abs=1e-14)
    columns = correlate_columns(x[:, None], y[:, None], "kendall")
    assert columns[0] == pytest.approx(tau_b_by_pairs(x, y), abs=1e-14)


def test_hand_worked() -> None:
    x, y = [1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]
    assert pearson(x, y).value == pytest.approx(0.8)
    assert spearman(x, y).value == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert kendall(x, y).value == pytest.approx((5 - 1) / 6)


# nlpstats 0.0.1 (scipy 1.17.1): correlate(X, H, level, coefficient) on the table above.
NLPSTATS = {
    ("instance", "pearson"): 0.8579734538447884,
    ("instance", "spearman"): 0.8631695704868909,
    ("instance", "kendall"): 0.6854910662454415,
    ("system", "pearson"): 0.9807687939023954,
    ("within_item", "pearson"): 0.8781236694384577,
    ("within_item", "spearman"): 0.830922703188822,
    ("within_item", "kendall"): 0.6994893860102768,
}


@pytest.mark.parametrize(("level", "kind"), NLPSTATS)
def test_levels_are_nlpstats(level: Any, kind: Any) -> None:
    metric, human, systems, items = table()
    found = correlate(metric, human, systems=systems, items=items, level=level, kind=kind)
    assert found.value == pytest.approx(NLPSTATS[level, kind], abs=1e-12)
    assert found.count == {"instance": 84, "system": 7, "within_item": 12}[level]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", LEVELS)
def test_direction_turns_the_sign(level: Any, kind: Kind) -> None:
    metric, human, systems, items = table()
    labels = {"systems": systems, "items": items, "level": level, "kind": kind}
    up = correlate(metric, human, **labels).value
    assert correlate(metric, human, lower_is_better=True, **labels).value == pytest.approx(-up)
    assert correlate(-metric, human, lower_is_better=True, **labels).value == pytest.approx(up)


def test_nulls_are_counted_and_left_out() -> None:
    x = np.array([1.0, 2.0, np.nan, 4.0, 5.0, np.inf])
    y = np.array([1.0, 3.0, 2.0, np.nan, 4.0, 6.0])
    found = pearson(x, y)
    assert (found.count, found.nulls) == (3, 3)
    assert found.value == pytest.approx(stats.pearsonr([1, 2, 5], [1, 3, 4]).statistic)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1, 1, 1, 1], [1, 2, 3, 4], "the metric is constant"),
        ([1, 2, 3, 4], [2, 2, 2, 2], "the human scores are constant"),
        ([1, 2], [1, 2], "fewer than 3 pairs"),
        ([], [], "fewer than 3 pairs"),
        ([1, 2, np.nan], [1, 2, 3], "fewer than 3 pairs"),
    ],
)
def test_no_correlation_has_a_reason(kind: Kind, x: list[float], y: list[float], reason: str) -> None:
    found = OURS[kind](x, y)
    assert np.isnan(found.value)
    assert np.isnan(found.pvalue)
    assert found.reason == reason


def test_rounding_noise_is_constant_for_pearson() -> None:
    noisy = np.array([0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2])
    assert pearson(noisy, [1, 2, 3, 4]).reason == "the metric is constant"


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_extreme_scales(scale: float) -> None:
    x, y = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 3.0, 5.0, 2.0])
    assert pearson(x * scale, y).value == pytest.approx(pearson(x, y).value)


def test_perfect_agreement() -> None:
    found = pearson([1, 2, 3, 4], [2, 4, 6, 8])
    assert (found.value, found.pvalue) == (1.0, 0.0)


def test_within_item_leaves_out_and_counts() -> None:
    items = ["a"] * 3 + ["b"] * 2 + ["c"] * 3 + ["d"] * 3
    metric = [1, 2, 3, 1, 2, 5, 5, 5, 1, 3, 2]
    human = [1, 2, 3, 1, 2, 1, 2, 3, 1, 2, 3]
    found = correlate(metric, human, items=items, level="within_item", kind="kendall")
    assert found.value == pytest.approx((1 + 1 / 3) / 2)
    assert (found.count, found.left_out) == (2, 2)
    none = correlate([1, 2], [1, 2], items=["a", "b"], level="within_item")
    assert none.reason
    assert (none.count, none.left_out) == (0, 2)


def test_levels_ask_for_their_labels() -> None:
    with pytest.raises(ValueError, match="needs systems"):
        correlate([1, 2, 3], [1, 2, 3], level="system")
    with pytest.raises(ValueError, match="needs items"):
        correlate([1, 2, 3], [1, 2, 3], level="within_item")
    with pytest.raises(ValueError, match="3 rows but 2 labels"):
        correlate([1, 2, 3], [1, 2, 3], systems=["a", "b"], level="system")
    with pytest.raises(ValueError, match="one length"):
        pearson([1, 2], [1, 2, 3])


@pytest.mark.parametrize(("kind", "nlpstats"), [("spearman", 0.9642857142857145), ("kendall", 0.9047619047619049)])
def test_means_equal_but_for_rounding_are_tied(kind: Any, nlpstats: float) -> None:
    """Two systems of the table have the same mean rating, -58 tenths over 12, but not the same float.

    The truth is told by whole numbers. nlpstats 0.0.1 ranks the floats, and so breaks the tie by rounding.
    """
    metric, human, systems, _ = table()
    tenths, hundredths = (np.rint(scores * by).astype(int) for scores, by in ((human, 10), (metric, 100)))
    sums = [np.bincount(systems, column).astype(int) for column in (hundredths, tenths)]
    assert len(set(sums[1].tolist())) == 6
    exact = SCIPY[kind](*sums).statistic
    found = correlate(metric, human, systems=systems, level="system", kind=kind).value
    assert found == pytest.approx(exact, abs=1e-12)
    assert abs(found - nlpstats) > 0.005


def test_codes_are_in_order_of_appearance() -> None:
    words = ["b", "a", "b", "c", "a"]
    assert codes(words, 5).tolist() == codes(np.array(words), 5).tolist() == [0, 1, 0, 2, 1]
    assert codes(np.array([7, 3, 7, 9, 3]), 5).tolist() == [0, 1, 0, 2, 1]


def test_two_systems_say_so() -> None:
    found = correlate([1, 2, 3, 4], [1, 2, 3, 4], systems=list("aabb"), level="system")
    assert found.reason == "fewer than 3 systems"


@given(COLUMN, COLUMN)
@settings(max_examples=60, deadline=None)
def test_ranks_are_kept_by_rising_maps(x: np.ndarray, y: np.ndarray) -> None:
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    a, b = x / 100.0, y / 100.0
    for kind in ("spearman", "kendall"):
        before = OURS[kind](a, b).value
        assert OURS[kind](np.exp(a), b**3 + b).value == pytest.approx(before, abs=1e-12)
        assert OURS[kind](-a, b).value == pytest.approx(-before, abs=1e-12)


@given(COLUMN, COLUMN, st.floats(0.01, 100), st.floats(-100, 100))
@settings(max_examples=60, deadline=None)
def test_pearson_is_kept_by_affine_maps(x: np.ndarray, y: np.ndarray, slope: float, shift: float) -> None:
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    before = pearson(x, y).value
    assert -1 <= before <= 1
    assert pearson(slope * x + shift, y).value == pytest.approx(before, abs=1e-9)
    assert pearson(x, -slope * y + shift).value == pytest.approx(-before, abs=1e-9)
    assert pearson(y, x).value == pytest.approx(before, abs=1e-12)


def test_error_after_fit_is_numpys_and_r_squared() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=50)
    y = 3 - 2 * x + rng.normal(size=50)
    found = mean_squared_error_after_fit(x, y)
    slope, intercept = np.polyfit(x, y, 1)
    assert found.value == pytest.approx(np.mean((y - slope * x - intercept) ** 2))
    assert (found.slope, found.intercept) == (pytest.approx(slope), pytest.approx(intercept))
    assert found.value == pytest.approx(np.var(y) * (1 - pearson(x, y).value ** 2))
    assert mean_squared_error_after_fit(-7 * x + 1, y).value == pytest.approx(found.value)


def test_error_after_fit_at_the_edges() -> None:
    assert mean_squared_error_after_fit([2, 2, 2, 2], [1, 2, 3, 4]).value == pytest.approx(1.25)
    assert mean_squared_error_after_fit([1, 2, 3], [5, 5, 5]).value == 0
    few = mean_squared_error_after_fit([1, np.nan, 3], [1, 2, 3])
    assert np.isnan(few.value)
    assert (few.count, few.nulls, few.reason) == (2, 1, "fewer than 3 pairs")


def test_reliable_rows() -> None:
    ragged = [[3, 3, 3], [3, 2, 3], [1, 1], [2], []]
    assert reliable_rows(ragged).tolist() == [True, False, True, False, False]
    square = np.array([[1, 1, np.nan], [1, 2, np.nan], [np.nan, np.nan, np.nan], [0, 0, 0]])
    assert reliable_rows(square).tolist() == [True, False, False, True]
    assert reliable_rows([[2]], fewest=1).tolist() == [True]
    assert reliable_rows([]).tolist() == []


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_column_by_column(kind: Kind) -> None:
    rng = np.random.default_rng(4)
    x, y = np.round(rng.normal(size=(9, 20)), 1), np.round(rng.normal(size=(9, 20)))
    x[:, 3] = 1.0
    weights = rng.integers(0, 4, size=(9, 20)).astype(float)
    plain, weighted = correlate_columns(x, y, kind), correlate_columns(x, y, kind, weights)
    against_one = correlate_columns(x, y[:, :1], kind)
    for column in range(20):
        a, b = x[:, column], y[:, column]
        often = weights[:, column].astype(int)
        assert plain[column] == pytest.approx(OURS[kind](a, b).value, abs=1e-12, nan_ok=True)
        assert against_one[column] == pytest.approx(OURS[kind](a, y[:, 0]).value, abs=1e-12, nan_ok=True)
        written_out = OURS[kind](np.repeat(a, often), np.repeat(b, often)).value
        assert weighted[column] == pytest.approx(written_out, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("kind", KINDS)
def test_p_is_uniform_without_correlation(kind: Kind) -> None:
    rng = np.random.default_rng(5)
    pvalues = [OURS[kind](rng.normal(size=40), rng.normal(size=40)).pvalue for _ in range(400)]
    assert stats.kstest(pvalues, "uniform").pvalue > 0.01
