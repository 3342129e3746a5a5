"""``celadon meta audit`` as a user runs it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from lxml import html as lxml_html

import celadon.meta
from tests.cli.test_score import celadon as run
from tests.cli.test_score import write_rows
from tests.meta.judged_texts import judged_texts

JUDGE = ("--judge", "judge.run*", "--human", "rater*.overall", "--resamples", "200")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return judged_texts(60, 3, unrated=0.3)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> Path:
    return write_rows(tmp_path_factory.mktemp("audit") / "scored.jsonl", list(rows))


def test_the_verdict_comes_first_and_the_page_says_the_same(table: Path, tmp_path: Path) -> None:
    page, formula = tmp_path / "audit.html", tmp_path / "formula.json"
    done = run(
        "meta", "audit", str(table), *JUDGE, "--gate", "3", "--alternative", "better", "--report", str(page),
        "--export", str(formula), "--time-field", "day",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("judge.run ")
    assert "What may be concluded:" in lines[:4]
    tree = lxml_html.document_fromstring(page.read_text(encoding="utf-8"))
    sections = "verdict agreement gate repeats bias alternatives labels making".split()
    assert tree.xpath("//section/@id") == sections
    assert lines[0] in tree.xpath('string(//section[@id="verdict"])')
    assert len(tree.xpath("//figure//svg")) == 11
    assert not tree.xpath("//@src|//link[@rel='stylesheet']")
    written = json.loads(formula.read_text(encoding="utf-8"))
    assert set(written["terms"]) == {"judge.run", "length", "no repetition", "better"}


def test_json_is_the_audit_in_full_precision(table: Path, rows: list[dict[str, Any]]) -> None:
    done = run("meta", "audit", str(table), *JUDGE, "--gate", "3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (expected,) = celadon.meta.audit(rows, judge="judge.run*", human="rater*.overall", gate=3.0, resamples=200).judges
    (one,) = found["judges"]
    assert one["verdict"]["headline"] == expected.verdict.headline
    assert expected.gate is not None
    assert one["gate"]["accuracy"]["value"] == expected.gate.accuracy.value
    assert one["agreement"][0]["low"] == expected.agreement[0].low
    assert [row["name"] for row in one["biases"]] == [row.name for row in expected.biases]
    assert found["rows"] == 180
    assert all(one["widths"][at]["width"] <= one["widths"][at - 1]["width"] for at in range(1, len(one["widths"])))
    assert math.isclose(one["means"][0]["mean"]["value"], expected.means[0].mean.value)


def test_several_judges_by_name_and_help(table: Path) -> None:
    named = ("--judge", "first=judge.run1", "--judge", "both=judge.run1,judge.run2", "--human", "rater*.overall")
    done = run("meta", "audit", str(table), *named, "--json", "--resamples", "50")
    assert done.returncode == 0, done.stderr
    assert [(one["judge"], one["columns"]) for one in json.loads(done.stdout)["judges"]] == [
        ("first", ["judge.run1"]),
        ("both", ["judge.run1", "judge.run2"]),
    ]
    shown = run("meta", "--help").stdout
    assert shown.index("audit") < shown.index("correlate")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--human", "rater*"), "no judge was named"),
        (("--judge", "judge.run*"), "no rating: name the columns"),
        (("--judge", "gpt", "--human", "rater*.overall"), "there is no judge's column 'gpt'"),
        (
            ("--judge", "a=judge.run1", "--judge", "a=judge.run2", "--human", "rater*.overall"),
            "two judges are called 'a'",
        ),
        ((*JUDGE, "--answers", "nothing.jsonl"), "nothing.jsonl"),
        ((*JUDGE, "--report", "no/such/folder/x.html"), "no/such/folder"),
        ((*JUDGE, "--family", "gpt*"), "no system is gpt*"),
    ],
)
def test_mistakes_are_told_in_one_line(table: Path, options: tuple[str, ...], message: str) -> None:
    done = run("meta", "audit", str(table), *options)
    assert done.returncode in (2, 4)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
