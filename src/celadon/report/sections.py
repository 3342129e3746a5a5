"""The report's upper part: header, systems side by side, distributions."""

from __future__ import annotations

from collections.abc import Sequence

from celadon.report.charts import Axis, axis, bars, rebinned, scale, shares, whisker
from celadon.report.columns import NULL, Column, occupied, system_name
from celadon.report.escape import escape, short
from celadon.scoring.summary import Bins, Summary, SummaryRow

SYSTEMS_DRAWN = 60
_INPUTS_NAMED = 12


def header(
    title: str, inputs: Sequence[str], summary: Summary, columns: Sequence[Column], *, rows: int, rejected: int
) -> str:
    """Say what was scored and how."""
    facts = [
        ("Texts scored", f"{rows:,}"),
        ("Systems", f"{sum(system is not None for system in summary.systems):,}"),
        ("Metrics", f"{len(columns):,}"),
        ("Null scores", f"{sum(row.nulls for row in summary.rows):,}"),
        ("Rows rejected", f"{rejected:,}"),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return (
        f'<header><h1 dir="auto">{short(title, 300)}</h1>{_inputs(inputs)}<dl class="facts">{listed}</dl>'
        f"{_making(summary, columns)}</header>"
    )


def _inputs(inputs: Sequence[str]) -> str:
    if not inputs:
        return ""
    names = ", ".join(f"<bdi>{short(name, 200)}</bdi>" for name in inputs[:_INPUTS_NAMED])
    more = len(inputs) - _INPUTS_NAMED
    return f'<p class="inputs">From {names}{f" and {more:,} more" if more > 0 else ""}</p>'


def _making(summary: Summary, columns: Sequence[Column]) -> str:
    signatures = "".join(
        f"<div><dt>{short(column.spec, 200)}</dt><dd>{escape(column.info.meaning)}. {escape(column.info.reading)}"
        f"<code>{escape(summary.signatures.get(column.spec, NULL))}</code></dd></div>"
        for column in columns
    )
    return (
        '<details class="making"><summary>How these scores were made</summary>'
        f"<p>Intervals are 95% percentile intervals of a Poisson bootstrap over the texts with {summary.resamples:,} "
        f'resamples and seed {summary.seed}.</p><dl class="signatures">{signatures}</dl></details>'
    )


def systems(columns: Sequence[Column], *, alone: bool) -> str:
    """Lay the systems side by side under each metric."""
    cards = "".join(_card(column, alone=alone) for column in columns)
    return (
        '<section id="systems"><h2>Systems side by side</h2><p>Each dot is a mean over texts and its line the 95% '
        "interval. The systems of a metric share one axis, which need not begin at zero.</p>"
        f'{_undrawn(columns)}<div class="cards">{cards}</div></section>'
    )


def _undrawn(columns: Sequence[Column]) -> str:
    more = max((len(column.rows) for column in columns), default=0) - SYSTEMS_DRAWN
    return f"<p>The first {SYSTEMS_DRAWN} systems are drawn; {more:,} more are not.</p>" if more > 0 else ""


def _card(column: Column, *, alone: bool) -> str:
    rows = column.rows[:SYSTEMS_DRAWN]
    shared = axis(
        [x for row in rows for x in (row.mean, *(row.mean_interval or ())) if x is not None],
        smallest=4 * 10.0**-column.decimals,
    )
    corpus = any(row.corpus is not None for row in rows)
    first = "descending" if column.higher else "ascending"
    heads = [
        '<th scope="col" data-sort="text">System</th>',
        '<th scope="col" class="chart"><span class="vh">Chart</span></th>',
        f'<th scope="col" data-sort="number" data-first="{first}">Mean</th>',
        f'<th scope="col" data-sort="number" data-first="{first}">Corpus</th>' if corpus else "",
        '<th scope="col" data-sort="number">Scored</th>',
        '<th scope="col" data-sort="number">Nulls</th>',
    ]
    body = "".join(_system_row(column, row, shared, corpus=corpus, alone=alone) for row in rows)
    return (
        f'<article class="card"><h3>{column.heading}</h3><p class="meaning">{escape(column.info.meaning)}</p>'
        f'<table class="systems" data-sortable><thead><tr>{"".join(heads)}</tr></thead><tbody>{body}</tbody>'
        f'<tfoot><tr><td></td><td class="chart">{scale(shared)}</td><td colspan="{4 if corpus else 3}"></td></tr>'
        "</tfoot></table></article>"
    )


def _system_row(column: Column, row: SummaryRow, shared: Axis, *, corpus: bool, alone: bool) -> str:
    name = system_name(row.system, alone=alone)
    mean, interval = column.number(row.mean), column.interval(row.mean_interval)
    label = f"mean {mean}, 95% interval {interval}"
    cells = [
        f'<th scope="row" dir="auto">{name}</th>',
        f'<td class="chart">{whisker(shared, row.mean, row.mean_interval, label)}</td>',
        f'<td class="n" data-label="Mean">{mean}<small>{interval}</small></td>',
    ]
    if corpus:
        small = column.interval(row.corpus_interval)
        cells.append(f'<td class="n" data-label="Corpus">{column.number(row.corpus)}<small>{small}</small></td>')
    cells.append(f'<td class="n" data-label="Scored">{row.count:,}</td>')
    cells.append(f'<td class="n" data-label="Nulls">{row.nulls:,}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def distributions(columns: Sequence[Column], *, alone: bool) -> str:
    """Draw every metric's histogram per system, as small multiples with shared axes."""
    return (
        '<section id="distributions"><h2>Distributions</h2><p>How the scores of single texts are spread. Within a '
        "metric all systems share both axes; the height is the share of a system's texts and the upright line "
        f"its mean.</p>{''.join(_multiples(column, alone=alone) for column in columns)}</section>"
    )


def _multiples(column: Column, *, alone: bool) -> str:
    rows = column.rows[:SYSTEMS_DRAWN]
    histograms = rebinned([row.histogram for row in rows])
    edges = [edge for histogram in histograms for edge in occupied(histogram)]
    shared = axis(edges, smallest=4 * 10.0**-column.decimals, tight=True)
    tallest = max((share for histogram in histograms for share in shares(histogram)), default=0.0) or 1.0
    figures = []
    for row, histogram in zip(rows, histograms, strict=True):
        name = system_name(row.system, alone=alone)
        label = f"{row.count:,} texts, mean {column.number(row.mean)}, {_reach(column, histogram)}"
        figures.append(
            f"<figure><figcaption><bdi>{name}</bdi> <small>{row.count:,} texts</small></figcaption>"
            f"{bars(shared, histogram, tallest, row.mean, label)}{scale(shared)}</figure>"
        )
    return f'<div class="metric"><h3>{column.heading}</h3><div class="multiples">{"".join(figures)}</div></div>'


def _reach(column: Column, histogram: Bins) -> str:
    """Say in words between which edges the values lie."""
    edges = occupied(histogram)
    return f"values between {column.number(edges[0])} and {column.number(edges[1])}" if edges else "no values"
