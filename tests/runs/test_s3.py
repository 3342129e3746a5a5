"""Runs on S3: a real server that speaks its protocol, and the real command."""

from __future__ import annotations

import gzip
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from celadon.cli import main
from tests import processes
from tests.conftest import missing_part
from tests.runs.remote_parts import lines_of, local_shards, parquet_of, run_line, shards_of, table_of
from tests.runs.run_parts import hashes, kill, make_rows, run_of, started, wait_until, write_rows

try:
    import boto3
    import s3fs
    from moto.server import ThreadedMotoServer
except ImportError:
    missing_part("s3fs or moto", "run: pip install 'celadon-text[s3,test]'")

SECRET = "hunter2hunter2"
ROWS = make_rows(100)
# another type in the second half, which is another file
SOURCES = [{**row, "n": number if number < 50 else number / 4} for number, row in enumerate(ROWS)]


FILES = {
    "a.jsonl": lines_of(SOURCES[:50]),
    "b.jsonl.gz": gzip.compress(lines_of(SOURCES[50:])),
    "c.parquet": parquet_of(ROWS),
}


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a server that has the files in s3://bucket/in/; the environment leads there."""
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "somebody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("CELADON_HOME", str(tmp_path_factory.mktemp("home")))
        client = boto3.client("s3")
        client.create_bucket(Bucket="bucket")
        for name, data in FILES.items():
            client.put_object(Bucket="bucket", Key=f"in/{name}", Body=data)
        yield client
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


def _objects(s3: Any, folder: str) -> dict[str, tuple[bytes, Any]]:
    """The content of all objects of a folder, and when they were written."""
    found = {}
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix=folder):
        for entry in page.get("Contents", ()):
            body = s3.get_object(Bucket="bucket", Key=entry["Key"])["Body"].read()
            found[entry["Key"].removeprefix(folder)] = (body, entry["LastModified"])
    return found


def _bodies(objects: dict[str, tuple[bytes, Any]]) -> dict[str, bytes]:
    return {name: body for name, (body, _) in objects.items()}


