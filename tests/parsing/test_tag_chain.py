"""The chain of tags against all sentences of a small grammar written out, and what it says of real ones."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from celadon.parsing.chart_parser import ChartParse, ChartParser, chart_parser
from celadon.parsing.grammar import Grammar, Rules
from celadon.parsing.tag_chain import ANYWHERE, TagChain
from tests.parsing.small_grammars import ListedLexicon, need_compiler, ours, random_rules

# the second noun tag is a finer one of the same name
STATES = ("TOP", "NP", "VP", "DT", "NN", "NN2", "VB")
LABELS = ("TOP", "NP", "VP", "DT", "NN", "NN", "VB")
BINARY = {("TOP", "NP", "VP"): 0.7, ("TOP", "DT", "VP"): 0.3, ("NP", "DT", "NN"): 0.6, ("VP", "VB", "NN2"): 0.5}
UNARY = {("NP", "NN2"): 0.4, ("VP", "VB"): 0.5}
WORDS = {"the": {"DT": 1.0}, "dog": {"NN": 0.8, "NN2": 0.1}, "saw": {"VB": 1.0, "NN": 0.2}, "men": {"NN2": 0.9}}
FINE = {
    ("DT", "NN", "VB"): 0.7 * 0.6 * 0.5,
    ("DT", "NN", "VB", "NN2"): 0.7 * 0.6 * 0.5,
    ("NN2", "VB"): 0.7 * 0.4 * 0.5,
    ("NN2", "VB", "NN2"): 0.7 * 0.4 * 0.5,
    ("DT", "VB"): 0.3 * 0.5,
    ("DT", "VB", "NN2"): 0.3 * 0.5,
}
"""All rows of tags that the grammar makes, with their probabilities."""


def small() -> Grammar:
    number = {name: at for at, name in enumerate(STATES)}
    binary, unary = (np.array([[number[name] for name in rule] for rule in rules]) for rules in (BINARY, UNARY))
    scores = [np.log(list(rules.values())) for rules in (BINARY, UNARY)]
    rules = Rules(len(STATES), 0, binary, scores[0], unary, scores[1])
    entries = {word: [(number[tag], math.log(p)) for tag, p in tags.items()] for word, tags in WORDS.items()}
    return Grammar(STATES, LABELS, rules, ListedLexicon(entries))


def by_hand(words: tuple[str, ...]) -> float:
    """The sum over all rows of tags, from counts of neighbours in the sentences written out."""
    pairs, tags = Counter[tuple[str, str]](), Counter[str]()
    name = dict(zip(STATES, LABELS, strict=True))
    for row, probability in FINE.items():
        tags.update({fine: probability * row.count(fine) for fine in set(row)})
        for pair in itertools.pairwise(["", *(name[fine] for fine in row), ""]):
            pairs[pair] += probability
    all_pairs = sum(pairs.values())

    def follows(tag: str, before: str) -> float:
        given = sum(p for (first, _), p in pairs.items() if first == before)
        anywhere = sum(p for (_, second), p in pairs.items() if second == tag) / all_pairs
        return (1 - ANYWHERE) * pairs[before, tag] / given + ANYWHERE * anywhere

    def gives(tag: str, word: str) -> float:
        finer = [fine for fine in tags if name[fine] == tag]
        whole = sum(tags[fine] for fine in finer)
        return sum(tags[fine] / whole * WORDS[word].get(fine, 0.0) for fine in finer)

    total = 0.0
    for row in itertools.product(("DT", "NN", "VB"), repeat=len(words)):
        steps = math.prod(follows(tag, before) for before, tag in itertools.pairwise(["", *row, ""]))
        total += steps * math.prod(gives(tag, word) for tag, word in zip(row, words, strict=True))
    return math.log(total)


@pytest.mark.parametrize(
    "words", [("the", "dog", "saw"), ("men", "saw", "men"), ("saw",), ("dog", "the", "the", "dog")]
)
def test_the_probability_is_the_sum_over_all_tags(words: tuple[str, ...]) -> None:
    grammar = small()
    assert TagChain(grammar).logprob(grammar.lexicon.taggings(words)) == pytest.approx(by_hand(words), abs=1e-6)


def test_the_parser_gives_it_with_the_tree() -> None:
    need_compiler()
    words = ["the", "dog", "saw", "men"]
    found = ChartParser(small()).parse_words(words)
    assert isinstance(found, ChartParse)
    assert found.chain == pytest.approx(by_hand(tuple(words)), abs=1e-6)
    assert found.gain == pytest.approx(math.log(FINE["DT", "NN", "VB", "NN2"] * 0.8 * 0.9) - found.chain, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_any_grammar_has_a_chain_of_tags(seed: int) -> None:
    # some of these make trees without an end
    grammar = ours(random_rules(seed))
    assert math.isfinite(TagChain(grammar).logprob(grammar.lexicon.taggings(["a", "b", "c", "a"])))


def test_glued_phrases_lose_more_by_their_tree_than_by_their_chain() -> None:
    need_compiler()
    real = "The committee approved the new budget after a long debate in the house."
    glued = "The committee approved the new budget after a long debate in the house said of the old."
    first, second = chart_parser().parse([real, glued])
    assert isinstance(first, ChartParse)
    assert isinstance(second, ChartParse)
    assert first.gain > second.gain
    # five words more cost the chain what they cost anywhere
    assert second.chain / len(second.words) == pytest.approx(first.chain / len(first.words), rel=0.15)
