"""Bootstrap intervals: exact on every resample, and in agreement with scipy and nlpstats."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from celadon.meta import bootstrap as module
from celadon.meta.bootstrap import bootstrap, expanded_tail
from celadon.meta.correlation import KINDS, Kind, correlate
from celadon.meta.weighted_correlation import weighted_correlation

SCIPY: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20)
    human = np.round(rng.normal(size=(7, 12)) + rng.normal(size=(7, 1)), 1)
    metric = np.round(human + rng.normal(size=human.shape), 2)
    systems, items = np.indices(human.shape)
    return metric.ravel(), human.ravel(), systems.ravel(), items.ravel()


@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_a_resample_is_exactly_the_written_out_sample(kind: Kind, digits: int) -> None:
    rng = np.random.default_rng(6)
    x = np.round(rng.normal(size=150), digits)
    y = np.round(x + rng.normal(size=150), digits)
    counts = module._draw(rng, 150, 20)
    assert (counts.sum(axis=0) == 150).all()
    found = weighted_correlation(x, y, kind)(counts)[0]
    for column, value in enumerate(found):
        often = counts[:, column].astype(int)
        assert value == pytest.approx(SCIPY[kind](np.repeat(x, often), np.repeat(y, often)).statistic, abs=1e-13)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_blocks_and_any_counts(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 24))
    numbers = st.lists(st.integers(0, 5), min_size=rows, max_size=rows)
    x, y = (np.array(data.draw(numbers), dtype=float) for _ in range(2))
    counts = np.array(data.draw(numbers), dtype=float)[:, None]
    blocks = np.unique(np.array(data.draw(numbers)) % 3, return_inverse=True)[1]
    for kind in KINDS:
        found = weighted_correlation(x, y, kind, blocks)(counts)[:, 0]
        for block, value in enumerate(found):
            rows_of = np.repeat(np.arange(rows), counts[:, 0].astype(int))
            rows_of = rows_of[blocks[rows_of] == block]
            expected = correlate(x[rows_of], y[rows_of], kind=kind).value
            assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("unit", ["rows", "items", "systems", "both"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", ["instance", "system", "within_item"])
def test_replicates_are_those_of_tables_drawn_by_hand(level: Any, kind: Kind, unit: Any) -> None:
    """The counts are drawn again with the same seed, the resample is written out, and the plain function is asked."""
    metric, human, systems, items = table()
    found = bootstrap(
        metric, human, systems=systems, items=items, level=level, kind=kind, unit=unit, resamples=8, seed=5
    )
    rng = np.random.default_rng(5)
    names = {"both": ("items", "systems")}.get(unit, (unit,))
    sizes = {"rows": len(metric), "items": 12, "systems": 7}
    drawn = {name: module._draw(rng, sizes[name], 8).astype(int) for name in names}
    for resample, value in enumerate(found.replicates):
        assert value == pytest.approx(_by_hand(drawn, resample, level, kind), abs=1e-10, nan_ok=True)


def _by_hand(drawn: dict[str, np.ndarray], resample: int, level: Any, kind: Kind) -> float:
    metric, human, systems, items = table()
    picks = {name: np.repeat(np.arange(len(counts)), counts[:, resample]) for name, counts in drawn.items()}
    if "rows" in picks:
        rows = picks["rows"]
        return correlate(
            metric[rows], human[rows], systems=systems[rows], items=items[rows], level=level, kind=kind
        ).value
    # A thing drawn twice is two things: it gets two names.
    picked_items, picked_systems = picks.get("items", np.arange(12)), picks.get("systems", np.arange(7))
    grid = np.ix_(picked_systems, picked_items)
    x, y = metric.reshape(7, 12)[grid], human.reshape(7, 12)[grid]
    new_systems, new_items = (place.ravel() for place in np.indices(x.shape))
    return correlate(x.ravel(), y.ravel(), systems=new_systems, items=new_items, level=level, kind=kind).value


# nlpstats 0.0.1: bootstrap(X, H, level, "pearson", method, n_resamples=8000), numpy seed 1.
NLPSTATS = {
    ("instance", "both"): (0.7502710912878617, 0.9217911108885045),
    ("instance", "systems"): (0.7861365984522279, 0.8987930029624178),
    ("instance", "items"): (0.8267252220328953, 0.8893051414052577),
    ("system", "both"): (0.7980169372047122, 0.9996092211304501),
    ("system", "systems"): (0.9340517513070096, 0.9997944004702344),
    ("system", "items"): (0.902226017198704, 0.9953836867664857),
}


@pytest.mark.parametrize(("level", "unit"), NLPSTATS)
def test_intervals_are_nlpstats(level: Any, unit: Any) -> None:
    metric, human, systems, items = table()
    found = bootstrap(
        metric, human, systems=systems, items=items, level=level, unit=unit, method="percentile", resamples=8000
    )
    low, high = NLPSTATS[level, unit]
    assert found.low == pytest.approx(low, abs=0.012)
    assert found.high == pytest.approx(high, abs=0.006)


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_intervals_are_scipys(kind: Any, ours: Any, theirs: str) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40) ** 3 / 3
    found = bootstrap(x, y, kind=kind, method=ours, resamples=8000)

    def statistic(a: np.ndarray, b: np.ndarray, axis: int = -1) -> Any:
        if kind == "spearman":
            a, b = stats.rankdata(a, axis=axis), stats.rankdata(b, axis=axis)
        a, b = a - a.mean(axis=axis, keepdims=True), b - b.mean(axis=axis, keepdims=True)
        return (a * b).sum(axis=axis) / np.sqrt((a * a).sum(axis=axis) * (b * b).sum(axis=axis))

    # before scipy 1.15 it had another name
    name = "rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state"
    options: Any = {"n_resamples": 8000, "method": theirs, name: np.random.default_rng(1)}
    peer = stats.bootstrap((x, y), statistic, paired=True, vectorized=True, **options)
    assert found.low == pytest.approx(peer.confidence_interval.low, abs=0.02)
    assert found.high == pytest.approx(peer.confidence_interval.high, abs=0.01)


def test_seed_and_default_unit() -> None:
    metric, human, _, items = table()
    first = bootstrap(metric, human, items=items, resamples=50, seed=3)
    assert np.array_equal(first.replicates, bootstrap(metric, human, items=items, resamples=50, seed=3).replicates)
    assert not np.array_equal(first.replicates, bootstrap(metric, human, items=items, resamples=50, seed=4).replicates)
    by_items = bootstrap(metric, human, items=items, unit="items", resamples=50, seed=3)
    assert np.array_equal(first.replicates, by_items.replicates)


def test_direction_mirrors_the_interval() -> None:
    metric, human, _, _ = table()
    up = bootstrap(metric, human, resamples=500)
    down = bootstrap(metric, human, resamples=500, lower_is_better=True)
    assert (down.value, down.low, down.high) == pytest.approx((-up.value, -up.high, -up.low))


def test_clusters_widen_the_interval() -> None:
    rng = np.random.default_rng(8)
    items = np.repeat(np.arange(40), 10)
    shared = rng.normal(size=(40, 2)) @ np.array([[1.0, 0.5], [0.0, 0.8]])
    scores = shared[items] + 0.2 * rng.normal(size=(400, 2))
    of_rows = bootstrap(scores[:, 0], scores[:, 1], unit="rows", resamples=1000)
    of_items = bootstrap(scores[:, 0], scores[:, 1], items=items, resamples=1000)
    assert of_items.high - of_items.low > 2 * (of_rows.high - of_rows.low)


def test_nulls_and_reasons() -> None:
    metric, human, systems, items = table()
    metric[5] = np.nan
    found = bootstrap(metric, human, systems=systems, items=items, unit="both", resamples=100)
    assert found.nulls == 1
    assert found.value == correlate(metric, human).value
    constant = bootstrap(np.ones(10), np.arange(10.0), resamples=10)
    assert constant.reason == "the metric is constant"
    assert np.isnan(constant.low)
    with pytest.raises(ValueError, match="needs systems"):
        bootstrap(metric, human, unit="systems")


def test_resamples_without_a_correlation_are_counted() -> None:
    found = bootstrap([0, 0, 0, 0, 1], [0, 1, 2, 3, 4], resamples=2000, seed=1)
    # The one row that differs is drawn never (or always) with probability (4/5)^5 (and (1/5)^5).
    assert found.undefined / 2000 == pytest.approx(0.8**5 + 0.2**5, abs=0.04)
    assert np.isfinite(found.low)


def test_the_interval_covers_the_truth() -> None:
    rng = np.random.default_rng(9)
    covered = 0
    for seed in range(150):
        x = rng.normal(size=60)
        y = 0.5 * x + np.sqrt(0.75) * rng.normal(size=60)
        found = bootstrap(x, y, method="bca", resamples=400, seed=seed)
        covered += found.low <= 0.5 <= found.high
    assert covered / 150 > 0.88


def test_expanded_percentiles_of_means_are_students_interval() -> None:
    """What the expansion is made for: where replicates of a mean are normal, it gives Student's interval exactly."""
    values = np.array([2.0, 3.5, 3.6, 4.0, 6.1, 7.3])
    spread = values.std(ddof=0) / np.sqrt(6)
    for confidence in (0.8, 0.95, 0.99):
        low = stats.norm.ppf(expanded_tail(6, confidence), values.mean(), spread)
        peer = stats.ttest_1samp(values, 0.0).confidence_interval(confidence)
        assert low == pytest.approx(peer.low)
    assert expanded_tail(10_000) == pytest.approx(0.025, rel=1e-3)


