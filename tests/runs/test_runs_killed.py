"""Drivers and workers killed at random moments: after another start every row is there, once."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from multiprocessing import active_children
from pathlib import Path

import pytest

from celadon.core import CeladonError
from tests import processes
from tests.runs.run_parts import (
    check_every_row_once,
    children_of,
    command,
    hashes,
    is_alive,
    kill,
    make_rows,
    run_of,
    started,
    wait_until,
    write_rows,
)

ROWS = make_rows(1200, seed=2)
SHARDS = 30


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The input of all runs here."""
    return write_rows(tmp_path_factory.mktemp("killed") / "in.jsonl", ROWS)


def _whole(out: Path) -> dict[str, int]:
    """The shards that are whole, and when they were."""
    return {path.name: path.stat().st_mtime_ns for path in out.glob("shards/part-*.json")}


def test_the_driver_killed_three_times(source: Path, tmp_path: Path) -> None:
    generator = random.Random(3)
    environment, out = {"CELADON_HOME": str(tmp_path / "home")}, tmp_path / "out"
    before: dict[str, int] = {}
    for share in (0.0, 0.1, 0.2):
        with started(command(source, out, "--workers", "2"), environment) as driver:
            # at least some shards further than the last time, then at no particular moment
            wait_until(lambda least=share * SHARDS: len(_whole(out)) >= least and children_of(driver.pid))
            time.sleep(generator.random() * 0.03)
            workers = children_of(driver.pid)
            assert driver.poll() is None
            kill(driver.pid)
        wait_until(lambda alive=workers: not any(map(is_alive, alive)), seconds=5)
        now = _whole(out)
        # nothing that was whole was made a second time
        assert before.items() <= now.items()
        before = now
    assert 0.2 * SHARDS <= len(before) < SHARDS
    done = processes.run(
        command(source, out, "--workers", "1"), env={**os.environ, **environment}, capture_output=True, check=True
    )
    assert f"{len(before)} of {SHARDS} shards are there; going on" in done.stderr.decode()
    assert before.items() <= _whole(out).items()
    check_every_row_once(out, ROWS)
    in_peace = tmp_path / "in peace"
    run_of(source, in_peace)
    assert hashes(out) == hashes(in_peace)


def test_workers_killed_three_times(source: Path, tmp_path: Path) -> None:
    """The driver goes on by itself."""
    generator = random.Random(4)
    out = tmp_path / "out"
    with started(command(source, out, "--workers", "1"), {"CELADON_HOME": str(tmp_path / "home")}) as driver:
        for share in (0.05, 0.1, 0.2):
            wait_until(lambda least=share * SHARDS: len(_whole(out)) >= least)
            time.sleep(generator.random() * 0.02)
            (worker,) = children_of(driver.pid)
            kill(worker)
        _, told = driver.communicate(timeout=60)
        assert driver.returncode == 0, told
    check_every_row_once(out, ROWS)


def test_a_terminated_driver_leaves_nothing_half_done(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with started(command(source, out, "--workers", "1"), {"CELADON_HOME": str(tmp_path / "home")}) as driver:
        wait_until(lambda: len(_whole(out)) >= 3)
        driver.send_signal(signal.SIGTERM)
        _, told = driver.communicate(timeout=30)
    assert driver.returncode == 130
    assert "interrupted; whole shards stay in" in told.decode()
    assert not [path for path in out.rglob("*") if path.name.startswith(".")]


def test_a_piece_that_kills_every_worker_is_named(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))
    over = threading.Event()

    def murder() -> None:
        while not over.is_set():
            for worker in active_children():
                worker.kill()
            time.sleep(0.01)

    murderer = threading.Thread(target=murder)
    murderer.start()
    try:
        with pytest.raises(CeladonError, match=r"in\.jsonl from line 1 on: its worker was killed by signal 9, 3 times"):
            run_of(source, tmp_path / "out")
    finally:
        over.set()
        murderer.join(timeout=processes.LIMIT)
