"""XTAG's sites: as its trees have them, whichever of two words the treebank makes the mother."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from celadon.cli import main
from celadon.parsing.supertags import Supertag, parse_supertag
from celadon.parsing.xtag import open_xtag
from celadon.realize.tree_chooser import Chosen
from celadon.realize.trees import arrange
from celadon.realize.unraveler import Site
from celadon.realize.xtag_sites import Coverage, XtagSites
from tests.parsing.small_xtag import FILES, write_archive, write_folder


@pytest.fixture(scope="module")
def xtag(tmp_path_factory: pytest.TempPathFactory) -> XtagSites:
    return XtagSites(open_xtag(write_folder(tmp_path_factory.mktemp("xtag"))))


def site(text: str) -> Site:
    """``left S``, or ``left`` for any node."""
    side, _, label = text.partition(" ")
    return Site("left" if side == "left" else "right", label or None)


@pytest.mark.parametrize(
    ("mother_word", "mother", "daughter_word", "daughter", "expected"),
    [
        # a noun fills either place of a transitive verb
        ("sees", "(S NP (VP <VBZ> NP))", "cats", "(NP <NNS>)", ["left S", "right VP"]),
        # adjoined before a noun, and nowhere else
        ("cats", "(NP <NNS>)", "the", "left:NP <DT>", ["left NP"]),
        ("cats", "(NP <NNS>)", "old", "left:NP <JJ>", ["left NP"]),
        ("dog", "(NP <NN>)", "cat", "left:NP <NN>", ["left NP"]),
        # an adverb before the clause or after the verb phrase, by the side that its supertag names
        ("sees", "(S NP (VP <VBZ> NP))", "often", "left:S (ADVP <RB>)", ["left S"]),
        ("sees", "(S NP (VP <VBZ> NP))", "often", "right:VP (ADVP <RB>)", ["right VP"]),
        # a preposition between its noun and what it has
        ("cats", "(NP <NNS>)", "of", "right:NP (PP <IN> NP)", ["right NP"]),
        ("of", "right:NP (PP <IN> NP)", "cats", "(NP <NNS>)", ["right PP"]),
        # in Universal Dependencies it is below what it has, and labels are others
        ("cats", "(nmod (NOUN <NNS>))", "of", "left:NOUN (case (ADP <IN>))", ["left"]),
        # an auxiliary is adjoined to its daughter, and has its subject
        ("has", "(S NP (VP <VBZ> VP))", "found", "(VP <VBN> NP)", ["right VP"]),
        ("has", "(S NP (VP <VBZ> VP))", "cats", "(NP <NNS>)", ["left S"]),
        ("found", "(root (VERB nsubj <VBN>))", "has", "left:VERB (aux (AUX <VBZ>))", ["left"]),
        # a verb of saying is adjoined to what is said
        ("sees", "(S NP (VP <VBZ> S))", "found", "(S NP (VP <VBD> NP))", ["right VP"]),
        # a conjunction stands before one of its conjuncts and after the other
        ("cats", "(NP <NNS>)", "and", "left:NP <CC>", ["left NP"]),
        ("cats", "(NP <NNS>)", "and", "right:NP <CC>", ["right NP"]),
        # a particle belongs to its verb
        ("found", "(S NP (VP <VBD> NP))", "out", "right:VP (PRT <RP>)", ["right VP"]),
        ("sees", "(S NP (VP <VBZ> NP))", "out", "right:VP (PRT <RP>)", None),
    ],
    ids=range(17),
)
def test_sites(
    xtag: XtagSites, mother_word: str, mother: str, daughter_word: str, daughter: str, expected: list[str] | None
) -> None:
    found = xtag.sites(mother_word, parse_supertag(mother), daughter_word, parse_supertag(daughter))
    assert found == (None if expected is None else frozenset(map(site, expected)))


def test_what_xtag_does_not_tell(xtag: XtagSites) -> None:
    noun, verb = parse_supertag("(NP <NN>)"), parse_supertag("(S NP (VP <VBZ> NP))")
    for mother_word, mother, daughter_word, daughter in (
        ("sees", verb, "zebra", noun),
        ("blurbs", verb, "cat", noun),
        # known, but not as a verb
        ("cat", verb, "cat", noun),
        # no tree of a determiner stands after a noun
        ("cat", noun, "the", parse_supertag("right:NP <DT>")),
        # the chain of this mother has no such node
        ("sees", parse_supertag("(FRAG <VBZ>)"), "cat", noun),
    ):
        assert xtag.sites(mother_word, mother, daughter_word, daughter) is None


def test_coverage_counts_words_and_attachments(xtag: XtagSites) -> None:
    tree = arrange(["the", "dog", "sees", "the", "zebra"], [1, 2, -1, 4, 2]).tree
    tags = {"the": "left:NP <DT>", "dog": "(NP <NN>)", "sees": "(S NP (VP <VBZ> NP))", "zebra": "(NP <NN>)"}
    best: tuple[Supertag, ...] = tuple(parse_supertag(tags[word]) for word in tree.words)
    found = xtag.coverage(tree, Chosen(best, (), (), 0.0))
    types = frozenset({("the", "entry"), ("sees", "entry"), ("dog", "default"), ("zebra", "none")})
    assert found == Coverage(words=5, entries=3, defaults=1, attached=4, placed=2, types=types)
    assert (found + found).placed == 4
    assert (found + found).types == found.types
    assert str(found) == (
        "5 words (4 different): 3 (2) have entries, 1 (1) the trees of their part of speech; "
        "2 of 4 attachments have XTAG's sites"
    )


def test_sentences_and_coverage_on_the_command_line(
    model: str, trees: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    given = ["realize", trees, "--model", model, "--grammar", f"xtag:{write_archive(tmp_path / 'g.tar.xz')}"]
    assert main([*given, "--only", "one", "--explain"]) == 0
    out, err = capsys.readouterr()
    said = "xtag: 5 words (4 different): 4 (3) have entries, 1 (1) the trees of their part of speech; 4 of 4 attach"
    assert sorted(out.splitlines()[0].lower().split()) == ["cat", "dog", "sees", "the", "the"]
    assert f"  {said}" in out
    assert err.startswith(said)
    assert main([*given, "--output", str(rows)]) == 2
    # one sentence is refused, and neither Ann nor the idea is known
    found = {row["id"]: row["xtag"] for row in map(json.loads, rows.read_text().splitlines())}
    assert found["one"] == {"words": 5, "entries": 4, "defaults": 1, "attached": 4, "placed": 4}
    assert found["two"] == {"words": 2, "entries": 0, "defaults": 0, "attached": 1, "placed": 0}
    assert found["four"] == {"words": 2, "entries": 1, "defaults": 0, "attached": 1, "placed": 0}
    assert "xtag: 9 words (7 different): 5 (3) have entries" in capsys.readouterr().err


def test_requests_that_cannot_be(model: str, trees: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write_folder(tmp_path / "good")
    bad = write_folder(tmp_path / "bad", {**FILES, "syntax/syntax-coded.flat": "see V\n"})
    for named, grammar, message in (
        (f"baseline:{model}", f"xtag:{good}", "baseline"),
        (model, "xtag", "xtag:PATH"),
        (model, f"ltag:{good}", "ltag:"),
        (model, f"xtag:{tmp_path / 'missing'}", "missing: no such file"),
        (model, f"xtag:{bad}", "syntax/syntax-coded.flat:1: "),
    ):
        assert main(["realize", trees, "--model", named, "--grammar", grammar, "--only", "one"]) == 2
        out, err = capsys.readouterr()
        assert not out
        assert message in err
        assert len(err.splitlines()) == 1
