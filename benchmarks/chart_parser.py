"""The chart parser: labelled F1 on files kept apart, speed beside NLTK's ViterbiParser on the same grammar, memory.

Brackets are counted here, on NLTK's trees, by the custom of EVALB; nothing of celadon's own count is used. The files
measured on are those that ``celadon train parser`` kept apart to the end. Processor time of one thread.
"""

from __future__ import annotations

import argparse
import math
import time
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nltk

from celadon.parsing.brackets import Tree, plain, read_treebank
from celadon.parsing.chart_parser import MARGIN, ChartParse, ChartParser, chart_parser
from celadon.parsing.grammar import Grammar
from celadon.train.parsers.grammar import part, prepared
from celadon.train.parsers.trees import by_document

DROPPED = {",", ":", "``", "''", "."}
LENGTH = 24


def brackets(tree: Any, kept: Sequence[bool]) -> Counter[tuple[str, int, int]]:
    """Labelled spans of a tree over the words that count."""
    for at, place in enumerate(tree.treepositions("leaves")):
        tree[place] = at
    found: Counter[tuple[str, int, int]] = Counter()
    for sub in tree.subtrees(lambda sub: sub.height() > 2 and sub.label() != "TOP"):
        leaves = [leaf for leaf in sub.leaves() if kept[leaf]]
        if leaves:
            label = sub.label().split("-")[0]
            found["ADVP" if label == "PRT" else label, leaves[0], leaves[-1]] += 1
    return found


def accuracy(parser: ChartParser, gold: Sequence[Tree], what: str) -> list[ChartParse]:
    matched = in_gold = in_found = whole = broken = tags = words = 0
    parses = []
    began = time.thread_time()
    for tree in gold:
        found = parser.parse_words(tree.words())
        assert isinstance(found, ChartParse), found
        parses.append(found)
    taken = time.thread_time() - began
    for tree, found in zip(gold, parses, strict=True):
        right, ours = nltk.Tree.fromstring(str(tree)), nltk.Tree.fromstring(found.tree)
        kept = [tag not in DROPPED for _, tag in right.pos()]
        tags += sum(a == b for (_, a), (_, b) in zip(right.pos(), ours.pos(), strict=True))
        words += len(kept)
        ours_in, right_in = brackets(ours, kept), brackets(right, kept)
        matched += (ours_in & right_in).total()
        in_gold += right_in.total()
        in_found += ours_in.total()
        whole += ours_in == right_in
        broken += found.fragments > 1
    f1, precision, recall = 2 * matched / (in_gold + in_found), matched / in_found, matched / in_gold
    print(
        f"{what:<22}{100 * f1:>7.2f}{100 * precision:>8.2f}{100 * recall:>8.2f}{100 * whole / len(gold):>8.1f}"
        f"{100 * tags / words:>8.1f}{broken:>8}{len(gold):>7}{1000 * taken / len(gold):>9.1f}",
        flush=True,
    )
    return parses


class AllRules:
    """A grammar of ours, with the words of one sentence, as far as NLTK's parser looks at it."""

    def __init__(self, grammar: Grammar, words: Sequence[str]) -> None:
        symbols = [nltk.Nonterminal(name) for name in grammar.states]
        arrays = grammar.rules.arrays
        self._start = symbols[grammar.rules.root]
        rules = [((*rule,), score) for rule, score in zip(grammar.rules.binary, arrays.score, strict=True)]
        rules += [((*rule,), score) for rule, score in zip(grammar.rules.unary, arrays.unary_score, strict=True)]
        self._productions = [
            nltk.ProbabilisticProduction(symbols[rule[0]], [symbols[child] for child in rule[1:]], prob=math.exp(score))
            for rule, score in rules
        ]
        # a word counts differently where it stands first, so words are told apart by their places
        for at, tagging in enumerate(grammar.lexicon.taggings(words)):
            self._productions += [
                nltk.ProbabilisticProduction(symbols[state], [f"{at}:{words[at]}"], prob=math.exp(score))
                for state, score in zip(tagging.states, tagging.scores, strict=True)
            ]

    def start(self) -> Any:
        return self._start

    def productions(self) -> list[Any]:
        return self._productions

    def check_coverage(self, tokens: Sequence[str]) -> None:
        pass


