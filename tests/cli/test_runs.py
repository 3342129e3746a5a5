"""``celadon score`` into a folder and ``celadon runs``, as a user runs them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_score import celadon
from tests.runs.run_parts import make_rows, write_rows


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an input, a finished run of it, and the user's celadon folder that knows of it."""
    folder = tmp_path_factory.mktemp("runs")
    write_rows(folder / "in.jsonl", [*make_rows(30), "{"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CELADON_HOME", str(folder / "home"))
        done = celadon(*_score(folder), "--skip-bad", "--cache")
    assert done.returncode == 0, done.stderr
    assert "31 rows read = 30 scored + 1 rejected" in done.stderr
    assert f"(see {folder}/out/rejects/)" in done.stderr
    assert "a: 15 texts" in done.stdout
    return folder


def _score(folder: Path) -> list[str]:
    told = ["--shard-rows", "20", "--workers", "1", "--resamples", "20"]
    return ["score", str(folder / "in.jsonl"), "-m", "rouge1", "-o", f"{folder / 'out'}/", *told]


@pytest.fixture
def _known(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELADON_HOME", str(finished / "home"))


@pytest.mark.usefixtures("_known")
def test_a_finished_run_says_so(finished: Path) -> None:
    done = celadon(*_score(finished), "--skip-bad", "--json")
    assert done.returncode == 0
    assert "was finished already, 30 rows in 2 shards; nothing was scored" in done.stderr
    told = json.loads(done.stdout)
    assert (told["rows_read"], told["rows_scored"], told["rows_rejected"]) == (31, 30, 1)
    one = celadon(
        "score",
        str(finished / "in.jsonl"),
        "-m",
        "rouge1",
        "--skip-bad",
        "--resamples",
        "20",
        "--json",
        "--rejects",
        str(finished / "rejects.jsonl"),
    )
    assert [row["mean"] for row in told["scores"]] == [row["mean"] for row in json.loads(one.stdout)["scores"]]


@pytest.mark.usefixtures("_known")
def test_runs_are_listed(finished: Path) -> None:
    listed = celadon("runs")
    assert listed.returncode == 0
    assert f"{finished}/out/  finished  31 of 31  2 of 2" in listed.stdout
    (told,) = json.loads(celadon("runs", "list", str(finished / "out"), "--json").stdout)
    assert (told["run"], told["rows_scored"], told["rows_rejected"]) == (f"{finished}/out/", 30, 1)


@pytest.mark.usefixtures("_known")
def test_a_run_is_shown_by_its_name(finished: Path) -> None:
    shown = celadon("runs", "show", "out")
    assert shown.returncode == 0
    for part in (
        "finished",
        "30 scored and 1 rejected of 31",
        "rouge1|stemmer:false|celadon:",
        "a worker",
        "a: 15 texts",
        "(0.0%)",
    ):
        assert part in shown.stdout
    facts = json.loads(celadon("runs", "show", str(finished / "out"), "--json").stdout)
    assert facts["inputs"][0]["size"] == (finished / "in.jsonl").stat().st_size
    assert facts["cache_misses"] == 30
    unknown = celadon("runs", "show", "nothing")
    assert unknown.returncode == 2
    assert "nothing: no such run" in unknown.stderr


@pytest.mark.usefixtures("_known")
def test_a_file_that_is_not_as_it_was_written_is_found(finished: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(finished / "out", tmp_path / "copy"))
    assert "5 of 5 files are as they were written" in celadon("runs", "show", str(out), "--verify").stdout
    part = out / "part-00001.parquet"
    data = part.read_bytes()
    part.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    checked = celadon("runs", "show", str(out), "--verify")
    assert checked.returncode == 1
    assert f"{part}: has another content than was written" in checked.stdout


def test_nothing_is_known_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELADON_HOME", str(tmp_path))
    assert "no runs are known" in celadon("runs").stdout


def test_options_of_runs_need_a_folder(finished: Path, tmp_path: Path) -> None:
    source = str(finished / "in.jsonl")
    refused = celadon("score", source, "-o", str(tmp_path / "out.jsonl"), "--workers", "2")
    assert (refused.returncode, "--workers is for a run: give a folder" in refused.stderr) == (2, True)
    refused = celadon("score", "-", "-m", "rouge1", "-o", f"{tmp_path}/out/")
    assert (refused.returncode, "standard input" in refused.stderr) == (2, True)
    refused = celadon("score", source, "-m", "rouge1", "-o", f"{tmp_path}/out/", "--address", "auto")
    assert (refused.returncode, "give --engine ray with them" in refused.stderr) == (2, True)
