"""``celadon meta load``: public data sets of human judgements in one form."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celadon.io.judgements import Row


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
    command.add_argument("--domain", metavar="A,B", help="only rows of these domains, such as train of gug")
    command.add_argument("--list", action="store_true", help="list the known data sets, their license and address")
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
    if arguments.domain:
        rows = _of_domains(rows, arguments.domain, arguments.path)
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


def _of_domains(rows: Iterator[Row], domains: str, path: str) -> Iterator[Row]:
    """Keep the rows of these domains, whatever their case; a domain without rows is an error."""
    from celadon.core import InputError

    wanted = {name.strip().lower() for name in domains.split(",") if name.strip()}
    seen: set[str] = set()
    for row in rows:
        domain = str(row["domain"]).lower()
        seen.add(domain)
        if domain in wanted:
            yield row
    missing = wanted - seen
    if missing:
        raise InputError(f"{path}: has no domain {', '.join(sorted(missing))}; it has {', '.join(sorted(seen))}")


def _check_ending(path: str) -> None:
    from celadon.core import UsageError
    from celadon.io.sources import ENDINGS, endings

    if ENDINGS.get(endings(path)[0]) != "jsonl":
        raise UsageError(f"{path}: the rows are written as JSONL; choose a name that ends in .jsonl or .jsonl.gz")


def _list() -> None:
    from celadon.io.judgements import DATA_SETS
    from celadon.text.layout import table

    sets = DATA_SETS.values()
    print(table(["name", "what", "rated"], [[s.name, s.title, ", ".join(s.dimensions)] for s in sets], left=3))
    print()
    print(table(["name", "license", "address"], [[s.name, s.license, s.address] for s in sets], left=3))
