"""The chart against NLTK's Viterbi parser, against plain counting of trees, and pruned against unpruned."""

from __future__ import annotations

import itertools
import lzma
import math
import random
from pathlib import Path

import nltk
import pytest

from celadon.core import InputError, UsageError
from celadon.parsing import Failure, Reason
from celadon.parsing.brackets import Tree, parse_trees
from celadon.parsing.chart import FRAGMENT_PENALTY
from celadon.parsing.chart_parser import MAX_WORDS, ChartParse, ChartParser, chart_parser
from celadon.parsing.stanford_grammar import read_stanford_grammar, signature
from tests.conftest import DATA
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


TEXT = r"""BEGIN OPTIONS
numStates 8
smoothInUnknownsThreshold 5

BEGIN LEXICON
"DT^NP" -> "the" SEEN 6.0
"NN^NP" -> "cat" SEEN 3.0
"NN^NP" -> "run" SEEN 1.0
"VB^VP" -> "run" SEEN 2.0
"VB^VP" -> "and\\/or" SEEN 1.0
".$$." -> ".$." SEEN 7.0
"DT^NP" -> ".*." SEEN 6.0
"NN^NP" -> ".*." SEEN 4.0
"VB^VP" -> ".*." SEEN 3.0
".$$." -> ".*." SEEN 7.0
".*." -> "the" SEEN 6.0
".*." -> "cat" SEEN 3.0
".*." -> "run" SEEN 3.0
".*." -> "and\\/or" SEEN 1.0
".*." -> ".*." SEEN 20.0
"NN^NP" -> "UNK-LCs" UNSEEN 3.0
"NN^NP" -> ".*." UNSEEN 3.0
"VB^VP" -> ".*." UNSEEN 1.0
".*." -> "UNK-LCs" UNSEEN 3.0
".*." -> ".*." UNSEEN 4.0
smooth[0] = 1.0
smooth[1] = 0.2

BEGIN UNARY_GRAMMAR
"VP^S" -> "VB^VP" -0.5
"@S| NP" -> "VP^S" -0.25

BEGIN BINARY_GRAMMAR
"ROOT" -> "S^ROOT" ".$$." -0.125
"S^ROOT" -> "NP^S" "@S| NP" 0.0625
"NP^S" -> "DT^NP" "NN^NP" -1.0

BEGIN DEPENDENCY_GRAMMAR

"""
RULES = -0.125 + 0.0625 - 0.25 - 0.5 - 1.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "grammar.txt"
    path.write_text(TEXT)
    return path


def only(parser: ChartParser, sentence: str) -> ChartParse:
    [found] = parser.parse([sentence])
    assert isinstance(found, ChartParse)
    return found


def test_words_seen_often_seldom_and_never(file: Path) -> None:
    parser = chart_parser(str(file))
    the = math.log(6 / 6)
    cat = math.log((3 + 0.2 * 3 / 4) / 3.2 * 3 / 4)
    run = math.log((2 + 0.2 * 1 / 4) / 3.2 * 3 / 3)
    found = only(parser, "the cat run")
    assert found.logprob == pytest.approx(RULES + the + cat + run)
    assert found.tree == "(TOP (S (NP (DT the) (NN cat)) (VP (VB run))))"
    assert found.exact
    # a new word of the look of UNK-LCs: (3 + 1 x 3/4) / (3 + 1) of 1 / 4
    dogs = math.log((3 + 3 / 4) / 4 * 1 / 4)
    assert only(parser, "the dogs run").logprob == pytest.approx(RULES + the + dogs + run)


def test_escapes_and_fragments(file: Path) -> None:
    parser = chart_parser(str(file))
    assert only(parser, "the cat and/or").tree.endswith("(VP (VB and/or))))")
    cover = only(parser, "cat the the cat")
    assert cover.fragments == 3
    assert cover.tree == "(TOP (NN cat) (DT the) (NP (DT the) (NN cat)))"


@pytest.mark.parametrize(
    ("word", "first", "name"),
    [
        ("dogs", False, "UNK-LCs"),
        ("Dogs", True, "UNK-INITs"),
        ("Dogs", False, "UNK-UCs"),
        ("DOGS", False, "UNK-ALLCs"),
        ("well-read", False, "UNK-LC-DASHd"),
        ("42", False, "UNK-NUM"),
        ("4.2", False, "UNK-DIG"),
        ("B-52", False, "UNK-ALLC-DASH-DIG"),
        ("of", False, "UNK-LC"),
        ("+", False, "UNK"),
    ],
)
def test_signatures(word: str, first: bool, name: str) -> None:
    assert signature(word, first) == name


def test_compressed_is_the_same_and_damage_is_refused(file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "grammar.txt.xz"
    packed.write_bytes(lzma.compress(TEXT.encode()))
    assert read_stanford_grammar(packed)[1] == read_stanford_grammar(file)[1]
    for name, raw in {
        "cut.xz": packed.read_bytes()[:60],
        "other.txt": b"no grammar",
        "rule.txt": TEXT.replace('"ROOT" -> "S^ROOT"', '"ROOT" "S^ROOT"').encode(),
    }.items():
        bad = tmp_path / name
        bad.write_bytes(raw)
        with pytest.raises(InputError, match=name):
            read_stanford_grammar(bad)


def test_the_real_grammar() -> None:
    folder = DATA / "grammars"
    path = folder / "stanford-englishPCFG-2011.txt.xz"
    if not path.is_file():
        pytest.skip(f"no grammar of the Stanford parser at {folder}; set CELADON_DATA to the folder that holds it")
    found = only(chart_parser(str(path)), "The committee approved the new budget.")
    assert found.tree == (
        "(TOP (S (NP (DT The) (NN committee)) (VP (VBD approved) (NP (DT the) (JJ new) (NN budget))) (. .)))"
    )
