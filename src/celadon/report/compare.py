"""Two sets of scores of the same items, side by side: which reads better, and the page that shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from celadon.core import Direction, Evidence, MetricInfo, Sample
from celadon.meta.paired_differences import PairedResult
from celadon.report import page
from celadon.report.blocks import (
    Block,
    Cell,
    Head,
    PageSection,
    Table,
    count_cell,
    general,
    name_cell,
    number,
    number_cell,
    probability_cell,
)
from celadon.report.escape import cut_at
from celadon.report.html import NULL, marked, markup, style

LEVEL = 0.05
"""The chance of even one false finding among all metrics."""
# Aligning is quadratic at worst.
_ALIGNED_CHARS = 4_000
_HEADS = ("A", "B", "B − A", "95% interval", "B better", "equal", "A better", "p", "p, adjusted")


class ComparedMetric(NamedTuple):
    """One metric, or a part of one, of both sides; ``adjusted`` is the p-value after Holm's correction."""

    name: str
    info: MetricInfo
    lower_is_better: bool
    result: PairedResult
    adjusted: float

    @property
    def better(self) -> str:
        """``A`` or ``B`` where one is shown to be better, else nothing."""
        result = self.result
        if not (self.adjusted < LEVEL and (result.low > 0 or result.high < 0)):
            return ""
        return "B" if (result.difference > 0) is not self.lower_is_better else "A"

    @property
    def wins(self) -> int:
        """In how many pairs B is the better one."""
        return self.result.lower if self.lower_is_better else self.result.higher

    @property
    def losses(self) -> int:
        """In how many pairs A is the better one."""
        return self.result.higher if self.lower_is_better else self.result.lower

    @property
    def verdict(self) -> str:
        """The finding in one line."""
        result = self.result
        if not result.pairs:
            return f"{self.name}: no pair has both values"
        text = f"{self.name} {_signed(result.difference, result)}"
        if result.has_interval:
            low, high = (_signed(value, result) for value in (result.low, result.high))
            text += f" ({low} .. {high})"
        if not self.better:
            return f"no difference can be told: {text}"
        verb = "scores" if self.info.needs else "reads"
        return f"{self.better} {verb} better than {'A' if self.better == 'B' else 'B'}: {text}"


def _signed(value: float, result: PairedResult) -> str:
    size = max(abs(result.mean_a), abs(result.mean_b))
    return f"{value:+.{2 if size > 10 else 3}f}" if math.isfinite(value) else "-"


class TextOf(NamedTuple):
    """One side of a pair: who it is, where it stands, its text if there is one, and its value."""

    id: str | None
    system: str | None
    where: str
    text: str | None
    value: float


class ChangedText(NamedTuple):
    """A pair whose value changed much; ``gain`` is positive where B is better."""

    first: TextOf
    second: TextOf
    gain: float


@dataclass(frozen=True)
class Comparison:
    """What two sets of scores tell of each other.

    ``alone`` counts the rows of each side without a partner, the metric that decides comes first, and ``better`` and
    ``worse`` are the texts that gained and lost most from A to B under it.
    """

    names: tuple[str, str]
    rows: tuple[int, int]
    pairs: int
    paired_by: str
    alone: tuple[int, int]
    metrics: tuple[ComparedMetric, ...]
    better: tuple[ChangedText, ...]
    worse: tuple[ChangedText, ...]
    signatures: tuple[Mapping[str, str] | None, Mapping[str, str] | None]
    notes: tuple[str, ...]
    seed: int
    resamples: int

    @property
    def verdict(self) -> str:
        """The finding of the first metric."""
        return self.metrics[0].verdict


def in_order(metrics: Sequence[str]) -> list[str]:
    """Put first what tells of the reading as a whole; the others stay in their order."""
    return sorted(metrics, key=lambda name: name.partition("[")[0] != "celadon")


def is_lower_better(info: MetricInfo) -> bool:
    """Whether the lower end is the better one."""
    return info.direction is Direction.LOWER


