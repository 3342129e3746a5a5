"""The charts of a report, as data. Places are in per cent, so that a chart fills its cell and its strokes stay thin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from celadon.core import FloatArray, Metric, MetricInfo, MetricScores, Sample
from celadon.report.columns import Column, occupied
from celadon.report.explained import has_aspects
from celadon.scoring.summary import Bins, Summarizer, SummaryRow

SYSTEMS_DRAWN = 60
_MARGIN = 0.08
_DECIMALS = 3


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers with its ticks, shared by the charts that are to be compared."""

    low: float
    high: float
    ticks: tuple[float, ...]
    decimals: int

    def place(self, value: float) -> float:
        """Where a value lies, in per cent of the axis."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def label(self, tick: float) -> str:
        """Write a tick."""
        return f"{tick:.{self.decimals}f}"


def axis(values: Iterable[float], *, smallest: float, tight: bool = False) -> Axis:
    """Return an axis over the values, at least ``smallest`` long; ``tight`` leaves no margin."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if high - low < smallest:
        middle = (low + high) / 2
        low, high = middle - smallest / 2, middle + smallest / 2
    if not tight:
        margin = _MARGIN * (high - low)
        low, high = low - margin, high + margin
    step = _step(high - low)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = tuple(place * step + 0.0 for place in range(first, last + 1))
    return Axis(low, high, ticks, max(0, -math.floor(math.log10(step) + 1e-9)))


def _step(length: float) -> float:
    """The round number that parts a length into two to five."""
    power = 10.0 ** math.floor(math.log10(length))
    return next(power * part for part in (0.2, 0.5, 1.0, 2.0) if length / (power * part) <= 5)


def rebinned(histograms: Sequence[Bins]) -> list[Bins]:
    """Give histograms the widest one's bins, so that bars of the same height are the same share of texts."""
    widest = max(histograms, key=lambda histogram: histogram.edges[1] - histogram.edges[0], default=None)
    if widest is None:
        return []
    origin, width = widest.edges[0], widest.edges[1] - widest.edges[0]
    merged_bins = []
    for histogram in histograms:
        merged: dict[int, int] = {}
        for left, right, count in zip(histogram.edges, histogram.edges[1:], histogram.counts, strict=False):
            place = math.floor(((left + right) / 2 - origin) / width)
            merged[place] = merged.get(place, 0) + count
        first, last = min(merged), max(merged)
        edges = tuple(origin + place * width for place in range(first, last + 2))
        merged_bins.append(Bins(edges, tuple(merged.get(place, 0) for place in range(first, last + 1))))
    return merged_bins


def shares(histogram: Bins) -> list[float]:
    """Return each bin's share of the values."""
    total = sum(histogram.counts) or 1
    return [count / total for count in histogram.counts]


def bars(axis: Axis, histogram: Bins, tallest: float) -> str:
    """Return the path of a histogram whose height is shared: ``tallest`` is the share that fills it."""
    path = []
    for place, share in enumerate(shares(histogram)):
        if share:
            left, right = axis.place(histogram.edges[place]), axis.place(histogram.edges[place + 1])
            gap = 0.12 * (right - left)
            height = max(100 * share / tallest, 0.6)
            path.append(f"M{left + gap / 2:.2f} 100v-{height:.2f}h{right - left - gap:.2f}v{height:.2f}z")
    return "".join(path)


def card(column: Column) -> dict[str, Any]:
    """Lay the systems side by side under a metric."""
    rows = column.rows[:SYSTEMS_DRAWN]
    reach = [x for row in rows for x in (row.mean, *(row.mean_interval or ())) if x is not None]
    shared = axis(reach, smallest=4 * 10.0**-column.decimals)
    return {"column": column, "rows": rows, "axis": shared, "corpus": any(row.corpus is not None for row in rows)}


def distribution(column: Column) -> dict[str, Any]:
    """Draw a metric's histogram per system, as small multiples with shared axes."""
    rows = column.rows[:SYSTEMS_DRAWN]
    histograms = rebinned([row.histogram for row in rows])
    edges = [edge for histogram in histograms for edge in occupied(histogram)]
    shared = axis(edges, smallest=4 * 10.0**-column.decimals, tight=True)
    tallest = max((share for histogram in histograms for share in shares(histogram)), default=0.0) or 1.0
    figures = [
        (row, bars(shared, histogram, tallest), _reach(column, histogram))
        for row, histogram in zip(rows, histograms, strict=True)
    ]
    return {"column": column, "axis": shared, "figures": figures}


def _reach(column: Column, histogram: Bins) -> str:
    """Say in words between which edges the values lie."""
    edges = occupied(histogram)
    return f"values between {column.number(edges[0])} and {column.number(edges[1])}" if edges else "no values"


@dataclass(frozen=True)
class _Aspect:
    """An aspect of a metric, as a summary takes it."""

    spec: str
    info: ClassVar[MetricInfo] = MetricInfo(
        "aspect", "an aspect of a metric", "as the metric's own", low=-math.inf, high=math.inf
    )
    signature: str = ""  # a report states the metric's own

    def aggregate(self, statistics: FloatArray) -> None:
        return None


class AspectMeans:
    """Sums up the aspects of each system over a stream, in constant memory.

    They are drawn as bars, and not as the spokes of a radar: lengths from one common zero can be compared between
    systems, they can carry an interval, and aspects that are penalties have a place left of the zero.
    """

    def __init__(self, metrics: Sequence[Metric], seed: int) -> None:
        self._metrics = [metric for metric in metrics if has_aspects(metric)]
        aspects = [_Aspect(f"{metric.spec}.{name}") for metric in self._metrics for name in metric.explains]
        self._summarizer = Summarizer(aspects, seed=seed)

    def add(self, samples: Sequence[Sample], scores: Mapping[str, MetricScores]) -> None:
        """Take the scores of the next samples of the stream."""
        if self._metrics:
            parts = {
                f"{metric.spec}.{name}": MetricScores(f"{metric.spec}.{name}", scores[metric.spec].parts[name])
                for metric in self._metrics
                for name in metric.explains
            }
            self._summarizer.add(samples, parts)

    def drawn(self) -> list[dict[str, Any]]:
        """Return for each metric the aspects of its systems, and the axis they share."""
        rows = self._summarizer.summary().rows if self._metrics else ()
        return [
            _aspects(metric, [row for row in rows if row.metric.startswith(f"{metric.spec}.")])
            for metric in self._metrics
            if rows
        ]


def _aspects(metric: Metric, rows: Sequence[SummaryRow]) -> dict[str, Any]:
    systems = list(dict.fromkeys(row.system for row in rows))
    drawn = [row for row in rows if row.system in systems[:SYSTEMS_DRAWN]]
    reach = [x for row in drawn for x in (row.mean, *(row.mean_interval or ())) if x is not None]
    by_system: dict[str | None, list[tuple[str, SummaryRow]]] = {}
    for row in drawn:
        by_system.setdefault(row.system, []).append((row.metric.removeprefix(f"{metric.spec}."), row))
    return {
        "column": Column(metric.spec, metric.info, _DECIMALS, ()),
        "axis": axis([0.0, 1.0, *reach], smallest=1.0, tight=True),
        "systems": by_system,
        "undrawn": len(systems) - len(by_system),
    }
