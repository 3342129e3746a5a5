"""Treelets against a plain way of comparing them, and what must hold of any tree."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import IntArray
from celadon.io.conllu import tree_fault
from celadon.text.alignment import Ragged, align
from celadon.text.treelets import Compared, Place, compare_treelets, heads_of_words
from tests.text import slow_treelets

Pair = tuple[list[str], list[str], list[int]]


@st.composite
def trees(draw: st.DrawFn, least: int = 1, most: int = 9) -> list[int]:
    """Heads of any tree, projective or not."""
    size = draw(st.integers(least, most))
    order = draw(st.permutations(range(size)))
    heads = [-1] * size
    for at in range(1, size):
        heads[order[at]] = order[draw(st.integers(0, at - 1))]
    return heads


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """A reference with repeated words, its tree or trees, and a text that may be the same words in another order."""
    heads = draw(trees())
    if draw(st.booleans()):
        heads = [-1 if draw(st.integers(0, 5)) == 0 else head for head in heads]
    words = st.sampled_from("a b c d e f".split())
    reference = draw(st.lists(words, min_size=len(heads), max_size=len(heads)))
    text = draw(st.permutations(reference) | st.lists(words, min_size=1, max_size=10))
    return reference, list(text), heads


def compare(given: list[Pair]) -> Compared:
    vocabulary = sorted({word for reference, text, _ in given for word in (*reference, *text)})

    def ragged(side: list[list[str]]) -> Ragged:
        values = np.array([vocabulary.index(word) for words in side for word in words], dtype=np.int64)
        lengths = np.array([len(words) for words in side], dtype=np.int64)
        return Ragged(values, np.cumsum(lengths) - lengths, lengths)

    references, texts = ragged([pair[0] for pair in given]), ragged([pair[1] for pair in given])
    heads: IntArray = np.array([head for pair in given for head in pair[2]], dtype=np.int64)
    return compare_treelets(references, texts, align(references, texts).partner, heads, len(vocabulary))


@settings(max_examples=150)
@given(st.lists(pairs(), min_size=1, max_size=4))
def test_equal_to_the_plain_way(given: list[Pair]) -> None:
    found = compare(given)
    places = iter(found.place.tolist())
    for row, (reference, text, heads) in enumerate(given):
        counts, wrong = slow_treelets.compared(reference, text, heads)
        operations = found.operations
        columns = (operations.substitutions, operations.insertions, operations.deletions, operations.moves)
        assert tuple(int(column[row]) for column in columns) == counts
        assert set(found.wrong.head[found.wrong.pair == row].tolist()) == wrong
        expected = [-1 if place is None else place for place in slow_treelets.places(reference, text)]
        assert [next(places) for _ in reference] == expected


@given(trees(), st.data())
def test_the_reference_itself_is_perfect(heads: list[int], data: st.DataObject) -> None:
    size = len(heads)
    words = data.draw(st.lists(st.sampled_from("abc"), min_size=size, max_size=size))
    operations = compare([(words, words, heads)]).operations
    assert sum(int(column[0]) for column in operations[1:5]) == 0


def projective(heads: list[int], orders: dict[int, list[int]]) -> list[int]:
    """Words with what depends on them kept together; ``orders`` says how a word and its daughters stand."""
    below = slow_treelets.treelets(heads)

    def of(word: int) -> list[int]:
        order = orders.get(word, below.get(word, [word]))
        return [each for part in order for each in ([part] if part == word else of(part))]

    return of(heads.index(-1))


@given(trees(least=3), st.data())
def test_daughters_in_another_order_touch_their_treelet_alone(heads: list[int], data: st.DataObject) -> None:
    size = len(heads)
    before = projective(heads, {})
    number = {word: at for at, word in enumerate(before)}
    # the same tree over words in the order in which they stand
    heads = [number[heads[word]] if heads[word] >= 0 else -1 for word in before]
    treelets = slow_treelets.treelets(heads)
    head = data.draw(st.sampled_from(sorted(treelets)))
    order = data.draw(st.permutations(treelets[head]))
    words = [f"w{at}" for at in range(size)]
    text = [words[at] for at in projective(heads, {head: list(order)})]
    found = compare([(words, text, heads)])
    assert set(found.wrong.head.tolist()) == ({head} if order != treelets[head] else set())
    alone = slow_treelets.counted([words[at] for at in treelets[head]], [words[at] for at in order])
    assert (int(found.operations.substitutions[0]), int(found.operations.moves[0])) == (
        alone.substitutions,
        alone.moves,
    )


def test_a_missing_word_is_a_deletion_in_each_of_its_treelets_and_a_new_one_an_insertion() -> None:
    reference, heads = "the big dog barked".split(), [2, 2, 3, -1]
    operations = compare([(reference, "the big cat barked".split(), heads)]).operations
    # dog is a daughter of barked, and a head
    assert (int(operations.deletions[0]), int(operations.insertions[0]), int(operations.substitutions[0])) == (2, 1, 0)
    operations = compare([(reference, "the dog barked".split(), heads)]).operations
    assert (int(operations.deletions[0]), int(operations.insertions[0])) == (1, 0)


def test_of_repeated_words_the_one_that_the_alignment_misses_is_missing() -> None:
    reference, heads = "the cat saw the dog".split(), [1, 2, -1, 4, 2]
    found = compare([(reference, "cat saw the dog".split(), heads)])
    assert found.place.tolist() == [-1, 0, 1, 2, 3]
    assert not len(found.wrong.pair)


def characters(cuts: list[int]) -> list[Place]:
    return [(begin, end) for begin, end in pairwise(cuts) if begin < end]


@settings(max_examples=150)
@given(st.data())
def test_a_tree_over_other_tokens_stays_a_tree(data: st.DataObject) -> None:
    """Words may be cut in any way, and some characters be in none; who was above stays above."""
    length = data.draw(st.integers(2, 14))
    inner = st.lists(st.integers(1, length - 1), unique=True)
    tokens = characters([0, *sorted(data.draw(inner)), length])
    words = [each for each in characters([0, *sorted(data.draw(inner)), length]) if data.draw(st.integers(0, 4))]
    heads = data.draw(trees(len(tokens), len(tokens)))
    found = heads_of_words(words, tokens, heads)
    assert len(found) == len(words)
    assert all(-1 <= head < len(words) for head in found)
    # hung under one root more, several trees are one
    if words:
        assert tree_fault([head if head >= 0 else len(found) for head in found] + [-1]) is None
    if words == tokens:
        assert found == heads


def test_how_a_tree_is_carried_over() -> None:
    # He | did | n't | go . -> He didn't go .
    tokens, heads = [(0, 2), (3, 6), (6, 9), (10, 12), (12, 13)], [3, 3, 3, -1, 3]
    assert heads_of_words([(0, 2), (3, 9), (10, 12), (12, 13)], tokens, heads) == [2, 2, -1, 2]
    # al-Ani as one token, three words: the first stands for it
    assert heads_of_words([(0, 2), (2, 3), (3, 6), (7, 11)], [(0, 6), (7, 11)], [1, -1]) == [3, 0, 0, -1]
    # the token that others depend on is in no word
    assert heads_of_words([(0, 1), (4, 5)], [(0, 1), (2, 3), (4, 5)], [1, 2, -1]) == [1, -1]


def test_many_pairs_do_not_mix() -> None:
    generator = random.Random(3)
    given = []
    for _ in range(60):
        words = generator.choices("abcdefgh", k=generator.randrange(1, 14))
        heads = [-1, *(generator.randrange(at) for at in range(1, len(words)))]
        given.append((words, generator.choices(words, k=generator.randrange(1, 14)), heads))
    together = compare(given).operations
    alone = [compare([pair]).operations for pair in given]
    for column, name in zip(together, together._fields, strict=True):
        assert column.tolist() == [int(getattr(each, name)[0]) for each in alone]
