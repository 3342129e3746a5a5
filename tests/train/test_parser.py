"""Grammars of small treebanks made here: rules against NLTK's, F1 against brackets counted on NLTK's trees."""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
from collections import Counter
from pathlib import Path

import nltk
import numpy as np
import pytest

from celadon.cli.train import treebanks as command
from celadon.core import InputError, UsageError
from celadon.parsing import Failure
from celadon.parsing.brackets import Tree, TreebankFile, parse_trees, read_treebank
from celadon.parsing.chart_parser import ChartParse, ChartParser, chart_parser
from celadon.parsing.grammar_files import load_grammar, save_grammar
from celadon.parsing.lexicon import CountedLexicon
from celadon.train.parsers.grammar import JOINING, ROOT, SPLITS, ParserRecipe, estimate, part, prepared
from celadon.train.parsers.training import compare_trees, measure
from celadon.train.parsers.trees import read_tagged
from tests.parsing.small_grammars import need_compiler

NOUNS = "cat dog fish bird house garden tree river".split()
VERBS = "sees eats finds likes".split()
PLACES = "in near behind".split()


@pytest.fixture(scope="module", autouse=True)
def compiler() -> None:
    need_compiler()


def noun_phrase(rng: random.Random, role: str = "") -> str:
    phrase = f"(DT the) (NN {rng.choice(NOUNS)})"
    if rng.random() < 0.3:
        phrase = f"(DT a) (JJ big) (NN {rng.choice(NOUNS)})"
    if rng.random() < 0.3:
        return f"(NP{role} (NP {phrase}) {prepositional(rng)})"
    return f"(NP{role} {phrase})"


def prepositional(rng: random.Random) -> str:
    return f"(PP-LOC (IN {rng.choice(PLACES)}) {noun_phrase(rng)})"


def sentence(rng: random.Random) -> str:
    # where a prepositional phrase belongs cannot be told for sure, so no parser is always right
    beside = prepositional(rng) if rng.random() < 0.4 else ""
    verb_phrase = f"(VP (VBZ {rng.choice(VERBS)}) {noun_phrase(rng)} {beside})"
    if rng.random() < 0.3:
        verb_phrase = (
            f"(VP (VBZ {rng.choice(VERBS)}) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB eat) {noun_phrase(rng)}))))"
        )
    return f"( (S {noun_phrase(rng, '-SBJ-1')} {verb_phrase} (. .)))"


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bank")
    rng = random.Random(1)
    for number in range(12):
        (folder / f"file_{number:02}.mrg").write_text("\n".join(sentence(rng) for _ in range(8)))
    return folder


@pytest.fixture(scope="module")
def trees(treebank: Path) -> list[Tree]:
    return [tree for file in read_treebank(treebank) for tree in map(prepared, file.trees) if tree is not None]


def test_rules_without_annotations_are_those_of_nltk(trees: list[Tree]) -> None:
    few = [narrow(tree) for tree in trees]
    grammar = estimate(few, ParserRecipe(1, 0, ()))
    theirs = nltk.induce_pcfg(
        nltk.Nonterminal("S"),
        [p for tree in few for p in nltk.Tree.fromstring(str(tree)).productions() if not p.is_lexical()],
    )
    expected = {(str(p.lhs()), *map(str, p.rhs())): p.prob() for p in theirs.productions()}
    found = {}
    for rules, scores in (
        (grammar.rules.binary, grammar.rules.arrays.score),
        (grammar.rules.unary, grammar.rules.arrays.unary_score),
    ):
        for rule, score in zip(rules, scores, strict=True):
            found[tuple(grammar.states[state] for state in rule)] = math.exp(score)
    assert found.pop((ROOT, "S")) == pytest.approx(1.0)
    assert found == pytest.approx(expected)


def narrow(tree: Tree) -> Tree:
    """A tree of which each node keeps its first two children, by its plain label."""
    return Tree(tree.label.split("-")[0], tuple(narrow(child) for child in tree.children[:2]), tree.word)


