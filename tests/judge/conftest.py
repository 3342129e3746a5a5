"""Experiments of every design, a server for them, a browser and a PostgreSQL."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from celadon.judge.experiment import Experiment, new_experiment, open_experiment
from tests import processes
from tests.conftest import missing_part

# nothing here can be imported without the extra; in CI, where all must be there, that is an error
if (
    any(find_spec(name) is None for name in ("fastapi", "jinja2", "sqlalchemy", "uvicorn"))
    and os.environ.get("CI") != "true"
):
    warnings.warn(
        "the extra serve is not installed, so celadon judge is not tried: ./celadon install serve", stacklevel=1
    )
    collect_ignore_glob = ["test_*.py"]

MakeExperiment = Callable[..., Experiment]

CELLS = ("alpha", "beta", "gamma", "delta")
SYSTEMS = ("one", "two", "three")


def item_rows(cells: tuple[str, ...] = CELLS, systems: tuple[str, ...] = SYSTEMS) -> list[dict[str, Any]]:
    """Rows as a user has them: rows of several systems share an id."""
    return [
        {
            "id": cell,
            "system": system,
            "context": f"What came before {cell}.",
            "text": f"The {cell} text of system {system}.",
            "references": [f"The {cell} text."],
        }
        for cell in cells
        for system in systems
    ]


def make_experiment(folder: Path, design: str, rows: list[dict[str, Any]] | None = None, **changes: Any) -> Experiment:
    """A new experiment; ``changes`` are lines of its config, by key."""
    items = folder.with_suffix(".jsonl")
    items.write_text("".join(json.dumps(row) + "\n" for row in rows or item_rows()), encoding="utf-8")
    new_experiment(folder, str(items), design, title="A study of texts")
    path = folder / "experiment.toml"
    lines = path.read_text(encoding="utf-8").splitlines()
    for key, value in {"seed": 7, **changes}.items():
        at = [number for number, line in enumerate(lines) if line.startswith(f"{key} = ")]
        assert at, key
        for number in at:
            lines[number] = f"{key} = {json.dumps(value)}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return open_experiment(folder)


@pytest.fixture
def made(tmp_path: Path) -> MakeExperiment:
    """Makes experiments, each in a folder of its own."""

    def make(design: str = "likert", rows: list[dict[str, Any]] | None = None, **changes: Any) -> Experiment:
        folder = tmp_path / f"study{len(list(tmp_path.iterdir()))}"
        return make_experiment(folder, design, rows, **changes)

    return make


@contextmanager
def served(app: Any, protocol: Any = None) -> Iterator[str]:
    """The application behind a real socket, by the protocol of the judgement pages unless told; yields its address."""
    import uvicorn

    from celadon.web.protocol import GuardedProtocol

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    speaks = protocol or GuardedProtocol
    server = uvicorn.Server(uvicorn.Config(app, http=speaks, ws="none", log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
    listening.close()


def _postgresql_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    there = shutil.which("initdb")
    return Path(there).parent if there else None


def _as_plain_user(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root: a command before its own that makes it somebody else."""
    if os.geteuid() != 0:
        return []
    shutil.chown(folder, "nobody")
    return ["setpriv", "--reuid=nobody", "--clear-groups"]


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """A real PostgreSQL in a folder of its own; called, it gives the URL of an empty database."""
    programs = _postgresql_programs()
    if programs is None:
        missing_part("postgresql", "so answers are not kept in it here: ./celadon install test")
        return
    # a socket's path must be short, and all folders above it open to a user who is not root
    folder = Path(f"/tmp/celadon-pg-{os.getpid()}")
    folder.mkdir()
    run = [*_as_plain_user(folder)]
    data = folder / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    server = None
    try:
        processes.run(
            [*run, programs / "initdb", "-D", data, "-U", "judge", "-A", "trust", "--no-sync", "-E", "UTF8"],
            check=True,
            **quiet,
        )
        # what a crash of PostgreSQL itself would lose is not tried here
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-k", str(folder)]
        server = subprocess.Popen([*run, programs / "postgres", "-D", data, *options], stderr=subprocess.DEVNULL)
        for _ in range(200):
            if processes.run([programs / "pg_isready", "-q", "-h", folder], check=False).returncode == 0:
                break
            time.sleep(0.05)
        made = iter(range(1_000))

        def database() -> str:
            name = f"study{next(made)}"
            processes.run([programs / "createdb", "-h", folder, "-U", "judge", name], check=True)
            return f"postgresql://judge@/{name}?host={folder}"

        yield database
    finally:
        if server is not None:
            # at once: nothing of it is kept
            server.send_signal(signal.SIGQUIT)
            server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    """Where answers are kept: None for SQLite in the experiment's folder, then the URL of a real PostgreSQL."""
    if request.param == "sqlite":
        return None
    database: Callable[[], str] = request.getfixturevalue("postgresql")
    return database()
