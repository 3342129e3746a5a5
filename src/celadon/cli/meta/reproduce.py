"""``celadon meta reproduce``: the papers' tables from the judgements at hand."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celadon.reproduce.run import Outcome

_TABLES = "gruen2, gruen3, gruen4, gruen8, gruen9, slor3, slor7"
_EPILOG = """\
Scores are kept in the work folder: a run that was stopped goes on where it was, and a second run scores only what is
new: other texts, a metric that has been registered since, a metric whose code has changed.

examples:
  celadon meta reproduce
  celadon meta reproduce --data data --without ter --output tables.md
  celadon meta reproduce --metric rougeL,meteor --only gruen2,gruen3 --json
"""


def add_parser(commands: Any) -> None:
    """Add this command to the command line."""
    command = commands.add_parser(
        "reproduce",
        help="make the tables of the GRUEN and SLOR papers from the judgements at hand, ours beside theirs",
        description="Run every metric on every data set at hand and write the papers' tables into a Markdown file.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "--data", metavar="FOLDER", help="the judgements (default: $CELADON_DATA, else ../shared/data)"
    )
    command.add_argument(
        "--work", metavar="FOLDER", help="where scores are kept (default: celadon/reproduce in the user's cache)"
    )
    command.add_argument(
        "-m", "--metric", action="append", default=[], metavar="A,B", help="metrics (default: all that are registered)"
    )
    command.add_argument("--without", action="append", default=[], metavar="A,B", help="leave these metrics out")
    command.add_argument(
        "-o",
        "--output",
        default="docs/results.md",
        metavar="FILE",
        help="the Markdown file whose section between the marks is replaced (default: docs/results.md)",
    )
    command.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TABLE,..",
        help=f"only these tables, the section then holding no others: {_TABLES}",
    )
    command.add_argument("--fresh", action="store_true", help="make every score again")
    command.add_argument("--json", action="store_true", help="print every figure in full precision as JSON")
    command.add_argument("--quiet", action="store_true", help="no progress bar, no notes")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the tables, then say what came of it."""
    from celadon.metrics.registry import split_specs
    from celadon.reproduce.run import Job, as_json
    from celadon.reproduce.run import run as run_job

    job = Job(
        data=arguments.data,
        work=arguments.work or str(_cache()),
        output=arguments.output,
        metrics=[spec for part in arguments.metric for spec in split_specs(part)],
        without=[name for part in arguments.without for name in split_specs(part)],
        only=[name for part in arguments.only for name in split_specs(part)],
        fresh=arguments.fresh,
    )
    with _Bar(enabled=not arguments.quiet) as bar:
        outcome = run_job(job, bar.step)
    if arguments.json:
        print(json.dumps(as_json(outcome), indent=2, allow_nan=False))
    if not arguments.quiet:
        for note in _notes(outcome, arguments.output):
            print(note, file=sys.stderr)
    return 0


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "celadon" / "reproduce"


def _notes(outcome: Outcome, output: str) -> list[str]:
    from celadon.reproduce.scoring import NOT_ASKED

    where: dict[tuple[str, str], list[str]] = {}
    for scored in outcome.sets.values():
        for name, why in scored.not_run.items():
            if why != NOT_ASKED:
                where.setdefault((name, why), []).append(scored.rated.plan.title)
    figures = sum(len(table.figures) for table in outcome.tables)
    count = len(outcome.tables)
    return [
        *(f"not run: {name}: {why} ({', '.join(titles)})" for (name, why), titles in where.items()),
        f"wrote {count} table{'s' if count != 1 else ''} with {figures:,} figures to {output}",
    ]


class _Bar:
    """A progress bar on the standard error stream, where it is a terminal."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._bar: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def step(self, total: int, what: str) -> None:
        """One more step begins."""
        if not self._enabled:
            return
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="step", disable=None, leave=False)
        else:
            self._bar.update()
        self._bar.set_postfix_str(what, refresh=False)
