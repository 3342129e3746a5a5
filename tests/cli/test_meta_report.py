"""``celadon meta report`` as a user runs it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import html as lxml_html
from scipy import stats

from tests.cli.test_meta import made_up
from tests.cli.test_score import celadon, write_rows


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [{**row, "text": f"Text {place} <b>", "references": ["a", "b"]} for place, row in enumerate(made_up(5))]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> Path:
    return write_rows(tmp_path_factory.mktemp("meta") / "scored.jsonl", list(rows))


def test_it_prints_writes_a_page_and_plots(table: Path, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "plots"
    done = celadon(
        "meta", "report", str(table), "--human", "overall", "--resamples", "20", "--references",
        "--report", str(page), "--plots", str(folder),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = stats.pearsonr([row["rougeL"] for row in rows], [row["overall"] for row in rows])[0]
    (line,) = [line for line in done.stdout.split("\n\n")[0].splitlines() if line.split()[:1] == ["rougeL"]]
    assert line.split()[1] == f"{expected:.3f}"
    assert "- overall, over all texts: rougeL agrees best of 3 metrics" in done.stdout
    assert "page.html" in done.stderr
    tree = lxml_html.document_fromstring(page.read_text(encoding="utf-8"))
    shown = tree.xpath('//section[@id="correlations"]//tbody/tr')
    assert {row.xpath("./th")[0].text_content() for row in shown} == {"rougeL", "chrf", "ter"}
    assert f"{expected:.3f}" in tree.xpath('//section[@id="correlations"]')[0].text_content()
    assert {"systems", "domains", "raters", "references", "texts", "making"} <= set(tree.xpath("//section/@id"))
    assert {path.suffix for path in folder.iterdir()} == {".svg", ".png"}
    assert (folder / "forest-overall.svg").exists()
    assert (folder / "references-overall.svg").exists()


def test_json_has_every_figure(table: Path, rows: list[dict[str, Any]]) -> None:
    done = celadon("meta", "report", str(table), "--human", "overall", "--resamples", "50", "--seed", "3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["rows"], found["seed"], found["resamples"]) == (len(rows), 3, 50)
    assert found["lower_is_better"] == ["ter"]
    (row,) = [
        row for row in found["correlations"] if (row["metric"], row["level"], row["group"]) == ("ter", "instance", "")
    ]
    expected = np.corrcoef([-row["ter"] for row in rows], [row["overall"] for row in rows])[0, 1]
    assert math.isclose(row["value"], expected, rel_tol=1e-12)
    for part in ("comparisons", "accuracies", "agreements", "disagreements", "levels", "between_metrics", "notes"):
        assert found[part], part


def test_options_reach_the_study(table: Path) -> None:
    done = celadon(
        "meta", "report", str(table), "--human", "overall", "--metric", "chrf", "--correlation", "spearman",
        "--lower-is-better", "chrf", "--system-field", "domain", "--resamples", "20", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["metrics"] == ["chrf"]
    assert {row["kind"] for row in found["correlations"]} == {"spearman"}
    assert found["correlations"][0]["value"] < 0
    assert {"system=news", "system=chat"} <= {row["group"] for row in found["correlations"]}


def test_the_page_is_the_same_every_time(table: Path, tmp_path: Path) -> None:
    pages = [tmp_path / name for name in ("a.html", "b.html")]
    for page in pages:
        done = celadon(
            "meta", "report", str(table), "--human", "overall", "--metric", "rougeL", "--resamples", "20",
            "--report", str(page),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_what_cannot_be_written_is_said_before_the_work(table: Path, tmp_path: Path) -> None:
    over = celadon("meta", "report", str(table), "--human", "overall", "--report", str(table))
    assert over.returncode == 2
    assert "is also an input" in over.stderr
    gone = celadon("meta", "report", str(table), "--human", "overall", "--report", str(tmp_path / "no" / "page.html"))
    assert gone.returncode == 4
    assert "does not exist" in gone.stderr
    assert not list(tmp_path.iterdir())


def test_the_help_is_light() -> None:
    done = celadon("meta", "report", "--help")
    assert done.returncode == 0
    for option in ("--human", "--metric", "--system-field", "--domain-field", "--item-field", "--correlation"):
        assert option in done.stdout
    for option in ("--lower-is-better", "--seed", "--resamples", "--report", "--plots", "--json"):
        assert option in done.stdout


def test_the_number_of_references_has_a_plot(table: Path, tmp_path: Path) -> None:
    done = celadon("meta", "references", str(table), "--human", "overall", "--plots", str(tmp_path / "curves"))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "curves").iterdir()) == [
        "references-overall.png", "references-overall.svg",
    ]  # fmt: skip


def test_json_has_the_aspects_one_by_one(tmp_path: Path) -> None:
    draws = np.random.default_rng(4).random((40, 5))
    aspects = ("grammaticality", "focus", "redundancy", "coherence")
    parts = {"grammaticality": draws[:, 0]} | {name: -0.1 * draws[:, at] for at, name in enumerate(aspects[1:], 1)}
    weighed = {**parts, "coherence": 0.1 * parts["coherence"]}  # as gruen weighs it
    whole = np.clip(sum(weighed.values()), 0, 1)
    lines = [
        {f"gruen.{name}": float(column[at]) for name, column in parts.items()}
        | {"id": str(at), "text": "a", "gruen": float(whole[at]), "overall": float(draws[at, 4])}
        for at in range(40)
    ]
    table = tmp_path / "aspects.jsonl"
    table.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = celadon(
        "meta", "report", str(table), "--human", "overall", "--metric", "gruen", "--resamples", "20", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["aspects"]
    assert [rung["aspects"] for rung in found] == [list(aspects[:many]) for many in (1, 2, 3, 4)]
    for rung in found:
        made = np.clip(sum(weighed[name] for name in rung["aspects"]), 0, 1)
        assert math.isclose(rung["value"], np.corrcoef(made, draws[:, 4])[0, 1], rel_tol=1e-9)
