"""The page of a comparison: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence

from celadon.core import Evidence, Sample, Span
from celadon.metrics.string_accuracy import GenerationStringAccuracy
from celadon.report import page
from celadon.report.columns import NAME_LIMIT, NULL
from celadon.report.compare import LEVEL, ChangedText, ComparedMetric, Comparison, TextOf
from celadon.report.escape import cut_at, escape, short
from celadon.report.meta_cells import (
    Head,
    count_cell,
    general,
    name_cell,
    number,
    number_cell,
    probability_cell,
    section,
    table,
)
from celadon.report.spans import marked

# Aligning is quadratic at worst.
_ALIGNED_CHARS = 4_000
_HEADS = ("A", "B", "B − A", "95% interval", "B better", "equal", "A better", "p", "p, adjusted")


def compare_page(comparison: Comparison, *, title: str) -> str:
    """Return the comparison as one HTML file that needs nothing else.

    Parameters
    ----------
    comparison
        What was found.
    title
        The page's heading.
    """
    style = page.asset("style.css") + page.asset("meta.css") + page.asset("compare.css")
    upper = _header(comparison, title) + "<main>" + _metrics(comparison)
    lower = _making(comparison)
    aligned = {id(change): _aligned(change) for change in (*comparison.better, *comparison.worse)}

    def render(limit: int, count: int) -> str:
        texts = "".join(
            section(place, heading, intro, _changes(changes[:count], aligned, limit))
            for place, heading, intro, changes in _lists(comparison)
        )
        return page.document(title, f"{upper}{texts}{lower}</main>", style=style)

    return page.fitted(render, max(len(comparison.better), len(comparison.worse)), page.BYTES)


def _header(comparison: Comparison, title: str) -> str:
    facts = [
        ("Pairs of texts", f"{comparison.pairs:,}"),
        ("Paired by", comparison.paired_by),
        ("Only in A", f"{comparison.alone[0]:,}"),
        ("Only in B", f"{comparison.alone[1]:,}"),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    names = "".join(
        f'<p class="inputs">{side}: <bdi>{short(name, 200)}</bdi>, {rows:,} rows</p>'
        for side, name, rows in zip("AB", comparison.names, comparison.rows, strict=True)
    )
    notes = "".join(f"<li>{short(note, 600)}</li>" for note in comparison.notes)
    return (
        f'<header><h1 dir="auto">{short(title, 300)}</h1>{names}<dl class="facts">{listed}</dl>'
        f'<p class="verdict">{short(comparison.verdict, 300)}</p>{f"<ul>{notes}</ul>" if notes else ""}</header>'
    )


def _metrics(comparison: Comparison) -> str:
    heads = [Head("Metric", "text"), *(Head(name, "" if name == "95% interval" else "number") for name in _HEADS)]
    lines = "".join(f"<li>{short(metric.verdict, 300)}</li>" for metric in comparison.metrics)
    return section(
        "metrics",
        "Metric by metric",
        f"Means over the pairs that have both values, and the mean of the differences with its 95% bootstrap interval. "
        f"p is of a paired permutation test; adjusted (Holm) so that the chance of even one false finding is "
        f"{LEVEL:.0%}. A difference that cannot be told is not thereby shown to be none.",
        table(heads, map(_row, comparison.metrics), label="Metrics of A and B") + f'<ul class="verdicts">{lines}</ul>',
    )


def _row(metric: ComparedMetric) -> str:
    result = metric.result
    arrow = "↓ lower is better" if metric.lower_is_better else "↑ higher is better"
    digits = 2 if max(abs(result.mean_a), abs(result.mean_b)) > 10 else 3
    interval = f"{number(result.low, digits)} to {number(result.high, digits)}" if result.pairs else NULL
    return (
        name_cell(f"{metric.name} {arrow}")
        + "".join(number_cell(value, digits) for value in (result.mean_a, result.mean_b, result.difference))
        + f'<td class="n">{interval}</td>'
        + "".join(map(count_cell, (metric.wins, result.ties, metric.losses)))
        + probability_cell(result.pvalue)
        + probability_cell(metric.adjusted)
    )


def _lists(comparison: Comparison) -> list[tuple[str, str, str, Sequence[ChangedText]]]:
    name = escape(comparison.metrics[0].name)
    marks = (
        "Words of one side only are marked: <del>in A only</del>, <ins>in B only</ins>, <mark>another word</mark>, "
        '<mark class="m">elsewhere</mark>.'
    )
    return [
        ("better", "Texts that gained most", f"From A to B, by {name}. {marks}", comparison.better),
        ("worse", "Texts that lost most", f"From A to B, by {name}. {marks}", comparison.worse),
    ]


def _aligned(change: ChangedText) -> Evidence | None:
    first, second = (each.text for each in (change.first, change.second))
    if first is None or second is None:
        return None
    heads = [text[: cut_at(text, _ALIGNED_CHARS)] for text in (first, second)]
    return GenerationStringAccuracy().evidence(Sample(heads[1], (heads[0],)))


def _changes(changes: Sequence[ChangedText], aligned: dict[int, Evidence | None], limit: int) -> str:
    items = "".join(_change(change, aligned[id(change)], limit) for change in changes)
    return f'<ol class="changes">{items}</ol>' if items else ""


def _change(change: ChangedText, evidence: Evidence | None, limit: int) -> str:
    who = [part for part in (change.second.id, change.second.system) if part is not None] or [change.second.where]
    named = ", ".join(f"<bdi>{short(part, NAME_LIMIT)}</bdi>" for part in who)
    values = f"{general(change.first.value)} to {general(change.second.value)}"
    spans: tuple[tuple[Span, ...], tuple[Span, ...]] = ((), ())
    if evidence is not None:
        spans = (evidence.reference_spans, evidence.text_spans)
    sides = "".join(
        f'<div><b>{side}</b><p dir="auto">{_text(each, some, limit)}</p></div>'
        for side, each, some in zip("AB", (change.first, change.second), spans, strict=True)
    )
    return (
        f'<li><p class="line"><strong>{values}</strong> <span class="system">{named}</span></p>'
        f'<div class="versus">{sides}</div></li>'
    )


def _text(side: TextOf, spans: Sequence[Span], limit: int) -> str:
    return "<i>no text in this file</i>" if side.text is None else marked(side.text, spans, limit)


def _making(comparison: Comparison) -> str:
    lines = ""
    for metric in comparison.metrics:
        told = "".join(
            f"<code>{side}: {escape(signatures.get(metric.name, NULL)) if signatures else 'not told by a file'}</code>"
            for side, signatures in zip("AB", comparison.signatures, strict=True)
        )
        lines += f"<div><dt>{short(metric.name, 200)}</dt><dd>{escape(metric.info.meaning)}{told}</dd></div>"
    return (
        '<section id="making"><h2>How it was made</h2><p>Intervals are of a Poisson bootstrap over the pairs, p-values '
        f"of random exchanges of A and B within pairs, {comparison.resamples:,} of each, seed {comparison.seed}.</p>"
        f'<dl class="signatures">{lines}</dl></section>'
    )
