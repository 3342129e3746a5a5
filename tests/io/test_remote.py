"""Inputs and outputs behind addresses: memory, file, a real web server; and that no secret is ever shown."""

import functools
import gzip
import http.server
import json
import sys
import threading
import uuid
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.registry import _registry

from celadon.cli import main
from celadon.core import InputError, MissingPartError, OutputError, UsageError
from celadon.io import Fields, Reader, StagedText, check_distinct, open_writer, remote
from celadon.io.pieces import plan_pieces, read_piece
from celadon.io.weight_files import read_morcela
from tests.conftest import missing_part

TEXTS = [f"text {i} é" for i in range(20)]
LINES = "".join(json.dumps({"text": text, "reference": "a text"}) + "\n" for text in TEXTS).encode()
SECRETS = ("hunter2", "tok3n")


def parquet_bytes():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": TEXTS}), sink, row_group_size=7)
    return sink.getvalue().to_pybytes()


FILES = {"a.jsonl": LINES, "b.jsonl.gz": gzip.compress(LINES), "c.parquet": parquet_bytes(), "d.txt": b"x\ny"}


@pytest.fixture
def memory():
    """An address of a folder in memory with the files."""
    system = fsspec.filesystem("memory")
    folder = f"/{uuid.uuid4().hex}"
    for name, data in FILES.items():
        system.pipe_file(f"{folder}/{name}", data)
    yield f"memory:/{folder}"
    system.rm(folder, recursive=True)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def translate_path(self, path):
        # the server wants the token, and gives the file to nobody without it
        return super().translate_path(path) if "secret" not in path or "token=tok3n" in path else "/nowhere"


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    """The address of a real web server with the files; it can send them from their beginning only."""
    try:
        import aiohttp  # noqa: F401
    except ImportError:
        missing_part("aiohttp", "so nothing is read from the web: pip install aiohttp")
    folder = tmp_path_factory.mktemp("web")
    for name, data in {**FILES, "secret.jsonl": LINES}.items():
        (folder / name).write_bytes(data)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def read_pieces(plan):
    return [
        sample.text
        for piece in plan.pieces
        for chunk in read_piece(piece, Fields(), chunk_rows=4, max_text_chars=99, on_bad=pytest.fail)
        for sample in chunk.samples
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "b.jsonl.gz", "c.parquet"])
@pytest.mark.parametrize("where", ["memory", "web", "file"])
def test_every_kind_of_file_from_everywhere(request, tmp_path, read, where, name):
    if where == "file":
        (tmp_path / name).write_bytes(FILES[name])
    place = f"file://{tmp_path}" if where == "file" else request.getfixturevalue(where)
    outcome = read(f"{place}/{name}", chunk_rows=7)
    assert outcome.texts == TEXTS
    assert outcome.reader.bytes_read == outcome.reader.bytes_total == len(FILES[name])
    work = tmp_path / "work"
    plan = plan_pieces([f"{place}/{name}"], None, 6, work_folder=work)
    assert [piece.rows for piece in plan.pieces] == [6, 6, 6, 2]
    assert read_pieces(plan) == TEXTS
    local = tmp_path / f"local-{name}"
    local.write_bytes(FILES[name])
    (known,) = plan_pieces([str(local)], None, 6, work_folder=work).files
    (file,) = plan.files
    assert (file.size, file.sha256, file.rows) == (known.size, known.sha256, known.rows)


def test_a_json_file(memory):
    fsspec.filesystem("memory").pipe_file(f"{memory}/a.json", b'{"beta": 1, "gamma": 2}')
    weights = read_morcela(f"{memory}/a.json")
    assert (weights.beta, weights.gamma) == (1, 2)


def test_patterns(memory, web, read):
    assert read(f"{memory}/*.jsonl*").texts == TEXTS * 2
    assert read(f"{memory}/?.jsonl").texts == TEXTS
    assert [name.rpartition("/")[2] for name in read(f"{web}/[ab].jsonl*").reader.files] == ["a.jsonl", "b.jsonl.gz"]
    with pytest.raises(InputError, match=r"/\*\.csv: no file matches this pattern"):
        read(f"{memory}/*.csv")


