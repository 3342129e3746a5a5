"""The tables of the meta-evaluation's page: correlations, groups, raters, accuracies, levels, parts, references."""

from __future__ import annotations

import math
from collections.abc import Sequence

from celadon.meta.study import AccuracyRow, AgreementRow, CorrelationRow, LevelRow, Study
from celadon.report import meta_choice as choice
from celadon.report.escape import escape
from celadon.report.meta_cells import (
    Head,
    count_cell,
    folded,
    general_cell,
    interval,
    name_cell,
    number,
    number_cell,
    probability_cell,
    table,
    text_cell,
    text_of,
)
from celadon.report.meta_ladder import Rung
from celadon.report.plots.bars import kept_words

_METRIC = Head("Metric", "text")


_REASON = Head("Why not all", "")


def reason_heads(rows: Sequence[AgreementRow] | Sequence[AccuracyRow]) -> list[Head]:
    """The head of the column of reasons, where there are any."""
    return [_REASON] if any(row.reason for row in rows) else []


def reason_cell(row: AgreementRow | AccuracyRow, heads: Sequence[Head]) -> str:
    """The reason why a number is missing, where the table has a column for it."""
    return text_cell(row.reason) if _REASON in heads else ""


def correlation_tables(study: Study) -> str:
    """A table per rating: every metric at every level, with the ceiling beside it."""
    parts = []
    for place, human in enumerate(choice.humans_of(study)):
        body = _correlation_table(study, human)
        if body:
            parts.append(folded(text_of(human), body, opened=place == 0, note=_best_note(study, human)))
    return "".join(parts)


def _best_note(study: Study, human: str) -> str:
    rows = choice.main_rows(study, human)
    top = choice.ceiling(study, human)
    limit = f"; a perfect metric would reach {number(top)}" if math.isfinite(top) else ""
    if not rows or not math.isfinite(rows[0].value):
        return f"no metric has a correlation{limit}"
    return f"best: {rows[0].metric}, {number(rows[0].value)}{limit}"


def _correlation_table(study: Study, human: str) -> str:
    rows = [row for row in study.correlations if row.human == human and not row.group]
    if not rows:
        return ""
    pairs = choice.columns_of(rows)
    found = {(row.metric, row.level, row.kind): row for row in rows}
    top = choice.ceiling(study, human)
    heads = [_METRIC]
    for level, kind in pairs:
        heads.append(Head(f"{escape(kind.capitalize())}<br>{escape(choice.level_name(level))}"))
    heads += [Head("Ceiling"), Head("p", first="ascending"), Head("Squared error", first="ascending")]
    heads += [Head("Rows"), Head("Nulls")]
    lines = []
    for main in choice.main_rows(study, human):
        cells = [name_cell(main.metric)]
        cells += [correlation_cell(found.get((main.metric, level, kind))) for level, kind in pairs]
        share = f"{100 * main.value / top:.0f}% reached" if math.isfinite(main.value / top if top else math.nan) else ""
        cells += [number_cell(top, small=share), probability_cell(main.pvalue), general_cell(main.error)]
        cells += [count_cell(main.used), count_cell(main.nulls)]
        lines.append("".join(cells))
    return table(heads, lines, label=f"Correlations with {human}")


def correlation_cell(row: CorrelationRow | None) -> str:
    """A correlation above its interval, or a dash above the reason."""
    if row is None:
        return number_cell(math.nan)
    return number_cell(row.value, small=interval(row.low, row.high) if math.isfinite(row.value) else row.reason)


def group_tables(study: Study, prefix: str) -> str:
    """A table per rating of the correlations in groups whose name begins so: metrics by groups."""
    parts = []
    for place, human in enumerate(choice.humans_of(study)):
        rows = [row for row in study.correlations if row.human == human and row.group.startswith(prefix)]
        if not rows:
            continue
        level, kind = choice.columns_of(rows)[0]
        main = [row for row in rows if (row.level, row.kind) == (level, kind)]
        groups = list(dict.fromkeys(row.group for row in main))
        found = {(row.metric, row.group): row for row in main}
        used = {group: max(row.used for row in main if row.group == group) for group in groups}
        heads = [_METRIC, Head("All")]
        for group in groups:
            shown = group.removeprefix(prefix) or group
            heads.append(Head(f"{text_of(shown)} <small>{used[group]:,} rows</small>"))
        lines = []
        for overall in choice.main_rows(study, human):
            cells = [name_cell(overall.metric), correlation_cell(overall)]
            cells += [correlation_cell(found.get((overall.metric, group))) for group in groups]
            lines.append("".join(cells))
        note = f"{kind} correlation, {choice.level_name(level)}"
        body = table(heads, lines, label=f"Correlations with {human} by group")
        parts.append(folded(text_of(human), body, opened=place == 0, note=note))
    return "".join(parts)


