"""``celadon meta instrument``: false alarms, dependence on length and hits of a metric."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.instrument.figures import Instrument

_HALVES = ("test", "development", "fit", "all")
# of the options that have no meaning where nothing is scored
_DEFAULTS: Any = {"edits": None, "half": "test", "gate": None, "false_alarms": 0.03, "per_cell": 60, "seed": 0}
_EPILOG = """\
examples:
  celadon meta instrument celadon --sound docs.jsonl --sound letters.jsonl --edits edits.jsonl --report page.html
  celadon meta instrument celadon --sound docs.jsonl --json > figures.json
  celadon meta instrument --figures figures.json --scale scale.svg
"""


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "instrument",
        help="false alarms by genre and length, hits by kind of damage, and corrections of a metric",
        description="Cut sound texts into passages, damage copies of them, score all, and show how well the metric "
        "tells the ones from the others. Documents are parted into halves by a hash of their names.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "metric", nargs="?", default="", metavar="METRIC", help="a metric with its options; --figures names its own"
    )
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--sound",
        action="append",
        metavar="FILE",
        help="texts that nothing is wrong with: JSONL with id and text (or output, response, turns), and genre, system "
        "or kind; may be given again",
    )
    source.add_argument(
        "--figures", metavar="JSON", help="what --json of an earlier run printed: draw it again, and score nothing"
    )
    command.add_argument("--edits", metavar="FILE", help="corrections: JSONL with before, after, kind and file")
    command.add_argument(
        "--half", choices=_HALVES, default=_DEFAULTS["half"], help="the documents to measure on (default: test)"
    )
    command.add_argument("--gate", type=float, metavar="NUMBER", help="the score below which a text fails")
    command.add_argument(
        "--false-alarms",
        type=float,
        default=_DEFAULTS["false_alarms"],
        metavar="SHARE",
        help="without --gate: the share of sound passages below it (default: 0.03)",
    )
    command.add_argument(
        "--per-cell", type=int, default=_DEFAULTS["per_cell"], metavar="N", help="passages of a cell (default: 60)"
    )
    command.add_argument(
        "--seed", type=int, default=_DEFAULTS["seed"], metavar="N", help="of what is drawn (default: 0)"
    )
    command.add_argument("--json", action="store_true", help="print the figures in full precision as JSON")
    command.add_argument("--report", metavar="HTML", help="write a self-contained HTML page with pictures")
    command.add_argument("--scale", metavar="SVG", help="draw what a score means: the shares of sound texts below it")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, or read what was measured; write and print."""
    inputs = [arguments.figures] if arguments.figures else [*arguments.sound, *filter(None, [arguments.edits])]
    if arguments.scale:
        from celadon.report.plots import require_matplotlib

        require_matplotlib()
    outputs = [path for path in (arguments.report, arguments.scale) if path]
    for place, path in enumerate(outputs):
        meta_tables.check_writable(path, [*inputs, *outputs[:place]])
    figures = _read(arguments) if arguments.figures else _measure(arguments)
    written = _write(figures, arguments, inputs)
    if arguments.json:
        meta_tables.print_json(figures.as_dict())
    else:
        _print(figures)
    for what in written:
        print(f"wrote {what}", file=sys.stderr)
    return 0


def _read(arguments: argparse.Namespace) -> Instrument:
    from celadon.core import UsageError
    from celadon.instrument.figures import read_figures
    from celadon.metrics.registry import load

    for option, default in _DEFAULTS.items():
        if getattr(arguments, option) != default:
            raise UsageError(
                f"--{option.replace('_', '-')} has no effect with --figures, which scores nothing; remove it"
            )
    figures = read_figures(arguments.figures)
    if arguments.metric and load(arguments.metric).spec != figures.metric:
        raise UsageError(f"{arguments.figures} has the figures of {figures.metric}, not of {arguments.metric}")
    return figures


def _measure(arguments: argparse.Namespace) -> Instrument:
    from celadon.cli.progress import TallyProgress
    from celadon.core import UsageError
    from celadon.instrument import measure_metric
    from celadon.instrument.halves import Half

    if not arguments.metric:
        raise UsageError("no metric: name one before --sound, for example celadon meta instrument celadon --sound FILE")
    halves = frozenset(Half) if arguments.half == "all" else frozenset({Half(arguments.half)})
    with TallyProgress("texts", enabled=not arguments.json) as advance:
        return measure_metric(
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


def _write(figures: Instrument, arguments: argparse.Namespace, inputs: Sequence[str]) -> list[str]:
    from celadon.io import atomic_write_text

    written = []
    if arguments.report:
        from celadon.instrument.page import instrument_page
        from celadon.report.meta_report import missing_plots

        names = ", ".join(Path(path).name for path in inputs)
        atomic_write_text(arguments.report, instrument_page(figures, source_name=names))
        why = missing_plots()
        written.append(f"{arguments.report} {why}" if why else arguments.report)
    if arguments.scale:
        from celadon.instrument.plots import scale_bands
        from celadon.report.plots import svg_bytes

        atomic_write_text(arguments.scale, svg_bytes(scale_bands(figures)).decode())
        written.append(arguments.scale)
    return written


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
            meta_tables.bounds(cell.low, cell.high),
            "" if cell.counted else "not counted",
        ]
        for cell in figures.cells
    ]
    header = ["sound passages", "words", "texts", "nulls", "mean", "below", "95% interval", ""]
    print(table(header, [list(map(printable, row)) for row in cells]))
    print(f"\n  below the gate, mean of {len(figures.counted):,} cells: {number(figures.false_alarms)}")
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
    if figures.systems:
        rows = [
            [
                printable(each.system),
                f"{each.passages:,}",
                f"{each.nulls:,}",
                number(each.mean),
                meta_tables.bounds(each.low, each.high),
            ]
            for each in figures.best_systems
        ]
        print("\n" + table(["system", "texts", "nulls", "mean", "95% interval"], rows))