@pytest.mark.parametrize("recipe", [ParserRecipe(1, 0, ()), ParserRecipe(2, 1, ()), ParserRecipe(3, 2, tuple(SPLITS))])
def test_probabilities_add_up(trees: list[Tree], recipe: ParserRecipe) -> None:
    grammar = estimate(trees, recipe)
    assert grammar.coarse is not None
    for rules in (grammar.rules, grammar.coarse):
        parents = np.concatenate([rules.binary[:, 0], rules.unary[:, 0]])
        scores = np.concatenate([rules.arrays.score, rules.arrays.unary_score])
        sums = np.bincount(parents, weights=np.exp(scores), minlength=rules.states)
        assert sums[np.unique(parents)] == pytest.approx(1.0)
    assert all(
        bool(label) != name.startswith(JOINING) for name, label in zip(grammar.states, grammar.labels, strict=True)
    )


def test_annotations_tell_what_they_should() -> None:
    text = "(S (NP (NP (NNP Ann)) (POS 's)) (VP (VBD was) (VP (VBN seen) (NP-TMP (RB today)))) (. .))"
    grammar = estimate(
        [next(parse_trees(text))], ParserRecipe(2, 1, ("tags", "aux", "verb", "tmp", "possessive", "base"))
    )
    assert {state for state in grammar.states if not state.startswith(JOINING)} == {
        ROOT, "S^TOP", "NP^S-POS", "NP^NP-B", "NNP^NP", "POS^NP", "VP^S-VBF", "VBD^VP-BE", "VP^VP-VBN", "VBN^VP",
        "NP^VP-TMP-B", "RB^NP", ".^S",
    }  # fmt: skip


def test_pruning_loses_little_and_only_probability(trees: list[Tree]) -> None:
    grammar = estimate(trees, ParserRecipe(2, 1, ("tags",)))
    exact, pruned = ChartParser(grammar, margin=None), ChartParser(grammar, margin=3.0)
    same = 0
    for tree in trees[:40]:
        best, found = exact.parse_words(tree.words()), pruned.parse_words(tree.words())
        assert isinstance(best, ChartParse)
        assert isinstance(found, ChartParse)
        assert best.exact
        assert not found.exact
        assert found.logprob <= best.logprob + 1e-9
        same += found.tree == best.tree
    assert same >= 38


def test_new_words_go_by_their_look(trees: list[Tree]) -> None:
    parser = ChartParser(estimate(trees, ParserRecipe()))
    found = parser.parse(["The zebra sees a blorby garden."])[0]
    assert isinstance(found, ChartParse)
    assert "(NN zebra)" in found.tree
    assert found.words[1] == (4, 9)


TAGGED = [
    [Tree("DT", (), "The"), Tree("NN", (), "zebra"), Tree("VBZ", (), "blorks"), Tree("XX", (), "hm")],
    [Tree("NN", (), "zebra"), Tree("DT", (), "the"), Tree("IN", (), "zebra")],
]


def test_tagged_sentences_add_to_the_lexicon_alone(trees: list[Tree]) -> None:
    recipe = ParserRecipe()
    before, after = estimate(trees, recipe), estimate(trees, recipe, TAGGED)
    assert after.states == before.states
    np.testing.assert_array_equal(after.rules.binary, before.rules.binary)
    np.testing.assert_array_equal(after.rules.arrays.score, before.rules.arrays.score)
    old, new = before.lexicon, after.lexicon
    assert isinstance(old, CountedLexicon)
    assert isinstance(new, CountedLexicon)
    labels = np.array([before.labels[tag] for tag in old.tags])
    added = {
        word: {
            str(label): round(float(new.words.row(word, len(labels))[labels == label].sum()), 3)
            for label in np.unique(labels)
            if new.words.row(word, len(labels))[labels == label].any()
        }
        for word in ("zebra", "blorks", "hm")
    }
    assert added == {"zebra": {"NN": 2.0, "IN": 1.0}, "blorks": {"VBZ": 1.0}, "hm": {}}
    # six occurrences more, of words with tags that the trees have
    assert new.words.count.sum() == pytest.approx(old.words.count.sum() + 6)
    # what is known of a word's finer tags stays as it was
    for lexicon in (old, new):
        row = lexicon.words.row("the", len(labels))
        assert row[labels == "DT"].sum() == row.sum()
    parsed = ChartParser(after).parse(["The zebra blorks a garden."])[0]
    assert isinstance(parsed, ChartParse)
    assert "(VBZ blorks)" in parsed.tree


