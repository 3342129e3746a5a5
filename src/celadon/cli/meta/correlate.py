"""``celadon meta correlate``: how well each metric agrees with people."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables
from celadon.cli.meta.best_of import add_best_of, best_of, print_best
from celadon.cli.progress import CountProgress

if TYPE_CHECKING:
    from celadon.meta.study import CorrelationRow, Study

_ACROSS = 6
_GROUPS = ("system", "domain", "reliable")


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "correlate",
        help="correlation of each metric with each rating, with intervals; by system, by domain, on reliable texts",
        description="Correlate metrics with ratings. Positive is agreement, whichever way a metric counts.",
    )
    meta_tables.add_table(command)
    meta_tables.add_metrics(command)
    meta_tables.add_correlation(command)
    add_best_of(command)
    command.add_argument(
        "--level",
        action="append",
        choices=meta_tables.LEVELS,
        help="over all texts, over systems, or within items; may be given again (default: all that the table allows)",
    )
    command.add_argument(
        "--by",
        action="append",
        choices=(*_GROUPS, "none"),
        help="break down by this; reliable: only texts on which all raters agree (default: all that are known)",
    )
    command.add_argument(
        "--unit",
        choices=("rows", "items", "systems", "both"),
        help="what the bootstrap draws (default: items where they are known, else rows; over systems both)",
    )
    meta_tables.add_drawing(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Correlate and print."""
    from celadon.meta.study import make_study

    table = meta_tables.table_of(arguments)
    with CountProgress("correlations") as progress:
        study = make_study(
            table,
            kind=arguments.correlation,
            levels=[meta_tables.level_of(level) for level in arguments.level] if arguments.level else None,
            resamples=arguments.resamples,
            seed=meta_tables.seed_of(arguments),
            parts=("correlations", "agreements"),
            groups=arguments.by or _GROUPS,
            unit=arguments.unit,
            tick=progress,
        )
    best = best_of(arguments, study)
    if arguments.json:
        meta_tables.print_json(_as_json(study) | {"best_of": best})
    else:
        _print(study)
        print_best(best)
    return 0


def _as_json(study: Study) -> dict[str, Any]:
    table = study.table
    return {
        "rows": table.rows,
        "seed": study.seed,
        "resamples": study.resamples,
        "lower_is_better": sorted(table.lower_is_better & {*table.metrics, *table.humans}),
        "correlations": study.correlations,
        "ceilings": {row.human: row.ceiling for row in study.agreements},
        "notes": study.notes,
    }


def _print(study: Study) -> None:
    from celadon.meta.study.notes import LEVEL_WORDS
    from celadon.text.layout import printable, table

    ceilings = {row.human: row.ceiling for row in study.agreements}
    whole = [row for row in study.correlations if not row.group]
    for human, level in dict.fromkeys((row.human, row.level) for row in whole):
        rows = [row for row in whole if (row.human, row.level) == (human, level)]
        ceiling = ceilings.get(human, float("nan"))
        people = f" (people reach {ceiling:.3f})" if level == "instance" and not math.isnan(ceiling) else ""
        print(printable(f"{human}, {LEVEL_WORDS[level]}{people}"))
        header = ["metric", rows[0].kind, "95% interval", "p", "error after fit", "rows", "nulls"]
        reasons = any(row.reason for row in rows)
        cells = [[*_cells(row), *([row.reason] if reasons else [])] for row in rows]
        print(table([*header, *(["why"] if reasons else [])], cells), end="\n\n")
    for human in dict.fromkeys(row.human for row in whole):
        _print_groups([row for row in study.correlations if row.human == human and row.group])
    meta_tables.print_notes(study.notes)


def _cells(row: CorrelationRow) -> list[str]:
    from celadon.text.layout import printable

    return [
        printable(row.metric),
        meta_tables.figure(row.value),
        meta_tables.bounds(row.low, row.high),
        meta_tables.chance(row.pvalue),
        "-" if math.isnan(row.error) else f"{row.error:.4g}",
        f"{row.used:,}",
        f"{row.nulls:,}",
    ]


def _print_groups(rows: list[CorrelationRow]) -> None:
    """Metrics down, groups across, the number of texts under each group's name; a few groups at a time."""
    from celadon.text.layout import printable, table

    groups = list(dict.fromkeys(row.group for row in rows))
    values = {(row.metric, row.group): row.value for row in rows}
    texts = {group: max(row.used for row in rows if row.group == group) for group in groups}
    metrics = list(dict.fromkeys(row.metric for row in rows))
    for start in range(0, len(groups), _ACROSS):
        some = groups[start : start + _ACROSS]
        print(printable(f"{rows[0].human}, {rows[0].kind}, by group"))
        cells = [["texts", *(f"{texts[group]:,}" for group in some)]]
        cells += [
            [printable(metric), *(meta_tables.figure(values[metric, group]) for group in some)] for metric in metrics
        ]
        print(table(["metric", *map(printable, some)], cells), end="\n\n")