@pytest.mark.parametrize(
    ("level", "unit", "drawn_from"),
    [
        ("instance", "rows", 84),
        ("instance", "items", 12),
        ("instance", "systems", 7),
        ("instance", "both", 7),
        ("system", None, 7),
        ("within_item", None, 12),
    ],
)
def test_the_usual_interval_counts_the_units_that_are_drawn(level: Any, unit: Any, drawn_from: int) -> None:
    metric, human, systems, items = table()
    found = bootstrap(metric, human, systems=systems, items=items, level=level, unit=unit, resamples=3000)
    n = drawn_from
    tail = stats.norm.cdf(-np.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1))
    assert (found.low, found.high) == pytest.approx(tuple(np.nanquantile(found.replicates, [tail, 1 - tail])))


def test_units_that_tell_nothing_do_not_count() -> None:
    metric, human, systems, items = table()
    # all but five items have one text
    keep = (items < 5) | (systems == 0)
    labels = {"systems": systems[keep], "items": items[keep]}
    found = bootstrap(metric[keep], human[keep], **labels, level="within_item", resamples=500)
    tail = expanded_tail(5)
    assert (found.low, found.high) == pytest.approx(tuple(np.nanquantile(found.replicates, [tail, 1 - tail])))
    # of one item alone nothing else can be drawn, and an interval without width would be a lie
    one = items == 0
    alone = bootstrap(metric[one], human[one], items=items[one], resamples=50)
    assert np.isfinite(alone.value)
    assert np.isnan([alone.low, alone.high]).all()
    assert alone.reason == "one of the items is too few to draw from"
    # over systems the one item is no hindrance: systems are drawn
    over = bootstrap(metric[one], human[one], items=items[one], systems=systems[one], level="system", resamples=500)
    tail = expanded_tail(7)
    assert (over.low, over.high) == pytest.approx(tuple(np.nanquantile(over.replicates, [tail, 1 - tail])))


