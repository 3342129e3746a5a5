"""The Tree Chooser, against all assignments tried one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from celadon.realize.grammar import class_name, count_grammar
from celadon.realize.tree_chooser import TreeChooser
from celadon.realize.trees import WordTree, arrange
from tests.realize.small_treebank import derivations


@pytest.fixture(scope="module")
def chooser() -> TreeChooser:
    return TreeChooser(count_grammar(derivations(60)))


def _all_assignments(chooser: TreeChooser, tree: WordTree) -> dict[tuple[int, ...], float]:
    """The log-probability of each assignment, by the formula, edge by edge."""
    tried = [chooser._candidates(tree, word) for word in range(len(tree))]
    above = chooser._above(tree, tried)
    found = {}
    for choice in product(*(range(len(numbers)) for numbers, _ in tried)):
        total = 0.0
        for word, own in enumerate(choice):
            mother = tree.mothers[word]
            total += tried[word][1][own] + above[word][choice[mother] if mother >= 0 else 0, own]
        found[choice] = total
    return found


TREE = arrange(["sees", "often", "cat", "the"], [-1, 0, 0, 2]).tree


def test_the_best_assignment_is_the_best_of_all(chooser: TreeChooser) -> None:
    every = _all_assignments(chooser, TREE)
    assert len(every) > 100
    chosen = chooser.choose(TREE)
    best = max(every, key=lambda choice: every[choice])
    assert chosen.logprob == pytest.approx(every[best])
    assert list(chosen.best) == [chosen.candidates[word][own] for word, own in enumerate(best)]


def test_shares_are_sums_over_all_assignments(chooser: TreeChooser) -> None:
    every = _all_assignments(chooser, TREE)
    chosen = chooser.choose(TREE)
    weights = np.exp(np.array(list(every.values())))
    weights /= weights.sum()
    for word in range(len(TREE)):
        expected = np.zeros(len(chosen.candidates[word]))
        for choice, weight in zip(every, weights, strict=True):
            expected[choice[word]] += weight
        np.testing.assert_allclose(chosen.shares[word], expected, atol=1e-9)


def test_words_get_the_supertags_that_grammarians_give_them(chooser: TreeChooser) -> None:
    tree = arrange(["sees", "cat", "the", "dog", "the", "old"], [-1, 0, 1, 0, 3, 3]).tree
    chosen = dict(zip(tree.words, chooser.choose(tree).best, strict=True))
    assert class_name(chosen["old"]) == "left:NP JJ JJ"
    assert chosen["cat"].root == "NP"
    assert chosen["cat"].host is None
    assert str(chosen["sees"]) == "(S NP (VP <VBZ> NP))"


def test_a_word_never_seen_is_known_by_its_place_in_the_tree(chooser: TreeChooser) -> None:
    tree = arrange(["sees", "wug", "the", "dog", "the"], [-1, 0, 1, 0, 3]).tree
    chosen = dict(zip(tree.words, chooser.choose(tree).best, strict=True))
    assert chosen["wug"].tag == "NN"


def test_no_supertag_has_more_places_than_there_are_daughters(chooser: TreeChooser) -> None:
    tree = arrange(["sees", "cat"], [-1, 0]).tree
    for word, candidates in enumerate(chooser.choose(tree).candidates):
        places = [sum(len(level.left) + len(level.right) for level in each.levels) for each in candidates]
        assert min(places) <= len(tree.daughters[word])
