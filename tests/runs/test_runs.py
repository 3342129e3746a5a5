"""A run gives what a single file gives, whoever scores it, and goes on only with the same."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

from celadon.core import InputError, OutputError, UsageError
from celadon.runs import local
from celadon.runs.bad_rows import BadRowsError
from celadon.runs.local import Job
from celadon.runs.manifest import ChangedRunError
from celadon.runs.run import RunSettings, start_run
from celadon.runs.state import FINISHED, RUNNING, STOPPED, state_of, wrong_files
from tests.runs.run_parts import METRICS, check_every_row_once, hashes, make_rows, run_of, write_rows

ROWS = make_rows(130)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an input and the finished run of it."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CELADON_HOME", str(folder / "home"))
        run_of(write_rows(folder / "in.jsonl", ROWS), folder / "out", workers=2)
    return folder


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def test_a_run_is_what_one_file_would_be(finished: Path, tmp_path: Path) -> None:
    source, out = finished / "in.jsonl", finished / "out"
    check_every_row_once(out, ROWS)
    one = tmp_path / "one.parquet"
    single = local.run(Job([str(source)], metrics=METRICS, output=str(one), resamples=20))
    parts = polars.concat([polars.read_parquet(path) for path in sorted(out.glob("part-*.parquet"))])
    assert parts.equals(polars.read_parquet(one))
    again = run_of(source, out)
    assert (again.rows_read, again.rows_scored, again.shards, again.shards_before) == (130, 130, 4, 4)
    assert again.summary.signatures == single.summary.signatures
    for whole, merged in zip(single.summary.rows, again.summary.rows, strict=True):
        assert (whole.system, whole.metric, whole.count, whole.nulls) == (
            merged.system,
            merged.metric,
            merged.count,
            merged.nulls,
        )
        assert whole.histogram == merged.histogram
        assert merged.mean == pytest.approx(whole.mean)
        assert merged.mean_interval == pytest.approx(whole.mean_interval)
        assert merged.corpus == pytest.approx(whole.corpus)
        assert merged.corpus_interval == pytest.approx(whole.corpus_interval)


def test_the_report_is_that_of_one_file(finished: Path, tmp_path: Path) -> None:
    source = finished / "in.jsonl"
    run_of(source, finished / "out", report=str(tmp_path / "run.html"))
    local.run(Job([str(source)], metrics=METRICS, report=str(tmp_path / "one.html"), resamples=20))
    assert (tmp_path / "run.html").read_text() == (tmp_path / "one.html").read_text()


def test_neither_workers_nor_stops_show_in_the_bytes(copy: Path, finished: Path) -> None:
    """A shard that is lost is made again by one worker, the same as two had made it; the others are not touched."""
    out = copy / "out"
    before = {path: path.stat().st_mtime_ns for path in out.glob("part-*.parquet")}
    (out / "part-00001.parquet").unlink()
    (out / "part-00003.parquet").write_bytes(b"half")
    (out / "shards" / "part-00002.json").write_text("{")
    (out / ".celadon-0123456789abcdef.tmp").write_bytes(b"left by a dead worker")
    outcome = run_of(copy / "in.jsonl", out)
    assert (outcome.shards_before, outcome.rows_now) == (1, 90)
    assert hashes(out) == hashes(finished / "out")
    assert (out / "part-00000.parquet").stat().st_mtime_ns == before[out / "part-00000.parquet"]
    check_every_row_once(out, ROWS)
    assert (out / "summary.json").read_text().count("rouge1") == (finished / "out" / "summary.json").read_text().count(
        "rouge1"
    )


def test_several_files_and_formats(tmp_path: Path) -> None:
    """No shard spans two files; rows of Parquet and of compressed CSV are there as they are in one file."""
    first, second = tmp_path / "a.csv.gz", tmp_path / "b.parquet"
    frame = polars.DataFrame([{**row, "references": row["references"][0]} for row in ROWS[:50]])
    first.write_bytes(gzip.compress(frame.write_csv().encode()))
    frame.write_parquet(second)
    outcome = run_of([first, second], tmp_path / "out")
    assert (outcome.shards, outcome.rows_scored) == (4, 100)
    assert not (tmp_path / "out" / ".work").exists()
    one = tmp_path / "one.parquet"
    local.run(Job([str(first), str(second)], metrics=METRICS, output=str(one), resamples=20))
    parts = polars.concat([polars.read_parquet(path) for path in sorted((tmp_path / "out").glob("part-*.parquet"))])
    assert parts["rouge1"].to_list() == polars.read_parquet(one)["rouge1"].to_list()
    assert parts["id"].to_list() == [row["id"] for row in [*ROWS[:50], *ROWS[:50]]]


def _refused(copy: Path, **changed: Any) -> str:
    before = hashes(copy / "out")
    with pytest.raises(ChangedRunError) as caught:
        run_of(changed.pop("source", copy / "in.jsonl"), copy / "out", **changed)
    assert hashes(copy / "out") == before
    assert "--restart" in str(caught.value)
    return str(caught.value)


def test_what_changed_is_told_and_nothing_is_touched(copy: Path) -> None:
    assert "metric chrf: was not asked for" in _refused(copy, metrics=[*METRICS, "chrf"])
    assert "metric bleu1: is not asked for any more" in _refused(copy, metrics=["rouge1"])
    assert "--seed: is 7, was " in _refused(copy, seed=7)
    assert "--batch-rows: is 100, was 512" in _refused(copy, batch_rows=100)
    assert "--shard-rows: is 50, was 40" in _refused(copy, shard_rows=50)
    assert "--text-field: is id, was not given" in _refused(copy, fields=local.Fields(text="id"))
    assert "--markup: is html, was auto" in _refused(copy, fields=local.Fields(default_markup="html"))
    assert "--language-field: is lang, was not given" in _refused(copy, fields=local.Fields(language="lang"))
    data = (copy / "in.jsonl").read_bytes()
    (copy / "in.jsonl").write_bytes(data.replace(b"cat", b"cot", 1))
    assert "in.jsonl: has another content than " in _refused(copy)
    (copy / "in.jsonl").write_bytes(data + data)
    assert f"in.jsonl: has {2 * len(data):,} bytes; " in _refused(copy)
    (copy / "in.jsonl").write_bytes(data)
    assert "more.jsonl: was not an input" in _refused(
        copy, source=[copy / "in.jsonl", write_rows(copy / "more.jsonl", ROWS)]
    )


def test_another_version_of_a_metric_is_refused(copy: Path) -> None:
    manifest = copy / "out" / "run.json"
    told = manifest.read_text()
    manifest.write_text(told.replace("|celadon:", "|weights@01234567|celadon:"))
    assert "metric rouge1: is rouge1|" in _refused(copy)


def test_a_file_may_go_by_another_name(copy: Path) -> None:
    moved = (copy / "in.jsonl").rename(copy / "moved.jsonl")
    assert run_of(moved, copy / "out").rows_now == 0


def test_restart_throws_the_earlier_shards_away(copy: Path) -> None:
    write_rows(copy / "in.jsonl", ROWS[:60])
    outcome = run_of(copy / "in.jsonl", copy / "out", restart=True)
    assert (outcome.rows_scored, outcome.shards_before) == (60, 0)
    check_every_row_once(copy / "out", ROWS[:60])


def test_bad_rows_end_the_run_and_can_be_set_aside_later(tmp_path: Path) -> None:
    rows: list[Any] = list(ROWS[:100])
    rows[50] = '{"text": '
    rows[90] = {"id": "no references", "text": "a cat"}
    source, out = write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out"
    with pytest.raises(BadRowsError) as caught:
        run_of(source, out)
    message = str(caught.value)
    assert message.startswith(f"{source}:51: ")
    assert "1 row is malformed; whole shards stay" in message
    assert [path.name for path in out.glob("part-*")] == ["part-00000.parquet"]
    assert not list(out.glob(".*"))
    outcome = run_of(source, out, skip_bad=True)
    assert (outcome.shards_before, outcome.rows_scored, outcome.rows_rejected) == (1, 98, 2)
    rejects = [json.loads(path.read_text()) for path in sorted((out / "rejects").iterdir())]
    assert [(row["file"], row["line"]) for row in rejects] == [(str(source), 51), (str(source), 91)]
    check_every_row_once(out, [row for number, row in enumerate(ROWS[:100]) if number not in (50, 90)])
    with pytest.raises(UsageError, match="2 malformed rows were set aside by an earlier start; give --skip-bad again"):
        run_of(source, out)


def test_no_row_that_can_be_scored(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", ['{"text": 1}', '{"text": 2}'])
    with pytest.raises(InputError, match=r"none of the 2 rows can be scored; see .*rejects/"):
        run_of(source, tmp_path / "out", skip_bad=True)


def test_one_driver_at_a_time_and_a_dead_one_is_no_obstacle(copy: Path) -> None:
    hold = (
        "import fcntl,sys,time;f=open(sys.argv[1],'r+');fcntl.flock(f,fcntl.LOCK_EX);print(flush=True);time.sleep(60)"
    )
    lock = copy / "out" / "run.lock"
    with subprocess.Popen([sys.executable, "-c", hold, str(lock)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert state_of(str(copy / "out")).state == RUNNING
        with pytest.raises(UsageError, match=r"another process is working on this run .*; wait for it or stop it"):
            run_of(copy / "in.jsonl", copy / "out")
        other.kill()
    assert state_of(str(copy / "out")).state == FINISHED
    assert run_of(copy / "in.jsonl", copy / "out").rows_now == 0


def test_the_state_of_a_run_and_its_files(copy: Path) -> None:
    out = copy / "out"
    state = state_of(str(out))
    assert (state.state, len(state.shards), state.manifest.rows, wrong_files(state)) == (FINISHED, 4, 130, [])
    assert all(shard.peak_memory_bytes > 20_000_000 for shard in state.shards)
    data = bytearray((out / "part-00002.parquet").read_bytes())
    data[40] ^= 1
    (out / "part-00002.parquet").write_bytes(data)
    (out / "summary.json").unlink()
    state = state_of(str(out))
    assert state.state == STOPPED
    assert [line.partition(": ")[2] for line in wrong_files(state)] == ["has another content than was written (sha256)"]


def test_what_cannot_be_a_run(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", ROWS[:3])
    with pytest.raises(UsageError, match="rouge_lm is relative to the whole set of texts"):
        run_of(source, tmp_path / "out", metrics=["rouge_lm"])
    with pytest.raises(UsageError, match="is an input in the folder of the output"):
        run_of(source, tmp_path)
    with pytest.raises(UsageError, match="leave --rejects out"):
        run_of(source, tmp_path / "out", rejects="bad.jsonl")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "part-00000.parquet").touch()
    with pytest.raises(OutputError, match=r"has part-00000.parquet but no run.json"):
        run_of(source, tmp_path / "other")
    (tmp_path / "other" / "run.json").write_text("{}")
    with pytest.raises(InputError, match=r"run.json: is not the manifest of a run; .*: celadon_run: is missing"):
        run_of(source, tmp_path / "other", restart=True)
    assert (tmp_path / "other" / "part-00000.parquet").exists()


def test_a_run_behind_an_address(tmp_path: Path) -> None:
    """The files of a run reach another file system whole; nothing stays on this machine."""
    source, out = write_rows(tmp_path / "in.jsonl", ROWS[:60]), tmp_path / "bucket" / "out"
    (tmp_path / "bucket").mkdir()
    job = Job([str(source)], metrics=METRICS, output=f"local://{out}/", resamples=20)
    outcome = start_run(job, RunSettings(workers=1, shard_rows=40))
    assert outcome.rows_scored == 60
    check_every_row_once(out, ROWS[:60])
    (out / "shards" / "part-00001.json").unlink()
    again = start_run(job, RunSettings(workers=1, shard_rows=40))
    assert (again.shards_before, again.rows_now) == (1, 20)
    assert state_of(f"local://{out}/").state == FINISHED
    assert not list((tmp_path / "home" / "work" / "runs").iterdir())
