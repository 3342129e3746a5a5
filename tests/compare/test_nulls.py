"""Texts without a score at the gate: which pass, which fail, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from celadon.compare.baseline import Baseline
from celadon.compare.columns import PASSING_NULLS, limits_of, nulls_of, passed_line
from celadon.compare.gate import Check, Verdict, run_check
from celadon.core import NullKind, UsageError
from celadon.runs.local import Job
from tests.cli.test_score import celadon, write_rows
from tests.prose_share import NAME, register

TEXTS = {
    "sound": "The ferry runs every hour. It stops at the island.",
    "fragment": "Paris",
    "data": '{"city": "Paris", "country": "France"}',
    "wordless": "...",
    "language": "El barco sale cada hora y para en la isla. Los niños juegan en la playa con sus amigos.",
}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


def file(path: Path, names: Sequence[str]) -> Path:
    return write_rows(path, [{"id": str(at), "text": TEXTS[name]} for at, name in enumerate(names)])


def checked(path: Path, nulls: str | None = None, language: str = "english") -> Verdict:
    return run_check(Check(Job([str(path)]), limits_of([f"{NAME}=0.1"], []), nulls=nulls_of(nulls, language)))


@pytest.mark.parametrize(
    ("nulls", "language", "failing"),
    [
        (None, "english", {"wordless", "language"}),
        (None, "any", {"wordless"}),
        ("none", "english", {"fragment", "data", "wordless", "language"}),
        ("none", "any", {"fragment", "data", "wordless"}),
        ("wordless, Data", "english", {"fragment", "language"}),
        ("wordless,fragment,data,language,other", "english", set()),
    ],
)
def test_each_kind_passes_or_fails(tmp_path: Path, nulls: str | None, language: str, failing: set[str]) -> None:
    verdict = checked(file(tmp_path / "a.jsonl", list(TEXTS)), nulls, language)
    assert {offence.text for offence in verdict.offences} == {TEXTS[name] for name in failing}
    assert dict(verdict.passed_nulls) == dict.fromkeys(set(TEXTS) - failing - {"sound"}, 1)
    (count,) = verdict.limits
    assert (count.failed, count.nulls) == (len(failing), len(failing))
    assert verdict.passed is not bool(failing)


def test_a_text_with_a_fault_is_no_passing_null(tmp_path: Path) -> None:
    rows = [{"text": "Paris", "reference": "Lyon"}, {"text": "Paris", "reference": "Paris"}]
    path = write_rows(tmp_path / "a.jsonl", list(rows))
    verdict = run_check(Check(Job([str(path)]), limits_of([f"{NAME}=0.1", "rougeL=0.5"], [])))
    assert (verdict.failed_rows, dict(verdict.passed_nulls)) == (1, {NullKind.FRAGMENT: 1})


@pytest.mark.parametrize(
    ("now", "nulls", "lost"), [("fragment", None, 0), ("fragment", "none", 1), ("wordless", None, 1)]
)
def test_a_value_that_may_be_missing_is_not_lost(tmp_path: Path, now: str, nulls: str | None, lost: int) -> None:
    old, new = file(tmp_path / "old.jsonl", ["sound", "sound"]), file(tmp_path / "new.jsonl", ["sound", now])
    limits = limits_of([f"{NAME}=0"], [])
    verdict = run_check(Check(Job([str(new)]), limits, Baseline(str(old), 0), nulls=nulls_of(nulls)))
    (found,) = verdict.regressions
    assert (found.pairs, found.lost, found.passed) == (1, lost, not lost)
    assert sum(verdict.passed_nulls.values()) == 1 - lost


def test_kinds() -> None:
    assert nulls_of(None) == PASSING_NULLS == nulls_of(["fragment", "data"])
    assert nulls_of("none") == frozenset()
    for wrong in ("fragments", "", "none,data"):
        with pytest.raises(UsageError, match="there are wordless, fragment, data, language, other, or none alone"):
            nulls_of(wrong)
    with pytest.raises(UsageError, match="write english or any"):
        nulls_of(None, "es")
    counts = {NullKind.DATA: 1, NullKind.FRAGMENT: 2}
    assert passed_line(counts) == "3 texts without a score passed: 2 fragment, 1 data"
    assert passed_line({NullKind.DATA: 1}) == "1 text without a score passed: 1 data"
    assert passed_line({}) == ""


def test_the_command_says_what_passed(tmp_path: Path) -> None:
    path, junit = file(tmp_path / "a.jsonl", ["sound", "fragment", "fragment", "data"]), tmp_path / "out.xml"
    asked = ["check", str(path), "--min", f"{NAME}=0.1"]
    done = celadon(*asked, "--junit", str(junit))
    assert done.returncode == 0
    assert "3 texts without a score passed: 2 fragment, 1 data" in done.stdout
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == ("4", "0", "3")
    skipped = [each.attrib["message"].partition(":")[0] for each in suite.iter("skipped")]
    assert skipped == ["fragment", "fragment", "data"]
    told = json.loads(celadon(*asked, "--json").stdout)
    assert told["passed_nulls"] == {"fragment": 2, "data": 1}
    strict = celadon(*asked, "--nulls", "none")
    assert strict.returncode == 1
    assert f"{NAME} at least 0.1: 3 failed, 3 of them without a score" in strict.stdout
    wrong = celadon(*asked, "--nulls", "short")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "'short' is no kind of text without a score" in wrong.stderr


def test_another_language(tmp_path: Path) -> None:
    path = file(tmp_path / "a.jsonl", ["language"])
    done = celadon("check", str(path), "--min", f"{NAME}=0.1")
    assert done.returncode == 1
    assert "no score, language: text is Spanish; celadon supports English only" in done.stdout
    passed = celadon("check", str(path), "--min", f"{NAME}=0.1", "--language", "any")
    assert passed.returncode == 0
    assert "1 text without a score passed: 1 language" in passed.stdout


def test_what_rows_say_of_themselves(tmp_path: Path) -> None:
    sound = TEXTS["sound"]
    path = write_rows(tmp_path / "a.jsonl", [{"text": sound, "lang": "en-US"}, {"text": sound, "lang": "Spanish"}])
    done = celadon("check", str(path), "--min", f"{NAME}=0.1", "--language-field", "lang")
    assert "1 of 2 texts does not keep the limits" in done.stdout
    assert f"{path}:2: " in done.stdout
    path = write_rows(tmp_path / "b.jsonl", [{"text": f".. {sound}"}])
    asked = ["check", str(path), "--min", f"{NAME}=0.1", "--nulls", "none"]
    assert celadon(*asked).returncode == 0
    comment = celadon(*asked, "--markup", "rst")
    assert comment.returncode == 1
    assert "no score, data: code or data only" in comment.stdout
