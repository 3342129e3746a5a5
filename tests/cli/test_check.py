"""``celadon check`` as a pipeline runs it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import polars
import pytest

from tests.cli.test_score import celadon, write_rows

GOOD, BAD = "a cat sat on the mat", "mat, the: 100%\non"


@pytest.fixture(autouse=True)
def not_on_github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = [(GOOD, "1"), (BAD, "2"), ("", "3"), (BAD, "4")]
    return write_rows(
        tmp_path / "a,b.jsonl",
        [{"text": text, "id": ident, "system": "s", "references": [GOOD]} for text, ident in made],
    )


def test_all_pass(file: Path, example: Path) -> None:
    done = celadon("check", str(example), "--min", "rougeL=0.01", "--max", "rougeL=1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "passed: 30 texts" in done.stdout


def test_what_fails_is_named(file: Path) -> None:
    done = celadon("check", str(file), "--min", "rougeL=0.5", "--max", "ter=90", "--show", "3")
    assert done.returncode == 1
    assert "FAILED: 3 of 4 texts do not keep the limits" in done.stdout
    assert "rougeL at least 0.5: 3 failed, 1 of them without a score" in done.stdout
    assert f"{file}:2 (id 2, system s): rougeL at least 0.5, but it is 0." in done.stdout
    assert "mat, the: 100% on" in done.stdout
    assert f"{file}:3 (id 3, system s): rougeL at least 0.5: no score, " in done.stdout
    assert "... and " in done.stdout


def test_json(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done = celadon("check", str(file), "--min", "rougeL=0.5", "--json")
    told = json.loads(done.stdout)
    assert (told["passed"], told["rows"], told["failed_rows"]) == (False, 4, 3)
    assert told["limits"] == [{"column": "rougeL", "min": 0.5, "failed": 3, "nulls": 1}]
    values = {each["id"]: each["value"] for each in told["offences"]}
    assert (list(values), values["3"]) == (["2", "3", "4"], None)
    assert done.stderr.count("::error ") == 3


def test_annotations(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["check", str(file), "--min", "rougeL=0.5"]
    assert "::error" not in celadon(*asked).stdout
    lines = [line for line in celadon(*asked, "--github").stdout.splitlines() if line.startswith("::")]
    assert len(lines) == 3
    escaped = str(file).replace(",", "%2C")
    assert lines[0].startswith(f"::error file={escaped},line=2,title=celadon check::rougeL at least 0.5, but it is 0.")
    assert lines[0].endswith("%0Amat, the: 100%25 on")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::error" in celadon(*asked).stdout
    assert "::error" not in celadon(*asked, "--no-github").stdout


def test_parquet_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    polars.DataFrame({"text": [BAD], "references": [[GOOD]]}).write_parquet(path)
    done = celadon("check", str(path), "--min", "rougeL=0.5", "--github")
    assert f"{path}:row 1: rougeL" in done.stdout
    assert f"::error file={path},title=" in done.stdout


# what the schema that Jenkins publishes allows
ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors", "time", "disabled"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
    "testcase": {"name", "classname", "time", "status", "assertions"},
    "failure": {"message", "type"},
    "skipped": {"message"},
}


def test_junit(tmp_path: Path) -> None:
    nasty = "\x00\x1b[31m \ud800 \ufffe ]]> & < \" ' \u0085"
    rows = [{"text": nasty * 20, "id": nasty, "references": ["x"]}, {"text": "x", "references": ["x"], "id": "2"}]
    path, junit = write_rows(tmp_path / "a.jsonl", list(rows)), tmp_path / "out.xml"
    done = celadon("check", str(path), "--min", "rougeL=0.5", "--max-regression", f"{path}:0", "--junit", str(junit))
    assert done.returncode == 1
    root = ElementTree.parse(junit).getroot()
    for element in root.iter():
        assert set(element.attrib) <= ALLOWED[element.tag]
    texts, baseline = root
    for suite in (texts, baseline):
        assert suite.attrib["tests"] == str(len(suite.findall("testcase")))
        assert suite.attrib["failures"] == str(len(suite.findall("testcase/failure")))
    assert [case.find("failure") is not None for case in texts] == [True, False]
    assert [case.attrib["name"] for case in baseline] == ["rougeL"]
    failure = texts[0].find("failure")
    assert failure is not None
    assert "]]> & < \" '" in str(failure.text)
    assert "…" in str(failure.text)


def test_nothing_is_written_where_the_input_is_bad(tmp_path: Path) -> None:
    path, junit = tmp_path / "a.jsonl", tmp_path / "out.xml"
    path.write_text('{"text": "x", "references": ["x"]}\n{"text": 3}\n', encoding="utf-8")
    done = celadon("check", str(path), "--min", "rougeL=0.5", "--junit", str(junit))
    assert done.returncode == 2
    assert f"{path}:2: " in done.stderr
    assert list(tmp_path.iterdir()) == [path]
    assert celadon("check", str(path), "--min", "rougeL=0.5", "--junit", str(path)).returncode == 2


def test_a_regression_names_the_texts_that_fell(file: Path, tmp_path: Path) -> None:
    rows = [{"text": GOOD, "id": ident, "system": "s", "references": [GOOD]} for ident in "1245"]
    old = write_rows(tmp_path / "old.jsonl", list(rows))
    done = celadon("check", str(file), "--max-regression", f"{old}:0.1", "--min", "rougeL=0", "--show", "1")
    assert done.returncode == 1
    assert "baseline: 3 rows paired by id and system; without a partner: 1 there, 1 here" in done.stdout
    assert "FAILED: rougeL: mean 1 before, " in done.stdout
    assert f"    {file}:2 (id 2, system s): 1 to 0." in done.stdout


def test_requests_that_make_no_sense(file: Path) -> None:
    for asked, message in {
        (): "nothing to check",
        ("--min", "rougeX=1"): "unknown metric",
        ("--max-regression", "nowhere.jsonl:1"): "nowhere.jsonl",
        ("--max-regression", "nowhere.jsonl"): "FILE:TOLERANCE",
        ("--min", "rougeL=1", "--show", "-1"): "not a positive whole number",
    }.items():
        done = celadon("check", str(file), *asked)
        assert done.returncode == 2
        assert message in done.stderr
