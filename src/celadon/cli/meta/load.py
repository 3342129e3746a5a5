"""``celadon meta load``: public data sets of human judgements in one form."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "load",
        help="read a public data set of human judgements and write it as JSONL in one form",
        description="Rows have id, system, domain, text, references, source, scores.DIMENSION and ratings.DIMENSION.",
    )
    command.add_argument("name", nargs="?", metavar="NAME", help="the data set; --list shows them")
    command.add_argument("path", nargs="?", metavar="PATH", help="its file, a quoted glob, or its folder")
    command.add_argument("-o", "--output", metavar="FILE", help="JSONL, also .gz, .xz, .zst (default: print)")
    command.add_argument("--list", action="store_true", help="list the known data sets")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read and write."""
    from celadon.core import UsageError
    from celadon.io import check_distinct, write_json_rows
    from celadon.io.judgements import load
    from celadon.io.values import to_json

    if arguments.list:
        _list()
        return 0
    if arguments.name is None or arguments.path is None:
        raise UsageError("name a data set and its file or folder; celadon meta load --list shows the known ones")
    rows = load(arguments.name, arguments.path)
    if arguments.output:
        check_distinct(arguments.output, [arguments.path])
        _check_ending(arguments.output)
        count = write_json_rows(arguments.output, rows)
        print(f"wrote {count:,} rows to {arguments.output}", file=sys.stderr)
        return 0
    for row in rows:
        sys.stdout.buffer.write(to_json(row) + b"\n")
    sys.stdout.buffer.flush()
    return 0


def _check_ending(path: str) -> None:
    from celadon.core import UsageError
    from celadon.io.sources import ENDINGS, endings

    if ENDINGS.get(endings(path)[0]) != "jsonl":
        raise UsageError(f"{path}: the rows are written as JSONL; choose a name that ends in .jsonl or .jsonl.gz")


def _list() -> None:
    from celadon.io.judgements import DATA_SETS
    from celadon.text.layout import table

    cells = [[known.name, known.title, ", ".join(known.dimensions)] for known in DATA_SETS.values()]
    print(table(["name", "what", "rated"], cells, left=3))
