"""A scored text as the page shows it: the sentences, tokens and marks of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from celadon.core import Metric, MetricScores, Sample
from celadon.report.alignment import alignment
from celadon.report.aspects import aspects, explained
from celadon.report.columns import Column
from celadon.report.keep import Kept
from celadon.report.parsed import parsed_texts
from celadon.report.spans import marked
from celadon.report.surprisal import surprisals
from celadon.report.texts import TextView
from celadon.report.tree_drawings import tree_drawings

_DECIMALS = 3
_CHANGES = (
    '<div class="legend"><ul><li><mark>changed</mark> other words stand here</li><li><ins>new</ins> in the second text '
    "only</li><li><del>gone</del> in the first text only</li>"
    '<li><mark class="m">moved</mark> the same words, elsewhere</li></ul></div>'
)


class Shown(NamedTuple):
    """HTML, made by the report: the text, what the marks mean, and how it differs from another text."""

    text: str
    legend: str
    changes: str


def shown(
    sample: Sample,
    before: str | None,
    metrics: Sequence[Metric],
    columns: Mapping[str, MetricScores],
    row: int,
    limit: int,
) -> Shown:
    """Show a text.

    Parameters
    ----------
    sample
        The text.
    before
        Another text, to show how this one differs from it.
    metrics
        What it was scored with.
    columns
        The scores of its batch.
    row
        Where it stands there.
    limit
        How many characters are shown and explained.
    """
    results = [columns[metric.spec] for metric in metrics]
    kept = Kept(
        position=0,
        id=sample.id,
        system=None,
        text=sample.text,
        references=sample.references,
        values=tuple(float(result.values[row]) for result in results),
        reasons=tuple(result.reasons.get(row, "") for result in results),
        aspects=explained(metrics).values(columns, row),
    )
    scored = [metric for metric, value in zip(metrics, kept.values, strict=True) if math.isfinite(value)]
    headings = [Column(metric.spec, metric.info, _DECIMALS, ()) for metric in metrics]
    view = TextView(
        metrics,
        headings,
        named_systems=False,
        surprisals=surprisals([kept], scored, limit),
        aspects=aspects([kept], metrics, limit),
        parsed=parsed_texts([kept], scored, limit),
        trees=tree_drawings([kept], scored),
    )
    return Shown(view.laid_out(kept, limit), view.legend([kept]), _changes(sample, before, limit))


def _changes(sample: Sample, before: str | None, limit: int) -> str:
    if before is None:
        return ""
    both = Kept(0, None, None, sample.text, (before,), (), ())
    found = alignment(both, ())
    if found is None:
        return ""
    return (
        f'<div class="pair"><b>First text</b><p dir="auto">{marked(before, found.reference_spans, limit)}</p>'
        f'<b>Second text</b><p dir="auto">{marked(sample.text, found.text_spans, limit)}</p></div>{_CHANGES}'
    )
