"""The command line: one file per command; parses, calls, prints.

Exit codes: 0 done, 1 failed, 2 the request or the input is wrong, 3 a part is not installed, 4 a result cannot be
written, 130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from celadon import __version__
from celadon.cli import explain, install, meta, metrics, score

_COMMANDS = (score, explain, meta, metrics, install)

_EPILOG = """\
exit codes: 0 done; 1 failed; 2 the request or the input is wrong; 3 an optional part is not installed;
4 a result cannot be written; 130 interrupted
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="celadon",
        description="Tells how well generated text reads, and how far each metric can be trusted.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"celadon {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = parser().parse_args(sys.argv[1:] if argv is None else argv)
    from celadon.cli.failures import guarded

    return guarded(arguments.run, arguments)
