"""What the questions of ``celadon meta`` share: their options, the table, and how figures are printed."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celadon.core import Direction
    from celadon.meta.correlation import Level
    from celadon.meta.table import Table

KINDS = ("pearson", "spearman", "kendall")
LEVELS = ("instance", "system", "within-item")


def add_table(command: argparse.ArgumentParser, *, human: str = "the rating columns") -> None:
    """Options of every question that reads a table with ratings."""
    command.add_argument("table", metavar="TABLE", help="scores and ratings: CSV, TSV, JSONL, Parquet; - for stdin")
    command.add_argument(
        "--human", action="append", default=[], metavar="A,B", help=f"{human}; overall also means scores.overall"
    )
    command.add_argument(
        "--format", choices=("jsonl", "csv", "tsv", "parquet"), help="of the table, instead of the file's ending"
    )
    command.add_argument("--json", action="store_true", help="print the figures in full precision as JSON")


def add_metrics(command: argparse.ArgumentParser) -> None:
    """Options of every question about metrics."""
    command.add_argument(
        "-m",
        "--metric",
        action="append",
        default=[],
        metavar="A,B",
        help="the metric columns (default: those of celadon's metrics, else every other numeric column)",
    )
    command.add_argument(
        "--lower-is-better", action="append", default=[], metavar="A,B", help="columns of which less is better"
    )
    command.add_argument("--system-field", metavar="NAME", help="who made the text (default: system)")
    command.add_argument("--domain-field", metavar="NAME", help="where the text comes from (default: domain)")
    command.add_argument("--item-field", metavar="NAME", help="what texts of several systems share (default: id)")


def add_correlation(command: argparse.ArgumentParser, kind: str = "pearson") -> None:
    """Which coefficient."""
    command.add_argument("--correlation", choices=KINDS, default=kind, help=f"default: {kind}")


def add_drawing(command: argparse.ArgumentParser) -> None:
    """Options of whatever is drawn at random."""
    command.add_argument("--seed", type=_whole, default=None, metavar="N", help="of what is drawn (default: fixed)")
    command.add_argument("--resamples", type=positive, default=1000, metavar="N", help="default: 1000")


def _whole(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return value


def positive(text: str) -> int:
    """Read a whole number above 0, also one written 1,000."""
    value = _whole(text.replace(",", "").replace("_", ""))
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return value


def named(options: Sequence[str]) -> list[str]:
    """Column names out of options that may be given again and hold several, split at commas outside of brackets."""
    from celadon.metrics.registry import split_specs

    return list(dict.fromkeys(name for text in options for name in split_specs(text)))


def seed_of(arguments: argparse.Namespace) -> int:
    """The seed asked for, or the usual one."""
    from celadon.meta.study import DEFAULT_SEED

    return DEFAULT_SEED if arguments.seed is None else int(arguments.seed)


def level_of(text: str) -> Level:
    """A level as the statistics call it."""
    levels: dict[str, Level] = {"instance": "instance", "system": "system", "within-item": "within_item"}
    return levels[text]


def known_metric(name: str) -> Direction | None:
    """The direction of the metric that a column's name stands for; None where it is none of the registered ones."""
    from celadon.metrics.registry import load, names

    base, bracket, options = name.partition("[")
    if base not in names() or (bracket and not options.endswith("]")):
        return None
    return load(base).info.direction


def humans_of(arguments: argparse.Namespace) -> list[str]:
    """The ratings asked for; a complaint where none is."""
    from celadon.core import UsageError

    humans = named(arguments.human)
    if not humans:
        raise UsageError("no rating: name the columns of human scores with --human, for example --human overall")
    return humans


def table_of(arguments: argparse.Namespace, metrics: Sequence[str] | None = None) -> Table:
    """Read the table that the options ask for; ``metrics`` in place of those of ``--metric``."""
    from celadon.io import read_table_rows
    from celadon.meta.table import make_table

    humans = humans_of(arguments)
    return make_table(
        read_table_rows(arguments.table, format=arguments.format),
        humans=humans,
        metrics=metrics if metrics is not None else named(arguments.metric) or None,
        system_field=arguments.system_field,
        domain_field=arguments.domain_field,
        item_field=arguments.item_field,
        lower_is_better=named(arguments.lower_is_better),
        known=known_metric,
    )


def check_writable(path: str, inputs: Sequence[str]) -> None:
    """Complain before the work is done, not after it."""
    from celadon.io import check_distinct
    from celadon.io.atomic import Draft

    check_distinct(path, inputs)
    draft = Draft(path)
    draft.open()
    draft.abort()


def print_json(value: Any) -> None:
    """Print figures in full precision; null for what does not exist."""
    print(json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def figure(value: float, digits: int = 3) -> str:
    """A figure, or a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def chance(value: float) -> str:
    """A p-value, or a dash where there is none."""
    if math.isnan(value):
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def bounds(low: float, high: float) -> str:
    """An interval, or a dash where there is none."""
    return "-" if math.isnan(low) or math.isnan(high) else f"{low:.3f} .. {high:.3f}"


def print_notes(notes: Sequence[str]) -> None:
    """Print what a study says in words."""
    from celadon.text.layout import printable

    for note in notes:
        print(f"- {printable(note)}")
