"""The chart against NLTK's Viterbi parser, against plain counting of trees, and pruned against unpruned."""

from __future__ import annotations

import itertools
import math
import random

import nltk
import pytest

from celadon.core import UsageError
from celadon.parsing import Failure, Reason
from celadon.parsing.brackets import Tree, parse_trees
from celadon.parsing.chart import FRAGMENT_PENALTY
from celadon.parsing.chart_parser import MAX_WORDS, ChartParse, ChartParser
from tests.parsing.small_grammars import ROOT, WORDS, as_nltk, need_compiler, ours, random_rules

SEEDS = range(12)
AnyRules = dict[str, dict[tuple[str, ...], float]]


@pytest.fixture(scope="module", autouse=True)
def compiler() -> None:
    need_compiler()


def parsed(parser: ChartParser, words: list[str]) -> ChartParse:
    found = parser.parse_words(words)
    assert isinstance(found, ChartParse)
    return found


def tree_logprob(tree: Tree, rules: AnyRules) -> float:
    """The sum over the tree's rules, straight from the table."""
    right = (tree.word,) if tree.is_tag else tuple(child.label for child in tree.children)
    return math.log(rules[tree.label][right]) + sum(tree_logprob(child, rules) for child in tree.children)


@pytest.mark.parametrize("seed", SEEDS)
def test_same_probability_as_nltk(seed: int) -> None:
    rules = random_rules(seed)
    parser, theirs = ChartParser(ours(rules)), nltk.ViterbiParser(as_nltk(rules))
    rng = random.Random(seed)
    trees = 0
    for _ in range(10):
        words = rng.choices(WORDS, k=rng.randint(1, 6))
        best = next(iter(theirs.parse(words)), None)
        found = parsed(parser, words)
        assert found.exact
        if best is None:
            continue
        trees += 1
        assert found.fragments == 1
        assert found.logprob == pytest.approx(math.log(best.prob()), abs=1e-9)
        assert tree_logprob(next(parse_trees(found.tree)), rules) == pytest.approx(found.logprob, abs=1e-9)
    assert trees


def test_chains_and_cycles_of_unary_rules() -> None:
    rules: AnyRules = {
        ROOT: {("A",): 1.0},
        "A": {("B",): 0.5, ("A", "A"): 0.5},
        "B": {("C",): 0.4, ("A",): 0.3, ("a",): 0.3},
        "C": {("a",): 0.9, ("B",): 0.1},
    }
    found = parsed(ChartParser(ours(rules)), ["a"])
    # A > B > a has 0.15; A > B > C > a has 0.5 x 0.4 x 0.9
    assert found.logprob == pytest.approx(math.log(0.18))
    assert found.tree == f"({ROOT} (A (B (C a))))"


def best_cover(inside: dict[tuple[int, int], float], length: int) -> float:
    """The best of all ways to cut a sentence into pieces that have a constituent, each at the price of the penalty."""
    best = -math.inf
    for size in range(length):
        for cuts in itertools.combinations(range(1, length), size):
            pieces = list(itertools.pairwise((0, *cuts, length)))
            if all(piece in inside for piece in pieces):
                best = max(best, sum(inside[piece] + FRAGMENT_PENALTY for piece in pieces))
    return best


@pytest.mark.parametrize("seed", range(20, 26))
def test_fragments_are_the_best_cover(seed: int) -> None:
    rules = random_rules(seed)
    # no sentence has a tree, for none of its constituents is a
    rules[ROOT] = {("S0", "Nothing"): 1.0}
    parser = ChartParser(ours(rules))
    words = random.Random(seed).choices(WORDS, k=5)
    inside: dict[tuple[int, int], float] = {}
    for state in rules.keys() - {ROOT}:
        theirs = nltk.ViterbiParser(nltk.PCFG(nltk.Nonterminal(state), as_nltk(rules).productions()))
        for start, end in itertools.combinations(range(len(words) + 1), 2):
            best = next(iter(theirs.parse(words[start:end])), None)
            if best is not None:
                inside[start, end] = max(inside.get((start, end), -math.inf), math.log(best.prob()))
    found = parsed(parser, words)
    assert found.logprob == pytest.approx(best_cover(inside, len(words)), abs=1e-9)
    tree = next(parse_trees(found.tree))
    assert found.fragments == len(tree.children)
    assert tree.words() == words
    total = sum(tree_logprob(child, rules) for child in tree.children)
    assert found.logprob == pytest.approx(total + found.fragments * FRAGMENT_PENALTY, abs=1e-9)


def test_words_that_are_too_many_too_few_or_too_slow() -> None:
    rules: AnyRules = {ROOT: {("A",): 1.0}, "A": {("A", "A"): 0.5, ("a",): 0.3, ("b",): 0.1, ("c",): 0.1}}
    parser = ChartParser(ours(rules))
    assert parser.parse_words([]) == Failure(Reason.NO_WORDS)
    assert parser.parse_words(["a"] * (MAX_WORDS + 1)) == Failure(Reason.TOO_LONG)
    assert isinstance(parser.parse_words(["a"] * MAX_WORDS), ChartParse)
    assert ChartParser(ours(rules), time_limit=0.0).parse_words(["a"]) == Failure(Reason.TIME_LIMIT)


@pytest.mark.parametrize("given", [{"margin": 0.0}, {"margin": float("nan")}, {"threads": 0}])
def test_bad_settings_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        ChartParser(ours(random_rules(0)), **given)  # type: ignore[arg-type]
