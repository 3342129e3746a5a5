"""Fetching from a hub that really serves, breaks off, lies or is not there."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from celadon.core import MissingPartError
from celadon.models.store import folder_of, home
from tests.models.store_parts import (
    FILE,
    NAME,
    Hub,
    catalog,
    command,
    eventually,
    hub_source,
    run,
    running,
    tree,
    weights,
)

CONTENT = weights()
HALF = len(CONTENT) // 2


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with running(Hub({FILE: CONTENT})) as server:
        monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))
        monkeypatch.setenv(
            "CELADON_CATALOG", str(catalog(tmp_path / "catalog.json", {FILE: CONTENT}, [hub_source(FILE)]))
        )
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.delenv("CELADON_OFFLINE", raising=False)
        monkeypatch.setattr("celadon.models.store.sources._PAUSE", 0.02)
        yield server


def fetched() -> bytes:
    return (home() / "models" / NAME / FILE).read_bytes()


def partial_bytes() -> int:
    return sum(path.stat().st_size for path in (home() / "partial").rglob("*.part"))


def nothing_is_left() -> bool:
    leftovers = [*(home() / "work").rglob("*"), *(home() / "partial").rglob("*")]
    return not [path for path in leftovers if path.is_file()]


def test_a_fetched_file_is_the_pinned_one_and_is_fetched_once(hub: Hub) -> None:
    lines: list[str] = []
    folder = folder_of(NAME, say=lines.append)
    assert (folder / FILE).read_bytes() == CONTENT
    assert folder == home() / "models" / NAME
    assert folder_of(NAME, say=lines.append) == folder
    assert folder_of(NAME, offline=True) == folder
    assert hub.requests == [""]
    assert lines == [f"fetching {NAME} (1.0 MB) from: Hugging Face hub, org/tiny at 01234567"]
    assert nothing_is_left()


def test_a_server_that_always_breaks_off_is_asked_for_the_rest(hub: Hub) -> None:
    hub.cut = 300_000
    folder_of(NAME)
    assert fetched() == CONTENT
    assert hub.requests == ["", "bytes=300000-", "bytes=600000-", "bytes=900000-"]


def test_a_server_without_ranges_begins_anew(hub: Hub) -> None:
    hub.ranges = False
    hub.cut = HALF
    with pytest.raises(MissingPartError, match="stopped at"):
        folder_of(NAME)
    hub.cut = None
    folder_of(NAME)
    assert fetched() == CONTENT


def test_a_killed_fetch_goes_on_where_it_stopped(hub: Hub) -> None:
    hub.pause_at = HALF
    with subprocess.Popen(command("fetch", NAME), stderr=subprocess.DEVNULL) as process:
        # what the process still holds in its buffer is lost with it
        eventually(lambda: partial_bytes() > HALF - (1 << 17), "half of the file arrived")
        process.send_signal(signal.SIGKILL)
    have = partial_bytes()
    assert not (home() / "models" / NAME).exists()
    (home() / "work" / "models" / NAME / "left by a kill").write_text("x")
    hub.go.set()
    done = run("fetch", NAME)
    assert done.returncode == 0, done.stderr
    assert hub.requests == ["", f"bytes={have}-"]
    assert fetched() == CONTENT
    assert nothing_is_left()


def test_two_processes_fetch_once(hub: Hub) -> None:
    hub.pause_at = HALF
    first = subprocess.Popen(command("fetch", NAME), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    eventually(lambda: bool(hub.requests), "the first one asked")
    second = subprocess.Popen(command("fetch", NAME), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert second.stderr is not None
    assert second.stderr.readline() == f"celadon: another process is working on {NAME}; waiting for it\n"
    hub.go.set()
    for process in (first, second):
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert out == f"{NAME} is at {home() / 'models' / NAME}\n"
    assert hub.requests == [""]
    assert fetched() == CONTENT


@pytest.mark.parametrize(
    "damage", ["altered", "altered and its time put back", "truncated", "removed", "something added"]
)
def test_a_damaged_cache_is_refused_and_fetched_again(hub: Hub, damage: str) -> None:
    folder = folder_of(NAME)
    file = folder / FILE
    time.sleep(0.15)
    folder_of(NAME)  # now stamped as verified
    before = file.stat()
    if damage == "removed":
        file.unlink()
    elif damage == "truncated":
        os.truncate(file, len(CONTENT) - 1)
    elif damage == "something added":
        (folder / "morcela.json").write_text("{}")
    else:
        with file.open("r+b") as raw:
            raw.seek(HALF)
            raw.write(bytes([CONTENT[HALF] ^ 1]))
        if "time" in damage:
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(MissingPartError, match=f"{NAME} is damaged.*run: celadon models fetch {NAME}$"):
        folder_of(NAME, offline=True)
    lines: list[str] = []
    folder_of(NAME, say=lines.append)
    assert lines[0].endswith(f"; making {NAME} again")
    assert fetched() == CONTENT
    assert not (folder / "morcela.json").exists()
    assert hub.requests == ["", ""]


def test_a_bad_part_of_an_older_fetch_is_thrown_away(hub: Hub) -> None:
    hub.cut, hub.ranges = HALF, False
    with pytest.raises(MissingPartError):
        folder_of(NAME)
    (part,) = (home() / "partial").rglob("*.part")
    part.write_bytes(b"\0" * 1000)
    hub.cut, hub.ranges = None, True
    hub.requests.clear()
    folder_of(NAME)
    assert hub.requests == ["bytes=1000-", ""]
    assert fetched() == CONTENT


@pytest.mark.parametrize(
    "served",
    [CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]), CONTENT + b"?", CONTENT[:-1], b""],
    ids=["altered", "longer", "shorter", "empty"],
)
def test_another_file_than_the_pinned_one_is_refused(hub: Hub, served: bytes) -> None:
    hub.files = dict.fromkeys(hub.files, served)
    for _ in range(2):
        with pytest.raises(MissingPartError, match=r"could not be fetched: http://.*weights\.npy"):
            folder_of(NAME)
        assert not (home() / "models" / NAME).exists()
    hub.files = dict.fromkeys(hub.files, CONTENT)
    folder_of(NAME)
    assert fetched() == CONTENT


def test_no_network_is_one_line_with_the_command_that_helps(hub: Hub) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    done = run("fetch", NAME, HF_ENDPOINT=address)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        f"celadon: {NAME} could not be fetched: {address}/org/tiny/resolve/0123456789abcdef0123456789abcdef01234567/"
        f"weights.npy cannot be reached (Connection refused); when that is mended, run: celadon models fetch {NAME}"
    )
    assert nothing_is_left()


def test_a_missing_file_is_told(hub: Hub) -> None:
    hub.files = {}
    with pytest.raises(MissingPartError, match="answers 404"):
        folder_of(NAME)
    assert hub.requests == [""]


def test_offline_asks_nobody(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    for settings, arguments, helps in (
        ({"CELADON_OFFLINE": "1"}, (), f"CELADON_OFFLINE=0 celadon models fetch {NAME}"),
        ({}, ("--offline",), f"run: celadon models fetch {NAME}"),
    ):
        done = run("fetch", NAME, *arguments, **settings)
        assert done.returncode == 3
        assert done.stderr.endswith(f"{helps}\n")
    monkeypatch.setenv("CELADON_OFFLINE", "1")
    with pytest.raises(MissingPartError):
        folder_of(NAME)
    assert hub.requests == []


def test_a_catalog_that_pins_something_new_has_the_model_fetched_again(hub: Hub, tmp_path: Path) -> None:
    folder_of(NAME)
    newer = weights(seed=1)
    hub.files = dict.fromkeys(hub.files, newer)
    catalog(tmp_path / "catalog.json", {FILE: newer}, [hub_source(FILE)])
    folder_of(NAME)
    assert fetched() == newer


def test_an_endpoint_that_is_no_address_is_told(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "org").mkdir()
    monkeypatch.setenv("HF_ENDPOINT", f"file://{tmp_path}")
    with pytest.raises(MissingPartError, match="must begin with https:// or http://"):
        folder_of(NAME)


def test_the_older_files_stay_whole_for_who_reads_them(hub: Hub) -> None:
    folder = folder_of(NAME)
    with (folder / FILE).open("rb") as reading:
        (folder / "stray.txt").write_text("x")
        folder_of(NAME)
        assert reading.read() == CONTENT
    assert set(tree(folder)) == {FILE, "manifest.json"}
