"""Training of FERGUS: its parts against what can be counted by hand or tried one by one."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from celadon.core import InputError, UsageError
from celadon.parsing.supertags import compose
from celadon.realize.grammar import class_name, count_grammar
from celadon.realize.order_model import Features, split_sums
from celadon.realize.tree_chooser import TreeChooser
from celadon.train.realizer.fergus import jackknifed_treelets
from celadon.train.realizer.order_model import OrderRecipe, Treelet, _log_total, train_order_model
from celadon.train.realizer.trees import arrange_derivation, held_out_names, part_trees, read_derivations
from celadon.train.realizer.trigrams import joined, number_sentences, text_words, with_small_beginnings
from tests.conftest import missing_part
from tests.realize.small_treebank import CONLLU, bracketed, derivations


def _needs_torch() -> None:
    if find_spec("torch") is None:
        missing_part("torch", "celadon install train")


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_total_is_the_sum_over_all_orders(size: int) -> None:
    _needs_torch()
    import torch

    draw = np.random.default_rng(size)
    sums = draw.normal(size=2 * size * (size - 1) + 2 * size)
    before, beside = split_sums(sums, size)
    scores = []
    for order in permutations(range(size)):
        pairs = sum(before[order[a], order[b]] for a in range(size) for b in range(a + 1, size))
        row = [size, *order, size]
        scores.append(pairs + sum(beside[a, b] for a, b in pairwise(row)))
    tables = (before, beside[:size, :size], beside[size, :size], beside[:size, size])
    pairs_of, beside_of, first, last = (torch.tensor(each, dtype=torch.float32)[None] for each in tables)
    found = _log_total(pairs_of, beside_of, first, last, size)
    assert float(found[0]) == pytest.approx(np.log(np.exp(scores).sum()), abs=1e-4)


def test_the_order_model_learns_an_order() -> None:
    _needs_torch()
    # feature 1 speaks for item 0 before item 1, feature 2 for the other way round; the rest tells nothing
    numbers = np.array([1, 2, 3, 3, 4, 4, 4, 4], dtype=np.int32)
    treelets = [Treelet(Features(numbers, np.ones(8, dtype=np.int32)), (1, 0))] * 20
    weights = train_order_model(treelets, OrderRecipe(epochs=20, rate=0.1)).weights
    assert weights[2] > 0.5 > -0.5 > weights[1]
    assert weights[4] == pytest.approx(0.0, abs=0.05)


def test_a_grammar_counts_every_word_once() -> None:
    taken = derivations(40)
    grammar = count_grammar(taken)
    words = [each for derivation in taken for each in derivation.in_order()]
    assert grammar.words.totals(len(grammar.supertags)).sum() == len(words)
    the = grammar.words.row("the", len(grammar.supertags))
    assert the.sum() == sum(each.word == "the" for each in words)
    assert {class_name(grammar.supertags[at]) for at in np.flatnonzero(the)} == {"left:NP DT DT"}


def test_treelets_have_the_order_of_the_sentence() -> None:
    from celadon.train.realizer.trees import TreebankTree

    trees = [TreebankTree(str(at), each) for at, each in enumerate(derivations(12))]
    grammar = count_grammar([tree.derivation for tree in trees])
    treelets = jackknifed_treelets(trees, grammar)
    heads = sum(bool(each.attachments) for tree in trees for each in tree.derivation.in_order())
    assert len(treelets) == heads
    assert all(sorted(treelet.order) == list(range(len(treelet.order))) for treelet in treelets)


def test_brackets_lose_their_marks_and_the_first_capital(tmp_path: Path) -> None:
    path = tmp_path / "two.mrg"
    path.write_text(
        "( (S (NP-SBJ (DT The) (NN cat)) (VP (VBZ sees) (NP (NNP Ann))) (. .)) )\n"
        "( (S (NP-SBJ (NNP Ann)) (VP (VBZ sleeps)) (. .)) )"
    )
    one, two = read_derivations(path)
    assert (one.id, one.words) == ("two.1", ["the", "cat", "sees", "Ann"])
    assert (two.id, two.words) == ("two.2", ["Ann", "sleeps"])


def test_conllu_becomes_supertags_that_keep_the_order(tmp_path: Path) -> None:
    path = tmp_path / "trees.conllu"
    path.write_text(CONLLU)
    found = {tree.id: tree for tree in read_derivations(path)}
    assert list(found) == ["one", "two", "four"]
    assert found["one"].words == ["the", "cat", "sees", "the", "dog"]
    supertags = {each.word: str(each.supertag) for each in found["one"].derivation.in_order()}
    assert supertags["sees"] == "(VERB nsubj <VBZ> obj)"
    assert supertags["dog"] == "(obj (NOUN <NN>))"
    assert supertags["the"] == "left:NOUN (det (DET <DT>))"
    assert compose(found["two"].derivation).words() == ["Ann", "sleeps"]


def test_held_out_sentences_are_never_trained_on(tmp_path: Path) -> None:
    path = tmp_path / "bank.mrg"
    path.write_text(bracketed(50))
    trees = read_derivations(path)
    held = held_out_names(trees, 10, 9, seed=3)
    assert len(set(held)) == 10
    assert held == held_out_names(trees, 10, 9, seed=3)
    assert all(len(tree.words) <= 9 for tree in trees if tree.id in held)
    parts = part_trees(trees, held, 0.25, seed=1)
    names = [tree.id for tree in (*parts.train, *parts.develop)]
    assert not set(held) & set(names)
    assert (len(names), len(parts.develop)) == (40, 10)
    with pytest.raises(UsageError, match="not in the treebank"):
        part_trees(trees, ["nowhere.1"])
    (tmp_path / "empty.mrg").write_text("( (X (-NONE- *)) )")
    with pytest.raises(InputError, match="no trees to train on"):
        read_derivations(tmp_path / "empty.mrg")


def test_the_unordered_tree_remembers_the_sentence() -> None:
    derivation = derivations(3)[2]
    words = [each.word for each in derivation.in_order()]
    arranged = arrange_derivation(derivation)
    assert [words[place] for place in arranged.origin] == list(arranged.tree.words)
    assert TreeChooser(count_grammar([derivation])).choose(arranged.tree).best[0].tag == derivation.supertag.tag


def test_text_for_the_trigrams() -> None:
    sentences = list(text_words(["The dog can't see 12 cats, ever.", "No."]))
    assert sentences == [["The", "dog", "ca", "n't", "see", "12", "cats", "ever"]]
    numbered = number_sentences([["The", "dog", "sees", "the", "cat"], ["Ann", "sees", "the", "12"]])
    small = with_small_beginnings(numbered)
    assert small.forms[small.ids[0]] == "the"
    assert small.forms[small.ids[5]] == "Ann"
    assert "99" in small.forms
    both = joined(small, number_sentences([["a", "dog"]]), 2)
    assert [both.forms[each] for each in both.ids[-4:]] == ["a", "dog", "a", "dog"]
    assert both.starts.tolist() == [0, 5, 9, 11, 13]
