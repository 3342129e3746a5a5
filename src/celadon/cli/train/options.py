"""What the commands that train share: how progress is shown, and options for recipes, corpora and ratings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from celadon.cli.progress import CountProgress
from celadon.train.reporting import Report

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Recipe = TypeVar("Recipe", bound=DataclassInstance)
else:
    Recipe = TypeVar("Recipe")

_PATIENCE = 2.0  # seconds before a bar is shown

ABOUT = "for the card: what the data are, their licence"


def bar(what: str, total: int, unit: str = "B") -> Any:
    """Return a progress bar that moves by ``update``: on a terminal only, and not for what is soon done."""
    from tqdm import tqdm

    return tqdm(
        desc=what,
        total=total,
        unit=unit,
        unit_scale=True,
        leave=False,
        delay=_PATIENCE,
        disable=not sys.stderr.isatty(),
    )


class _TerminalReport(Report):
    def bar(self, what: str, total: int, unit: str = "B") -> AbstractContextManager[Any]:
        return bar(what, total, unit)  # type: ignore[no-any-return]

    def count(self, what: str) -> AbstractContextManager[Callable[[int, int], None]]:
        return CountProgress(what)

    def note(self, message: str) -> None:
        from celadon.text.layout import printable

        print(printable(message), file=sys.stderr)


TERMINAL = _TerminalReport()


def add_kind(
    kinds: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    help: str,  # noqa: A002
    description: str,
    epilog: str,
) -> argparse.ArgumentParser:
    """Add a kind of training."""
    command: argparse.ArgumentParser = kinds.add_parser(
        name, help=help, description=description, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.set_defaults(run=run)
    return command


def add_corpus(command: argparse.ArgumentParser, output: str, metavar: str = "FOLDER") -> None:
    """Add the corpus and the output."""
    command.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files, also .xz and .gz")
    command.add_argument("--output", required=True, metavar=metavar, help=output)


def add_numbers(command: argparse.ArgumentParser, recipe: type[DataclassInstance], meanings: Mapping[str, str]) -> None:
    """Add an option for each number of a recipe that has a meaning."""
    for field in fields(recipe):
        if field.name in meanings:
            default: Any = field.default
            command.add_argument(
                f"--{field.name.replace('_', '-')}",
                type=type(default),
                default=default,
                metavar="N" if isinstance(default, int) else "X",
                help=f"{meanings[field.name]} (default: {format(default, ',' if isinstance(default, int) else 'g')})",
            )


def recipe_of(arguments: argparse.Namespace, recipe: type[Recipe], **more: Any) -> Recipe:
    """Return the recipe that the options name."""
    values = {field.name: getattr(arguments, field.name) for field in fields(recipe) if hasattr(arguments, field.name)}
    return recipe(**values, **more)


def add_precision(command: argparse.ArgumentParser) -> None:
    """Add ``--precision``, which falls back to float32 on a machine that cannot multiply in 16 bits."""
    from celadon.train.precision import PRECISIONS

    command.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help="bfloat16 is up to four times as fast on processors that have it; where it cannot be used, float32 is",
    )


def add_run(command: argparse.ArgumentParser, kept: str) -> None:
    """Add where a run is kept, and how many threads it has."""
    command.add_argument("--work", metavar="FOLDER", help=f"where {kept} and the checkpoint are, and stay")
    command.add_argument("--fresh", action="store_true", help="do not go on from a checkpoint")
    command.add_argument("--threads", type=int, metavar="N", help="processor threads (default: all)")


def chosen(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return options by their names, as a training function takes them."""
    return {name: getattr(arguments, name) for name in names}


def add_ratings(command: argparse.ArgumentParser, references: bool) -> None:
    """Add what is learned from ratings, and what is kept apart."""
    add = command.add_argument
    add("ratings", metavar="RATINGS", help="texts with human ratings: JSONL, CSV, TSV, Parquet; - for stdin")
    add("--rating", metavar="COLUMN", help="the rating; overall also means scores.overall")
    add("--lower-is-better", action="store_true", help="less of the rating is better (known of hter, wer, ter, cer)")
    add("--format", metavar="NAME", help="jsonl, csv, tsv, parquet, or a data set of celadon meta load --list")
    add("--text-field", metavar="NAME", help="the text (default: text, output or prediction)")
    if references:
        add("--references-field", metavar="NAME", help="default: references, reference or ref0 ...")
        add("--source-field", metavar="NAME", help="what the text was made from (default: source)")
    kept = command.add_mutually_exclusive_group()
    kept.add_argument("--train", type=_whole, metavar="N", help="train on N rows drawn at random, test on the rest")
    held_out = "test on N rows drawn at random (default: a fifth; 0: none)"
    kept.add_argument("--hold-out", type=_whole, metavar="N", help=held_out)
    kept.add_argument("--test", metavar="FILE", help="train on all rows, test on this other table")
    add("--seed", type=_whole, default=None, metavar="N", help="of what is drawn (default: fixed)")
    add("--json", action="store_true", help="print the figures in full precision as JSON")
    add("-o", "--output", metavar="FILE", required=True, help="where the result goes, as JSON")


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def ratings_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what :func:`add_ratings` added, as a training function takes it."""
    from celadon.cli.meta.tables import seed_of
    from celadon.io import Fields

    names: dict[str, Any] = {
        name: getattr(arguments, f"{name}_field", None) for name in ("text", "references", "source")
    }
    columns = Fields(**names)
    options = chosen(arguments, "rating", "format", "test", "lower_is_better", "train", "hold_out")
    return {**options, "fields": columns, "seed": seed_of(arguments), "report": TERMINAL}


def print_used(output: str, notation: str, left_out: int, rows: int) -> None:
    """Say how what was written is used, and how many rows could not be."""
    print(f"wrote {output}; use it with: celadon score FILE --metric '{notation}'", file=sys.stderr)
    if left_out:
        were = "was" if left_out == 1 else "were"
        reason = "no rating, or no value of something needed"
        print(f"{left_out:,} of {rows:,} rows {were} left out: {reason}", file=sys.stderr)
