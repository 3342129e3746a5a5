"""The options that commands have in common that score: columns and formats, the score cache, runs into folders."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celadon.io import Fields
    from celadon.runs.local import Job
    from celadon.runs.run import RunResult, RunSettings
    from celadon.scoring.cache.score_cache import CacheSettings

# as celadon.io.FORMATS, celadon.runs.run.ENGINES and celadon.io.written_in.MARKUPS: importing them would take its time
FORMATS = ("jsonl", "csv", "tsv", "parquet", "txt")
ENGINES = ("local", "ray")
MARKUPS = ("auto", "markdown", "rst", "html", "plain")
_FIELDS = ("text", "references", "source", "system", "id")
_WRITTEN_IN = ("markup", "language")
_OF_RUNS = ("engine", "workers", "address", "resources", "shard_rows", "restart")
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_LEAST = 1_000_000


def add_field_options(command: argparse.ArgumentParser) -> None:
    """Add the options that name columns."""
    fields = command.add_argument_group("fields (nested ones as scores.overall)")
    fields.add_argument("--text-field", metavar="NAME", help="the text (default: text, output or prediction)")
    fields.add_argument(
        "--references-field", metavar="NAME", help="a string or list (default: references, reference or ref0, ref1 ...)"
    )
    fields.add_argument("--source-field", metavar="NAME", help="what the text was made from (default: source)")
    fields.add_argument("--system-field", metavar="NAME", help="who made the text (default: system)")
    fields.add_argument("--id-field", metavar="NAME", help="the item (default: id)")


def add_markup_options(command: argparse.ArgumentParser) -> None:
    """Add the options that say what texts are written in."""
    group = command.add_argument_group("what the texts are written in")
    add_markup_option(group, "all texts are written in")
    group.add_argument("--markup-field", metavar="NAME", help="what a row's text is written in instead")
    group.add_argument(
        "--language-field",
        metavar="NAME",
        help="the language of a row's text: an ISO 639 code or an English name (default: identified)",
    )


def add_markup_option(group: argparse._ActionsContainer, whose: str) -> None:
    """Add the option that says what texts, or one text, are written in."""
    group.add_argument("--markup", choices=MARKUPS, default="auto", help=f"what {whose} (default: found out)")


def fields_of(arguments: argparse.Namespace) -> Fields:
    """Return which column is what."""
    from celadon.io import Fields

    named = {name: getattr(arguments, f"{name}_field") for name in _FIELDS}
    if "markup" in arguments:
        named |= {name: getattr(arguments, f"{name}_field") for name in _WRITTEN_IN}
        named["default_markup"] = arguments.markup
    return Fields(**named)


def add_input_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of the input's format and the longest text."""
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


def add_cache_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of the score cache."""
    group.add_argument(
        "--cache",
        action="store_true",
        help="keep scores in the user's celadon folder and take those that are there (CELADON_CACHE=1: always)",
    )
    group.add_argument(
        "--cache-size",
        type=_bytes,
        default=None,
        metavar="SIZE",
        help="the least recently used scores go when it is full (default: 1GB)",
    )


def cache_settings(arguments: argparse.Namespace) -> CacheSettings | None:
    """Return the cache that is asked for; None where none is."""
    from celadon.scoring.cache.score_cache import CacheSettings, is_wanted_everywhere

    if not (arguments.cache or arguments.cache_size is not None or is_wanted_everywhere()):
        return None
    return CacheSettings() if arguments.cache_size is None else CacheSettings(max_bytes=arguments.cache_size)


def hit_line(hits: int, misses: int) -> str:
    """Say in one line what the cache was good for."""
    total = hits + misses
    return f"cache: {hits:,} of {total:,} scores were there ({hits / max(total, 1):.1%})"


def _bytes(text: str) -> int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?)b?", text.strip().lower())
    size = int(float(match[1]) * _UNITS.get(match[2], 0)) if match else 0
    if size < _LEAST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size from 1MB on, as in 500MB or 1GB")
    return size


def add_run_options(command: argparse.ArgumentParser) -> None:
    """Add the options of runs."""
    group = command.add_argument_group(
        "runs (--output FOLDER/: Parquet shards; the same command goes on where it was stopped)"
    )
    group.add_argument("--engine", choices=ENGINES, help="processes of this machine (default), or a Ray cluster")
    group.add_argument(
        "--workers", type=positive, metavar="N", help="how many score at once (default: one a core, at most 8)"
    )
    group.add_argument("--address", metavar="ADDRESS", help="of the Ray cluster (default: the one of this machine)")
    group.add_argument(
        "--resources",
        action="append",
        metavar="METRIC=cpu:N,gpu:N",
        help="what a metric needs of the Ray cluster (default: one core); may be given again",
    )
    group.add_argument("--shard-rows", type=positive, metavar="N", help="input rows in a shard (default: 8,192)")
    group.add_argument(
        "--restart", action="store_true", default=None, help="throw away the shards that the folder has, and begin anew"
    )


def run_settings(arguments: argparse.Namespace) -> RunSettings | None:
    """Return how the run is to be carried out; None where the output is not a run's folder."""
    from celadon.core import UsageError
    from celadon.runs.run import RunSettings, is_run

    options = {name: getattr(arguments, name) for name in _OF_RUNS if getattr(arguments, name) is not None}
    if arguments.output is not None and is_run(arguments.output):
        return RunSettings(**{**options, "resources": tuple(options.get("resources", ()))})
    for name in options:
        raise UsageError(f"--{name.replace('_', '-')} is for a run: give a folder as the output, as in --output out/")
    return None


def carry_out(job: Job, settings: RunSettings, *, quiet: bool) -> RunResult | None:
    """Start a run or go on with it, with bars that show how far it is; None where it was interrupted."""
    from celadon.cli.failures import complain
    from celadon.cli.progress import CountProgress
    from celadon.io import remove_leftovers
    from celadon.runs.run import RunListeners, start_run

    try:
        if quiet:
            return start_run(job, settings)
        with CountProgress("bytes looked through") as planned, CountProgress("rows") as scored:
            return start_run(job, settings, RunListeners(planned, scored, lambda line: print(line, file=sys.stderr)))
    except KeyboardInterrupt:
        remove_leftovers()
        complain(f"interrupted; whole shards stay in {job.output}, and the same command goes on with the rest")
        return None


def run_notes(job: Job, outcome: RunResult) -> list[str]:
    """Say in lines what a run has come to."""
    from celadon.models.store import size_text

    notes = []
    if outcome.shards_before == outcome.shards:
        notes.append(
            f"{outcome.folder}: was finished already, {outcome.rows_scored:,} rows in {outcome.shards:,} shards; "
            "nothing was scored"
        )
        notes += written(None, job.report)
    else:
        speed = outcome.rows_now / max(outcome.seconds, 1e-9)
        notes.append(
            f"{outcome.rows_now:,} rows scored in {outcome.seconds:.1f} s ({speed:,.0f} a second), at most "
            f"{size_text(outcome.peak_memory_bytes)} a worker"
        )
        notes += written(outcome.folder, job.report)
    return notes


def written(*paths: str | None) -> list[str]:
    """Say in a line, if at all, what was written."""
    from celadon.io.remote import shown_name

    names = [shown_name(path) for path in paths if path]
    return [f"wrote {' and '.join(names)}"] if names else []
