"""What the commands that learn from human ratings share: their options, the tables, the bar."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.train.combinations.ratings import RatedTexts


def add_ratings(command: argparse.ArgumentParser, references: bool) -> None:
    """Options that say what is learned from, and what is kept apart."""
    command.add_argument(
        "ratings", metavar="RATINGS", help="texts with human ratings: JSONL, CSV, TSV, Parquet; - for stdin"
    )
    command.add_argument("--rating", metavar="COLUMN", help="the rating; overall also means scores.overall")
    command.add_argument(
        "--lower-is-better", action="store_true", help="less of the rating is better (known of hter, wer, ter, cer)"
    )
    command.add_argument(
        "--format", metavar="NAME", help="jsonl, csv, tsv, parquet, or a data set of celadon meta load --list"
    )
    command.add_argument("--text-field", metavar="NAME", help="the text (default: text, output or prediction)")
    if references:
        command.add_argument("--references-field", metavar="NAME", help="default: references, reference or ref0 ...")
        command.add_argument("--source-field", metavar="NAME", help="what the text was made from (default: source)")
    kept = command.add_mutually_exclusive_group()
    kept.add_argument("--train", type=_whole, metavar="N", help="train on N rows drawn at random, test on the rest")
    kept.add_argument(
        "--hold-out", type=_whole, metavar="N", help="test on N rows drawn at random (default: a fifth; 0: none)"
    )
    kept.add_argument("--test", metavar="FILE", help="train on all rows, test on this other table")
    command.add_argument("--seed", type=_whole, default=None, metavar="N", help="of what is drawn (default: fixed)")
    command.add_argument("--json", action="store_true", help="print the figures in full precision as JSON")
    command.add_argument("-o", "--output", metavar="FILE", required=True, help="where the result goes, as JSON")


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def check_outputs(arguments: argparse.Namespace, *outputs: str | None) -> None:
    """Refuse what cannot be written before the work begins, not after."""
    from celadon.core import OutputError, UsageError
    from celadon.io import check_distinct

    written = [path for path in outputs if path]
    for path in written:
        check_distinct(path, [name for name in (arguments.ratings, arguments.test) if name])
        if not Path(path).parent.is_dir():
            raise OutputError(f"{path}: the folder {Path(path).parent} does not exist; create it first")
    if len({Path(path).resolve() for path in written}) < len(written):
        raise UsageError("the outputs must be different files")


def tables_of(arguments: argparse.Namespace) -> tuple[RatedTexts, RatedTexts | None]:
    """The table that is learned from, and the other one to test on, if there is one."""
    from celadon.io import Fields
    from celadon.train.combinations.ratings import read_ratings

    fields = Fields(
        text=arguments.text_field,
        references=getattr(arguments, "references_field", None),
        source=getattr(arguments, "source_field", None),
    )
    table = read_ratings(arguments.ratings, arguments.rating, format=arguments.format, fields=fields)
    if arguments.test is None:
        return table, None
    return table, read_ratings(arguments.test, arguments.rating, format=arguments.format, fields=fields)


def options_of(arguments: argparse.Namespace, rating: str) -> dict[str, Any]:
    """What both ways of learning take."""
    from celadon.meta.table import less_is_better

    return {
        "train": arguments.train,
        "hold_out": arguments.hold_out,
        "seed": meta_tables.seed_of(arguments),
        "lower_is_better": arguments.lower_is_better or less_is_better(rating),
    }


def tell_left_out(left_out: int, of: int) -> str:
    """How many rows could not be used, in words; empty where all could."""
    were = "was" if left_out == 1 else "were"
    return (
        f"{left_out:,} of {of:,} rows {were} left out: no rating, or no value of something needed" if left_out else ""
    )
