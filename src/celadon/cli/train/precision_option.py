"""The option ``--precision``, which falls back to float32 on a machine that cannot multiply in 16 bits."""

from __future__ import annotations

import argparse
import sys


def add_precision(command: argparse.ArgumentParser) -> None:
    """Add the option."""
    from celadon.train.precision import PRECISIONS

    command.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help="bfloat16 is up to four times as fast on processors that have it; where it cannot be used, float32 is",
    )


def settle_precision(arguments: argparse.Namespace) -> str:
    """Return the precision that this machine can use, and put it into the arguments, which the card repeats."""
    from celadon.text.layout import printable
    from celadon.train.precision import bfloat16_fault

    if arguments.precision == "bfloat16" and (fault := bfloat16_fault()):
        print(printable(f"bfloat16 cannot be used on this machine: {fault}; training in float32"), file=sys.stderr)
        arguments.precision = "float32"
    precision: str = arguments.precision
    return precision
