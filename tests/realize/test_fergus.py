"""The realizer as a whole, trained on a few sentences: what it makes, from whatever order, and from its files."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import InputError, UsageError
from celadon.models.language.language_model import TokenScores
from celadon.parsing.supertags import Supertag
from celadon.realize.fergus import Baseline, Fergus, count_sides
from celadon.realize.lp_chooser import Beam, Sentence, rescore
from celadon.realize.model_files import FILES, load_fergus, open_realizer, save_fergus
from celadon.realize.trees import arrange
from celadon.realize.unraveler import Site
from tests.conftest import missing_part
from tests.realize.small_treebank import NOUNS, derivations, trained
from tests.realize.test_trees import shuffled

WORDS = [*NOUNS, "the", "old", "sees", "often", "in", "of", "wug", "Ann"]


@pytest.fixture(scope="module")
def fergus() -> Fergus:
    if find_spec("torch") is None:
        missing_part("torch", "celadon install train")
    return trained().fergus


def _said(fergus: Fergus | Baseline, words: list[str], heads: list[int]) -> str:
    return " ".join(fergus.realize(arrange(words, heads).tree).sentences[0].words)


def test_it_says_what_it_was_taught(fergus: Fergus) -> None:
    words = "sees cat the old dog the in park the often".split()
    heads = [-1, 0, 1, 1, 0, 4, 0, 6, 7, 0]
    said = _said(fergus, words, heads)
    assert "in the park" in said
    assert "the old cat" in said
    assert "often sees the" in said


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
    return words, [-1] + [draw(st.integers(0, at - 1)) for at in range(1, len(words))]


@settings(max_examples=40)
@given(tree=trees(), seed=st.integers(0, 1000))
def test_shuffling_the_input_never_changes_the_output(tree: tuple[list[str], list[int]], seed: int) -> None:
    if find_spec("torch") is None:
        missing_part("torch", "celadon install train")
    one = trained().fergus.realize(arrange(*tree).tree, Beam(8, 3))
    other = trained().fergus.realize(arrange(*shuffled(*tree, seed)).tree, Beam(8, 3))
    assert [each.words for each in one.sentences] == [each.words for each in other.sentences]
    assert Counter(one.sentences[0].words) == Counter(tree[0])


def test_sentences_are_projective(fergus: Fergus) -> None:
    tree = arrange("sees cat the old dog the in park the".split(), [-1, 0, 1, 1, 0, 4, 4, 6, 7]).tree
    for sentence in fergus.realize(tree, Beam(20, 20)).sentences:
        for word in range(len(tree)):
            below = [at for at, each in enumerate(sentence.order) if _is_below(tree.mothers, each, word)]
            assert below == list(range(below[0], below[0] + tree.sizes[word]))


def _is_below(mothers: Sequence[int], word: int, other: int) -> bool:
    while word >= 0 and word != other:
        word = mothers[word]
    return word == other


def test_another_grammar_may_say_where_a_word_stands(fergus: Fergus) -> None:
    class AdverbsLast:
        def sites(self, mother_word: str, mother: Supertag, word: str, daughter: Supertag) -> list[Site] | None:
            return [Site("right")] if word == "often" else None

    words, heads = "sees cat the dog the often".split(), [-1, 0, 1, 0, 3, 0]
    assert _said(fergus, words, heads).split().index("often") < 3
    other = Fergus(fergus.grammar, fergus.order_model, fergus.trigrams, fergus.settings, AdverbsLast())
    said = _said(other, words, heads).split()
    assert said.index("often") > said.index("sees")


def test_its_files_make_the_same_sentences(fergus: Fergus, tmp_path: Path) -> None:
    save_fergus(tmp_path, trained())
    again = load_fergus(tmp_path).fergus
    assert again.settings == fergus.settings
    assert again.grammar.supertags == fergus.grammar.supertags
    for seed in range(5):
        words, heads = shuffled("sees cat the old dog the in park the".split(), [-1, 0, 1, 1, 0, 4, 0, 6, 7], seed)
        assert _said(again, words, heads) == _said(fergus, words, heads)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_told_in_one_line(fergus: Fergus, tmp_path: Path, name: str) -> None:
    save_fergus(tmp_path, trained())
    (tmp_path / name).write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(InputError, match=str(tmp_path)):
        load_fergus(tmp_path)


def test_a_realizer_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no realizer"):
        load_fergus(tmp_path)
    with pytest.raises(UsageError):
        open_realizer("baseline:")


def test_the_baseline_puts_words_on_the_side_where_they_stood(fergus: Fergus) -> None:
    sentences = [[each.word for each in derivation.in_order()] for derivation in derivations(150)]
    sides = count_sides(sentences)
    before, after = sides.row("the", 2)
    # where a random mother stands, most of the time the article is before it
    assert before > after
    assert sides.row("the", 2).sum() <= sum(sentence.count("the") for sentence in sentences)
    said = _said(Baseline(sides, fergus.trigrams), "sees cat the".split(), [-1, 0, 1])
    assert sorted(said.split()) == ["cat", "sees", "the"]
    assert said.split().index("the") < said.split().index("cat")


class Alphabetical:
    """A language model that likes words in the order of the alphabet."""

    name, digest, scripts = "alphabetical", "0", ()
    facts: Mapping[str, str] = {}

    def score(self, texts: Sequence[str]) -> list[TokenScores]:
        found = []
        for text in texts:
            letters = [ord(word[0]) for word in text.split()]
            falls = [-float(max(0, a - b)) for a, b in itertools.pairwise(letters)]
            zeros = np.zeros(len(falls), np.int64)
            found.append(TokenScores(np.array(falls), np.zeros(len(falls)), zeros, zeros, zeros == 0))
        return found


def test_rescoring_adds_the_weighted_probability() -> None:
    sentences = [Sentence((0, 1, 2), ("c", "b", "a"), 1.0), Sentence((2, 1, 0), ("a", "b", "c"), 0.0)]
    (weak,) = rescore([sentences], Alphabetical(), 0.4, " ".join)
    (strong,) = rescore([sentences], Alphabetical(), 0.6, " ".join)
    assert [each.words[0] for each in weak] == ["c", "a"]
    assert [each.words[0] for each in strong] == ["a", "c"]
    assert strong[1].score == pytest.approx(1.0 + 0.6 * -2)
