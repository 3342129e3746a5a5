"""``celadon meta compare``: whether one metric agrees with people better than another."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.meta.study import ComparisonRow

_TESTS = ("williams", "fisher", "steiger", "meng", "t", "permutation")


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "compare",
        help="whether one metric agrees with people better than another: Williams, Fisher, t, permutation",
        description="Compare all pairs of metrics; p is corrected for their number after Holm, rating by rating.",
    )
    meta_tables.add_table(command)
    meta_tables.add_metrics(command)
    meta_tables.add_correlation(command)
    command.add_argument(
        "--test",
        choices=_TESTS,
        default="williams",
        help="williams (default), steiger and meng know that the metrics correlate; fisher does not; t compares "
        "squared errors after a linear fit; permutation exchanges systems and items",
    )
    command.add_argument("--level", choices=meta_tables.LEVELS, default="instance", help="default: instance")
    command.add_argument(
        "--alternative",
        choices=("two-sided", "greater", "less"),
        default="two-sided",
        help="greater: that the first metric is better (default: two-sided)",
    )
    meta_tables.add_drawing(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare and print."""
    from celadon.core import UsageError
    from celadon.meta.study.comparisons import comparison_rows
    from celadon.meta.study.notes import comparison_notes

    table = meta_tables.table_of(arguments)
    if len(table.metrics) < 2:
        raise UsageError(f"to compare needs two metrics, and here is only {table.metrics[0]}; name more with --metric")
    rows = comparison_rows(
        table,
        arguments.correlation,
        arguments.test,
        level=meta_tables.level_of(arguments.level),
        alternative=arguments.alternative,
        resamples=arguments.resamples,
        seed=meta_tables.seed_of(arguments),
    )
    if arguments.json:
        meta_tables.print_json({"rows": table.rows, "alternative": arguments.alternative, "comparisons": rows})
    else:
        _print(rows)
        meta_tables.print_notes(list(comparison_notes(rows)))
    return 0


def _print(rows: tuple[ComparisonRow, ...]) -> None:
    from celadon.meta.study.notes import LEVEL_WORDS
    from celadon.text.layout import printable, table

    for human in dict.fromkeys(row.human for row in rows):
        chosen = [row for row in rows if row.human == human]
        one = chosen[0]
        print(printable(f"{human}, {one.kind} {LEVEL_WORDS[one.level]}, {one.test}"))
        header = ["first", "second", "of first", "of second", "statistic", "p", "adjusted p", "rows", "shown"]
        print(table(header, [_cells(row) for row in chosen], left=2), end="\n\n")


def _cells(row: ComparisonRow) -> list[str]:
    from celadon.text.layout import printable

    return [
        printable(row.first),
        printable(row.second),
        meta_tables.figure(row.first_value),
        meta_tables.figure(row.second_value),
        meta_tables.figure(row.statistic),
        meta_tables.chance(row.pvalue),
        meta_tables.chance(row.adjusted),
        f"{row.used:,}",
        "yes" if row.shown else "no",
    ]