def beside_nltk(grammar: Grammar, sentences: Sequence[list[str]], few: int) -> None:
    exact, pruned = ChartParser(grammar), ChartParser(grammar, margin=MARGIN)
    speeds = {}
    for name, parser in (("exact", exact), ("pruned", pruned)):
        parser.parse_words(sentences[0])
        began = time.thread_time()
        for words in sentences:
            parser.parse_words(words)
        speeds[name] = len(sentences) / (time.thread_time() - began)
        print(f"celadon, {name}: {speeds[name]:.1f} sentences of {LENGTH} words a second ({len(sentences)} sentences)")
    taken = 0.0
    for words in sentences[:few]:
        rules: Any = AllRules(grammar, words)
        theirs, places = nltk.ViterbiParser(rules, max_time=None), [f"{at}:{word}" for at, word in enumerate(words)]
        began = time.thread_time()
        best = next(iter(theirs.parse(places)))
        taken += time.thread_time() - began
        ours = exact.parse_words(words)
        assert isinstance(ours, ChartParse)
        print(f"log-probability: celadon {ours.logprob:.9f}, NLTK {math.log(best.prob()):.9f}", flush=True)
    if few:
        speed = few / taken
        print(f"NLTK ViterbiParser: {speed:.4f} a second ({few} sentences)")
        print(f"ratio: exact {speeds['exact'] / speed:,.0f}, pruned {speeds['pruned'] / speed:,.0f}")


def memory(grammar: Grammar, words: Sequence[str]) -> None:
    print(f"{'words':>6}{'pruning':>9}{'seconds':>9}{'MB':>7}")
    for length in (LENGTH, 60, 120, 250):
        sentence = (list(words) * (250 // len(words) + 1))[:length]
        for name, margin in (("none", None), ("margin", MARGIN)):
            parser = ChartParser(grammar, margin=margin, time_limit=300)
            began = time.thread_time()
            parser.parse_words(sentence)
            taken = time.thread_time() - began
            tracemalloc.start()
            parser.parse_words(sentence)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            print(f"{length:>6}{name:>9}{taken:>9.2f}{peak / 1e6:>7.0f}", flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    asked.add_argument("treebank", type=Path)
    asked.add_argument("--grammar", default="builtin")
    asked.add_argument("--documents", help="as celadon train parser was told")
    asked.add_argument("--every", type=int, default=10, help="as celadon train parser was told")
    asked.add_argument("--nltk", type=int, default=2, metavar="N", help="sentences that NLTK parses: minutes each")
    asked.add_argument("--accuracy", action="store_true", help="labelled F1 of exact trees only")
    given = asked.parse_args()
    began = time.process_time()
    parser = chart_parser(given.grammar)
    print(f"loaded in {time.process_time() - began:.2f} s")
    grammar, files = parser.grammar, read_treebank(given.treebank)
    files = by_document(files, given.documents) if given.documents else files
    test = [tree for tree in map(plain, part(files, given.every).test) if tree is not None]
    print(f"{'':<22}{'F1':>7}{'prec':>8}{'recall':>8}{'whole':>8}{'tags':>8}{'broken':>8}{'n':>7}{'ms each':>9}")
    all_ = accuracy(parser, test, "exact")
    if given.accuracy:
        return
    few = accuracy(ChartParser(grammar, margin=MARGIN), test, "pruned")
    accuracy(parser, [tree for tree in test if len(tree.words()) <= 40], "exact, to 40 words")
    same = sum(a.logprob >= b.logprob - 1e-9 for a, b in zip(few, all_, strict=True))
    print(f"pruning keeps the best tree of {same} of {len(few)} sentences")
    every = [tree for file in files for tree in map(prepared, file.trees) if tree]
    sentences = [tree.words() for tree in every if len(tree.words()) == LENGTH]
    beside_nltk(grammar, sentences, given.nltk)
    memory(grammar, max((tree.words() for tree in test), key=len))


if __name__ == "__main__":
    main()
