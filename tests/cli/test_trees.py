"""``--trees`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from celadon.cli import main

REFERENCE = "There was no cost estimate for the second phase"
OUTPUT = "There was estimate for phase the second no cost"
HEADS = (5, 5, 5, 5, 0, 5, 9, 9, 6)


def conllu(name: str, words: str = REFERENCE, heads: tuple[int, ...] = HEADS) -> str:
    pairs = enumerate(zip(words.split(), heads, strict=True), 1)
    rows = [f"{at}\t{word}\t_\t_\t_\t_\t{head}\t_\t_\t_" for at, (word, head) in pairs]
    return "\n".join([f"# sent_id = {name}", *rows, "", ""])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = [
        {"id": "one", "text": OUTPUT, "reference": REFERENCE},
        {"id": "two", "text": REFERENCE, "reference": REFERENCE},
        {"id": "lost", "text": REFERENCE, "reference": REFERENCE},
        {"id": "circle", "text": "a b", "reference": "a b"},
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "trees.conllu").write_text(conllu("one") + conllu("two") + conllu("circle", "a b", (2, 1)))
    return tmp_path


def test_score_with_trees_needs_no_parser(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = "simple_tree_accuracy,generation_tree_accuracy,rouge_lm"
    out, report = files / "out.jsonl", files / "report.html"
    given = ["score", str(files / "rows.jsonl"), "--trees", str(files / "trees.conllu"), "--quiet", "--json"]
    # rouge_lm is relative to the set, so that rows wait on disk, and must have their trees again for the report
    assert main([*given, "-m", metrics, "-o", str(out), "--report", str(report)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "|trees:given@" in told["signatures"]["simple_tree_accuracy"]
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["simple_tree_accuracy"] for row in rows[:2]] == [pytest.approx(1 / 3), 1.0]
    assert [row["generation_tree_accuracy"] for row in rows] == [pytest.approx(2 / 3), 1.0, None, None]
    reasons = [json.dumps(row) for row in rows[2:]]
    assert "no tree with the sent_id 'lost'" in reasons[0]
    assert "depend on each other in a circle" in reasons[1]
    assert "stroke-dasharray" in report.read_text()


def test_trees_without_a_use_and_files_that_are_none(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, trees = str(files / "rows.jsonl"), str(files / "trees.conllu")
    assert main(["score", rows, "--trees", trees, "-m", "rougeL"]) == 2
    assert "no metric asked for rests on them" in capsys.readouterr().err
    assert main(["score", rows, "--trees", rows, "-m", "simple_tree_accuracy"]) == 2
    assert "rows.jsonl:1: has 1 columns" in capsys.readouterr().err
    assert main(["score", rows, "--trees", trees, "-m", "simple_tree_accuracy", "-o", trees]) == 2


def test_explain_shows_treelets_and_draws_them(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "tree.conllu").write_text(conllu("any"))
    drawing = files / "tree.svg"
    given = ["explain", OUTPUT, "-r", REFERENCE, "--trees", str(files / "tree.conllu")]
    assert main([*given, "--svg", str(drawing)]) == 0
    shown = capsys.readouterr().out
    assert "generation_tree_accuracy: 0.6667" in shown
    assert "text       There was estimate for no cost" in shown
    assert "2 of 3 treelets went wrong" in shown
    assert ElementTree.fromstring(drawing.read_text()).tag.endswith("svg")
    assert main([*given, "--svg", str(drawing), "-m", "rouge1"]) == 2
    assert "no tree to draw" in capsys.readouterr().err
    assert main(["explain", OUTPUT, "-r", REFERENCE, "--trees", str(files / "trees.conllu")]) == 2
    assert "has 1 references but 3 trees" in capsys.readouterr().err


def test_check_with_trees(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The texts and a baseline without scores need the trees; a baseline that has the scores does not."""
    rows, trees = str(files / "rows.jsonl"), str(files / "trees.conllu")
    given = ["check", rows, "--trees", trees, "--json", "--quiet", "--min", "simple_tree_accuracy=0.5"]
    assert main(given) == 1
    told = json.loads(capsys.readouterr().out)
    assert [(each["id"], each["value"]) for each in told["offences"]] == [
        ("one", pytest.approx(1 / 3)),
        ("lost", None),
        ("circle", None),
    ]
    scored = str(files / "scored.jsonl")
    assert main(["score", rows, "--trees", trees, "-m", "simple_tree_accuracy", "-o", scored, "--quiet"]) == 0
    for baseline in (rows, scored):
        capsys.readouterr()
        assert main([*given, "--min", "rouge1=0", "--max-regression", f"{baseline}:0"]) == 1
        found = json.loads(capsys.readouterr().out)["baseline"]["regressions"]
        assert [(each["column"], each["baseline_mean"], each["passed"]) for each in found] == [
            ("simple_tree_accuracy", pytest.approx(2 / 3), True),
            ("rouge1", pytest.approx(1.0), True),
        ]
