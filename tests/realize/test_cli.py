"""``celadon realize`` and ``celadon train fergus`` as people use them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from celadon.cli import main
from tests.conftest import missing_part
from tests.realize.small_treebank import CONLLU, bracketed


def test_bad_trees_are_refused_and_the_rest_goes_on(model: str, trees: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["realize", trees, "--model", model]) == 2
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3
    assert sorted(out.splitlines()[1].lower().split()) == ["ann", "sleeps"]
    assert out.splitlines()[2] == "The idea"
    assert "sentence circle is refused: " in err
    assert "circle" in err
    assert "trees.conllu:13" in err


def test_good_trees_alone_end_well(model: str, trees: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["realize", trees, "--model", model, "--only", "four", "--tokens"]) == 0
    assert capsys.readouterr().out == "the idea\n"
    assert main(["realize", trees, "--model", model, "--only", "five"]) == 2
    assert "five" in capsys.readouterr().err


def test_several_sentences_and_why(model: str, trees: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["realize", trees, "--model", model, "--only", "one", "--nbest", "2", "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    ranks = [line.split("\t") for line in lines[:2]]
    assert [rank[:2] for rank in ranks] == [["one", "1"], ["one", "2"]]
    scores = [float(rank[2]) for rank in ranks]
    assert scores == sorted(scores, reverse=True)
    assert len({rank[3] for rank in ranks}) == 2
    assert "exact: true" in lines[2]
    assert any("sees  (S NP (VP <VBZ> NP))" in line for line in lines)


def test_rows_and_a_picture(model: str, trees: str, tmp_path: Path) -> None:
    rows, picture = tmp_path / "out.jsonl", tmp_path / "lattice.svg"
    given = ["--only", "one", "--output", str(rows), "--lattice", str(picture)]
    assert main(["realize", trees, "--model", model, *given]) == 0
    (row,) = map(json.loads, rows.read_text().splitlines())
    assert row["id"] == "one"
    assert sorted(row["words"]) == ["cat", "dog", "sees", "the", "the"]
    svg = ElementTree.parse(picture).getroot()
    texts = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert "cat (+1)" in texts
    assert f"one: {row['orders']:,} orders" in str(texts[0])


def test_the_order_of_the_lines_does_not_matter(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for words, heads in ((["sees", "cat", "the"], [0, 1, 2]), (["the", "sees", "cat"], [3, 0, 2])):
        path = tmp_path / "tree.json"
        path.write_text(json.dumps({"words": words, "heads": heads}))
        assert main(["realize", str(path), "--model", f"baseline:{model}"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_requests_that_cannot_be(model: str, trees: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["realize", trees, "--model", model, "--output", trees]) == 2
    assert main(["realize", f"{trees}.missing", "--model", model]) == 2
    assert main(["realize", trees, "--model", f"{model}/missing"]) != 0
    assert all(line.startswith("celadon: ") for line in capsys.readouterr().err.splitlines())


def test_a_model_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if find_spec("torch") is None:
        missing_part("torch", "celadon install train")
    bank, text, held, folder = (tmp_path / name for name in ("bank.mrg", "text.txt", "held.txt", "mine"))
    bank.write_text(bracketed(60))
    text.write_text("The zebra sees the old dog. The cat often likes the house in the park.\n")
    held.write_text("# never trained on\nbank.3\n")
    given = ["train", "fergus", str(bank), "--text", str(text), "--hold-out", str(held), "--epochs", "1"]
    assert main([*given, "--output", str(folder), "--develop", "0.05", "--about", "made up"]) == 0
    card = (folder / "card.md").read_text()
    assert "trained on: 56 sentences; 3 kept apart" in card
    assert "made up" in card
    assert "Chosen on 3 sentences" in capsys.readouterr().out
    trees = tmp_path / "trees.conllu"
    trees.write_text(CONLLU)
    assert main(["realize", str(trees), "--model", str(folder), "--only", "four"]) == 0
    assert capsys.readouterr().out == "The idea\n"
    held.write_text("bank.999\n")
    assert main([*given, "--output", str(tmp_path / "other")]) == 2
    assert "bank.999" in capsys.readouterr().err
