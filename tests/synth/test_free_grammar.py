"""The context-free grammar: its sentences parse, have their length, and come as often as its rules make them."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache

import nltk
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import InputError
from celadon.synth.free_grammar import FreeGrammar, grammar_sentences
from celadon.synth.lexicon import part_of_speech_words
from celadon.synth.tokens import number_sentences, tokens_of
from tests.synth.toy_treebank import SENTENCES, TEXT, TREES

CORPUS = number_sentences(SENTENCES)
STOPS = frozenset({"."})


@cache
def nltk_rules() -> dict[str, set[tuple[str, ...]]]:
    """The rules as nltk reads them; a tag is what has no rule of its own."""
    rules = defaultdict(set)
    for block in TEXT.strip().split("\n( "):
        for rule in nltk.Tree.fromstring(
            f"( {block.removeprefix('( ')}", remove_empty_top_bracketing=True
        ).productions():
            if rule.is_nonlexical():
                rules[str(rule.lhs()).split("-")[0]].add(tuple(str(each).split("-")[0] for each in rule.rhs()))
    return dict(rules)


@cache
def nltk_parser() -> nltk.ChartParser:
    lines = [f"{label} -> {' '.join(right)}" for label, rights in nltk_rules().items() for right in rights]
    tags = {each for rights in nltk_rules().values() for right in rights for each in right} - set(nltk_rules())
    names = {tag: f"TAG{number}" for number, tag in enumerate(sorted(tags))}
    text = "\n".join(" ".join(names.get(word, word) for word in line.split()) for line in lines)
    text += "".join(f"\n{name} -> '{tag}'" for tag, name in names.items())
    grammar = nltk.CFG.fromstring(text)
    return nltk.ChartParser(nltk.CFG(nltk.Nonterminal("S"), grammar.productions()))


@settings(max_examples=40)
@given(st.integers(4, 10), st.integers(0, 1000))
def test_what_is_drawn_parses_under_the_grammar_that_nltk_reads(length: int, seed: int) -> None:
    tags = FreeGrammar(TREES, STOPS, length).drawn(np.random.default_rng(seed))
    assert len(tags) == length
    assert tags.index(".") == length - 1
    assert next(nltk_parser().parse(tags), None) is not None


@pytest.mark.parametrize("length", [6, 8])
def test_it_comes_as_often_as_the_rules_make_it(length: int) -> None:
    """Against all derivations of the length, made one by one."""
    rules = nltk_rules()

    def derivations(symbols: tuple[str, ...], room: int) -> list[tuple[tuple[str, ...], float]]:
        if not symbols:
            return [((), 1.0)]
        if len(symbols) > room:
            return []
        first, rest = symbols[0], symbols[1:]
        if first not in rules:
            firsts = [((first,), 1.0)]
        else:
            weights = {right: 0.5 ** sum(each in rules for each in right) for right in rules[first]}
            total = sum(weights.values())
            firsts = [
                (words, chance * weight / total)
                for right, weight in weights.items()
                for words, chance in derivations(right, room - len(rest))
            ]
        return [
            (words + more, chance * share)
            for words, chance in firsts
            for more, share in derivations(rest, room - len(words))
        ]

    expected: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for words, chance in derivations(("S",), length):
        if len(words) == length and "." not in words[:-1] and words[-1] == ".":
            expected[words] += chance
    total = sum(expected.values())
    grammar, rng, count = FreeGrammar(TREES, STOPS, length), np.random.default_rng(3), 2000
    drawn = Counter(tuple(grammar.drawn(rng)) for _ in range(count))
    assert set(drawn) <= set(expected)
    for words, chance in expected.items():
        assert drawn[words] / count == pytest.approx(chance / total, abs=0.04)


@pytest.mark.parametrize("length", [4, 24, 60])
def test_texts_have_their_length_one_full_stop_and_words_of_the_treebank(length: int) -> None:
    words = {each.word for line in part_of_speech_words(TREES) for each in line}
    made = grammar_sentences(CORPUS, TREES, length, 20, seed=1)
    assert len(made) == 20
    for text in made:
        assert tokens_of(text.text) == list(text.tokens)
        assert len(text.tokens) == length
        assert text.tokens.index(".") == length - 1
        assert {token.lower() for token in text.tokens} <= words


def test_words_are_as_frequent_as_in_the_corpus() -> None:
    made = grammar_sentences(CORPUS, TREES, 12, 400, seed=1)
    nouns = ("cat", "dog", "man", "house", "tree", "woman")
    used = Counter(token for text in made for token in text.tokens if token in nouns)
    # all are nouns only, so their chances are those of their counts in the corpus, one added
    counts = Counter(token for line in SENTENCES for token in line if token in nouns)
    for noun in nouns:
        assert used[noun] / used.total() == pytest.approx((counts[noun] + 1) / (counts.total() + len(nouns)), abs=0.03)


def test_a_seed_makes_the_same_texts_and_another_makes_others() -> None:
    first = grammar_sentences(CORPUS, TREES, 9, 10, seed=1)
    assert first == grammar_sentences(CORPUS, TREES, 9, 10, seed=1)
    assert first != grammar_sentences(CORPUS, TREES, 9, 10, seed=2)


def test_a_grammar_without_such_sentences_says_so() -> None:
    with pytest.raises(InputError, match="no sentence of 3 tokens"):
        grammar_sentences(CORPUS, TREES[:4], 3, 1, seed=1)
    with pytest.raises(InputError, match="no tree with words"):
        grammar_sentences(CORPUS, [], 5, 1, seed=1)
