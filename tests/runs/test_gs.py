"""Runs on Google Cloud Storage: an emulator that speaks its JSON interface, the real gcsfs and the real command."""

from __future__ import annotations

import gzip
import http.server
import json
import logging
import os
import threading
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import polars
import pytest

from celadon.cli import main
from tests.conftest import missing_part
from tests.runs.remote_parts import lines_of, parquet_of, run_line, table_of
from tests.runs.run_parts import METRICS, make_rows

# gcsfs itself is loaded by the first command, when the environment says that there is an emulator
if find_spec("gcsfs") is None or find_spec("gcp_storage_emulator") is None:
    missing_part("gcsfs or gcp-storage-emulator", "run: celadon install gs test")

ROWS = make_rows(100)
FILES = {
    "a.jsonl": lines_of(ROWS[:50]),
    "b.jsonl.gz": gzip.compress(lines_of(ROWS[50:])),
    "c.parquet": parquet_of(ROWS),
}


class _Bucket:
    """What is in gs://bucket, asked for without gcsfs."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._ask("POST", "/storage/v1/b", json.dumps({"name": "bucket"}).encode())

    def _ask(self, method: str, path: str, data: bytes | None = None) -> bytes:
        headers = {"Content-Type": "application/json" if path.endswith("/b") else "application/octet-stream"}
        with urllib.request.urlopen(
            urllib.request.Request(self._server + path, data, headers, method=method)
        ) as answer:
            return bytes(answer.read())

    def put(self, name: str, data: bytes) -> None:
        self._ask("POST", f"/upload/storage/v1/b/bucket/o?uploadType=media&name={quote(name, safe='')}", data)

    def remove(self, name: str) -> None:
        self._ask("DELETE", f"/storage/v1/b/bucket/o/{quote(name, safe='')}")

    def written(self, folder: str) -> dict[str, str]:
        """When the objects of a folder were written."""
        found = json.loads(self._ask("GET", f"/storage/v1/b/bucket/o?prefix={quote(folder, safe='')}"))
        return {each["name"].removeprefix(folder): each["updated"] for each in found.get("items", ())}

    def files(self, folder: str) -> dict[str, bytes]:
        return {
            name: self._ask("GET", f"/storage/v1/b/bucket/o/{quote(folder + name, safe='')}?alt=media")
            for name in self.written(folder)
        }


class _NothingAllowed(http.server.BaseHTTPRequestHandler):
    """Another server, with the answers of Google's to those who are not let in."""

    def do_GET(self) -> None:
        status = 401 if "/nobody/" in self.path else 403
        told = {"code": status, "message": "Caller does not have storage.objects.get access to the object."}
        body = json.dumps({"error": told}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CELADON_HOME", str(tmp_path_factory.mktemp("home")))
        yield patch


@pytest.fixture(scope="module")
def bucket(home: pytest.MonkeyPatch) -> Iterator[_Bucket]:
    """gs://bucket with the files in in/; the environment leads there."""
    from gcp_storage_emulator.server import create_server

    logging.getLogger("gcp_storage_emulator").setLevel(logging.CRITICAL)
    with create_server("127.0.0.1", 0, in_memory=True) as server:
        listener = server._api._httpd
        # a client that hangs up is nothing to print
        listener.handle_error = lambda *_: None
        url = f"http://127.0.0.1:{listener.server_port}"
        home.setenv("STORAGE_EMULATOR_HOST", url)
        bucket = _Bucket(url)
        for name, data in FILES.items():
            bucket.put(f"in/{name}", data)
        yield bucket
        _forget_servers()


def _forget_servers() -> None:
    import gcsfs

    gcsfs.GCSFileSystem.clear_instance_cache()


def test_files_are_read_and_written(bucket: _Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    """One object, and a pattern; plain, compressed and Parquet."""
    for source, rows in (("a.jsonl", ROWS[:50]), ("[ab].jsonl*", ROWS), ("c.parquet", ROWS)):
        assert main(["score", f"gs://bucket/in/{source}", "-m", "rouge1", "-o", "gs://bucket/scored.jsonl.gz"]) == 0
        assert "wrote gs://bucket/scored.jsonl.gz" in capsys.readouterr().err
        scored = [json.loads(line) for line in gzip.decompress(bucket.files("scored.jsonl.gz")[""]).splitlines()]
        assert [row["text"] for row in scored] == [row["text"] for row in rows]


@pytest.mark.usefixtures("bucket")
def test_the_kind_of_the_bucket_is_not_asked_for() -> None:
    """Over gRPC, which no emulator speaks, newer versions of gcsfs ask for a minute."""
    import gcsfs

    assert os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] == "false"
    assert gcsfs.GCSFileSystem.__module__ == "gcsfs.core"


def test_a_run_goes_on(bucket: _Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has the rows and scores of a single file; a shard that somebody has removed is missed."""
    line = run_line("gs://bucket/in/[ab].jsonl*", "gs://bucket/run/")
    assert main(line) == 0
    files, written = bucket.files("run/"), bucket.written("run/")
    alone = tmp_path / "alone.parquet"
    assert main(["score", "gs://bucket/in/c.parquet", "-m", ",".join(METRICS), "-o", str(alone)]) == 0
    assert table_of(files).equals(polars.read_parquet(alone))

    bucket.remove("run/part-00001.parquet")
    capsys.readouterr()
    assert main(line) == 0
    assert "3 of 4 shards are there; going on" in capsys.readouterr().err
    assert bucket.files("run/")["part-00001.parquet"] == files["part-00001.parquet"]
    again = {name: when for name, when in bucket.written("run/").items() if "00001" not in name}
    assert {name: again[name] for name in again if "part-" in name} == {
        name: when for name, when in written.items() if "part-" in name and "00001" not in name
    }
    assert main(["runs", "show", "gs://bucket/run/", "--verify"]) == 0
    assert "8 of 8 files are as they were written" in capsys.readouterr().out


HERE = "gs://bucket/in/a.jsonl"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["gs://bucket/no.jsonl"], 2, "no such file"),
        (["gs://nowhere/a.jsonl"], 2, "no such file"),
        (["gs://bucket/in/*.csv"], 2, "no file matches this pattern"),
        (["gs://bucket/in"], 2, "is a directory; give its files, for example "),
        ([HERE, "-o", "gs://nowhere/a.jsonl"], 4, "the bucket does not exist; create it first"),
        ([HERE, "-o", "gs://nowhere/out/"], 4, "the bucket does not exist; create it first"),
    ],
)
@pytest.mark.usefixtures("bucket")
def test_what_goes_wrong_is_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", *arguments, "-m", "rouge1"]) == code
    told = capsys.readouterr()
    assert told.err.startswith(f"celadon: {arguments[-1]}: {message}")
    assert told.err.count("\n") == 1
    assert told.out == ""


@pytest.mark.usefixtures("bucket")
def test_who_is_not_let_in(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _forget_servers()
    with http.server.HTTPServer(("127.0.0.1", 0), _NothingAllowed) as server:
        # a client that hangs up early is not what is tested, and would be written to the same stream
        monkeypatch.setattr(server, "handle_error", lambda *_: None)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server.server_port}")
        for place in ("gs://nobody/a.jsonl", "gs://strangers/a.jsonl"):
            assert main(["score", place, "-m", "rouge1"]) == 2
            assert capsys.readouterr().err == f"celadon: {place}: no permission to read it\n"
        server.shutdown()
    _forget_servers()
