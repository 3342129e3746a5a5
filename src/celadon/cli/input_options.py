"""The options that say which column is what and how inputs are read, for every command that scores files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celadon.io import Fields

# as celadon.io.FORMATS, which would take its time to import
FORMATS = ("jsonl", "csv", "tsv", "parquet", "txt")
_FIELDS = ("text", "references", "source", "system", "id")


def add_field_options(command: argparse.ArgumentParser) -> None:
    """Let the columns be named."""
    fields = command.add_argument_group("fields (nested ones as scores.overall)")
    fields.add_argument("--text-field", metavar="NAME", help="the text (default: text, output or prediction)")
    fields.add_argument(
        "--references-field", metavar="NAME", help="a string or list (default: references, reference or ref0, ref1 ...)"
    )
    fields.add_argument("--source-field", metavar="NAME", help="what the text was made from (default: source)")
    fields.add_argument("--system-field", metavar="NAME", help="who made the text (default: system)")
    fields.add_argument("--id-field", metavar="NAME", help="the item (default: id)")


def fields_of(arguments: argparse.Namespace) -> Fields:
    """Return which column is what."""
    from celadon.io import Fields

    return Fields(**{name: getattr(arguments, f"{name}_field") for name in _FIELDS})


def add_input_options(group: argparse._ArgumentGroup) -> None:
    """Let the format and the longest text be given."""
    group.add_argument("--format", choices=FORMATS, help="instead of the file's ending")
    group.add_argument(
        "--max-text-chars",
        type=positive,
        default=1_000_000,
        metavar="N",
        help="a longer text is malformed (default: 1,000,000)",
    )


def positive(text: str) -> int:
    """A positive whole number, also as 10,000 or 10_000."""
    try:
        value = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return value
