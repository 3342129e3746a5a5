"""Trees as users give them: what is read, what is refused, what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from celadon.realize.tree_input import MOST_WORDS, arrange_sentence, read_trees, refusal, words_to_realize
from tests.realize.small_treebank import CONLLU


def _json(tmp_path: Path, *rows: Any) -> str:
    path = tmp_path / "trees.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def _reason(tmp_path: Path, row: Any) -> str | None:
    (sentence,) = read_trees(_json(tmp_path, row))
    return refusal(sentence)


def test_conllu_loses_its_marks_and_the_capital_that_tells_the_first_word(tmp_path: Path) -> None:
    path = tmp_path / "trees.conllu"
    path.write_text(CONLLU)
    one, two, circle, _ = read_trees(str(path))
    assert [one.words[word] for word in words_to_realize(one)] == ["the", "cat", "sees", "the", "dog"]
    assert two.words == ("Ann", "sleeps")
    assert refusal(one) is None
    assert refusal(circle) is not None
    assert "1, 2" in str(refusal(circle))


def test_both_forms_of_json_are_one_tree(tmp_path: Path) -> None:
    flat = {"id": "a", "words": ["sleeps", "the", "cat"], "heads": [0, 3, 1]}
    nested = {"id": 7, "tree": {"word": "sleeps", "daughters": [{"word": "cat", "daughters": [{"word": "the"}]}]}}
    one, other = read_trees(_json(tmp_path, flat, "", nested))
    assert arrange_sentence(one).tree == arrange_sentence(other).tree
    assert (one.id, other.id) == ("a", "7")
    assert other.origin.endswith(":3")


def test_relations_are_used_only_where_that_is_asked_for(tmp_path: Path) -> None:
    row = {"words": ["sees", "a", "b"], "heads": [0, 1, 1], "relations": ["root", "nsubj:pass", "_"]}
    (sentence,) = read_trees(_json(tmp_path, row))
    assert arrange_sentence(sentence).tree.relations == ("", "", "")
    told = arrange_sentence(sentence, use_relations=True).tree
    assert dict(zip(told.words, told.relations, strict=True)) == {"sees": "root", "a": "nsubj", "b": ""}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"words": ["a", "b"], "heads": [2, 1]}, "circle"),
        ({"words": ["a", "b"], "heads": [0, 0]}, "2 roots"),
        ({"words": [], "heads": []}, "no words"),
        ({"words": ["a", "b"], "heads": [0, 9]}, "missing"),
        ({"words": ["a", "b"], "heads": [0, None]}, "has no head"),
        ({"words": ["a", "b"], "heads": [0, True]}, "has no head"),
        ({"words": ["a", "b"], "heads": [0]}, "2 words and 1 heads"),
        ({"words": ["a", 3], "heads": [0, 1]}, "not a text"),
        ({"words": ["a", " "], "heads": [0, 1]}, "word 2 is empty"),
        ({"words": ["a"] * (MOST_WORDS + 1), "heads": [0] + [1] * MOST_WORDS}, "at most"),
        ({"tree": {"daughters": []}}, "no word"),
        ({"tree": {"word": "a", "daughters": {"word": "b"}}}, "not a list"),
        ({"id": "x"}, "neither"),
        ([1, 2], "not a JSON object"),
        ("{", "not JSON"),
    ],
)
def test_what_is_no_tree_is_refused_with_the_reason(tmp_path: Path, row: Any, reason: str) -> None:
    assert reason in str(_reason(tmp_path, row))


def test_a_mark_that_words_depend_on_stays(tmp_path: Path) -> None:
    (sentence,) = read_trees(_json(tmp_path, {"words": ["-", "a", ",", "."], "heads": [0, 1, 1, 3]}))
    assert [sentence.words[word] for word in words_to_realize(sentence)] == ["-", "a"]
    (marks,) = read_trees(_json(tmp_path, {"words": ["?", "!"], "heads": [0, 1]}))
    assert len(words_to_realize(marks)) == 2
