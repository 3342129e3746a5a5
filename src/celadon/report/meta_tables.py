"""The parts of the meta-evaluation's page: correlations, comparisons, groups, raters, accuracies, levels, texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from celadon.meta.study import (
    AccuracyRow,
    AgreementRow,
    ComparisonRow,
    CorrelationRow,
    DisagreementRow,
    LevelRow,
    Study,
)
from celadon.report import meta_choice as choice
from celadon.report.blocks import (
    Block,
    Cell,
    Folded,
    Head,
    Table,
    count_cell,
    general,
    general_cell,
    interval,
    name_cell,
    number,
    number_cell,
    probability,
    probability_cell,
    text_cell,
    text_of,
)
from celadon.report.html import NULL, markup, short
from celadon.report.meta_ladder import Rung
from celadon.report.plots.figures import kept_words

if TYPE_CHECKING:
    from markupsafe import Markup

_METRIC = Head("Metric", "text")
_REASON = Head("Why not all", "")
_NAMED = 12


def reason_heads(rows: Sequence[AgreementRow] | Sequence[AccuracyRow]) -> list[Head]:
    """The head of the column of reasons, where there are any."""
    return [_REASON] if any(row.reason for row in rows) else []


def reason_cell(row: AgreementRow | AccuracyRow, heads: Sequence[Head]) -> list[Cell]:
    """The reason why a number is missing, where the table has a column for it."""
    return [text_cell(row.reason)] if _REASON in heads else []


def correlation_tables(study: Study) -> list[Folded]:
    """A table per rating: every metric at every level, with the ceiling beside it."""
    parts = []
    for place, human in enumerate(study.table.humans):
        body = _correlation_table(study, human)
        if body:
            parts.append(Folded(human, [body], note=_best_note(study, human), opened=place == 0))
    return parts


def _best_note(study: Study, human: str) -> str:
    rows = choice.main_rows(study, human)
    top = choice.ceiling(study, human)
    limit = f"; a perfect metric would reach {number(top)}" if math.isfinite(top) else ""
    if not rows or not math.isfinite(rows[0].value):
        return f"no metric has a correlation{limit}"
    return f"best: {rows[0].metric}, {number(rows[0].value)}{limit}"


def _correlation_table(study: Study, human: str) -> Table | None:
    rows = [row for row in study.correlations if row.human == human and not row.group]
    if not rows:
        return None
    pairs = choice.columns_of(rows)
    by_key = {(row.metric, row.level, row.kind): row for row in rows}
    top = choice.ceiling(study, human)
    heads = [_METRIC]
    for level, kind in pairs:
        heads.append(Head(kind.capitalize(), small=choice.level_name(level)))
    heads += [Head("Ceiling"), Head("p", first="ascending"), Head("Squared error", first="ascending")]
    heads += [Head("Rows"), Head("Nulls")]
    lines = []
    for main in choice.main_rows(study, human):
        cells = [name_cell(main.metric)]
        cells += [correlation_cell(by_key.get((main.metric, level, kind))) for level, kind in pairs]
        share = f"{100 * main.value / top:.0f}% reached" if math.isfinite(main.value / top if top else math.nan) else ""
        cells += [number_cell(top, small=share), probability_cell(main.pvalue), general_cell(main.error)]
        cells += [count_cell(main.used), count_cell(main.nulls)]
        lines.append(cells)
    return Table(f"Correlations with {human}", heads, lines)


def correlation_cell(row: CorrelationRow | None) -> Cell:
    """A correlation above its interval, or a dash above the reason."""
    if row is None:
        return number_cell(math.nan)
    return number_cell(row.value, small=interval(row.low, row.high) if math.isfinite(row.value) else row.reason)


def group_tables(study: Study, prefix: str) -> list[Folded]:
    """A table per rating of the correlations in groups whose name begins so: metrics by groups."""
    parts = []
    for place, human in enumerate(study.table.humans):
        rows = [row for row in study.correlations if row.human == human and row.group.startswith(prefix)]
        if not rows:
            continue
        level, kind = choice.columns_of(rows)[0]
        main = [row for row in rows if (row.level, row.kind) == (level, kind)]
        groups = list(dict.fromkeys(row.group for row in main))
        by_key = {(row.metric, row.group): row for row in main}
        used = {group: max(row.used for row in main if row.group == group) for group in groups}
        heads = [_METRIC, Head("All")]
        for group in groups:
            label = group.removeprefix(prefix) or group
            heads.append(Head(label, small=f"{used[group]:,} rows"))
        lines = []
        for overall in choice.main_rows(study, human):
            cells = [name_cell(overall.metric), correlation_cell(overall)]
            cells += [correlation_cell(by_key.get((overall.metric, group))) for group in groups]
            lines.append(cells)
        note = f"{kind} correlation, {choice.level_name(level)}"
        body = Table(f"Correlations with {human} by group", heads, lines)
        parts.append(Folded(human, [body], note=note, opened=place == 0))
    return parts


def agreement_table(study: Study) -> list[Table]:
    """How far raters agree, one line per rating."""
    if not study.agreements:
        return []
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
        cells += [*map(number_cell, values), *reason_cell(row, heads)]
        lines.append(cells)
    return [Table("Agreement of the raters", heads, lines)]


def accuracy_tables(study: Study) -> list[Folded]:
    """How often metrics order pairs as people do, a table per rating."""
    parts = []
    for place, human in enumerate(study.table.humans):
        rows = [row for row in study.accuracies if row.human == human]
        if not rows:
            continue
        rows.sort(key=lambda row: (math.isnan(row.pairwise), -row.pairwise if row.pairwise == row.pairwise else 0.0))
        heads = [_METRIC, Head("Pairs of texts"), Head("Tie threshold"), Head("Pairs of systems")]
        heads += [Head("Soft, systems"), *reason_heads(rows)]
        lines = [
            [
                name_cell(row.metric),
                number_cell(row.pairwise),
                general_cell(row.tie_threshold),
                number_cell(row.system_pairwise),
                number_cell(row.soft_pairwise),
                *reason_cell(row, heads),
            ]
            for row in rows
        ]
        body = Table(f"Pairwise accuracies for {human}", heads, lines)
        parts.append(Folded(human, [body], opened=place == 0))
    return parts


def level_tables(study: Study, human: str) -> list[Folded]:
    """The median and the quartiles of every metric at every level of a rating."""
    rows = [row for row in study.levels if row.human == human]
    if not rows:
        return []
    labels = list(dict.fromkeys(row.label for row in rows))
    counts = {label: max(row.count for row in rows if row.label == label) for label in labels}
    by_key = {(row.metric, row.label): row for row in rows}
    heads = [_METRIC]
    heads += [Head(label, small=f"{counts[label]:,} rows") for label in labels]
    lines = []
    for metric in dict.fromkeys(row.metric for row in rows):
        lines.append([name_cell(metric), *(_level_cell(by_key.get((metric, label))) for label in labels)])
    body = Table(f"Medians and quartiles at each level of {human}", heads, lines)
    return [Folded("", [body], "Medians and quartiles of all metrics")]


def _level_cell(row: LevelRow | None) -> Cell:
    if row is None or not math.isfinite(row.quartiles[2]):
        return number_cell(math.nan)
    _, low, middle, high, _ = row.quartiles
    return Cell(f"{middle:.4g}", small=f"{low:.4g} to {high:.4g}")


def ablation_table(study: Study, metric: str) -> Folded:
    """A metric without some of its parts, in numbers."""
    heads = [Head("Parts", "text"), Head("Rating", "text"), Head("Correlation"), Head("Change")]
    lines = [
        [text_cell(kept_words(row.without)), Cell(row.human, "user"), number_cell(row.value), number_cell(row.change)]
        for row in study.ablations
        if row.metric == metric
    ]
    ways = ", ".join(dict.fromkeys(row.combination for row in study.ablations if row.metric == metric))
    body = Table(f"Ablation of {metric}", heads, lines)
    return Folded(metric, [body], " in numbers", note=f"parts put together by: {ways}")


def ladder_table(rungs: Sequence[Rung]) -> Folded:
    """A metric built up from its aspects, in numbers."""
    heads = [Head("Aspects", "text"), Head("Rating", "text"), Head("Correlation"), Head("Rows")]
    lines = [
        [
            text_cell(f"{rung.letters}: {', '.join(rung.aspects)}"),
            Cell(rung.human, "user"),
            number_cell(rung.value, small=interval(rung.low, rung.high)),
            count_cell(rung.used),
        ]
        for rung in rungs
    ]
    body = Table(f"Aspects of {rungs[0].metric} one after the other", heads, lines)
    return Folded(rungs[0].metric, [body], " aspect by aspect", note=f"{rungs[0].kind} correlation")


def references_table(study: Study, human: str) -> Folded:
    """Correlations against the number of references, in numbers."""
    rows = [row for row in study.references if row.human == human]
    counts = sorted({row.references for row in rows})
    by_key = {(row.metric, row.references): row for row in rows}
    heads = [_METRIC, *(Head(f"{count} reference{'s' if count != 1 else ''}") for count in counts)]
    lines = []
    for metric in dict.fromkeys(row.metric for row in rows):
        cells = [name_cell(metric)]
        for count in counts:
            row = by_key.get((metric, count))
            small = f"sd {number(row.sd)}" if row is not None and math.isfinite(row.sd) else ""
            cells.append(number_cell(math.nan if row is None else row.value, small=small))
        lines.append(cells)
    return Folded(human, [Table(f"Correlations with {human} by references", heads, lines)], " in numbers")


def comparisons(study: Study) -> list[Folded]:
    """A part per rating and test."""
    parts: list[Folded] = []
    for human in study.table.humans:
        mine = [row for row in study.comparisons if row.human == human]
        for test, level, kind in dict.fromkeys((row.test, row.level, row.kind) for row in mine):
            rows = [row for row in mine if (row.test, row.level, row.kind) == (test, level, kind)]
            order = _order(rows)
            note = f"{test}, {kind} correlation, {choice.level_name(level)}"
            blocks = [Block("words", _in_words(rows, order, human)), _matrix(rows, order, human)]
            parts.append(Folded(human, blocks, note=note, opened=not parts))
    return parts


def _order(rows: Sequence[ComparisonRow]) -> list[str]:
    """The metrics compared, best first."""
    values: dict[str, float] = {}
    for row in rows:
        values.setdefault(row.first, row.first_value)
        values.setdefault(row.second, row.second_value)
    return sorted(values, key=lambda metric: -values[metric] if math.isfinite(values[metric]) else math.inf)


def _in_words(rows: Sequence[ComparisonRow], order: Sequence[str], human: str) -> Markup:
    """Say what is shown, what is not, and what that does not mean."""
    tested = [row for row in rows if math.isfinite(row.adjusted)]
    untested = [row for row in rows if not math.isfinite(row.adjusted)]
    lines = _of_tested(tested, order, human) if tested else []
    if untested:
        reasons = "; ".join(dict.fromkeys(row.reason for row in untested if row.reason))
        pairs = "1 pair" if len(untested) == 1 else f"{len(untested):,} pairs"
        lines.append(markup("{} could not be tested{}.").format(pairs, f": {reasons[:300]}" if reasons else ""))
    return markup(" ").join(lines)


def _of_tested(tested: Sequence[ComparisonRow], order: Sequence[str], human: str) -> list[Markup]:
    significant = [row for row in tested if row.shown]
    best = order[0]
    losers = {row.second if row.first == best else row.first for row in significant if _winner(row) == best}
    level = [metric for metric in order[1:] if metric not in losers]
    lines = [
        markup(
            f"Of {len(tested):,} {'pair' if len(tested) == 1 else 'pairs'} of metrics tested, {len(significant):,} "
            f"{'differs' if len(significant) == 1 else 'differ'} after the correction for testing many."
        )
    ]
    if losers and not level:
        sentence = markup("{best} agrees with {human} better than every other metric.")
    elif losers:
        sentence = markup(
            "{best} is shown to agree with {human} better than {losers:,} of the {others:,} others. It is not shown to "
            "be better than {level}."
        )
    else:
        sentence = markup("No metric is shown to be worse than {best}, which has the highest correlation.")
    named = markup(", ").join(map(text_of, level[:_NAMED]))
    left = f" and {len(level) - _NAMED:,} more" if len(level) > _NAMED else ""
    lines.append(
        sentence.format(
            best=text_of(best), human=text_of(human), losers=len(losers), others=len(order) - 1, level=named + left
        )
    )
    if level or len(significant) < len(tested):
        lines.append(
            markup("What is not shown to differ is not thereby shown to be equal: more rows might tell them apart.")
        )
    return lines


def _winner(row: ComparisonRow) -> str:
    return row.first if row.first_value >= row.second_value else row.second


def _matrix(rows: Sequence[ComparisonRow], order: Sequence[str], human: str) -> Block:
    """Adjusted p of each pair; the columns have the numbers of the rows, so that the matrix stays narrow."""
    cells: dict[tuple[str, str], ComparisonRow] = {}
    for row in rows:
        cells.setdefault((row.second, row.first), row)
    for row in rows:
        cells[row.first, row.second] = row
    lines = [(metric, [_cell(metric, other, cells.get((metric, other))) for other in order]) for metric in order]
    return Block("matrix", {"label": f"Comparisons for {human}", "rows": lines})


def _cell(metric: str, other: str, row: ComparisonRow | None) -> tuple[str, str, str]:
    """The class, the title and the text of a cell."""
    if metric == other:
        return "", "", ""
    if row is None or not math.isfinite(row.adjusted):
        return "", "", NULL
    # as short as it can be: there are many columns
    p = "1" if row.adjusted >= 0.9995 else probability(row.adjusted).replace("0.", ".")
    if not row.shown:
        return "", "", p
    better = _winner(row) == metric
    title = f"{number(row.first_value)} against {number(row.second_value)}" if better and row.first == metric else ""
    return "up" if better else "down", title, f"{'▲' if better else '▽'}{'' if row.adjusted < 0.001 else p}"


def disagreements(study: Study, limit: int, most: int) -> list[Folded]:
    """Return for each rating and metric the ``most`` rows where they differ most, ``limit`` characters of each."""
    parts: list[Folded] = []
    for human in study.table.humans:
        rows: dict[str, list[DisagreementRow]] = {}
        for row in study.disagreements:
            if row.human == human:
                rows.setdefault(row.metric, []).append(row)
        if not rows or not most:
            continue
        order = choice.best_of(study, human, rows)
        inside = [Folded(metric, [_differing(study, rows[metric][:most], limit)]) for metric in order]
        parts.append(Folded(human, inside, note=f"{len(order)} metrics", opened=not parts))
    return parts


def _differing(study: Study, rows: Sequence[DisagreementRow], limit: int) -> Block:
    over = [_entry(study, row, limit) for row in rows if row.metric_rank > row.human_rank]
    under = [_entry(study, row, limit) for row in rows if row.metric_rank <= row.human_rank]
    titled = (("The metric likes it, people do not", over), ("People like it, the metric does not", under))
    return Block("disagreements", [(title, entries) for title, entries in titled if entries])


def _entry(study: Study, row: DisagreementRow, limit: int) -> dict[str, Any]:
    table = study.table
    references = table.references[row.row] if table.references else ()
    return {
        "row": f"row {row.row + 1:,}",
        "names": [names[row.row] for names in (table.items, table.systems) if names],
        "ranks": f"metric {general(row.metric_value)} (rank {row.metric_rank:.2f}), "
        f"people {general(row.human_value)} (rank {row.human_rank:.2f})",
        "text": short(table.texts[row.row], limit) if table.texts else "",
        "label": f"Reference 1 of {len(references)}" if len(references) > 1 else "Reference",
        "reference": short(references[0], limit) if references else "",
    }
