"""``celadon score`` into a folder: a run with many workers that can be gone on with."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from celadon.cli.input_options import positive

if TYPE_CHECKING:
    from celadon.runs.local import Job
    from celadon.runs.outcome import RunOutcome
    from celadon.runs.run import RunSettings

# as celadon.runs.run.ENGINES, which would take its time to import
ENGINES = ("local", "ray")
_OF_RUNS = ("engine", "workers", "address", "resources", "shard_rows", "restart")


def add_run_options(command: argparse.ArgumentParser) -> None:
    """Say what there is to choose."""
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

    given = {name: getattr(arguments, name) for name in _OF_RUNS if getattr(arguments, name) is not None}
    if arguments.output is not None and is_run(arguments.output):
        return RunSettings(**{**given, "resources": tuple(given.get("resources", ()))})
    for name in given:
        raise UsageError(f"--{name.replace('_', '-')} is for a run: give a folder as the output, as in --output out/")
    return None


def carry_out(job: Job, settings: RunSettings, *, quiet: bool) -> RunOutcome | None:
    """Start a run or go on with it, with bars that show how far it is; None where it was interrupted."""
    from celadon.cli.failures import complain
    from celadon.cli.progress import CountProgress
    from celadon.io import remove_leftovers
    from celadon.runs.run import RunListeners, start_run

    try:
        if quiet:
            return start_run(job, settings)
        with CountProgress("bytes looked through") as planned, CountProgress("rows") as scored:
            return start_run(job, settings, RunListeners(planned, scored, _say))
    except KeyboardInterrupt:
        remove_leftovers()
        complain(f"interrupted; whole shards stay in {job.output}, and the same command goes on with the rest")
        return None


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def run_notes(job: Job, outcome: RunOutcome) -> list[str]:
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
