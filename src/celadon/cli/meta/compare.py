"""``celadon meta compare``: whether one metric agrees with people better than another."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.meta.study import AblationRow, ComparisonRow


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
        help="williams (default, but for kendall and within items), steiger and meng know that the metrics correlate; "
        "fisher does not; t compares squared errors after a linear fit; permutation (default for kendall and within "
        "items) exchanges systems and items",
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
        cells = [
            [printable(row.first), printable(row.second)]
            + [meta_tables.figure(value) for value in (row.first_value, row.second_value, row.statistic)]
            + [meta_tables.chance(row.pvalue), meta_tables.chance(row.adjusted)]
            + [f"{row.used:,}", "yes" if row.shown else "no"]
            for row in chosen
        ]
        print(table(header, cells, left=2), end="\n\n")


def add_ablate_parser(commands: Any) -> None:
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
    command.set_defaults(run=run_ablate)


def run_ablate(arguments: argparse.Namespace) -> int:
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
        _print_ablations(rows, kind)
    return 0


def _print_ablations(rows: tuple[AblationRow, ...], kind: str) -> None:
    from celadon.text.layout import printable, table

    for key in dict.fromkeys((row.metric, row.human) for row in rows):
        chosen = [row for row in rows if (row.metric, row.human) == key]
        print(printable(f"{key[0]} with {key[1]}; the parts are combined by their {chosen[0].combination}"))
        cells = [
            [printable(row.without or "nothing"), meta_tables.figure(row.value), f"{row.change:+.3f}"] for row in chosen
        ]
        print(table(["left out", kind, "change"], cells), end="\n\n")