def test_files_that_are_not_there(memory, web, tmp_path):
    for url in (f"{memory}/no.jsonl", f"{web}/no.jsonl", f"file://{tmp_path}/no.jsonl"):
        with pytest.raises(InputError, match=r"no\.jsonl: no such file"):
            Reader([url], Fields(), on_bad=pytest.fail)
    with pytest.raises(InputError, match=r"secret\.jsonl: no such file"):
        Reader([f"{web}/secret.jsonl?token=tok4n"], Fields(), on_bad=pytest.fail)
    with pytest.raises(InputError, match="is a directory"):
        Reader([memory], Fields(), format="txt", on_bad=pytest.fail)


def test_a_server_that_is_not_there(web):
    with pytest.raises(InputError, match=r"^http://127\.0\.0\.1:9/a\.jsonl: the server cannot be reached: "):
        Reader(["http://user:hunter2@127.0.0.1:9/a.jsonl"], Fields(), on_bad=pytest.fail)


@pytest.mark.parametrize(
    ("url", "command"),
    [
        ("s3://bucket/a.jsonl", "celadon install s3"),
        ("gs://bucket/*.jsonl", "celadon install gs"),
        ("hf://datasets/a/b/c.jsonl", "pip install huggingface_hub"),
        ("sftp://u:hunter2@host/a.jsonl", "pip install paramiko"),
    ],
)
def test_what_to_install_for_a_protocol(monkeypatch, url, command):
    for name in ("s3fs", "gcsfs", "huggingface_hub", "paramiko"):
        monkeypatch.setitem(sys.modules, name, None)
    # what an earlier test has loaded is remembered
    for protocol in ("s3", "gs", "hf", "sftp"):
        monkeypatch.delitem(_registry, protocol, raising=False)
    with pytest.raises(MissingPartError, match=f"{command}$") as caught:
        Reader([url], Fields(), on_bad=pytest.fail)
    assert "hunter2" not in str(caught.value)


def test_an_unknown_protocol():
    with pytest.raises(UsageError, match="nonsense:// is not known"):
        Reader(["nonsense://a/b.jsonl"], Fields(), on_bad=pytest.fail)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://h/a/b.jsonl?token=tok3n#x", "https://h/a/b.jsonl"),
        ("ftp://user:hunter2@h:21/a.csv", "ftp://h:21/a.csv"),
        ("ftp://user:p@hunter2@h/a.csv", "ftp://h/a.csv"),
        ("s3://bucket/a?.jsonl", "s3://bucket/a?.jsonl"),
        ("s3://bucket/a.jsonl?versionId=tok3n", "s3://bucket/a.jsonl"),
        ("hf://datasets/someone/set@main/a.parquet", "hf://datasets/someone/set@main/a.parquet"),
        ("/home/a?b=c.jsonl", "/home/a?b=c.jsonl"),
        ("a@b.jsonl", "a@b.jsonl"),
    ],
)
def test_names_without_secrets(given, shown):
    assert remote.shown_name(given) == shown


def test_secrets_are_neither_shown_nor_stored(web, tmp_path, capsys):
    url = web.replace("http://", "http://user:hunter2@") + "/secret.jsonl?token=tok3n"
    shown = f"{web}/secret.jsonl"
    plan = plan_pieces([url], None, 6, work_folder=tmp_path / "work")
    assert read_pieces(plan) == TEXTS
    assert [file.name for file in plan.files] == [shown]
    output, page = tmp_path / "out.jsonl", tmp_path / "page.html"
    for metric, code, where in (("rouge1", 0, "out.jsonl"), ("sari", 2, f"{shown}:1: ")):
        assert main(["score", url, "--metric", metric, "--output", str(output), "--report", str(page)]) == code
        told = capsys.readouterr()
        assert where in told.err
        seen = [told.out, told.err, str(plan.files), *(str(piece.without_secrets()) for piece in plan.pieces)]
        seen += [path.name for path in tmp_path.rglob("*")] + [path.read_text() for path in tmp_path.glob("*.*")]
        assert not [text for text in seen for secret in SECRETS if secret in text]


