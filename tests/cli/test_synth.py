"""``celadon synth`` as a user runs it: in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from celadon.synth.tokens import text_of, tokens_of
from tests.cli.test_score import celadon
from tests.synth.toy_treebank import SENTENCES, TEXT


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(text_of([line[0].capitalize(), *line[1:]]) for line in SENTENCES) + "\n")
    return path


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "trees.mrg"
    path.write_text(TEXT)
    return path


def rows_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_glue_makes_as_many_of_every_size_and_the_same_again(corpus: Path, tmp_path: Path) -> None:
    made = []
    for name in ("one.jsonl", "two.jsonl"):
        output = tmp_path / name
        arguments = ["--length", "6", "--sequence", "1,3", "--count", "4", "--seed", "1", "--output", str(output)]
        done = celadon("synth", "glue", str(corpus), *arguments)
        assert done.returncode == 0, done.stderr
        assert "8 texts" in done.stdout
        made.append(output.read_bytes())
    assert made[0] == made[1]
    rows = rows_of(tmp_path / "one.jsonl")
    assert [row["sequence"] for row in rows] == [1] * 4 + [3] * 4
    assert [row["id"] for row in rows[3:5]] == ["glue-1-4", "glue-3-1"]
    for row in rows:
        assert list(row) == ["id", "text", "method", "sequence"]
        assert row["method"] == "glue"
        tokens = tokens_of(str(row["text"]))
        assert len(tokens) == 6
        assert tokens[-1] == "."


@pytest.mark.parametrize("method", ["pos", "supertag", "cfg"])
def test_the_other_methods_take_a_treebank(method: str, corpus: Path, treebank: Path, tmp_path: Path) -> None:
    output = tmp_path / "made.jsonl"
    arguments = ["--treebank", str(treebank), "--length", "7", "--count", "3", "--output", str(output)]
    done = celadon("synth", method, str(corpus), *arguments)
    assert done.returncode == 0, done.stderr
    rows = rows_of(output)
    assert [row["id"] for row in rows] == [f"{method}-{number}" for number in (1, 2, 3)]
    assert {row["method"] for row in rows} == {method}
    assert all(len(tokens_of(str(row["text"]))) == 7 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--sequence", "5"], 2, "sizes that do: 1, 2, 3, 4, 6, 8, 12, 24"),
        (["--sequence", "1,x"], 2, "whole numbers separated by commas"),
        (["--count", "0"], 2, "the count must be at least 1"),
        (["--seed", "-1"], 2, "the seed must be at least 0"),
        (["--sequence", "24"], 2, "has only 0 sentences of 24 tokens"),
        (["--output", "no/such/folder/x.jsonl"], 4, "does not exist"),
        (["--output", "corpus.txt"], 2, "is also an input"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    arguments: list[str], code: int, message: str, corpus: Path, tmp_path: Path
) -> None:
    before = corpus.read_bytes()
    done = celadon("synth", "glue", "corpus.txt", "--output", "out.jsonl", *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr
    assert corpus.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_missing_and_damaged_files_are_named(corpus: Path, tmp_path: Path) -> None:
    trees = tmp_path / "bad.mrg"
    trees.write_text("( (S (NN cat) )")
    for path, message in ((str(trees), "ends within a tree"), ("nowhere.zip", "nowhere.zip")):
        done = celadon("synth", "cfg", str(corpus), "--treebank", path, "--output", "out.jsonl", cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
    empty = tmp_path / "blank.txt"
    empty.write_text("\n\n")
    done = celadon("synth", "glue", str(empty), "--output", "out.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"celadon: {empty}: there are no words in it\n")
