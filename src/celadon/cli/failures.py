"""How failures reach the user: a line and an exit code, never a traceback for what the user can mend."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable

from celadon.core import CeladonError
from celadon.io import remove_leftovers

INTERRUPTED = 130
BROKEN_PIPE = 141


def guarded(run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """Run a command; turn what goes wrong into a message and an exit code."""
    # a terminated run must clean up after itself just as an interrupted one
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = run(arguments)
        sys.stdout.flush()
    except CeladonError as error:
        complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        remove_leftovers()
        complain("interrupted; nothing was written")
        return INTERRUPTED
    except BrokenPipeError:
        # the reader has what it wanted; keep the interpreter from flushing into the closed pipe at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def complain(message: str) -> None:
    """Show an error on the standard error stream, whatever characters it holds."""
    printable = message.encode(sys.stderr.encoding or "utf-8", "backslashreplace").decode(
        sys.stderr.encoding or "utf-8"
    )
    # a list of bad rows stands as it is, so that editors find file:line at the beginning of each line
    print(printable if "\n" in printable else f"celadon: {printable}", file=sys.stderr)
