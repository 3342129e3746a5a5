"""The LP Chooser and the trigrams, against all orders scored one by one."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.models.language.ngram_lm import NgramTables
from celadon.realize.lp_chooser import LEAF, LEAF_SCORES, Beam, Lattice, best_sentences
from celadon.realize.order_model import TreeletScores
from celadon.realize.trees import WordTree, arrange
from celadon.realize.trigrams import Trigrams, packed, unpacked
from celadon.realize.unraveler import Band, unravel_treelet
from celadon.train.realizer.trigrams import TrigramRecipe, number_sentences, pruned, train_trigrams

_BANDS = (Band("left", ""), Band(None, ""), Band("right", ""))
_SENTENCES = [
    sentence.split() for sentence in ("a b c d", "b a d c", "a c", "d d b a", "c b a b", "the a b", "b c d a")
]


def small_trigrams() -> Trigrams:
    return train_trigrams(number_sentences(_SENTENCES * 3), TrigramRecipe(vocabulary=40))


TRIGRAMS = small_trigrams()


def lattice_of(tree: WordTree, seed: int) -> Lattice:
    """Any order at all, with scores drawn by chance."""
    draw = np.random.default_rng(seed)
    treelets, scores = [], []
    for daughters in tree.daughters:
        size = len(daughters) + 1
        scored = TreeletScores(draw.normal(size=(size, size)), draw.normal(size=(size + 1, size + 1)))
        free = [frozenset((0, 2))] * len(daughters)
        treelets.append(unravel_treelet(_BANDS, free, range(len(daughters)), scored) if daughters else LEAF)
        scores.append(scored if daughters else LEAF_SCORES)
    return Lattice(tuple(treelets), tuple(scores))


def _all_orders(tree: WordTree, word: int = 0) -> list[list[int]]:
    found = []
    for order in permutations([word, *tree.daughters[word]]):
        parts = [[[word]] if item == word else _all_orders(tree, item) for item in order]
        found += [[each for part in choice for each in part] for choice in product(*parts)]
    return found


def _score(tree: WordTree, lattice: Lattice, order: list[int], weight: float) -> float:
    """The definition: pairs and neighbours of every treelet, and the trigrams as the model itself scores them."""
    place = {word: at for at, word in enumerate(order)}
    ids = TRIGRAMS.look_up([tree.words[word] for word in order])
    total = weight * float(TRIGRAMS.tables.score(ids, np.array([0, len(ids)])).sum())
    for word, daughters in enumerate(tree.daughters):
        if daughters:
            items = [word, *daughters]
            row = sorted(range(len(items)), key=lambda at: place[items[at]])
            before, beside = lattice.scores[word]
            total += beside[-1, row[0]] + beside[row[-1], -1]
            total += sum(beside[a, b] for a, b in pairwise(row))
            total += sum(before[row[a], row[b]] for a in range(len(row)) for b in range(a + 1, len(row)))
    return total


@st.composite
def small_trees(draw: st.DrawFn) -> WordTree:
    words = draw(st.lists(st.sampled_from(["a", "b", "c", "d", "new"]), min_size=1, max_size=6))
    heads = [-1] + [draw(st.integers(0, at - 1)) for at in range(1, len(words))]
    return arrange(words, heads).tree


@given(small_trees(), st.integers(0, 99))
def test_the_best_sentences_are_the_best_of_all(tree: WordTree, seed: int) -> None:
    lattice = lattice_of(tree, seed)
    every: dict[tuple[str, ...], float] = {}
    for order in _all_orders(tree):
        words = tuple(tree.words[word] for word in order)
        every[words] = max(every.get(words, -np.inf), _score(tree, lattice, order, 0.7))
    expected = sorted(every.values(), reverse=True)[:5]
    found = best_sentences(tree, lattice, TRIGRAMS, 0.7, Beam(100_000, 800))
    assert found.exact
    assert [each.score for each in found.sentences[:5]] == pytest.approx(expected, abs=1e-3)
    for each in found.sentences[:5]:
        assert each.score == pytest.approx(every[each.words], abs=1e-3)
    # one is enough of each kind of beginning and end, where one sentence is wanted
    (best,) = best_sentences(tree, lattice, TRIGRAMS, 0.7, Beam(100_000, 1)).sentences
    assert best.score == pytest.approx(expected[0], abs=1e-3)


def test_a_beam_that_is_too_narrow_is_said_not_to_be_exact() -> None:
    tree = arrange(["a", "b", "c", "d", "a", "b"], [-1, 0, 0, 0, 1, 1]).tree
    found = best_sentences(tree, lattice_of(tree, 1), TRIGRAMS, 1.0, Beam(2, 1))
    assert not found.exact
    assert sorted(found.sentences[0].words) == sorted(tree.words)


@given(st.lists(st.sampled_from(["a", "b", "c", "the", "new", "New", "17"]), min_size=1, max_size=6))
def test_the_table_has_what_the_model_says(words: list[str]) -> None:
    kinds = sorted(set(words))
    table = TRIGRAMS.table(kinds)
    begin, end = len(kinds), len(kinds) + 1
    row = [begin, begin, *(kinds.index(word) for word in words), end]
    expected = TRIGRAMS.tables.score(TRIGRAMS.look_up(words), np.array([0, len(words)]))
    found = [table[row[at - 2], row[at - 1], row[at]] for at in range(2, len(row))]
    assert found == pytest.approx(expected.tolist(), abs=1e-4)


def _sums(tables: NgramTables, contexts: list[tuple[int, int]]) -> list[float]:
    size = tables.vocabulary
    found = []
    for context in contexts:
        total = 0.0
        for word in range(size):
            ids = np.array([*context, word])
            total += float(np.exp(tables.score(ids, np.array([0, 3]))[2]))
        found.append(total)
    return found


def test_pruned_probabilities_still_sum_to_one() -> None:
    tables = TRIGRAMS.tables
    fewer = pruned(tables, 12, 8)
    assert (len(fewer.logprobs[1]), len(fewer.logprobs[2])) == (12, 8)
    numbers = [TRIGRAMS.numbers[word] for word in "abcd"]
    contexts = [(a, b) for a in numbers for b in numbers]
    assert _sums(fewer, contexts) == pytest.approx([1.0] * len(contexts), abs=1e-6)


def test_a_small_model_is_packed_without_loss() -> None:
    again = unpacked(packed(TRIGRAMS.tables))
    for ours, theirs in zip(again.keys, TRIGRAMS.tables.keys, strict=True):
        assert ours.tolist() == theirs.tolist()
    for found, expected in zip(again.logprobs, TRIGRAMS.tables.logprobs, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)