def test_secrets_do_not_come_back_in_a_library_message(monkeypatch):
    url = "memory://user:hunter2@host/a.jsonl?sig=tok3n%2Fx"
    system, _ = remote._file_system("memory://a")

    def fail(self, path, **_):
        raise RuntimeError(f"GET {url} said no; user:hunter2, hunter2, tok3n/x and sig=tok3n%2Fx\nTraceback")

    monkeypatch.setattr(type(system), "info", fail)
    with pytest.raises(InputError) as caught:
        Reader([url], Fields(), on_bad=pytest.fail)
    assert str(caught.value).startswith("memory://host/a.jsonl: cannot be read: GET memory://host/a.jsonl said no")
    assert not [secret for secret in SECRETS if secret in str(caught.value)]
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("ending", ["parquet", "csv.gz", "jsonl"])
def test_scores_go_to_an_address_and_come_back(memory, read, capsys, ending):
    url = f"{memory}/scored.{ending}"
    assert main(["score", f"{memory}/a.jsonl", "--metric", "rouge1", "--output", url]) == 0
    assert f"wrote {url}" in capsys.readouterr().err
    outcome = read(url)
    assert outcome.texts == TEXTS
    # one of the two words of the reference is among the three of the text
    assert {round(float(sample.extra["rouge1"]), 9) for sample in outcome.samples} == {2 / 5}


def test_an_output_that_is_an_input(memory, tmp_path):
    with pytest.raises(UsageError, match="is also an input"):
        check_distinct(f"{memory}/a.jsonl", [f"{memory}/*.jsonl"])
    (tmp_path / "a.jsonl").write_bytes(LINES)
    with pytest.raises(UsageError, match="is also an input"):
        check_distinct(str(tmp_path / "a.jsonl"), [f"file://{tmp_path}/a.jsonl"])
    check_distinct(f"{memory}/new.jsonl", [f"{memory}/*.jsonl", str(tmp_path / "*.jsonl"), "-"])
    check_distinct(str(tmp_path / "b.jsonl"), ["s3://bucket/*.jsonl"])


def test_an_output_that_fails_leaves_nothing(memory, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    url = f"{memory}/text.txt"
    with StagedText(url, "never"):
        assert len(list(tmp_path.iterdir())) == 1
    assert not fsspec.filesystem("memory").exists(url)
    assert list(tmp_path.iterdir()) == []
    with StagedText(url, "whole") as staged:
        staged.commit()
    assert fsspec.filesystem("memory").cat_file(url) == b"whole"
    assert list(tmp_path.iterdir()) == []


def test_nothing_can_be_written_to_the_web(web):
    with pytest.raises(OutputError, match="nothing can be written to the web"):
        open_writer(f"{web}/out.jsonl", ["a"])


def test_where_a_file_would_be_seen_half_written_it_gets_its_name_last(tmp_path, monkeypatch):
    # the local file system, as any that shows a file while it grows
    from fsspec.implementations.local import LocalFileSystem

    local = tmp_path / "local.txt"
    local.write_bytes(b"new")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.txt").write_bytes(b"old")
    url = f"local://{tmp_path}/there/a.txt"
    remote.put_file(local, url)
    assert (tmp_path / "there" / "a.txt").read_bytes() == b"new"

    def half(self, path, other, **_):
        Path(other).write_bytes(b"ha")
        raise OSError("the line is dead")

    monkeypatch.setattr(LocalFileSystem, "put_file", half)
    with pytest.raises(OutputError, match="the line is dead"):
        remote.put_file(local, url)
    assert [path.read_bytes() for path in (tmp_path / "there").iterdir()] == [b"new"]
    remote.remove_url(url)
    remote.remove_url(url)
    assert list((tmp_path / "there").iterdir()) == []
