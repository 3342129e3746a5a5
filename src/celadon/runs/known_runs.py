"""Which runs this user has started, one small file for each in the user's celadon folder."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from celadon.core import OutputError
from celadon.io import atomic_write_text
from celadon.io.remote import shown_name
from celadon.models.store.places import home
from celadon.runs.folder import RunFolder


def remember_run(folder: RunFolder) -> None:
    """Keep in mind where a run is; a home one cannot write in does not stop the run."""
    note = {"folder": shown_name(folder.place), "started": datetime.now(UTC).isoformat(timespec="seconds")}
    path = _room() / f"{folder.digest}.json"
    with suppress(OSError, OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(str(path), json.dumps(note))


def known_runs() -> list[str]:
    """Return where runs were started, the last one first; runs that are gone are forgotten."""
    found: list[tuple[str, str]] = []
    for path in _room().glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(path.read_bytes())
            place = str(note["folder"])
            if "://" in place or Path(place).is_dir():
                found.append((str(note["started"]), place))
            else:
                path.unlink()
    return [place for _, place in sorted(found, reverse=True)]


def runs_named(name: str) -> list[str]:
    """Return where the known runs are whose path ends in a name."""
    return [place for place in known_runs() if place.rstrip("/").rpartition("/")[2] == name.rstrip("/")]


def _room() -> Path:
    return home() / "runs"
