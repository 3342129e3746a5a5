"""Which metric is better: a matrix of adjusted p-values, and in words what is and what is not shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from celadon.meta.study import ComparisonRow, Study
from celadon.report import meta_choice as choice
from celadon.report.columns import NULL
from celadon.report.escape import escape
from celadon.report.meta_cells import folded, number, probability, text_of

_NAMED = 12


def comparisons(study: Study) -> str:
    """A part per rating and test."""
    parts: list[str] = []
    for human in choice.humans_of(study):
        mine = [row for row in study.comparisons if row.human == human]
        for test, level, kind in dict.fromkeys((row.test, row.level, row.kind) for row in mine):
            rows = [row for row in mine if (row.test, row.level, row.kind) == (test, level, kind)]
            order = _order(rows)
            note = f"{test}, {kind} correlation, {choice.level_name(level)}"
            body = _in_words(rows, order, human) + _matrix(rows, order, human)
            parts.append(folded(text_of(human), body, opened=not parts, note=note))
    return "".join(parts)


def _order(rows: Sequence[ComparisonRow]) -> list[str]:
    """The metrics compared, best first."""
    values: dict[str, float] = {}
    for row in rows:
        values.setdefault(row.first, row.first_value)
        values.setdefault(row.second, row.second_value)
    return sorted(values, key=lambda metric: -values[metric] if math.isfinite(values[metric]) else math.inf)


def _in_words(rows: Sequence[ComparisonRow], order: Sequence[str], human: str) -> str:
    """Say what is shown, what is not, and what that does not mean."""
    tested = [row for row in rows if math.isfinite(row.adjusted)]
    untested = [row for row in rows if not math.isfinite(row.adjusted)]
    lines = _of_tested(tested, order, human) if tested else []
    if untested:
        reasons = "; ".join(dict.fromkeys(row.reason for row in untested if row.reason))
        pairs = "1 pair" if len(untested) == 1 else f"{len(untested):,} pairs"
        lines.append(f"{pairs} could not be tested{f': {escape(reasons[:300])}' if reasons else ''}.")
    return f'<p class="words">{" ".join(lines)}</p>'


def _of_tested(tested: Sequence[ComparisonRow], order: Sequence[str], human: str) -> list[str]:
    shown = [row for row in tested if row.shown]
    best = order[0]
    losers = {_loser(row) for row in shown if _winner(row) == best}
    level = [metric for metric in order[1:] if metric not in losers]
    lines = [
        f"Of {len(tested):,} {'pair' if len(tested) == 1 else 'pairs'} of metrics tested, {len(shown):,} "
        f"{'differs' if len(shown) == 1 else 'differ'} after the correction for testing many."
    ]
    if losers and not level:
        lines.append(f"{text_of(best)} agrees with {text_of(human)} better than every other metric.")
    elif losers:
        lines.append(
            f"{text_of(best)} is shown to agree with {text_of(human)} better than {len(losers):,} of the "
            f"{len(order) - 1:,} others. It is not shown to be better than {_listed(level)}."
        )
    else:
        lines.append(f"No metric is shown to be worse than {text_of(best)}, which has the highest correlation.")
    if level or len(shown) < len(tested):
        lines.append("What is not shown to differ is not thereby shown to be equal: more rows might tell them apart.")
    return lines


def _winner(row: ComparisonRow) -> str:
    return row.first if row.first_value >= row.second_value else row.second


def _loser(row: ComparisonRow) -> str:
    return row.second if row.first_value >= row.second_value else row.first


def _listed(metrics: Sequence[str]) -> str:
    names = ", ".join(text_of(metric) for metric in metrics[:_NAMED])
    more = len(metrics) - _NAMED
    return f"{names} and {more:,} more" if more > 0 else names


def _matrix(rows: Sequence[ComparisonRow], order: Sequence[str], human: str) -> str:
    """Adjusted p of each pair; the columns have the numbers of the rows, so that the matrix stays narrow."""
    cells: dict[tuple[str, str], ComparisonRow] = {}
    for row in rows:
        cells.setdefault((row.second, row.first), row)
    for row in rows:
        cells[row.first, row.second] = row
    heads = "".join(f'<th scope="col">{place}</th>' for place in range(1, len(order) + 1))
    lines = []
    for place, metric in enumerate(order, start=1):
        inside = "".join(_cell(metric, other, cells.get((metric, other))) for other in order)
        lines.append(f'<tr><th scope="row"><span class="system">{place}</span> {text_of(metric)}</th>{inside}</tr>')
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(f"Comparisons for {human}")}">'
        f'<table class="matrix"><caption>Adjusted p. <b class="up">▲ the metric of the row is better</b>, '
        f'<b class="down">▽ the metric of the column is better</b>, plain: not shown. '
        f"An arrow without a number: p below 0.001.</caption>"
        f'<thead><tr><th scope="col">Metric</th>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def _cell(metric: str, other: str, row: ComparisonRow | None) -> str:
    if metric == other:
        return "<td></td>"
    if row is None or not math.isfinite(row.adjusted):
        return f"<td>{NULL}</td>"
    if not row.shown:
        return f"<td>{_p(row)}</td>"
    better = _winner(row) == metric
    said = f"{number(row.first_value)} against {number(row.second_value)}" if better and row.first == metric else ""
    title = f' title="{said}"' if said else ""
    sign = "▲" if better else "▽"
    return f'<td class="{"up" if better else "down"}"{title}>{sign}{"" if row.adjusted < 0.001 else _p(row)}</td>'


def _p(row: ComparisonRow) -> str:
    """Write p as short as it can be: there are many columns."""
    return "1" if row.adjusted >= 0.9995 else escape(probability(row.adjusted).replace("0.", "."))
