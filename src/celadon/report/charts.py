"""Small charts as inline SVG. Places are in per cent, so that a chart fills its cell and its strokes stay thin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from celadon.meta.poisson import Interval
from celadon.report.escape import escape
from celadon.scoring.summary import Bins

_MARGIN = 0.08


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


def whisker(axis: Axis, mean: float | None, interval: Interval | None, label: str) -> str:
    """Draw a mean as a dot and its interval as a line."""
    marks = [f'<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>' for x in map(axis.place, axis.ticks)]
    if interval is not None:
        low, high = axis.place(interval.low), axis.place(interval.high)
        marks.append(f'<line class="whisker" x1="{low}%" x2="{high}%" y1="50%" y2="50%"/>')
    if mean is not None:
        marks.append(f'<circle class="dot" cx="{axis.place(mean)}%" cy="50%" r="4.5"/>')
    return f'<svg class="whiskers" role="img" aria-label="{escape(label)}">{"".join(marks)}</svg>'


def beam(axis: Axis, mean: float | None, interval: Interval | None, label: str) -> str:
    """Draw a mean as a bar that begins at zero, and its interval as a line across the bar's end."""
    marks = [f'<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>' for x in map(axis.place, axis.ticks)]
    zero = axis.place(0.0)
    if mean is not None:
        end = axis.place(mean)
        wide = round(abs(end - zero), 2)
        marks.append(f'<rect class="beam" x="{min(end, zero)}%" width="{wide}%" y="30%" height="40%"/>')
    marks.append(f'<line class="zero" x1="{zero}%" x2="{zero}%" y1="0" y2="100%"/>')
    if interval is not None:
        low, high = axis.place(interval.low), axis.place(interval.high)
        marks.append(f'<line class="across" x1="{low}%" x2="{high}%" y1="50%" y2="50%"/>')
    return f'<svg class="whiskers" role="img" aria-label="{escape(label)}">{"".join(marks)}</svg>'


def scale(axis: Axis) -> str:
    """Draw the numbers of an axis; a chart says them itself, so readers of the screen are spared them."""
    labels = []
    for tick in axis.ticks:
        labels.append(f'<text x="{axis.place(tick)}%" y="12">{axis.label(tick)}</text>')
    return f'<svg class="scale" aria-hidden="true">{"".join(labels)}</svg>'


def rebinned(histograms: Sequence[Bins]) -> list[Bins]:
    """Give histograms the widest one's bins, so that bars of the same height are the same share of texts."""
    widest = max(histograms, key=lambda histogram: histogram.edges[1] - histogram.edges[0], default=None)
    if widest is None:
        return []
    origin, width = widest.edges[0], widest.edges[1] - widest.edges[0]
    found = []
    for histogram in histograms:
        merged: dict[int, int] = {}
        for left, right, count in zip(histogram.edges, histogram.edges[1:], histogram.counts, strict=False):
            place = math.floor(((left + right) / 2 - origin) / width)
            merged[place] = merged.get(place, 0) + count
        first, last = min(merged), max(merged)
        edges = tuple(origin + place * width for place in range(first, last + 2))
        found.append(Bins(edges, tuple(merged.get(place, 0) for place in range(first, last + 1))))
    return found


def shares(histogram: Bins) -> list[float]:
    """Return each bin's share of the values."""
    total = sum(histogram.counts) or 1
    return [count / total for count in histogram.counts]


def bars(axis: Axis, histogram: Bins, tallest: float, mean: float | None, label: str) -> str:
    """Draw a histogram whose height is shared: ``tallest`` is the share that fills it."""
    path = []
    for place, share in enumerate(shares(histogram)):
        if share:
            left, right = axis.place(histogram.edges[place]), axis.place(histogram.edges[place + 1])
            gap = 0.12 * (right - left)
            height = max(100 * share / tallest, 0.6)
            path.append(f"M{left + gap / 2:.2f} 100v-{height:.2f}h{right - left - gap:.2f}v{height:.2f}z")
    line = ""
    if mean is not None:
        x = axis.place(mean)
        line = f'<line class="mean" x1="{x}" x2="{x}" y1="0" y2="100"/>'
    return (
        f'<svg class="bars" role="img" aria-label="{escape(label)}" viewBox="0 0 100 100" preserveAspectRatio="none">'
        f'<path d="{"".join(path)}"/>{line}</svg>'
    )