def agreement_table(study: Study) -> str:
    """How far raters agree, one line per rating."""
    if not study.agreements:
        return ""
    names = "Raters,Items,Pairwise r,Weighted kappa,Alpha (interval),Alpha (ordinal),ICC single,ICC mean,Ceiling"
    heads = [Head("Rating", "text"), *map(Head, names.split(",")), *reason_heads(study.agreements)]
    lines = []
    for row in study.agreements:
        spread = ""
        if math.isfinite(row.pairwise_low):
            spread = f"{number(row.pairwise_low)} to {number(row.pairwise_high)}, sd {number(row.pairwise_sd)}"
        cells = [name_cell(row.human), count_cell(row.raters), count_cell(row.items)]
        cells.append(number_cell(row.pairwise_mean, small=spread))
        values = (row.kappa, row.alpha_interval, row.alpha_ordinal, row.icc_single, row.icc_mean, row.ceiling)
        cells += [*map(number_cell, values), reason_cell(row, heads)]
        lines.append("".join(cells))
    return table(heads, lines, label="Agreement of the raters")


def accuracy_tables(study: Study) -> str:
    """How often metrics order pairs as people do, a table per rating."""
    parts = []
    for place, human in enumerate(choice.humans_of(study)):
        rows = [row for row in study.accuracies if row.human == human]
        if not rows:
            continue
        rows.sort(key=lambda row: (math.isnan(row.pairwise), -row.pairwise if row.pairwise == row.pairwise else 0.0))
        heads = [_METRIC, Head("Pairs of texts"), Head("Tie threshold"), Head("Pairs of systems")]
        heads += [Head("Soft, systems"), *reason_heads(rows)]
        lines = [
            name_cell(row.metric)
            + number_cell(row.pairwise)
            + general_cell(row.tie_threshold)
            + number_cell(row.system_pairwise)
            + number_cell(row.soft_pairwise)
            + reason_cell(row, heads)
            for row in rows
        ]
        body = table(heads, lines, label=f"Pairwise accuracies for {human}")
        parts.append(folded(text_of(human), body, opened=place == 0))
    return "".join(parts)


def level_tables(study: Study, human: str) -> str:
    """The median and the quartiles of every metric at every level of a rating."""
    rows = [row for row in study.levels if row.human == human]
    if not rows:
        return ""
    labels = list(dict.fromkeys(row.label for row in rows))
    counts = {label: max(row.count for row in rows if row.label == label) for label in labels}
    found = {(row.metric, row.label): row for row in rows}
    heads = [_METRIC]
    heads += [Head(f"{text_of(label)} <small>{counts[label]:,} rows</small>") for label in labels]
    lines = []
    for metric in dict.fromkeys(row.metric for row in rows):
        cells = [_level_cell(found.get((metric, label))) for label in labels]
        lines.append(name_cell(metric) + "".join(cells))
    body = table(heads, lines, label=f"Medians and quartiles at each level of {human}")
    return folded("Medians and quartiles of all metrics", body)


def _level_cell(row: LevelRow | None) -> str:
    if row is None or not math.isfinite(row.quartiles[2]):
        return number_cell(math.nan)
    _, low, middle, high, _ = row.quartiles
    return f'<td class="n">{middle:.4g} <small>{low:.4g} to {high:.4g}</small></td>'


def ablation_table(study: Study, metric: str) -> str:
    """A metric without some of its parts, in numbers."""
    heads = [Head("Parts", "text"), Head("Rating", "text"), Head("Correlation"), Head("Change")]
    lines = [
        text_cell(kept_words(row.without))
        + f"<td>{text_of(row.human)}</td>"
        + number_cell(row.value)
        + number_cell(row.change)
        for row in study.ablations
        if row.metric == metric
    ]
    ways = ", ".join(dict.fromkeys(row.combination for row in study.ablations if row.metric == metric))
    body = table(heads, lines, label=f"Ablation of {metric}")
    return folded(f"{text_of(metric)} in numbers", body, note=f"parts put together by: {ways}")


def ladder_table(rungs: Sequence[Rung]) -> str:
    """A metric built up from its aspects, in numbers."""
    heads = [Head("Aspects", "text"), Head("Rating", "text"), Head("Correlation"), Head("Rows")]
    lines = [
        text_cell(f"{rung.letters}: {', '.join(rung.aspects)}")
        + f"<td>{text_of(rung.human)}</td>"
        + number_cell(rung.value, small=interval(rung.low, rung.high))
        + count_cell(rung.used)
        for rung in rungs
    ]
    body = table(heads, lines, label=f"Aspects of {rungs[0].metric} one after the other")
    return folded(f"{text_of(rungs[0].metric)} aspect by aspect", body, note=f"{rungs[0].kind} correlation")


def references_table(study: Study, human: str) -> str:
    """Correlations against the number of references, in numbers."""
    rows = [row for row in study.references if row.human == human]
    counts = sorted({row.references for row in rows})
    found = {(row.metric, row.references): row for row in rows}
    heads = [_METRIC, *(Head(f"{count} reference{'s' if count != 1 else ''}") for count in counts)]
    lines = []
    for metric in dict.fromkeys(row.metric for row in rows):
        cells = [name_cell(metric)]
        for count in counts:
            row = found.get((metric, count))
            small = f"sd {number(row.sd)}" if row is not None and math.isfinite(row.sd) else ""
            cells.append(number_cell(math.nan if row is None else row.value, small=small))
        lines.append("".join(cells))
    return folded(f"{text_of(human)} in numbers", table(heads, lines, label=f"Correlations with {human} by references"))
