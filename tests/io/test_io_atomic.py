"""An output appears whole or not at all."""

import errno
import json
import os
import sys

import pytest

from celadon.core import OutputError, UsageError
from celadon.io import Rejects, atomic_write_text, open_writer
from tests import processes

OUTPUTS = ["o.jsonl", "o.jsonl.gz", "o.jsonl.zst", "o.csv", "o.csv.xz", "o.tsv", "o.parquet"]


@pytest.fixture
def chunks(read, write_bytes):
    rows = [{"text": f"t{i}", f"k{i // 10}": i if i < 20 else str(i)} for i in range(40)]
    path = write_bytes("in/a.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return read(path, chunk_rows=10).chunks


def scored(chunk):
    return {"m": [0.5] * len(chunk)}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_exception_leaves_the_old_output_and_no_other_file(chunks, tmp_path, name, error):
    path = tmp_path / "out" / name
    path.parent.mkdir()
    path.write_bytes(b"old")

    def write_all_and_fail():
        with open_writer(str(path), ["m"]) as writer:
            for chunk in chunks:
                writer.write(chunk, scored(chunk), [None] * len(chunk))
            raise error

    with pytest.raises(error):
        write_all_and_fail()
    assert path.read_bytes() == b"old"
    assert [file.name for file in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("name", OUTPUTS)
def test_nothing_appears_before_the_end(chunks, tmp_path, name):
    path = tmp_path / "out" / name
    path.parent.mkdir()
    with open_writer(str(path), ["m"]) as writer:
        for chunk in chunks:
            writer.write(chunk, scored(chunk), None)
            assert not path.exists()
    assert [file.name for file in path.parent.iterdir()] == [name]
    assert path.stat().st_size > 0


@pytest.mark.parametrize("name", OUTPUTS)
def test_commit_and_abort_by_hand(chunks, tmp_path, name):
    path = tmp_path / name
    writer = open_writer(str(path), ["m"])
    writer.write(chunks[0], scored(chunks[0]), None)
    writer.abort()
    writer.abort()
    assert not path.exists()
    writer = open_writer(str(path), ["m"])
    writer.write(chunks[0], scored(chunks[0]), None)
    writer.commit()
    writer.commit()
    writer.abort()
    assert path.exists()
    assert list(tmp_path.glob(".celadon*")) == []


@pytest.mark.parametrize("name", ["o.jsonl", "o.csv", "o.parquet"])
def test_places_where_nothing_can_be_written(tmp_path, name):
    with pytest.raises(OutputError, match=r"the folder .* does not exist; create it first") as caught:
        open_writer(str(tmp_path / "no" / name), ["m"])
    assert str(caught.value).startswith(str(tmp_path / "no" / name))
    (tmp_path / name).mkdir()
    with pytest.raises(OutputError, match="is a directory"):
        open_writer(str(tmp_path / name), ["m"])
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is not a folder"):
        open_writer(str(tmp_path / "file" / name), ["m"])


@pytest.mark.parametrize("path", ["o.txt", "o", "o.xlsx", "o.parquet.gz", "o.gz"])
def test_unknown_endings(tmp_path, path):
    with pytest.raises(UsageError, match=r"known endings are \.jsonl, \.ndjson, \.json, \.csv, \.tsv, \.parquet"):
        open_writer(str(tmp_path / path), ["m"])
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        done = processes.run(command, capture_output=True, check=False, text=True)
        why = done.stderr.strip() if done.returncode else ""
    except OSError as error:
        why = str(error)
    if why:
        pytest.skip(f"NOT TESTED, a small file system cannot be mounted: {why}")
    yield folder
    processes.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_full_disk(read, write_bytes, small_disk, name):
    data = b"".join(json.dumps({"text": os.urandom(600).hex()}).encode() + b"\n" for _ in range(400))
    chunks = read(write_bytes("a.jsonl", data), chunk_rows=50).chunks
    (small_disk / name).write_bytes(b"old")

    def write_all():
        with open_writer(str(small_disk / name), ["m"]) as writer:
            for chunk in chunks:
                writer.write(chunk, scored(chunk), None)

    with pytest.raises(OutputError) as caught:
        write_all()
    assert str(caught.value) == (f"{small_disk / name}: no space left on the device; free some or choose another place")
    assert [file.name for file in small_disk.iterdir()] == [name]
    assert (small_disk / name).read_bytes() == b"old"


FILE_LIMIT_PROGRAM = """
import os, resource, signal, sys
from celadon.core import OutputError
from celadon.io import Fields, Reader, Rejects, BadRow, atomic_write_text, open_writer
chunks = list(Reader([sys.argv[1]], Fields(), on_bad=print, chunk_rows=50))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
def page(path):
    atomic_write_text(path, "x" * 50_000)
def rejects(path):
    with Rejects(path) as out:
        for _ in range(1000):
            out.add(BadRow("f", 1, "m", b"x" * 100))
def table(path):
    with open_writer(path, ["m"]) as out:
        for chunk in chunks:
            out.write(chunk, {"m": [0.5] * len(chunk)}, None)
for name in sys.argv[3:]:
    path = os.path.join(sys.argv[2], name)
    write = rejects if "rejects" in name else page if "html" in name else table
    try:
        write(path)
    except OutputError as error:
        print(name, error)
    else:
        print(name, "was written")
"""


def test_a_limit_on_the_size_of_files(write_bytes, tmp_path):
    """Like a full disk, where no file system can be mounted: every writer stops in the middle."""
    data = b"".join(json.dumps({"text": os.urandom(600).hex()}).encode() + b"\n" for _ in range(400))
    path = write_bytes("a.jsonl", data)
    out = tmp_path / "out"
    out.mkdir()
    names = [*OUTPUTS, "o.rejects.jsonl", "o.html"]
    command = [sys.executable, "-c", FILE_LIMIT_PROGRAM, str(path), str(out), *names]
    done = processes.run(command, capture_output=True, check=False, text=True)
    assert done.stderr == ""
    complaint = "the file is too large for this file system; choose another place"
    assert done.stdout.splitlines() == [f"{name} {out / name}: {complaint}" for name in names]
    assert list(out.iterdir()) == []


def test_text_files(tmp_path):
    path = tmp_path / "report.html"
    atomic_write_text(str(path), "é\n")
    atomic_write_text(str(path), "ü\ud800\r\n")
    assert path.read_bytes() == "ü\ufffd\r\n".encode()
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(OutputError, match="does not exist"):
        atomic_write_text(str(tmp_path / "no" / "report.html"), "x")


def test_mode_and_link_of_an_older_output_are_kept(tmp_path):
    real = tmp_path / "real.html"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.html"
    link.symlink_to(real)
    atomic_write_text(str(link), "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_new_output_has_the_usual_mode(tmp_path):
    (tmp_path / "plain").write_text("")
    atomic_write_text(str(tmp_path / "a.html"), "")
    assert (tmp_path / "a.html").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_rejects_where_nothing_can_be_written(tmp_path):
    from celadon.io import BadRow

    with pytest.raises(OutputError, match="does not exist"), Rejects(str(tmp_path / "no" / "r.jsonl")) as rejects:
        rejects.add(BadRow("f", 1, "m", b"x"))


def test_other_errors_of_the_system_are_clear():
    from celadon.io.atomic import output_error

    assert "quota" in str(output_error("x/o.csv", OSError(errno.EDQUOT, "")))
    assert str(output_error("o.csv", OSError(errno.EIO, "Input/output error"))) == (
        "o.csv: cannot be written: Input/output error"
    )