def test_files_are_read_and_written(s3: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """One object, and a pattern; plain, compressed and Parquet."""
    for source, rows in (("a.jsonl", ROWS[:50]), ("[ab].jsonl*", ROWS), ("c.parquet", ROWS)):
        assert main(["score", f"s3://bucket/in/{source}", "-m", "rouge1", "-o", "s3://bucket/scored.jsonl.gz"]) == 0
        assert "wrote s3://bucket/scored.jsonl.gz" in capsys.readouterr().err
        body, _ = _objects(s3, "scored.jsonl.gz")[""]
        scored = [json.loads(line) for line in gzip.decompress(body).splitlines()]
        assert [row["text"] for row in scored] == [row["text"] for row in rows]


def test_a_run_is_what_it_would_be_on_this_machine(s3: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = run_line("s3://bucket/in/[ab].jsonl*", "s3://bucket/run/")
    assert main(line) == 0
    objects = _objects(s3, "run/")
    sources = [write_rows(tmp_path / "a.jsonl", SOURCES[:50]), write_rows(tmp_path / "b.jsonl", SOURCES[50:])]
    run_of(sources, tmp_path / "out")
    here = local_shards(tmp_path / "out")
    assert len(here) == 8
    assert shards_of(_bodies(objects)) == here
    assert hashes(tmp_path / "out").keys() == here.keys()
    assert table_of(_bodies(objects))["n"].to_list() == [row["n"] for row in SOURCES]
    assert not [name for name, (body, _) in objects.items() if SECRET.encode() in body or b"somebody" in body]

    # a shard that somebody has removed is missed
    s3.delete_object(Bucket="bucket", Key="run/part-00001.parquet")
    assert main(line) == 0
    again = _objects(s3, "run/")
    assert again["part-00001.parquet"][0] == objects["part-00001.parquet"][0]
    assert again["part-00000.parquet"] == objects["part-00000.parquet"]

    capsys.readouterr()
    assert main(["runs", "list", "--json"]) == 0
    (told,) = [run for run in json.loads(capsys.readouterr().out) if run["run"] == "s3://bucket/run/"]
    assert (told["state"], told["rows_scored"], told["shards_done"]) == ("finished", 100, 4)
    assert main(["runs", "show", "s3://bucket/run/", "--verify"]) == 0
    assert "8 of 8 files are as they were written" in capsys.readouterr().out
    for name in ("s3://bucket/run", "run"):
        assert main(["compare", name, str(tmp_path / "out")]) == 0
        assert "100 pairs by id and system" in capsys.readouterr().out


def test_a_killed_driver(s3: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """While it lives there is no other; when it is dead the next one goes on, and no whole shard is made again."""
    rows = make_rows(240, seed=2)
    s3.put_object(Bucket="bucket", Key="many.jsonl", Body=lines_of(rows))
    line = run_line("s3://bucket/many.jsonl", "s3://bucket/killed/", "--shard-rows", "10")
    with started([sys.executable, "-m", "celadon", *line], {}) as driver:
        wait_until(lambda: len(_notes(s3)) >= 3)
        assert main(line) == 2
        told = capsys.readouterr().err
        assert f"another process of this machine is working on this run (process {driver.pid})" in told
        kill(driver.pid)
    before = _objects(s3, "killed/")
    whole = {Path(name).stem for name in before if name.startswith("shards/") and name.endswith(".json")}
    assert 3 <= len(whole) < 24
    assert main(line) == 0
    assert f"{len(whole)} of 24 shards are there; going on" in capsys.readouterr().err
    after = _objects(s3, "killed/")
    assert table_of(_bodies(after))["id"].to_list() == [row["id"] for row in rows]
    assert {name: after[name] for name in before if Path(name).stem in whole} == {
        name: found for name, found in before.items() if Path(name).stem in whole
    }
    assert not list(Path(os.environ["CELADON_HOME"], "work", "runs").iterdir())


def _notes(s3: Any) -> list[str]:
    """The shards that are whole."""
    # the server is in this process, and has others to serve
    time.sleep(0.1)
    found = s3.list_objects_v2(Bucket="bucket", Prefix="killed/shards/")
    return [entry["Key"] for entry in found.get("Contents", ()) if entry["Key"].endswith(".json")]


@pytest.fixture(scope="module")
def forbidden(s3: Any) -> None:
    """Another bucket, in which nothing may be read or written."""
    s3.create_bucket(Bucket="forbidden")
    s3.put_object(Bucket="forbidden", Key="a.jsonl", Body=FILES["a.jsonl"])
    denied = [
        {"Effect": "Deny", "Principal": "*", "Action": f"s3:{action}Object", "Resource": "arn:aws:s3:::forbidden/*"}
        for action in ("Get", "Put", "Head")
    ]
    s3.put_bucket_policy(Bucket="forbidden", Policy=json.dumps({"Version": "2012-10-17", "Statement": denied}))


HERE = "s3://bucket/in/a.jsonl"


@pytest.mark.usefixtures("forbidden")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["score", "s3://bucket/no.jsonl"], 2, "s3://bucket/no.jsonl: no such file"),
        (["score", "s3://nowhere/a.jsonl"], 2, "s3://nowhere/a.jsonl: no such file"),
        (["score", "s3://bucket/in/*.csv"], 2, "s3://bucket/in/*.csv: no file matches this pattern"),
        (["score", "s3://bucket/in"], 2, "s3://bucket/in: is a directory; give its files, for example "),
        (["score", "s3://forbidden/a.jsonl"], 2, "s3://forbidden/a.jsonl: no permission to read it"),
        (["score", f"s3://somebody:{SECRET}@bucket/a.jsonl"], 2, "s3://bucket/a.jsonl: cannot be read: Parameter "),
        (["score", HERE, "-o", "s3://nowhere/a.jsonl"], 4, "s3://nowhere/a.jsonl: the bucket does not exist; create "),
        (["score", HERE, "-o", "s3://nowhere/out/"], 4, "s3://nowhere/out/: the bucket does not exist; create it "),
        (["score", HERE, "-o", "s3://forbidden/b.jsonl"], 4, "s3://forbidden/b.jsonl: no permission to write it"),
        (["score", HERE, "-o", "s3://forbidden/out/"], 2, "s3://forbidden/out/run.json: no permission to read it"),
        (["runs", "show", "s3://bucket/none/"], 2, "s3://bucket/none/: is not a run; celadon runs lists those that"),
        (["compare", "s3://bucket/none/", "s3://bucket/none/"], 2, "s3://bucket/none/: is not a run; "),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    told = capsys.readouterr()
    assert told.err.startswith(f"celadon: {message}")
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert SECRET not in told.err


def test_without_a_key(s3: Any) -> None:
    """In a process of its own, for a connection is kept."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"], "AWS_EC2_METADATA_DISABLED": "true"}
    line = [sys.executable, "-m", "celadon", "score", HERE]
    done = processes.run(line, env={**environment, "HOME": "/nonexistent"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"celadon: {HERE}: cannot be read: Unable to locate credentials\n")
