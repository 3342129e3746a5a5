"""``celadon compare`` as a user runs it."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_score import celadon, write_rows

NASTY = '<script>alert(1)</script> & "quoted" \x00\ud800'


def scores(path: Path, values: list[float | None], *, name: str = "rougeL", **more: object) -> Path:
    rows = [
        {"id": str(at), "text": f"text {at} {more.get('word', '')}", name: value, f"{name}.precision": 0.5}
        | {key: value for key, value in more.items() if key != "word"}
        for at, value in enumerate(values)
    ]
    return write_rows(path, list(rows))


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    random = np.random.default_rng(0)
    first = random.uniform(0.2, 0.6, 40)
    second = first + random.normal(0.05, 0.03, 40)
    return (
        str(scores(tmp_path / "a.jsonl", first.round(4).tolist(), word="old", system="v1")),
        str(scores(tmp_path / "b.jsonl", second.round(4).tolist(), word="new", system="v2")),
    )


def test_what_is_better_is_said(two: tuple[str, str]) -> None:
    done = celadon("compare", *two, "--show", "2")
    assert done.returncode == 0, done.stderr
    assert "40 pairs by id" in done.stdout
    assert re.search(r"^B scores better than A: rougeL \+0\.0\d\d \(\+0\.0\d\d \.\. \+0\.0\d\d\)$", done.stdout, re.M)
    assert "a file does not tell how its scores were made" in done.stderr
    # two gained, and only one lost
    assert done.stdout.count("    A: text ") == done.stdout.count("    B: text ") == 3
    back = celadon("compare", *reversed(two))
    assert "A scores better than B: rougeL -0.0" in back.stdout


def test_the_numbers_are_those_of_the_files(two: tuple[str, str]) -> None:
    told = json.loads(celadon("compare", *two, "--json", "--seed", "7").stdout)
    sides = [[json.loads(line)["rougeL"] for line in Path(path).read_text("utf-8").splitlines()] for path in two]
    (metric,) = told["metrics"]
    difference = np.subtract(sides[1], sides[0])
    assert metric["difference"] == pytest.approx(difference.mean())
    assert (metric["mean_a"], metric["mean_b"]) == pytest.approx((np.mean(sides[0]), np.mean(sides[1])))
    assert metric["b_better"] == (difference > 0).sum()
    assert metric["interval"][0] < metric["difference"] < metric["interval"][1]
    gained = [int(each["id"]) for each in told["gained"]]
    assert gained == np.argsort(-difference, kind="stable")[:10].tolist()
    assert all(each["a"]["value"] > each["b"]["value"] for each in told["lost"])
    again = json.loads(celadon("compare", *two, "--json", "--seed", "7").stdout)
    assert again == told


def test_nothing_to_tell_nulls_and_lower_is_better(tmp_path: Path) -> None:
    first = scores(tmp_path / "a.jsonl", [10.0, None, 30.0, 12.0, 9.0, 20.0, 8.0], name="ter")
    second = scores(tmp_path / "b.jsonl", [9.0, 5.0, None, 10.7, 8.0, 18.9, 7.1], name="ter")
    (metric,) = json.loads(celadon("compare", str(first), str(second), "--json").stdout)["metrics"]
    assert (metric["pairs"], metric["nulls"], metric["b_better"], metric["a_better"]) == (5, 2, 5, 0)
    # five exchanges have 32 outcomes, of which two are as extreme: more than one in twenty
    assert metric["p"] == pytest.approx(2 / 32, abs=0.03)
    assert metric["verdict"].startswith("no difference can be told: ter -1.06")
    same = celadon("compare", str(first), str(first))
    # equal differences have an interval only where the metric has a range
    assert "no difference can be told: ter +0.00\n" in same.stdout
    assert "nan" not in same.stdout
    bounded = scores(tmp_path / "c.jsonl", [0.5] * 10, name="rougeL")
    same = celadon("compare", str(bounded), str(bounded))
    assert "no difference can be told: rougeL +0.000 (-0.308 .. +0.308)" in same.stdout


def test_metrics_are_chosen(tmp_path: Path, two: tuple[str, str]) -> None:
    done = celadon("compare", *two, "-m", "rougeL.precision")
    assert "no difference can be told: rougeL.precision" in done.stdout
    for asked, message in {
        ("-m", "chrf"): "has no column chrf; it has scores of: rougeL",
        ("-m", "nope"): "unknown metric",
        ("--seed", "-1"): "--seed",
        ("--report", two[0]): "is also an input",
    }.items():
        wrong = celadon("compare", *two, *asked)
        assert wrong.returncode == 2
        assert message in wrong.stderr
    other = scores(tmp_path / "c.jsonl", [1.0], name="chrf")
    assert "have no metric in common" in celadon("compare", two[0], str(other)).stderr
    plain = tmp_path / "plain.txt"
    plain.write_text("text\n", encoding="utf-8")
    assert "has texts and no scores" in celadon("compare", two[0], str(plain)).stderr
    assert celadon("compare", two[0], str(tmp_path / "nowhere")).returncode == 2


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_report_needs_nothing_and_runs_nothing_of_the_texts(tmp_path: Path) -> None:
    rows = [{"id": f"{at} {NASTY}", "text": f"{NASTY} {at}", "system": NASTY, "rougeL": at / 10} for at in range(6)]
    first = write_rows(tmp_path / "a<b>.jsonl", list(rows))
    turned = [{**row, "text": f"new {row['text']}", "rougeL": 0.6 - float(str(row["rougeL"]))} for row in rows]
    second = write_rows(tmp_path / "b.jsonl", list(turned))
    page = tmp_path / "out.html"
    done = celadon("compare", str(first), str(second), "--report", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    parsed = Tags()
    parsed.feed(text)
    assert parsed.tags.count("script") == 1  # ours
    assert all(link.startswith(("#", "data:")) for link in parsed.links)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<ins>new" in text
    assert 'id="better"' in text
    assert 'id="worse"' in text


def test_runs_tell_how_they_were_made(tmp_path: Path, example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))
    run = tmp_path / "before"
    made = celadon("score", str(example), "-m", "rougeL,chrf", "--output", f"{run}/", "--shard-rows", "16", "--quiet")
    assert made.returncode == 0, made.stderr
    done = celadon("compare", str(run), "before", "-m", "chrf")
    assert done.returncode == 0, done.stderr
    assert "30 pairs by id and system" in done.stdout
    assert "does not tell" not in done.stderr
    file = tmp_path / "scores.csv"
    celadon("score", str(example), "-m", "rougeL", "--output", str(file), "--quiet")
    mixed = json.loads(celadon("compare", str(run), str(file), "--json").stdout)
    assert [(each["metric"], each["equal"]) for each in mixed["metrics"]] == [("rougeL", 30)]
    other = tmp_path / "after"
    shutil.copytree(run, other)
    manifest = (other / "run.json").read_text(encoding="utf-8")
    (other / "run.json").write_text(manifest.replace("chrf|", "chrf|x:1|"), encoding="utf-8")
    refused = celadon("compare", str(run), str(other))
    assert refused.returncode == 2
    assert "chrf was made as chrf|" in refused.stderr
    assert "rougeL" not in refused.stderr
    assert celadon("compare", str(run), str(other), "-m", "rougeL").returncode == 0
    anyway = celadon("compare", str(run), str(other), "--anyway")
    assert anyway.returncode == 0
    assert "chrf was made as" in anyway.stderr
    (other / "summary.json").unlink()
    assert "the run is stopped" in celadon("compare", str(run), str(other)).stderr