def compare_page(comparison: Comparison, *, title: str) -> str:
    """Return the comparison as one HTML file that needs nothing else."""
    css = style("colors", "report", "tables", "compare")
    metrics, making = _metrics(comparison), _making(comparison)
    aligned = {id(change): _aligned(change) for change in (*comparison.better, *comparison.worse)}
    facts = [
        ("Pairs of texts", f"{comparison.pairs:,}"),
        ("Paired by", comparison.paired_by),
        ("Only in A", f"{comparison.alone[0]:,}"),
        ("Only in B", f"{comparison.alone[1]:,}"),
    ]
    intro = markup(
        "From A to B, by {}. Words of one side only are marked: <del>in A only</del>, <ins>in B only</ins>, "
        '<mark>another word</mark>, <mark class="m">elsewhere</mark>.'
    ).format(comparison.metrics[0].name)

    def rendered(limit: int, count: int) -> str:
        lists = (
            ("better", "Texts that gained most", comparison.better),
            ("worse", "Texts that lost most", comparison.worse),
        )
        texts = [
            PageSection(
                place,
                "",
                heading,
                intro,
                [Block("changes", [_change(each, aligned[id(each)], limit) for each in changes[:count]])],
            )
            for place, heading, changes in lists
            if changes[:count]
        ]
        return page.document(
            "compare.html",
            title=title,
            css=css,
            sides=list(zip("AB", comparison.names, comparison.rows, strict=True)),
            facts=facts,
            verdict=comparison.verdict,
            notes=comparison.notes,
            sections=[metrics, *texts, making],
        )

    return page.fitted(rendered, max(len(comparison.better), len(comparison.worse)), page.BYTES)


def _metrics(comparison: Comparison) -> PageSection:
    heads = [Head("Metric", "text"), *(Head(name, "" if name == "95% interval" else "number") for name in _HEADS)]
    return PageSection(
        "metrics",
        "Metrics",
        "Metric by metric",
        f"Means over the pairs that have both values, and the mean of the differences with its 95% bootstrap interval. "
        f"p is the greater one of a paired permutation test and a bootstrap of t; adjusted (Holm) so that the chance "
        f"of even one false finding is {LEVEL:.0%}. A difference that cannot be told is not thereby shown to be none.",
        [
            Table("Metrics of A and B", heads, [_row(metric) for metric in comparison.metrics]),
            Block("verdicts", [metric.verdict for metric in comparison.metrics]),
        ],
    )


def _row(metric: ComparedMetric) -> list[Cell]:
    result = metric.result
    arrow = "↓ lower is better" if metric.lower_is_better else "↑ higher is better"
    digits = 2 if max(abs(result.mean_a), abs(result.mean_b)) > 10 else 3
    interval = f"{number(result.low, digits)} to {number(result.high, digits)}" if result.has_interval else NULL
    return [
        name_cell(f"{metric.name} {arrow}"),
        *(number_cell(value, digits) for value in (result.mean_a, result.mean_b, result.difference)),
        Cell(interval),
        *map(count_cell, (metric.wins, result.ties, metric.losses)),
        probability_cell(result.pvalue),
        probability_cell(metric.adjusted),
    ]


def _aligned(change: ChangedText) -> Evidence | None:
    from celadon.metrics.string_accuracy import GenerationStringAccuracy

    first, second = change.first.text, change.second.text
    if first is None or second is None:
        return None
    heads = [text[: cut_at(text, _ALIGNED_CHARS)] for text in (first, second)]
    return GenerationStringAccuracy().evidence(Sample(heads[1], (heads[0],)))


def _change(change: ChangedText, evidence: Evidence | None, limit: int) -> dict[str, Any]:
    names = [part for part in (change.second.id, change.second.system) if part is not None] or [change.second.where]
    spans = (evidence.reference_spans, evidence.text_spans) if evidence else ((), ())
    texts = (change.first.text, change.second.text)
    rendered = [None if text is None else marked(text, some, limit) for text, some in zip(texts, spans, strict=True)]
    return {
        "names": names,
        "values": f"{general(change.first.value)} to {general(change.second.value)}",
        "sides": list(zip("AB", rendered, strict=True)),
    }


def _making(comparison: Comparison) -> PageSection:
    signatures = [
        (
            metric.name,
            metric.info.meaning,
            [
                f"{side}: {known.get(metric.name, NULL) if known else 'not told by a file'}"
                for side, known in zip("AB", comparison.signatures, strict=True)
            ],
        )
        for metric in comparison.metrics
    ]
    return PageSection(
        "making",
        "How it was made",
        "How it was made",
        "Intervals are of a Poisson bootstrap over the pairs, p-values of it and of random exchanges of A and B within "
        "pairs, "
        f"{comparison.resamples:,} of each, seed {comparison.seed}.",
        [Block("signatures", signatures)],
    )
