"""What all methods of ``celadon synth`` take and do: read a corpus, write rows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.bars import bar

if TYPE_CHECKING:
    from celadon.synth.token_corpus import TokenCorpus


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options that all methods have."""
    command.add_argument(
        "corpus", nargs="+", metavar="CORPUS", help="text files, a paragraph a line, also .xz, .gz and .zst"
    )
    command.add_argument("--length", type=int, default=24, metavar="N", help="tokens of a text (default: 24)")
    command.add_argument("--count", type=int, default=1000, metavar="N", help="how many texts (default: 1000)")
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the same one makes the same texts (default: 0)"
    )
    command.add_argument("--output", required=True, metavar="FILE", help="JSON Lines, also .gz, .xz and .zst")


def check_output(arguments: argparse.Namespace, inputs: Sequence[str]) -> None:
    """Refuse an output that cannot be, before the corpus is read."""
    from celadon.core import OutputError
    from celadon.io import check_distinct

    check_distinct(arguments.output, inputs)
    folder = Path(arguments.output).parent
    if not folder.is_dir():
        raise OutputError(f"{arguments.output}: the folder {folder} does not exist; create it first")


def read_corpus(paths: Sequence[str]) -> TokenCorpus:
    """Read the corpus, with a bar."""
    from celadon.io.paragraphs import corpus_size
    from celadon.synth.token_corpus import read_token_corpus

    with bar("reading", corpus_size(paths) or 0) as shown:
        return read_token_corpus(paths, shown.update)


def write_rows(path: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write the texts and say so."""
    from celadon.io import write_json_rows
    from celadon.text.layout import printable

    count = write_json_rows(path, rows)
    print(printable(f"{path}: {count:,} texts"))
