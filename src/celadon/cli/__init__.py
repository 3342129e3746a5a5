"""The command line: one file per command; parses, calls, prints.

Exit codes: 0 done, 1 failed, 2 the request or the input is wrong, 3 a part is not installed, 4 a result cannot be
written, 130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from celadon import __version__

# Each command's module is imported only when it is asked for: the list grows, and help must stay instant.
COMMANDS = {
    "score": "score files of texts: a table per system, a file of scores, an HTML report",
    "runs": "runs of celadon score into folders: list, show, verify, compare",
    "check": "a gate for CI: fails where a text does not keep its limits, or the mean is worse than a baseline's",
    "calibrate": "learn the limits of a gate from texts that are good enough",
    "compare": "which of two runs, or files of scores, reads better, and the texts that changed most",
    "explain": 'what made the score of one text: celadon explain "text" --reference "..."',
    "meta": "how far metrics can be trusted: compare their scores with human ratings",
    "judge": "ask people how well texts read: an experiment on web pages, from a file of texts to a table",
    "serve": "scores over HTTP, requests batched across clients, and a page to paste a text into",
    "models": "the models that metrics use: list, fetch, show, import, remove",
    "train": "train a language model or a combination of metrics on your own data",
    "synth": "make texts of graded fluency from a corpus, to test metrics with or to train them on",
    "realize": "turn unordered dependency trees into sentences (FERGUS)",
    "metrics": "list every metric: what it needs, its range, direction, meaning, how to read a value",
    "install": "list the extras, or add some to this environment with the Debian packages they need",
}

_EPILOG = """\
exit codes: 0 done; 1 failed, or a check not passed; 2 the request or the input is wrong; 3 an optional part is not
installed; 4 a result cannot be written; 130 interrupted
"""


def parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """Make the parser of the command line; only the chosen command knows its own arguments."""
    top = argparse.ArgumentParser(
        prog="celadon",
        description="Tells how well generated text reads, and how far each metric can be trusted.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"celadon {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, meaning in COMMANDS.items():
        command = commands.add_parser(name, help=meaning)
        if name == chosen:
            import_module(f"celadon.cli.{name}").configure(command)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    # the top level has no options that take a value, so the first plain word is the command
    chosen = next((word for word in words if not word.startswith("-")), None)
    arguments = parser(chosen).parse_args(words)
    from celadon.cli.failures import guarded

    return guarded(arguments.run, arguments)