def test_with_few_clusters_the_usual_interval_covers_the_truth_and_plain_percentiles_do_not() -> None:
    """Six items of four texts each, which differ between items as much as within them; the correlation is 0.8."""
    rng = np.random.default_rng(12)
    mix = np.linalg.cholesky([[1.0, 0.8], [0.8, 1.0]]).T
    items = np.repeat(np.arange(6), 4)
    covered = {"expanded": 0, "percentile": 0}
    studies = 400
    for seed in range(studies):
        x, y = ((rng.normal(size=(6, 2))[items] + rng.normal(size=(24, 2))) @ mix).T
        replicates = bootstrap(x, y, items=items, resamples=300, seed=seed).replicates
        for method, tail in (("expanded", expanded_tail(6)), ("percentile", 0.025)):
            low, high = np.nanquantile(replicates, [tail, 1 - tail])
            covered[method] += low <= 0.8 <= high
    # three standard errors of a coverage of 95 % are 3.3 %
    assert covered["expanded"] / studies > 0.917
    assert covered["percentile"] / studies < 0.917


def test_over_systems_the_systems_are_drawn_too() -> None:
    """Systems that differ little, and much noise in each text: drawing items alone sinks below the correlation."""
    rng = np.random.default_rng(4)
    quality = np.repeat(np.linspace(0, 0.3, 8), 60)
    metric, human = quality + rng.normal(size=480), quality + rng.normal(size=480)
    # the noise of each system cancels out over its items, so that their means order the systems all but perfectly
    metric, human = (x - np.repeat(x.reshape(8, 60).mean(axis=1), 60) + quality for x in (metric, human))
    labels = {"systems": np.repeat(np.arange(8), 60), "items": np.tile(np.arange(60), 8)}
    alone = bootstrap(metric, human, **labels, level="system", unit="items", resamples=500, seed=1)
    usual = bootstrap(metric, human, **labels, level="system", resamples=500, seed=1)
    both = bootstrap(metric, human, **labels, level="system", unit="both", resamples=500, seed=1)
    assert alone.high < alone.value
    assert (usual.low, usual.high) == (both.low, both.high)
    assert usual.high - usual.low > alone.high - alone.low
