"""Trees: their order comes from what is in them, never from the input."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from celadon.realize.trees import arrange


@st.composite
def trees(draw: st.DrawFn, most: int = 9) -> tuple[list[str], list[int]]:
    """Words with heads; few different words, so that subtrees are often the same."""
    words = draw(st.lists(st.sampled_from(["a", "b", "the"]), min_size=1, max_size=most))
    heads = [-1] + [draw(st.integers(0, at - 1)) for at in range(1, len(words))]
    return words, heads


def shuffled(words: list[str], heads: list[int], seed: int) -> tuple[list[str], list[int]]:
    order = list(range(len(words)))
    Random(seed).shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    return [words[old] for old in order], [place[heads[old]] if heads[old] >= 0 else -1 for old in order]


@given(trees(), st.integers(0, 1000))
def test_a_shuffled_input_is_the_same_tree(tree: tuple[list[str], list[int]], seed: int) -> None:
    assert arrange(*tree).tree == arrange(*shuffled(*tree, seed)).tree


@given(trees())
def test_words_and_mothers_are_those_of_the_input(tree: tuple[list[str], list[int]]) -> None:
    words, heads = tree
    found = arrange(words, heads)
    assert sorted(found.origin) == list(range(len(words)))
    for at, old in enumerate(found.origin):
        assert found.tree.words[at] == words[old]
        mother = found.tree.mothers[at]
        assert (found.origin[mother] if mother >= 0 else -1) == heads[old]
        assert mother < at


def _text(words: list[str], heads: list[int], word: int) -> str:
    below = sorted(_text(words, heads, each) for each in range(len(words)) if heads[each] == word)
    return f"({words[word]} {' '.join(below)})"


@given(trees())
def test_only_equal_subtrees_are_of_one_kind(tree: tuple[list[str], list[int]]) -> None:
    words, heads = tree
    found = arrange(words, heads)
    texts = [_text(words, heads, old) for old in found.origin]
    for one in range(len(words)):
        for other in range(len(words)):
            assert (texts[one] == texts[other]) == (found.tree.kinds[one] == found.tree.kinds[other])


def test_relations_tell_subtrees_apart() -> None:
    plain = arrange(["x", "a", "a"], [-1, 0, 0]).tree
    told = arrange(["x", "a", "a"], [-1, 0, 0], ["root", "obj", "nsubj"]).tree
    assert plain.kinds[1] == plain.kinds[2]
    assert told.kinds[1] != told.kinds[2]