def evalb(gold: str, found: str) -> tuple[int, int, int]:
    """Matched, gold and found brackets, on NLTK's trees."""
    sets = []
    truth = nltk.Tree.fromstring(gold)
    dropped = {at for at, (_, tag) in enumerate(truth.pos()) if tag in {",", ":", "``", "''", "."}}
    for tree in (truth, nltk.Tree.fromstring(found)):
        for at, place in enumerate(tree.treepositions("leaves")):
            tree[place] = at
        spans = [(sub.label().split("-")[0], [leaf for leaf in sub.leaves() if leaf not in dropped]) for sub in
                 tree.subtrees(lambda sub: sub.height() > 2)]  # fmt: skip
        sets.append(Counter((label, leaves[0], leaves[-1]) for label, leaves in spans if leaves and label != "TOP"))
    return (sets[0] & sets[1]).total(), sets[0].total(), sets[1].total()


def test_f1_is_that_of_brackets_counted_otherwise(trees: list[Tree]) -> None:
    grammar = estimate(trees[:20], ParserRecipe(1, 0, ()))
    parser, total = ChartParser(grammar), np.zeros(3)
    for tree in trees[20:60]:
        parsed = parser.parse_words(tree.words())
        assert not isinstance(parsed, Failure)
        counted = evalb(str(tree), parsed.tree)
        ours = compare_trees(tree, next(parse_trees(parsed.tree)))
        assert (ours.matched, ours.gold, ours.found) == counted
        total += counted
    scores = measure(grammar, trees[20:60])
    assert scores.f1 == pytest.approx(2 * total[0] / (total[1] + total[2]))
    assert 0.6 < scores.f1 < 1.0


def test_files_are_dealt_out_whole(trees: list[Tree]) -> None:
    files = [TreebankFile(str(number), (trees[number], trees[number + 20])) for number in range(20)]
    parts = part(files, 10)
    assert [tree.words() for tree in parts.develop] == [trees[number].words() for number in (4, 24, 14, 34)]
    assert [tree.words() for tree in parts.test] == [trees[number].words() for number in (9, 29, 19, 39)]
    assert len(parts.train) == 32
    alone = part([TreebankFile("one", tuple(trees[:30]))], 10)
    assert [len(each) for each in alone] == [24, 3, 3]
    with pytest.raises(InputError, match="at least 10"):
        part([TreebankFile("few", tuple(trees[:9]))], 10)


def run(*given: str) -> int:
    top = argparse.ArgumentParser()
    command.add_parsers(top.add_subparsers())
    arguments = top.parse_args(["parser", *given])
    code: int = arguments.run(arguments)
    return code


