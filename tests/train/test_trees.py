"""Trees of newer treebanks: Penn words with one tag each, and the document that each tree is of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from celadon.core import InputError
from celadon.parsing.brackets import Tree, TreebankFile, parse_trees
from celadon.text.penn_words import penn_words
from celadon.train.parsers.trees import by_document, read_tagged, with_penn_words

TREES = {
    "A well-known, state-of-the-art parser": (
        "(NP (DT A) (ADJP (RB well) (HYPH -) (VBN known)) (, ,)"
        " (NN state) (HYPH -) (IN of) (HYPH -) (DT the) (HYPH -) (NN art) (NN parser))"
    ),
    "Twenty-one and/or Bailey-Ross": (
        "(NP (CD Twenty) (HYPH -) (CD one) (CC and) (SYM /) (CC or) (NP (NNP Bailey)) (HYPH -) (NP (NNP Ross)))"
    ),
    "It is high-quality.": "(S (NP (PRP It)) (VP (VBZ is) (ADJP (JJ high) (HYPH -) (NN quality))) (. .))",
    'She said "no" [twice] — didn’t she…': (
        "(S (NP (PRP She)) (VP (VBD said) (`` \") (INTJ (UH no)) ('' \") (-LRB- [) (ADVP (RB twice)) (-RRB- ]))"
        " (: —) (SQ (VBD did) (RB n’t) (NP (PRP she))) (: …))"
    ),
}


@pytest.mark.parametrize("text", TREES)
def test_the_words_are_those_that_the_parser_reads(text: str) -> None:
    tree = with_penn_words(next(parse_trees(TREES[text])))
    assert tree.words() == [word.form for word in penn_words(text)]


def test_tags_of_joined_words() -> None:
    converted = [str(with_penn_words(next(parse_trees(tree)))) for tree in TREES.values()]
    assert converted[0] == "(NP (DT A) (JJ well-known) (, ,) (JJ state-of-the-art) (NN parser))"
    assert converted[1] == "(NP (CD Twenty-one) (CC and/or) (NNP Bailey-Ross))"
    assert converted[2] == "(S (NP (PRP It)) (VP (VBZ is) (ADJP (JJ high-quality))) (. .))"


def test_a_hyphen_between_phrases_stays_a_word() -> None:
    tree = next(parse_trees("(NP (NP (DT a) (NN b)) (HYPH -) (NP (NN c)))"))
    assert str(with_penn_words(tree)) == "(NP (NP (DT a) (NN b)) (: -) (NP (NN c)))"


def test_penn_trees_stay_as_they_are() -> None:
    text = "(S (`` ``) (NP (NNP Mr.) (NNP O'Neil)) ('' '') (VP (VBD paid) (NP ($ $) (CD 3) (CD 1/2))) (: --) (. .))"
    assert str(with_penn_words(next(parse_trees(text)))) == text


def test_nobodys_address_is_kept() -> None:
    tree = next(parse_trees("(NP (NNP ann@example.org) (CC and) (NNP @ann) (IN @))"))
    assert with_penn_words(tree).words() == ["name@example.com", "and", "name@example.com", "@"]


def test_tagged_sentences(tmp_path: Path) -> None:
    rows = ["Ann NNP", "sells VBZ", "high JJ", "- HYPH", "end NN", "goods NNS", "— :", "mail VB", "a@b.org ADD", ". ."]
    lines = [
        "\t".join([str(at), word, "_", "_", tag, "_", "0" if at == 1 else "1", "dep", "_", "_"])
        for at, (word, tag) in enumerate((row.split() for row in rows), 1)
    ]
    path = tmp_path / "some.conllu"
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    (sentence,) = read_tagged([str(path)])
    kept = [(leaf.label, leaf.word) for leaf in sentence if leaf.label]
    assert kept == [
        ("NNP", "Ann"), ("VBZ", "sells"), ("NNS", "goods"), (":", "--"), ("VB", "mail"),
        ("ADD", "name@example.com"), (".", "."),
    ]  # fmt: skip


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
