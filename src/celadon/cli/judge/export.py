"""``celadon judge export``: all answers as a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from celadon.cli.judge.options import add_experiment, opened


def add_parser(steps: Any) -> None:
    """Add this step."""
    command = steps.add_parser(
        "export", help="write every answer, as given and normalised, with order and timing: CSV, JSONL, Parquet"
    )
    add_experiment(command)
    command.add_argument("--output", type=Path, required=True, metavar="FILE", help=".csv, .jsonl or .parquet")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write them."""
    from celadon.judge.conduct import collect
    from celadon.judge.export import export_rows, write_export

    with opened(arguments) as (experiment, store):
        rows = export_rows(experiment, collect(experiment, store))
    write_export(arguments.output, rows)
    people = len({row["participant"] for row in rows})
    print(f"wrote {len(rows):,} answers of {people:,} people to {arguments.output}", file=sys.stderr)
    return 0
