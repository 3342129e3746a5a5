"""Bootstrap intervals of correlations, whole items or whole systems drawn together.

A resample is never written out: it is a column of counts, how often each row was drawn; the results are exactly those
of the written-out sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, IntArray
from celadon.meta.correlation import Kind, Level, codes, correlate, correlate_columns, paired, settled
from celadon.meta.intervals import expanded_tail
from celadon.meta.weighted_correlation import block_totals, weighted_correlation

Unit: TypeAlias = Literal["rows", "items", "systems", "both"]
Method: TypeAlias = Literal["expanded", "percentile", "bca"]
Counts: TypeAlias = Mapping[str, FloatArray]

_MOST_CELLS = 1 << 16


class BootstrapResult(NamedTuple):
    """A correlation with its bootstrap interval; NaN where there is none, and ``reason`` says why.

    ``replicates`` are the correlations of the resamples, ``undefined`` of them NaN (all draws alike) and left out of
    the interval. ``nulls`` rows were left out because a number was missing.
    """

    value: float
    low: float
    high: float
    replicates: FloatArray
    undefined: int
    nulls: int
    reason: str = ""


def _row_counts(counts: Counts, factors: Mapping[str, IntArray]) -> FloatArray:
    drawn = [counts[name] if name == "rows" else counts[name][place] for name, place in factors.items()]
    return drawn[0] if len(drawn) == 1 else drawn[0] * drawn[1]


def _system_statistic(
    x: FloatArray, y: FloatArray, kind: Kind, systems: IntArray, factors: Mapping[str, IntArray]
) -> Callable[[Counts], FloatArray]:
    total = block_totals(systems)

    def statistic(counts: Counts) -> FloatArray:
        rows = _row_counts(counts, factors)
        n = np.atleast_2d(total(rows))
        there = np.maximum(n, 1)
        mean_x, mean_y = (settled(total(rows * scores[:, None]) / there, scores, kind) for scores in (x, y))
        weights = counts["systems"] * (n > 0) if "systems" in factors else (n > 0).astype(np.float64)
        return correlate_columns(mean_x, mean_y, kind, weights)

    return statistic


def _item_statistic(
    x: FloatArray, y: FloatArray, kind: Kind, items: IntArray, factors: Mapping[str, IntArray]
) -> Callable[[Counts], FloatArray]:
    weigh = weighted_correlation(x, y, kind, items)
    inside = {name: place for name, place in factors.items() if name != "items"}
    fixed = None if inside else weigh(np.ones((len(x), 1)))

    def statistic(counts: Counts) -> FloatArray:
        values = fixed if fixed is not None else weigh(_row_counts(counts, inside))
        there = np.isfinite(values).astype(np.float64)
        weights = there * counts["items"] if "items" in factors else there
        with np.errstate(invalid="ignore"):
            return np.asarray((weights * np.nan_to_num(values)).sum(axis=0) / weights.sum(axis=0))

    return statistic


def _row_statistic(
    x: FloatArray, y: FloatArray, kind: Kind, factors: Mapping[str, IntArray]
) -> Callable[[Counts], FloatArray]:
    weigh = weighted_correlation(x, y, kind)
    return lambda counts: np.asarray(weigh(_row_counts(counts, factors))[0])


def _draw(rng: np.random.Generator, units: int, resamples: int) -> FloatArray:
    """How often each unit is drawn, units x resamples."""
    drawn = rng.integers(0, units, size=(units, resamples))
    drawn *= resamples
    drawn += np.arange(resamples)
    return np.bincount(drawn.ravel(), minlength=units * resamples).reshape(units, resamples).astype(np.float64)


def _jackknife(statistic: Callable[[Counts], FloatArray], units: Mapping[str, int], step: int) -> FloatArray:
    """The statistic without each unit in turn, less the mean of these, over all kinds of units."""
    parts = []
    for name, size in units.items():
        values = []
        for start in range(0, size, step):
            width = min(step, size - start)
            counts = {other: np.ones((n, width)) for other, n in units.items()}
            counts[name][np.arange(start, start + width), np.arange(width)] = 0.0
            values.append(statistic(counts))
        left = np.concatenate(values)
        left = left[np.isfinite(left)]
        parts.append(left.mean() - left if len(left) else left)
    return np.concatenate(parts)


def _bca_levels(value: float, finite: FloatArray, influence: FloatArray, confidence: float) -> FloatArray:
    below = (np.count_nonzero(finite < value) + np.count_nonzero(finite == value) / 2) / len(finite)
    bias = stats.norm.ppf(np.clip(below, 0.5 / len(finite), 1 - 0.5 / len(finite)))
    squares = float((influence**2).sum())
    skew = float((influence**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    z = bias + stats.norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2])
    return np.asarray(stats.norm.cdf(bias + z / (1 - skew * z)))


def _usual_unit(level: Level, has_items: bool) -> Unit:
    """What is drawn if nobody says: systems too where systems are compared.

    Drawing items alone adds noise to the systems' means and nothing else, so that the interval sinks towards 0 and may
    miss the correlation itself.
    """
    if level == "system":
        return "both" if has_items else "systems"
    return "items" if has_items else "rows"


def _factors(unit: Unit, rows: int, labels: Mapping[str, IntArray | None]) -> dict[str, IntArray]:
    if unit == "rows":
        return {"rows": np.arange(rows)}
    chosen = {}
    for name in ("items", "systems") if unit == "both" else (unit,):
        place = labels[name]
        if place is None:
            raise ValueError(f"unit {unit!r} needs {name}")
        chosen[name] = place
    return chosen


def bootstrap(
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    systems: Sequence[Any] | npt.NDArray[Any] | None = None,
    items: Sequence[Any] | npt.NDArray[Any] | None = None,
    level: Level = "instance",
    kind: Kind = "pearson",
    lower_is_better: bool = False,
    unit: Unit | None = None,
    method: Method = "expanded",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> BootstrapResult:
    """Return a correlation between metric and human scores with its bootstrap interval.

    The scores, levels and kinds are as for :func:`celadon.meta.correlation.correlate`. ``unit`` is what is drawn: rows,
    whole items, whole systems, or ``both`` items and systems. Rows that share an item are not independent: by default
    items are drawn where they are known, else rows; and at system level systems too.

    ``method`` is ``percentile``; ``expanded``, further out the fewer units are drawn from (of items and systems the
    fewer; :func:`celadon.meta.intervals.expanded_tail`), for plain percentiles are too near with few units; or ``bca``,
    percentiles corrected for bias and acceleration, the latter from leaving out each unit in turn.
    """
    whole = correlate(
        metric, human, systems=systems, items=items, level=level, kind=kind, lower_is_better=lower_is_better
    )
    if whole.reason:
        return BootstrapResult(np.nan, np.nan, np.nan, np.empty(0), 0, whole.nulls, whole.reason)
    (x, y), finite = paired(metric, human)
    of_rows = {"items": items, "systems": systems}
    labels: dict[str, IntArray | None] = {
        name: None if column is None else np.unique(codes(column, len(x))[finite], return_inverse=True)[1]
        for name, column in of_rows.items()
    }
    x, y = (-x if lower_is_better else x)[finite], y[finite]
    factors = _factors(unit or _usual_unit(level, items is not None), len(x), labels)
    if level == "system" and labels["systems"] is not None:
        statistic = _system_statistic(x, y, kind, labels["systems"], factors)
    elif level == "within_item" and labels["items"] is not None:
        statistic = _item_statistic(x, y, kind, labels["items"], factors)
    else:
        statistic = _row_statistic(x, y, kind, factors)
    units = {name: int(place.max()) + 1 for name, place in factors.items()}
    step = max(16, _MOST_CELLS // len(x))
    rng = np.random.default_rng(seed)
    chunks = [
        statistic({name: _draw(rng, size, min(step, resamples - start)) for name, size in units.items()})
        for start in range(0, resamples, step)
    ]
    replicates = np.concatenate(chunks)
    defined = replicates[np.isfinite(replicates)]
    undefined = resamples - len(defined)
    # within items, those without a correlation of their own add nothing; of a unit that is alone nothing is drawn
    averaged = {"items": whole.count} if level == "within_item" and "items" in units else {}
    several = [size for size in (units | averaged).values() if size > 1]
    if len(defined) < 2 or not several:
        reason = (
            "no resample has a correlation" if several else f"one of the {' and '.join(units)} is too few to draw from"
        )
        return BootstrapResult(whole.value, np.nan, np.nan, replicates, undefined, whole.nulls, reason)
    tail = expanded_tail(min(several), confidence) if method == "expanded" else (1 - confidence) / 2
    levels = np.array([tail, 1 - tail])
    if method == "bca":
        levels = _bca_levels(whole.value, defined, _jackknife(statistic, units, step), confidence)
    low, high = np.quantile(defined, levels)
    return BootstrapResult(whole.value, float(low), float(high), replicates, undefined, whole.nulls)
