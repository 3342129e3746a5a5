"""``celadon meta instrument``: false alarms, dependence on length and hits of a metric."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.instrument.measure import Instrument

_HALVES = ("test", "development", "fit", "all")


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "instrument",
        help="false alarms by genre and length, hits by kind of damage, and corrections of a metric",
        description="Cut sound texts into passages, damage copies of them, score all, and show how well the metric "
        "tells the ones from the others. Documents are parted into halves by a hash of their names.",
    )
    command.add_argument("metric", metavar="METRIC", help="a metric with its options")
    command.add_argument(
        "--sound",
        action="append",
        required=True,
        metavar="FILE",
        help="texts that nothing is wrong with: JSONL with id and text (or output, response, turns), and genre, system "
        "or kind; may be given again",
    )
    command.add_argument("--edits", metavar="FILE", help="corrections: JSONL with before, after, kind and file")
    command.add_argument("--half", choices=_HALVES, default="test", help="the documents to measure on (default: test)")
    command.add_argument("--gate", type=float, metavar="NUMBER", help="the score below which a text fails")
    command.add_argument(
        "--false-alarms",
        type=float,
        default=0.03,
        metavar="SHARE",
        help="without --gate: the share of sound passages below it (default: 0.03)",
    )
    command.add_argument("--per-cell", type=int, default=60, metavar="N", help="passages of a cell (default: 60)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (default: 0)")
    command.add_argument("--json", action="store_true", help="print the figures in full precision as JSON")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print."""
    from celadon.cli.progress import TallyProgress
    from celadon.instrument import measure_metric
    from celadon.instrument.halves import Half

    halves = frozenset(Half) if arguments.half == "all" else frozenset({Half(arguments.half)})
    with TallyProgress("texts", enabled=not arguments.json) as advance:
        figures = measure_metric(
            arguments.metric,
            arguments.sound,
            arguments.edits,
            halves=halves,
            gate=arguments.gate,
            false_alarms=arguments.false_alarms,
            per_cell=arguments.per_cell,
            seed=arguments.seed,
            advance=advance,
        )
    if arguments.json:
        meta_tables.print_json(figures.as_dict())
    else:
        _print(figures)
    return 0


def _print(figures: Instrument) -> None:
    from celadon.text.layout import printable, table

    number = meta_tables.figure
    print(printable(f"{figures.metric}, gate {figures.gate:.3f}"), end="\n\n")
    cells = [
        [
            cell.cell,
            str(cell.size or "reply"),
            f"{cell.passages:,}",
            f"{cell.nulls:,}",
            number(cell.mean),
            number(cell.below),
            f"{cell.low:.3f} .. {cell.high:.3f}",
        ]
        for cell in figures.cells
    ]
    header = ["sound passages", "words", "texts", "nulls", "mean", "below", "95% interval"]
    print(table(header, [list(map(printable, row)) for row in cells]))
    print(f"\n  below the gate, mean of all cells: {figures.false_alarms:.3f}")
    print(f"  rank correlation with length: {number(figures.length)}")
    joined = figures.joined
    print(
        f"  two passages together against their mean: {number(joined.mean)} apart on average, "
        f"{joined.within:.0%} within 0.05 ({joined.pairs:,} pairs)\n"
    )
    hits = [
        [hit.kind, f"{hit.copies:,}", f"{hit.nulls:,}", number(hit.auc), number(hit.caught)] for hit in figures.hits
    ]
    print(table(["damage", "copies", "nulls", "AUC", "caught"], hits))
    if figures.corrections:
        rows = [[each.kind, f"{each.pairs:,}", number(each.raised)] for each in figures.corrections]
        print("\n" + table(["corrections", "pairs", "raised"], rows))
