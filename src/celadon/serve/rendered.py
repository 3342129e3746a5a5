"""A scored text as the page shows it: the sentences, tokens and marks of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from celadon.core import Metric, MetricScores, Sample
from celadon.report.columns import Column
from celadon.report.explained import alignment, aspects_of, evidence_of
from celadon.report.html import Row, marked
from celadon.report.keep import Kept
from celadon.report.texts import TextView

_DECIMALS = 3


class Rendered(NamedTuple):
    """What the templates render: the text, which kinds of marks it has, and how it differs from another text."""

    rows: list[Row]
    legend: dict[str, str]
    changes: list[Row]


def render_text(
    sample: Sample,
    before: str | None,
    metrics: Sequence[Metric],
    columns: Mapping[str, MetricScores],
    row: int,
    limit: int,
) -> Rendered:
    """Render a text.

    ``before``: another text, to show how this one differs from it.
    ``columns``: the scores of its batch.
    ``row``: where it stands there.
    ``limit``: how many characters are shown and explained.
    """
    results = [columns[metric.spec] for metric in metrics]
    aspects = aspects_of(metrics)
    kept = Kept(
        position=0,
        id=sample.id,
        system=None,
        text=sample.text,
        references=sample.references,
        values=tuple(float(result.values[row]) for result in results),
        reasons=tuple(result.reasons.get(row, "") for result in results),
        aspects=tuple(aspect.value(columns, row) for aspect in aspects),
        source=sample.source,
        markup=sample.markup,
        language=sample.language,
    )
    headings = [Column(metric.spec, metric.info, _DECIMALS, ()) for metric in metrics]
    view = TextView(metrics, headings, aspects, evidence_of([], [kept], metrics, limit), limit)
    return Rendered(list(view.rows(kept, limit)), view.legend([kept]), _changes(sample, before, limit))


def _changes(sample: Sample, before: str | None, limit: int) -> list[Row]:
    evidence = alignment(Kept(0, None, None, sample.text, (before,), (), ()), ()) if before is not None else None
    if evidence is None or before is None:
        return []
    first, second = (before, evidence.reference_spans), (sample.text, evidence.text_spans)
    return [
        Row("text", label, marked(text, spans, limit))
        for label, (text, spans) in (("First text", first), ("Second text", second))
    ]
