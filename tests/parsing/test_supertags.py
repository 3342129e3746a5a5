"""Supertags: a tree taken apart and put together is the same tree, and the parts are what a grammarian expects."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import InputError
from celadon.parsing.brackets import Tree, parse_trees, plain, read_treebank
from celadon.parsing.supertags import Derivation, Host, Level, Supertag, compose, derive, head_child, parse_supertag
from tests.conftest import DATA

# arguments and modifiers on both sides, some between a head and its argument, coordination, a trace, marks
TREES = """
( (S (NP-SBJ (NP (NNP Ann) ) (, ,) (NP (NN boss) ) (, ,) )
     (VP (MD will) (ADVP (RB soon) ) (VP (VB give) (NP (NNP Bob) ) (NP (DT the) (JJ old) (NN car) )
       (PP-LOC (IN in) (NP (NNP May) )) (NP-TMP (NN today) ))) (. .) ))
( (S (S-TPC-1 (NP-SBJ (PRP It) ) (VP (VBD rained) )) (, ,) (NP-SBJ (PRP he) )
     (VP (VBD said) (S (-NONE- *T*-1) )) (. .) ))
( (S (NP-SBJ (NP (NNS cats) ) (CC and) (NP (NNS dogs) )) (VP (VBP eat) (CC and) (VBP sleep) (ADVP (RB well) )) (. .) ))
( (SBARQ (WHNP-1 (WP Who) ) (SQ (VBZ is) (NP-SBJ (-NONE- *T*-1) ) (PP-PRD (IN at) (NP (NN home) ))) (. ?) ))
"""


def tree_of(text: str) -> Tree:
    (tree,) = parse_trees(text)
    return tree


def derived(tree: Tree) -> Derivation:
    whole = derive(tree)
    assert whole is not None
    return whole


def bare(text: str) -> str:
    """A tree as nltk reads it, freed of traces and function tags without any code of ours."""

    def cleaned(node: nltk.Tree) -> list[nltk.Tree]:
        if isinstance(node[0], str):
            return [] if node.label() == "-NONE-" else [node]
        children = [kept for child in node for kept in cleaned(child)]
        label = re.split("[-=|]", node.label())[0]
        if len(children) == 1 and children[0].label() == label and not isinstance(children[0][0], str):
            return children
        return [nltk.Tree(label, children)] if children else []

    (top,) = cleaned(nltk.Tree.fromstring(text))
    return str(top.pformat(margin=10**9))


@pytest.mark.parametrize("tree", list(parse_trees(TREES)))
def test_a_tree_taken_apart_and_put_together_is_the_plain_tree(tree: Tree) -> None:
    whole = derived(tree)
    assert str(compose(whole)) == bare(str(tree))
    assert [each.word for each in whole.in_order()] == compose(whole).words()


LABELS = st.sampled_from(["S", "NP", "VP", "PP", "SBAR", "NP-SBJ", "NP-TMP", "PP-PRD", "ADVP", "X", "QP"])
TAGS = st.sampled_from(["NN", "VBD", "IN", "DT", "CC", ",", ".", "TO", "-LRB-", "PRP$"])
LEAVES = st.builds(lambda tag: Tree(tag, (), "w"), TAGS)
SOME_TREES = st.recursive(
    LEAVES,
    lambda below: st.builds(
        lambda label, nodes: Tree(label, tuple(nodes)), LABELS, st.lists(below, min_size=1, max_size=5)
    ),
    max_leaves=25,
)


@given(SOME_TREES)
def test_so_is_any_tree(tree: Tree) -> None:
    whole = derived(tree)
    assert compose(whole) == plain(tree)
    for each in whole.in_order():
        assert parse_supertag(str(each.supertag)) == each.supertag


def data(name: str) -> Path:
    path = DATA / "treebanks" / name
    if not path.is_file():
        pytest.skip(f"no {path}; set CELADON_DATA to the folder that holds treebanks/{name}")
    return path


def test_so_are_real_trees_and_heads_are_mostly_those_of_the_dependency_treebank() -> None:
    gold = {}
    with zipfile.ZipFile(data("dependency_treebank.zip")) as archive:
        for number in range(3, 200, 8):
            text = archive.read(f"dependency_treebank/wsj_{number:04}.dp").decode()
            gold[number] = [
                [int(line.split("\t")[2]) for line in block.split("\n")] for block in text.strip().split("\n\n")
            ]
    right = total = 0
    for file in read_treebank(data("treebank.zip")):
        number = int(file.name[-8:-4])
        for tree, heads in zip(file.trees, gold.get(number, ()), strict=number in gold):
            whole = derived(tree)
            assert compose(whole) == plain(tree)
            found = head_places(whole)
            assert len(found) == len(heads)
            right += sum(mine == theirs for mine, theirs in zip(found, heads, strict=True))
            total += len(heads)
    assert total > 9_000
    # they differ in the heads of appositions and of what is coordinated
    assert right / total > 0.84


def head_places(whole: Derivation) -> list[int]:
    words = list(whole.in_order())
    place = {id(each): at for at, each in enumerate(words, 1)}
    heads = {id(below.derivation): place[id(each)] for each in words for below in each.attachments}
    return [heads.get(id(each), 0) for each in words]


def test_supertags_have_the_arguments_and_name_what_modifiers_join() -> None:
    whole = derived(next(parse_trees(TREES)))
    assert [(each.word, str(each.supertag)) for each in whole.in_order()] == [
        ("Ann", "(NP (NP <NNP>))"),
        (",", "right:NP <,>"),
        ("boss", "right:NP (NP <NN>)"),
        (",", "right:NP <,>"),
        ("will", "(S NP (VP <MD> VP))"),
        ("soon", "right:VP (ADVP <RB>)"),
        ("give", "(VP <VB> NP NP)"),
        ("Bob", "(NP <NNP>)"),
        ("the", "left:NP <DT>"),
        ("old", "left:NP <JJ>"),
        ("car", "(NP <NN>)"),
        ("in", "right:VP (PP <IN> NP)"),
        ("May", "(NP <NNP>)"),
        ("today", "right:VP (NP <NN>)"),
        (".", "right:S <.>"),
    ]
    give = next(each for each in whole.in_order() if each.word == "give")
    assert [(each.derivation.word, each.level, each.side, each.position) for each in give.attachments] == [
        ("Bob", 0, "right", 0),
        ("car", 0, "right", 1),
        ("in", 0, "right", 2),
        ("today", 0, "right", 2),
    ]
    soon = next(each for each in whole.attachments if each.derivation.word == "soon")
    assert (soon.level, soon.side, soon.position) == (0, "right", 0)


def test_a_supertag_knows_its_parts() -> None:
    supertag = parse_supertag("right:VP (SBAR <IN> S)")
    assert supertag == Supertag("IN", (Level("SBAR", (), ("S",)),), Host("right", "VP"))
    assert supertag.root == "SBAR"
    assert parse_supertag("left:NP <JJ>").root == "JJ"
    for name in ("", "NP", "(NP NN)", "up:NP <JJ>", "(NP <NN>", "left:NP"):
        with pytest.raises(InputError, match="not the name of a supertag"):
            parse_supertag(name)


def test_nothing_is_left_of_traces_alone() -> None:
    assert derive(tree_of("(S (NP-SBJ (-NONE- *) ))")) is None


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("S", "NP VP .", 1),
        ("NP", "DT JJ NN", 2),
        ("NP", "NP PP", 0),
        ("NP", "NNP POS", 1),
        ("VP", "MD RB VP", 0),
        ("VP", "VP CC VP", 0),
        ("PP", "IN NP", 0),
        ("SBAR", "WHNP S", 0),
        ("ADVP", "RB CC RB", 0),
        ("UNHEARD-OF", ", X ,", 1),
        ("FRAG", ".", 0),
    ],
)
def test_heads(label: str, children: str, head: int) -> None:
    assert head_child(label, children.split()) == head
