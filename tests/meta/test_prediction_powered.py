"""Prediction-powered means against ppi-python 0.2.3, label planning, and the choice of the next items."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from celadon.core import FloatArray, InputError
from celadon.meta.label_plan import Spread, choose_next, labels_for_width, neyman_shares, planned_width
from celadon.meta.prediction_powered import (
    paired_powered_difference,
    powered_difference,
    powered_mean,
)

# labels, unlabeled texts, confidence and weight: the mean and the interval that ppi-python's ppi_mean_pointestimate and
# ppi_mean_ci give for the texts below
PUBLISHED = [
    ((30, 400, 0.95, None), (3.021150150911031, 2.884512016794313, 3.1577882850277486)),
    ((30, 400, 0.90, 1.0), (3.021150150911031, 2.9064798139790455, 3.135820487843016)),
    ((120, 100, 0.95, None), (2.9953655442319214, 2.8759577557696927, 3.11477333269415)),
    ((50, 1000, 0.95, 0.0), (3.0258830503234537, 2.7954621935565633, 3.256303907090344)),
    ((40, 300, 0.95, 0.35), (2.9786246361781723, 2.784722363067684, 3.1725269092886608)),
]


def texts(count: int, start: int) -> tuple[FloatArray, FloatArray]:
    """Ratings and scores that any machine makes alike."""
    at = np.arange(start, start + count, dtype=float)
    quality = 3 + np.sin(1.7 * at) + 0.5 * np.cos(0.3 * at)
    return quality + 0.4 * np.sin(11.3 * at), 0.7 * quality + 1.2 + 0.5 * np.cos(7.9 * at)


@pytest.mark.parametrize(("setting", "expected"), PUBLISHED)
def test_means_are_those_of_ppi_python(
    setting: tuple[int, int, float, float | None], expected: tuple[float, float, float]
) -> None:
    labels, unlabeled, confidence, weight = setting
    y, hat = texts(labels, 1)
    _, rest = texts(unlabeled, 1 + labels)
    one = powered_mean(y, hat, rest, weight=weight, confidence=confidence, small_sample=False)
    np.testing.assert_allclose((one.value, one.low, one.high), expected, rtol=1e-12)


def test_a_useless_judge_costs_nothing() -> None:
    y, hat = texts(30, 1)
    _, rest = texts(400, 31)
    one = powered_mean(y, -hat, -rest, small_sample=False)
    # ppi-python on the same
    np.testing.assert_allclose(
        (one.value, one.low, one.high), (3.0194394489258283, 2.7221018360613227, 3.316777061790334)
    )
    assert one.weight == 0
    assert one.equivalent == pytest.approx(30)


def test_the_difference_of_two_systems_is_that_of_ppi_python() -> None:
    (ya, ha), (yb, hb) = texts(40, 1), texts(40, 1000)
    ra, rb = texts(300, 41)[1], texts(300, 1040)[1]
    one = paired_powered_difference(powered_mean(ya - yb, ha - hb, ra - rb, small_sample=False))
    np.testing.assert_allclose(
        (one.value, one.low, one.high), (-0.011889148968391008, -0.2316912852721994, 0.2079129873354174), rtol=1e-10
    )
    # of ppi_mean_pval with lam=1, where the weight ends that ppi_mean_ci holds between 0 and 1
    assert one.pvalue == pytest.approx(0.9155705220712644, rel=1e-9)
    more = powered_mean(ya - yb + 0.2, ha - hb, ra - rb, weight=1.0, small_sample=False)
    assert paired_powered_difference(more).pvalue == pytest.approx(0.09346927735013896, rel=1e-9)


def test_without_a_judge_it_is_students_interval() -> None:
    y, hat = texts(25, 5)
    one = powered_mean(y, hat, [])
    interval = stats.ttest_1samp(y, 0.0).confidence_interval(0.95)
    bounds = float(interval.low), float(interval.high)
    np.testing.assert_allclose((one.value, one.low, one.high), (float(y.mean()), *bounds))
    np.testing.assert_allclose((one.classical_low, one.classical_high), bounds)


def test_unpaired_differences_without_a_judge_are_welchs() -> None:
    first, second = texts(25, 5)[0], texts(40, 200)[0] * 1.5
    one = powered_difference(powered_mean(first, first, []), powered_mean(second, second, []))
    expected = stats.ttest_ind(first, second, equal_var=False)
    interval = expected.confidence_interval(0.95)
    np.testing.assert_allclose((one.low, one.high, one.pvalue), (interval.low, interval.high, expected.pvalue))
    np.testing.assert_allclose((one.classical_low, one.classical_high), (interval.low, interval.high))


def test_labels_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(InputError, match="three labels"):
        powered_mean([1, 2], [1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="gaps"):
        powered_mean([1, 2, 3], [1, 2, np.nan], [1, 2, 3])


def test_the_interval_holds_the_truth_with_few_labels() -> None:
    rng = np.random.default_rng(3)
    hits = {20: 0, 100: 0}
    runs = 1000
    for labels in hits:
        for _ in range(runs):
            quality = rng.normal(0, 1, labels + 500)
            hat = quality + rng.normal(0, 0.7, len(quality)) + 0.5
            y = quality[:labels] + rng.normal(0, 0.5, labels)
            one = powered_mean(y, hat[:labels], hat[labels:])
            hits[labels] += one.low <= 0 <= one.high
    # three standard errors of 1,000 runs at 95%
    assert all(0.93 <= count / runs <= 0.97 for count in hits.values()), hits


def test_a_plan_is_what_comes_of_it() -> None:
    rng = np.random.default_rng(1)
    quality = rng.normal(0, 1, 4000)
    y, hat = quality + rng.normal(0, 0.5, 4000), quality + rng.normal(0, 0.5, 4000)
    spread = Spread.of(y, hat)
    assert spread.correlation == pytest.approx(np.corrcoef(y, hat)[0, 1])
    for labels in (50, 400):
        widths = []
        for _ in range(200):
            chosen = rng.permutation(4000)
            some, rest = chosen[:labels], chosen[labels:]
            one = powered_mean(y[some], hat[some], hat[rest])
            widths.append(one.high - one.low)
        assert planned_width(spread, labels, 4000) == pytest.approx(np.mean(widths), rel=0.05)
    needed = labels_for_width(spread, 0.2, 4000)
    assert needed is not None
    assert planned_width(spread, needed, 4000) <= 0.2 < planned_width(spread, needed - 1, 4000)
    alone = labels_for_width(spread, 0.2, 0)
    assert alone is not None
    # without a judge the width is Student's
    assert alone == pytest.approx((2 * 1.96 * y.std() / 0.2) ** 2, rel=0.02)
    assert needed < alone
    assert labels_for_width(spread, 1e-6, 100) is None


def test_neyman_deals_labels_where_they_count() -> None:
    shares = neyman_shares({"a": 100, "b": 100}, {"a": 1.0, "b": 3.0}, 40)
    assert shares == {"a": 10, "b": 30}
    # a group gets no more than it has, and the others the rest
    assert neyman_shares({"a": 100, "b": 5}, {"a": 1.0, "b": 50.0}, 40) == {"a": 35, "b": 5}
    assert neyman_shares({"a": 3, "b": 5}, {"a": 0.0, "b": 0.0}, 40) == {"a": 3, "b": 5}


def test_next_items_are_random_and_shared_by_systems() -> None:
    items = [f"item{row // 2}" for row in range(200)]
    systems = ["one", "two"] * 100
    candidates = np.ones(200, dtype=bool)
    candidates[:20] = False
    chosen = choose_next(candidates, systems, items, {"one": 1.0, "two": 1.0}, 40, seed=4)
    assert len(chosen) == 40
    assert chosen.min() >= 20
    of_system = {name: {items[row] for row in chosen if systems[row] == name} for name in ("one", "two")}
    assert of_system["one"] == of_system["two"]
    counts = np.zeros(100)
    for seed in range(400):
        again = choose_next(candidates, systems, items, {"one": 1.0, "two": 1.0}, 40, seed=seed)
        counts[[row // 2 for row in again if row % 2]] += 1
    assert counts[:10].sum() == 0
    # 20 of 90 items each time, all alike likely
    assert stats.chisquare(counts[10:]).pvalue > 1e-4
    assert math.isclose(counts.sum(), 400 * 20)
