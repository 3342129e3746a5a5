"""The aspects of each system side by side, as bars.

Bars, and not the spokes of a radar: lengths from one common zero can be compared between systems, they can carry an
interval, and aspects that are penalties have a place left of the zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from celadon.core import Metric, MetricInfo, MetricScores, Sample
from celadon.report.aspects import WHOLE
from celadon.report.charts import Axis, axis, beam, scale
from celadon.report.columns import NULL, breakable, system_name
from celadon.report.escape import escape
from celadon.report.sections import SYSTEMS_DRAWN
from celadon.scoring.batch import Batch
from celadon.scoring.summary import Summarizer, SummaryRow

_DECIMALS = 3


@dataclass(frozen=True)
class _Aspect(Metric):
    """Stands for an aspect of a metric whose scores are there already, so that they can be summed up."""

    of: str
    name: str
    info: ClassVar[MetricInfo] = MetricInfo("aspect", "an aspect of a metric", "as the metric's own")

    @property
    def spec(self) -> str:
        return f"{self.of}.{self.name}"

    def score(self, batch: Batch) -> MetricScores:
        raise NotImplementedError("an aspect is scored by its metric")


class AspectMeans:
    """Sums up the aspects of each system over a stream, in constant memory.

    Parameters
    ----------
    metrics
        The metrics of the stream; those made of aspects are taken.
    seed
        Of the bootstrap.
    """

    def __init__(self, metrics: Sequence[Metric], seed: int) -> None:
        self._metrics = [metric for metric in metrics if isinstance(metric, WHOLE)]
        aspects = [_Aspect(metric.spec, name) for metric in self._metrics for name in metric.info.parts]
        self._summarizer = Summarizer(aspects, seed=seed)

    def add(self, samples: Sequence[Sample], scores: Mapping[str, MetricScores]) -> None:
        """Take the scores of the next samples of the stream."""
        if not self._metrics:
            return
        parts = {
            f"{metric.spec}.{name}": MetricScores(f"{metric.spec}.{name}", scores[metric.spec].parts[name])
            for metric in self._metrics
            for name in metric.info.parts
        }
        self._summarizer.add(samples, parts)

    def section(self, *, alone: bool) -> str:
        """Draw four bars for each system; nothing where no metric has aspects.

        Parameters
        ----------
        alone
            Whether the texts of no system are all texts.
        """
        rows = self._summarizer.summary().rows if self._metrics else ()
        if not rows:
            return ""
        drawn = "".join(
            _metric(metric, [row for row in rows if row.metric.startswith(f"{metric.spec}.")], alone=alone)
            for metric in self._metrics
        )
        return (
            '<section id="aspects"><h2>Aspects</h2><p>Each bar is a mean over texts and the line across its end the '
            "95% interval. All systems of a metric share one axis; a bar to the left of zero is a penalty.</p>"
            f"{drawn}</section>"
        )


def _metric(metric: Metric, rows: Sequence[SummaryRow], *, alone: bool) -> str:
    systems = list(dict.fromkeys(row.system for row in rows))
    shown = systems[:SYSTEMS_DRAWN]
    drawn = [row for row in rows if row.system in shown]
    reach = [x for row in drawn for x in (row.mean, *(row.mean_interval or ())) if x is not None]
    shared = axis([0.0, 1.0, *reach], smallest=1.0, tight=True)
    cards = "".join(
        _card(system_name(system, alone=alone), [row for row in drawn if row.system == system], metric, shared)
        for system in shown
    )
    more = len(systems) - len(shown)
    left = f"<p>The first {SYSTEMS_DRAWN} systems are drawn; {more:,} more are not.</p>" if more else ""
    return f'<h3>{breakable(metric.spec)}</h3>{left}<div class="cards">{cards}</div>'


def _card(system: str, rows: Sequence[SummaryRow], metric: Metric, shared: Axis) -> str:
    lines = []
    for row in rows:
        name = escape(row.metric.removeprefix(f"{metric.spec}."))
        mean, interval = _number(row.mean), _interval(row)
        label = f"{name}: mean {mean}, 95% interval {interval}"
        lines.append(
            f'<tr><th scope="row">{name}</th><td class="chart">{beam(shared, row.mean, row.mean_interval, label)}</td>'
            f'<td class="n" data-label="Mean">{mean}<small>{interval}</small></td>'
            f'<td class="n" data-label="Scored">{row.count:,}</td></tr>'
        )
    heads = (
        '<th scope="col">Aspect</th><th scope="col" class="chart"><span class="vh">Chart</span></th>'
        '<th scope="col">Mean</th><th scope="col">Scored</th>'
    )
    return (
        f'<article class="card"><h4 dir="auto">{system}</h4><table class="systems"><thead><tr>{heads}</tr></thead>'
        f'<tbody>{"".join(lines)}</tbody><tfoot><tr><td></td><td class="chart">{scale(shared)}</td>'
        '<td colspan="2"></td></tr></tfoot></table></article>'
    )


def _number(value: float | None) -> str:
    if value is None:
        return NULL
    shown = f"{value:.{_DECIMALS}f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown


def _interval(row: SummaryRow) -> str:
    if row.mean_interval is None:
        return NULL
    return f"{_number(row.mean_interval.low)} to {_number(row.mean_interval.high)}"
