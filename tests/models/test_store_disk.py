"""A disk that is full, before and in the middle."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from celadon.core import OutputError
from celadon.io.atomic import output_errors
from celadon.models.store.places import full_disk_told
from tests import processes
from tests.models.store_parts import FILE, NAME, Hub, catalog, command, eventually, hub_source, run, running, weights

CONTENT = weights()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with running(Hub({FILE: CONTENT})) as server:
        monkeypatch.setenv(
            "CELADON_CATALOG", str(catalog(tmp_path / "catalog.json", {FILE: CONTENT}, [hub_source(FILE)]))
        )
        monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("a small file system can be mounted by root only; the size limit of a file is tested instead")
    made = processes.run([mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=False, capture_output=True)
    if made.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {made.stderr!r}")
    try:
        yield disk
    finally:
        processes.run(["umount", "--lazy", str(disk)], check=True)


def fill_up(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 4096)


def test_room_is_asked_for_before_anything_is_fetched(hub: Hub, small_disk: Path) -> None:
    (small_disk / "other").write_bytes(b"\0" * 1_500_000)
    done = run("fetch", NAME, CELADON_HOME=str(small_disk / "home"))
    assert done.returncode == 4
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"celadon: {small_disk / 'home'}: fetching {NAME} needs 1.0 MB and ")
    assert line.endswith("are free; free some space, or set CELADON_HOME to a folder on another disk")
    assert hub.requests == []


def test_a_disk_that_fills_up_half_way_leaves_nothing_broken(hub: Hub, small_disk: Path) -> None:
    hub.pause_at = len(CONTENT) // 2
    env = {**os.environ, "CELADON_HOME": str(small_disk / "home")}
    with subprocess.Popen(command("fetch", NAME), env=env, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: bool(list(small_disk.rglob("*.part"))), "something arrived")
        fill_up(small_disk / "other")
        hub.go.set()
        _, told = process.communicate(timeout=120)
    assert process.returncode == 4
    assert told.splitlines()[-1] == (
        f"celadon: {small_disk / 'home'}: no space left on the device; 1.0 MB are needed there; "
        "free some space, or set CELADON_HOME to a folder on another disk"
    )
    assert not (small_disk / "home" / "models" / NAME).exists()
    (small_disk / "other").unlink()
    assert run("fetch", NAME, CELADON_HOME=str(small_disk / "home")).returncode == 0
    assert (small_disk / "home" / "models" / NAME / FILE).read_bytes() == CONTENT


def test_a_file_that_may_not_grow_leaves_nothing_broken(hub: Hub, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))

    done = subprocess.run(
        command("fetch", NAME), capture_output=True, text=True, check=False, timeout=120, preexec_fn=limit
    )
    assert done.returncode == 4
    assert "1.0 MB are needed there" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert run("fetch", NAME).returncode == 0
    assert (tmp_path / "home" / "models" / NAME / FILE).read_bytes() == CONTENT


def test_a_home_that_is_a_file_is_told(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder")
    done = run("fetch", NAME)
    assert done.returncode == 4
    assert "set CELADON_HOME to a folder of yours" in done.stderr


@pytest.mark.parametrize("told_before", [False, True], ids=["by the system", "by a converter"])
def test_a_full_disk_is_told_with_what_is_needed(tmp_path: Path, told_before: bool) -> None:
    inner = output_errors(str(tmp_path / "weights.bin")) if told_before else nullcontext()
    with pytest.raises(OutputError, match="541 MB are needed there"), full_disk_told(541_000_000), inner:
        # the device that is always full
        Path("/dev/full").write_bytes(b"x")
