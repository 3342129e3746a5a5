"""``celadon runs``: runs of ``celadon score`` into folders."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from celadon.cli.compare import configure as configure_compare

if TYPE_CHECKING:
    from celadon.runs.state import RunState

_EPILOG = """\
A RUN is its folder, or the last part of its path where only one known run has it.

examples:
  celadon runs
  celadon runs show out/
  celadon runs show out/ --verify
  celadon runs compare before/ after/ --report changes.html
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = "List, show and compare runs; without an action, list them."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.set_defaults(run=list_runs, folders=[], json=False)
    actions = command.add_subparsers(title="actions", metavar="ACTION")

    def action(name: str, run: Callable[[argparse.Namespace], int], meaning: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = actions.add_parser(name, help=meaning, description=f"{meaning}.")
        parser.set_defaults(run=run)
        return parser

    listing = action("list", list_runs, "list the runs that were started by this user, and those in the folders given")
    listing.add_argument("folders", nargs="*", metavar="FOLDER", help="a run that was started elsewhere")
    listing.add_argument("--json", action="store_true", help="print JSON")

    showing = action("show", show, "show all that is known of a run: state, rows, metrics, versions, speed, summary")
    showing.add_argument("name", metavar="RUN", help="the run")
    showing.add_argument("--verify", action="store_true", help="hash every file of every shard; exit 1 if one is wrong")
    showing.add_argument("--json", action="store_true", help="print JSON")

    comparing = actions.add_parser("compare", help="say which of two runs reads better, as celadon compare does")
    configure_compare(comparing)


def list_runs(arguments: argparse.Namespace) -> int:
    """List runs."""
    from celadon.runs.folder import known_runs
    from celadon.text.layout import printable, table

    places = dict.fromkeys([*known_runs(), *map(_place, arguments.folders)])
    states = [state for place in places if (state := _state(place, named=False)) is not None]
    if arguments.json:
        print(json.dumps([_facts(state) for state in states], indent=2))
        return 0
    if not states:
        print("no runs are known; celadon score FILE --output FOLDER/ starts one")
        return 0
    rows = [
        [
            printable(state.folder.name),
            state.state,
            f"{_rows_done(state):,} of {state.manifest.rows:,}",
            f"{len(state.shards):,} of {len(state.manifest.pieces):,}",
            (state.manifest.created or "").replace("+00:00", "Z"),
            printable(", ".join(state.manifest.config.signatures)),
        ]
        for state in states
    ]
    print(table(["run", "state", "rows", "shards", "started", "metrics"], rows, left=6))
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Show one run."""
    from celadon.cli.progress import CountProgress
    from celadon.runs.state import wrong_files

    state = _state(_place(arguments.name), named=True)
    assert state is not None
    wrong = None
    if arguments.verify:
        with CountProgress("files") as progress:
            wrong = wrong_files(state, progress)
    if arguments.json:
        verified = {} if wrong is None else {"wrong_files": wrong}
        print(json.dumps({**_facts(state), **verified}, indent=2))
    else:
        _print_facts(state, wrong)
    return 1 if wrong else 0


def _print_facts(state: RunState, wrong: list[str] | None) -> None:
    from celadon.text.layout import printable

    facts = _facts(state)
    for name, text in _lines(facts).items():
        if text:
            print(f"{name:<10}{printable(text)}")
    for signature in facts["signatures"].values():
        print(f"{'metric':<10}{printable(signature)}")
    if wrong is not None:
        files = sum(len(shard.files) for shard in state.shards)
        print(f"{'verified':<10}{files - len(wrong):,} of {files:,} files are as they were written")
        for line in wrong:
            print(f"{'':<10}{printable(line)}")
    if state.summary is not None:
        print(f"\n{state.summary}")


def _lines(facts: dict[str, Any]) -> dict[str, str]:
    """What is known of a run, for people; empty where there is nothing to say."""
    from celadon.cli.scoring_options import hit_line
    from celadon.models.store import size_text

    inputs, last = facts["inputs"], facts["last_start"]
    more = f" and {len(inputs) - 1:,} more" if len(inputs) > 1 else ""
    speed = facts["rows_per_second_of_a_worker"]
    together = (
        f"; {last['rows'] / max(last['seconds'], 1e-9):,.0f} by {last['workers'] or 'all'} together" if last else ""
    )
    cached = facts["cache_hits"] + facts["cache_misses"]
    return {
        "run": facts["run"],
        "state": facts["state"],
        "started": facts["started"],
        "inputs": f"{inputs[0]['name']}{more}, {size_text(sum(file['size'] for file in inputs))}",
        "rows": f"{facts['rows_scored']:,} scored and {facts['rows_rejected']:,} rejected of {facts['rows']:,}",
        "shards": f"{facts['shards_done']:,} of {facts['shards']:,}, each of {facts['shard_rows']:,} rows",
        "versions": ", ".join(f"{package} {version}" for package, version in facts["versions"].items()),
        "speed": f"{speed:,.0f} rows a second of a worker{together}" if speed else "",
        "memory": f"at most {size_text(facts['peak_memory_bytes'])} a worker" if facts["peak_memory_bytes"] else "",
        "cache": hit_line(facts["cache_hits"], facts["cache_misses"]).removeprefix("cache: ") if cached else "",
    }


def _facts(state: RunState) -> dict[str, Any]:
    from dataclasses import asdict

    manifest, shards = state.manifest, state.shards
    scored = sum(shard.rows_scored for shard in shards)
    seconds = sum(shard.seconds for shard in shards)
    return {
        "run": state.folder.name,
        "state": state.state,
        "started": manifest.created,
        "inputs": [asdict(file) for file in manifest.files],
        "rows": manifest.rows,
        "rows_scored": scored,
        "rows_rejected": sum(shard.rows_rejected for shard in shards),
        "shards": len(manifest.pieces),
        "shards_done": len(shards),
        "shard_rows": manifest.shard_rows,
        "signatures": manifest.config.signatures,
        "versions": dict(manifest.versions or {}),
        "rows_per_second_of_a_worker": round(scored / seconds, 1) if seconds else None,
        "last_start": state.last_start,
        "peak_memory_bytes": max((shard.peak_memory_bytes for shard in shards), default=0),
        "cache_hits": sum(shard.cache_hits for shard in shards),
        "cache_misses": sum(shard.cache_misses for shard in shards),
        "summary": None if state.summary is None else state.summary.to_dict(),
    }


def _rows_done(state: RunState) -> int:
    return sum(shard.rows_scored + shard.rows_rejected for shard in state.shards)


def _state(place: str, *, named: bool) -> RunState | None:
    """A run; one that is only remembered may be gone or broken, and is then left out."""
    from celadon.core import CeladonError
    from celadon.runs.state import state_of

    try:
        return state_of(place)
    except CeladonError:
        if named:
            raise
        return None


def _place(name: str) -> str:
    """Where a run is that is named by its folder or by the last part of its path."""
    from pathlib import Path

    from celadon.core import UsageError
    from celadon.io.remote import is_url
    from celadon.runs.folder import runs_named

    if is_url(name):
        return name
    if Path(name).is_dir():
        return str(Path(name).resolve())
    places = runs_named(name)
    if len(places) != 1:
        what = f"{len(places)} known runs have this name; give the folder" if places else "no such run"
        raise UsageError(f"{name}: {what} (celadon runs lists those that are known)")
    return places[0]
