"""Trees of many documents in one file: each goes to the document that its words are in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from celadon.core import InputError
from celadon.parsing.brackets import Tree, TreebankFile
from celadon.train.parsers.trees import by_document

TEXTS = {
    "ferry": "Overview\n\nThe ferry runs (daily). It is late. See also",
    "harbor": "Overview\n\nThe harbor froze. It is late.\n\nNotes",
    "market": "See also\n\nThe market moved.",
}


def tree(words: str) -> Tree:
    return Tree("X", tuple(Tree("NN", (), word) for word in words.split()))


@pytest.fixture
def documents(tmp_path: Path) -> str:
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in TEXTS.items()))
    return str(path)


def divided(sentences: Sequence[str], documents: str) -> dict[str, list[str]]:
    files = by_document([TreebankFile("all", tuple(map(tree, sentences)))], documents)
    return {file.name: [" ".join(each.words()) for each in file.trees] for file in files}


def test_trees_go_to_their_documents(documents: str) -> None:
    ferry = ["Overview", "The ferry runs -LRB- daily -RRB- .", "It is late .", "an address", "See also"]
    harbor = ["Overview", "The harbor froze .", "It is late .", "Notes"]
    market = ["See also", "The market moved ."]
    # "Overview" is in the document before too, so that it stays there: only what comes once is certain
    assert divided([*ferry, *harbor[1:], *market], documents) == {
        "ferry": ferry, "harbor": harbor[1:], "market": market
    }  # fmt: skip
    assert list(divided([*harbor, *market], documents)) == ["harbor", "market"]


def test_documents_that_do_not_fit_are_refused(documents: str) -> None:
    with pytest.raises(InputError, match="none of the trees"):
        divided(["Something else ."], documents)
    with pytest.raises(InputError, match="the trees of ferry are not one after another"):
        divided(["The ferry runs -LRB- daily -RRB- .", "The market moved .", "The ferry runs"], documents)
    with pytest.raises(InputError, match="missing"):
        divided(["Something ."], documents + ".missing")
