"""``celadon judge analyse``: ratings beside scores, and what ``celadon meta report`` says of them."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.judge.options import add_experiment, opened
from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.judge.analysis import RatedTable


def add_parser(steps: Any) -> None:
    """Add this step."""
    command = steps.add_parser(
        "analyse",
        help="how far metrics agree with these people: straight into celadon meta report",
        description="Make the table that celadon meta reads, one row for each item, and report on it. The metrics are "
        "those of --metric, else the numeric columns that the items came with. People's ratings are made comparable "
        "first: z per person for scales, 0 to 1 for magnitudes, the share of wins for pairs, HTER for repairs.",
    )
    add_experiment(command)
    command.add_argument(
        "-m", "--metric", action="append", default=[], metavar="A,B", help="score the items with these metrics"
    )
    command.add_argument("--without-flagged", action="store_true", help="leave out the people with a flag")
    command.add_argument("--output", type=Path, metavar="JSONL", help="keep the table")
    command.add_argument("--report", metavar="HTML", help="write a self-contained HTML page")
    command.add_argument("--plots", metavar="FOLDER", help="write the plots as SVG and PNG")
    command.add_argument("--json", action="store_true", help="print the figures in full precision as JSON")
    meta_tables.add_correlation(command)
    meta_tables.add_drawing(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the table, then report on it."""
    from celadon.io import write_json_rows
    from celadon.judge.analysis import rated_table
    from celadon.judge.conduct import collect

    metrics = meta_tables.named(arguments.metric)
    with opened(arguments) as (experiment, store):
        collected = collect(experiment, store)
        without = collected.flagged if arguments.without_flagged else frozenset()
        table = rated_table(experiment, collected, metrics=metrics, without=without)
    left_out = f"; {len(without)} flagged left out" if without else ""
    print(f"{len(table.rows):,} items, {table.people:,} people{left_out}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.output or Path(folder) / "rated.jsonl"
        write_json_rows(str(path), table.rows)
        if table.metrics:
            return _report(path, table, arguments)
    print("there are no metrics to compare with: score the items with --metric, for example --metric slor")
    return 0


def _report(path: Path, table: RatedTable, arguments: argparse.Namespace) -> int:
    from celadon.cli.meta import report

    options = argparse.Namespace(
        **{
            **vars(arguments),
            "table": str(path),
            "human": [",".join(table.humans)],
            "metric": [",".join(table.metrics)],
            "format": "jsonl",
            "lower_is_better": [],
            "system_field": None,
            "domain_field": None,
            "item_field": None,
            "references": False,
            "best_of": [],
        }
    )
    return report.run(options)
