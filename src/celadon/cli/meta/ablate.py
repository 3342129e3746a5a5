"""``celadon meta ablate``: what each part of a metric is worth."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.meta.study import AblationRow


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "ablate",
        help="the correlation of a metric with each of its parts left out, and of each part alone",
        description="Leave out parts of a metric, which are in columns METRIC.PART. They are put together as they make "
        "the metric (a sum, also weighted or kept within 0 and 1, a mean, a product of powers), else by the linear "
        "combination that fits the ratings best.",
    )
    meta_tables.add_table(command)
    meta_tables.add_metrics(command)
    meta_tables.add_correlation(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ablate and print."""
    from celadon.core import UsageError
    from celadon.meta.study.ablations import ablation, ablation_rows, usable_parts

    table = meta_tables.table_of(arguments)
    kind = arguments.correlation
    if arguments.metric:
        rows = tuple(
            row
            for metric in table.metrics
            for human in table.humans
            for row in ablation(table, metric, human, usable_parts(table, metric), kind)
        )
    else:
        rows = ablation_rows(table, kind)
    if not rows:
        raise UsageError(
            "nothing to leave out: no metric has two parts, in columns METRIC.PART, in at least 3 rated rows"
        )
    if arguments.json:
        meta_tables.print_json({"kind": kind, "ablations": rows})
    else:
        _print(rows, kind)
    return 0


def _print(rows: tuple[AblationRow, ...], kind: str) -> None:
    from celadon.text.layout import printable, table

    for key in dict.fromkeys((row.metric, row.human) for row in rows):
        chosen = [row for row in rows if (row.metric, row.human) == key]
        print(printable(f"{key[0]} with {key[1]}; the parts are combined by their {chosen[0].combination}"))
        cells = [
            [printable(row.without or "nothing"), meta_tables.figure(row.value), f"{row.change:+.3f}"] for row in chosen
        ]
        print(table(["left out", kind, "change"], cells), end="\n\n")
