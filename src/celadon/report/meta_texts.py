"""The texts on which metrics and people differ most."""

from __future__ import annotations

from collections.abc import Sequence

from celadon.meta.study import DisagreementRow, Study
from celadon.report import meta_choice as choice
from celadon.report.columns import NAME_LIMIT
from celadon.report.escape import short
from celadon.report.meta_cells import folded, general, text_of


def disagreements(study: Study, limit: int, most: int) -> str:
    """For each rating and metric the rows where they differ most.

    Parameters
    ----------
    study
        The results.
    limit
        How many characters of a text are shown.
    most
        How many rows of each metric are shown.
    """
    parts: list[str] = []
    for human in choice.humans_of(study):
        rows: dict[str, list[DisagreementRow]] = {}
        for row in study.disagreements:
            if row.human == human:
                rows.setdefault(row.metric, []).append(row)
        if not rows or not most:
            continue
        order = choice.best_of(study, human, rows)
        inside = "".join(_metric(study, metric, rows[metric][:most], limit) for metric in order)
        parts.append(folded(text_of(human), inside, opened=not parts, note=f"{len(order)} metrics"))
    return "".join(parts)


def _metric(study: Study, metric: str, rows: Sequence[DisagreementRow], limit: int) -> str:
    over = [row for row in rows if row.metric_rank > row.human_rank]
    under = [row for row in rows if row.metric_rank <= row.human_rank]
    titled = (("The metric likes it, people do not", over), ("People like it, the metric does not", under))
    lists = "".join(
        f"<div><h4>{title}</h4><ol>{''.join(_entry(study, row, limit) for row in some)}</ol></div>"
        for title, some in titled
        if some
    )
    return folded(text_of(metric), f'<div class="both">{lists}</div>')


def _entry(study: Study, row: DisagreementRow, limit: int) -> str:
    table = study.table
    who = [f"row {row.row + 1:,}"]
    who += [f"<bdi>{short(names[row.row], NAME_LIMIT)}</bdi>" for names in (table.items, table.systems) if names]
    ranks = (
        f"metric {general(row.metric_value)} (rank {row.metric_rank:.2f}), "
        f"people {general(row.human_value)} (rank {row.human_rank:.2f})"
    )
    text = table.texts[row.row] if table.texts else ""
    shown = f'<p dir="auto">{short(text, limit)}</p>' if text else ""
    references = table.references[row.row] if table.references else ()
    beside = ""
    if references:
        label = f"Reference 1 of {len(references)}" if len(references) > 1 else "Reference"
        beside = f'<p class="beside" dir="auto"><small>{label}</small> {short(references[0], limit)}</p>'
    line = f'<p class="line"><strong>{ranks}</strong> <span class="system">{", ".join(who)}</span></p>'
    return f"<li>{line}{shown}{beside}</li>"
