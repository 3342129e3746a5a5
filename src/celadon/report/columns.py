"""How one metric's numbers are written: decimals, direction, name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from celadon.core import Direction, Metric, MetricInfo
from celadon.meta.intervals import Interval
from celadon.report.blocks import number
from celadon.report.html import NAME_LIMIT, NULL, short
from celadon.scoring.summary import Bins, Summary, SummaryRow


@dataclass(frozen=True)
class Column:
    """A metric as the report shows it, with its summary rows in the order of the systems."""

    spec: str
    info: MetricInfo
    decimals: int
    rows: tuple[SummaryRow, ...]

    @property
    def higher(self) -> bool:
        """Whether a higher value is the better one."""
        return self.info.direction is Direction.HIGHER

    def number(self, value: float | None) -> str:
        """Write a value; a null as a dash."""
        return NULL if value is None else number(value, self.decimals)

    def interval(self, interval: Interval | None) -> str:
        """Write an interval."""
        return NULL if interval is None else f"{self.number(interval.low)} to {self.number(interval.high)}"


def columns(metrics: Sequence[Metric], summary: Summary) -> list[Column]:
    """Return the metrics' columns in their order."""
    result = []
    for metric in metrics:
        rows = tuple(row for row in summary.rows if row.metric == metric.spec)
        result.append(Column(metric.spec, metric.info, _decimals(metric.info, rows), rows))
    return result


def _decimals(info: MetricInfo, rows: Sequence[SummaryRow]) -> int:
    bounds = [abs(bound) for bound in (info.low, info.high)]
    if not all(map(math.isfinite, bounds)):
        bounds = [abs(edge) for row in rows for edge in occupied(row.histogram)]
    largest = max(bounds, default=1.0)
    return 3 if largest <= 2 else 2 if largest <= 20 else 1


def occupied(histogram: Bins) -> tuple[float, ...]:
    """Return the lowest and the highest edge between which there are values; nothing where there are none."""
    full = [place for place, count in enumerate(histogram.counts) if count]
    return (histogram.edges[full[0]], histogram.edges[full[-1] + 1]) if full else ()


def system_name(system: str | None, *, alone: bool = False) -> str:
    """Write a system's name; the texts of no system are all texts when there is no other."""
    if system is None:
        return "all texts" if alone else "(no system)"
    return short(system, NAME_LIMIT)