@pytest.fixture(scope="module")
def folder(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made") / "grammar"
    options = "--vertical 2 --horizontal 1 --splits tags,verb --every 6".split()
    assert run(str(treebank), "--output", str(made), *options, "--about", "Made here; free.") == 0
    return made


def test_a_folder_gives_the_same_parses(folder: Path, treebank: Path, trees: list[Tree]) -> None:
    parts = part(read_treebank(treebank), 6)
    before = ChartParser(estimate([*parts.train, *parts.develop], ParserRecipe(2, 1, ("tags", "verb"))))
    after = chart_parser(str(folder))
    for tree in trees[:15]:
        assert after.parse_words(tree.words()) == before.parse_words(tree.words())
    card = (folder / "card.md").read_text()
    assert f"F1 {100 * measure(after.grammar, parts.test).f1:.2f} %" in card
    assert "Made here; free." in card
    assert "celadon train parser" in card
    assert {"grammar", "pruning"} == set(after.facts)


def test_recipes_are_chosen_by_files_kept_apart(
    treebank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(treebank), "--output", str(tmp_path / "chosen"), "--every", "4") == 0
    shown = capsys.readouterr().out
    tried = [line for line in shown.splitlines() if line.startswith("- v=")]
    best = max(tried, key=lambda line: float(line.split("F1 ")[1].split(" ")[0]))
    assert len(tried) > 3
    assert best[2:].split(":")[0] in shown.splitlines()[0]


def test_the_same_files_every_time(folder: Path, tmp_path: Path) -> None:
    save_grammar(tmp_path, load_grammar(folder))
    for name in ("model.json", "words.txt", "looks.txt"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    with np.load(tmp_path / "grammar.npz") as new, np.load(folder / "grammar.npz") as old:
        assert all(np.array_equal(new[name], old[name]) for name in old.files)


def test_a_compressed_treebank_is_dealt_out_by_documents(tmp_path: Path) -> None:
    rng = random.Random(2)
    documents = [[sentence(rng) for _ in range(6)] for _ in range(8)]
    text = "\n\n".join(f"(ROOT {each[1:-1].strip()})" for document in documents for each in document)
    (tmp_path / "all.ptb.xz").write_bytes(lzma.compress(text.encode()))
    rows = [
        {
            "id": f"d{number}",
            "text": " ".join(
                word for each in document for tree in parse_trees(each) for word in tree.words() if word != "*-1"
            ),
        }
        for number, document in enumerate(documents)
    ]
    table = tmp_path / "documents.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    conllu = tmp_path / "more.conllu"
    conllu.write_text("1\tzebra\t_\t_\tNN\t_\t0\troot\t_\t_\n\n")
    made = tmp_path / "grammar"
    recipe = "--vertical 1 --horizontal 0 --every 4 --splits".split()
    given = [str(tmp_path / "all.ptb.xz"), "--output", str(made), "--documents", str(table), "--tagged", str(conllu)]
    assert run(*given, *recipe, "") == 0
    card = (made / "card.md").read_text()
    assert "--documents documents.jsonl --tagged more.conllu" in card
    assert "tags of words: more.conllu" in card
    # of each four documents one to choose by and one to measure on; the grammar is counted on all but the latter
    assert "counted on: 36 trees; words with their tags on 1 further sentences" in card
    assert "12 sentences" in card
    parser = chart_parser(str(made))
    after = estimate(
        [tree for document in (0, 1, 2, 4, 5, 6) for each in documents[document]
         for tree in map(prepared, parse_trees(each)) if tree is not None],
        ParserRecipe(1, 0, ()),
        list(read_tagged([str(conllu)])),
    )  # fmt: skip
    for words in (["The", "zebra", "sees", "a", "cat", "."], ["the", "dog", "eats", "the", "fish"]):
        assert parser.parse_words(words) == ChartParser(after).parse_words(words)


@pytest.mark.parametrize("damage", ["format", "truncated", "words", "range", "missing"])
def test_a_damaged_grammar_is_refused(folder: Path, tmp_path: Path, damage: str) -> None:
    for name in ("model.json", "words.txt", "looks.txt", "grammar.npz"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    described = json.loads((tmp_path / "model.json").read_text())
    match damage:
        case "format":
            (tmp_path / "model.json").write_text('{"format": "other"}')
        case "truncated":
            (tmp_path / "grammar.npz").write_bytes((folder / "grammar.npz").read_bytes()[:500])
        case "words":
            (tmp_path / "words.txt").write_text("one\n")
        case "range":
            (tmp_path / "model.json").write_text(
                json.dumps({**described, "states": described["states"][:9], "labels": described["labels"][:9]})
            )
        case "missing":
            (tmp_path / "model.json").unlink()
    with pytest.raises(InputError):
        load_grammar(tmp_path)


@pytest.mark.parametrize(
    "options", [["--splits", "tags,nonsense"], ["--vertical", "0"], ["--horizontal", "-1"], ["--every", "2"]]
)
def test_bad_options_are_refused(treebank: Path, tmp_path: Path, options: list[str]) -> None:
    with pytest.raises(UsageError):
        run(str(treebank), "--output", str(tmp_path / "out"), *options)
    assert not (tmp_path / "out").exists()
