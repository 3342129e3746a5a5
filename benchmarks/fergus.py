"""FERGUS beside the paper's Tables 2 and 4, its speed by length, and the size of its lattices.

    python benchmarks/fergus.py held-out --treebank TREEBANK --count 100 --output LIST
    python benchmarks/fergus.py weights --treebank TREEBANK --held-out LIST --model FOLDER --rescore smollm2
    python benchmarks/fergus.py table --treebank TREEBANK --held-out LIST --model FOLDER [--rescore smollm2]
    python benchmarks/fergus.py speed --treebank TREEBANK --held-out LIST --model FOLDER

A list names the sentences that are measured on, one a line. ``weights`` chooses the weight of re-ranking on the
development part that ``celadon train fergus`` keeps apart (the whole treebank with --all), never on the list.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from celadon.core import Tree
from celadon.models.language.language_model import language_model
from celadon.realize.fergus import Realizer
from celadon.realize.lp_chooser import Beam, Sentence, rescore
from celadon.realize.model_files import open_realizer
from celadon.scoring.api import score
from celadon.synth.tokens import capitalised, text_of
from celadon.train.realizer.trees import (
    TreebankTree,
    arrange_derivation,
    held_out_names,
    part_trees,
    read_derivations,
)

METRICS = (
    "simple_string_accuracy",
    "generation_string_accuracy",
    "simple_tree_accuracy",
    "generation_tree_accuracy",
    "understandability_accuracy",
    "quality_accuracy",
)
PAPER = {
    "the paper's baseline": (0.41, 0.56, 0.41, 0.63, -0.08, -0.12),
    "the paper's supertags": (0.58, 0.72, 0.65, 0.76, 0.44, 0.42),
}
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0)
LENGTHS = ((2, 5), (6, 10), (11, 15), (16, 24), (25, 40), (41, 80))


def reference_tree(tree: TreebankTree) -> Tree:
    """The tree over the words in their order."""
    arranged = arrange_derivation(tree.derivation)
    heads = [-1] * len(tree.words)
    for word, mother in enumerate(arranged.tree.mothers):
        heads[arranged.origin[word]] = arranged.origin[mother] if mother >= 0 else -1
    return Tree(tuple(tree.words), tuple(heads))


def realized(realizer: Realizer, trees: Sequence[TreebankTree], best: int = 1) -> list[tuple[Sentence, ...]]:
    """The best sentences of each tree."""
    beam = Beam(max(128, best), best)
    return [realizer.realize(arrange_derivation(tree.derivation).tree, beam).sentences for tree in trees]


def written(words: Sequence[str]) -> str:
    """A sentence as a neural model reads it."""
    return text_of((*capitalised(words), "."))


def figures(trees: Sequence[TreebankTree], made: Sequence[Sequence[str]]) -> tuple[list[float], float]:
    """The six metrics' means, and the share of the sentences that are perfect."""
    references = [" ".join(tree.words) for tree in trees]
    outputs = [" ".join(words) for words in made]
    metrics = [f"{name}[words=whitespace]" for name in METRICS]
    scores = score(outputs, references=references, metrics=metrics, trees=[[reference_tree(tree)] for tree in trees])
    means = [float(np.mean(scores.columns[metric].values)) for metric in metrics]
    return means, float(np.mean([one == other for one, other in zip(outputs, references, strict=True)]))


def show(name: str, means: Sequence[float], perfect: float | None = None) -> None:
    """One line of the table."""
    cells = " | ".join(f"{value:.2f}" if perfect is None else f"{value:.3f}" for value in means)
    print(f"| {name} | {cells} | {'' if perfect is None else f'{100 * perfect:.0f} %'} |", flush=True)


def table(arguments: argparse.Namespace) -> None:
    """Tables 2 and 4."""
    trees = chosen_trees(arguments)
    lengths = [len(tree.words) for tree in trees]
    print(f"{len(trees)} sentences, {np.mean(lengths):.1f} words on average, the longest {max(lengths)}")
    print(f"| | {' | '.join(name.replace('_accuracy', '').replace('_', ' ') for name in METRICS)} | perfect |")
    print("|---|" + "---|" * (len(METRICS) + 1))
    for name, row in PAPER.items():
        show(name, row)
    rows: dict[str, list[str]] = {}
    baseline, _ = open_realizer(f"baseline:{arguments.model}")
    fergus, _ = open_realizer(arguments.model)
    for name, realizer in (("baseline", baseline), ("supertags", fergus)):
        made = [sentences[0].words for sentences in realized(realizer, trees)]
        show(name, *figures(trees, made))
        rows[name] = [" ".join(words) for words in made]
    if arguments.rescore:
        found = realized(fergus, trees, arguments.candidates)
        model, weight = language_model(arguments.rescore), fergus.settings.rescore_weight
        made = [sentences[0].words for sentences in rescore(found, model, weight, written)]
        show(f"supertags, re-ranked with {arguments.rescore}", *figures(trees, made))
        rows["re-ranked"] = [" ".join(words) for words in made]
        there = [any(list(each.words) == tree.words for each in some) for some, tree in zip(found, trees, strict=True)]
        print(f"the true sentence is among the {arguments.candidates} best: {np.mean(there):.3f}")
    if arguments.rows:
        rows["reference"] = [" ".join(tree.words) for tree in trees]
        Path(arguments.rows).write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def weights(arguments: argparse.Namespace) -> None:
    """The weight of re-ranking, on development trees."""
    trees = read_derivations(arguments.treebank)
    develop = trees if arguments.all else part_trees(trees, names_of(arguments.held_out)).develop
    short = [tree for tree in develop if 1 < len(tree.words) <= 24]
    short = short[:: -(-len(short) // arguments.count)]
    fergus, _ = open_realizer(arguments.model)
    found = realized(fergus, short, arguments.candidates)
    model = language_model(arguments.rescore)
    print(f"{len(short)} development sentences")
    # scored once: a weight of 1 adds the whole log-probability
    scored = [
        dict(_logprobs(some, again)) for some, again in zip(found, rescore(found, model, 1.0, written), strict=True)
    ]
    for weight in WEIGHTS:
        made = [
            max(some, key=lambda each: each.score + weight * logs[each.words]).words
            for some, logs in zip(found, scored, strict=True)
        ]
        show(f"weight {weight:g}", *figures(short, made))


def _logprobs(some: Sequence[Sentence], again: Sequence[Sentence]) -> list[tuple[tuple[str, ...], float]]:
    before = {each.words: each.score for each in some}
    return [(each.words, each.score - before[each.words]) for each in again]


def speed(arguments: argparse.Namespace) -> None:
    """Sentences a second by length, and the size of the lattice against the orders it encodes."""
    trees = read_derivations(arguments.treebank)
    if arguments.held_out:
        trees = part_trees(trees, names_of(arguments.held_out)).develop
    fergus, _ = open_realizer(arguments.model)
    print("| words | sentences | a second | exact | states | arcs | orders, geometric mean | most orders |")
    print("|---|---|---|---|---|---|---|---|")
    for least, most in LENGTHS:
        some = [tree for tree in trees if least <= len(tree.words) <= most][: arguments.count]
        if not some:
            continue
        arranged = [arrange_derivation(tree.derivation).tree for tree in some]
        # what is looked up once for all sentences is not timed
        made = [fergus.realize(tree) for tree in arranged]
        began = time.process_time()
        made = [fergus.realize(tree) for tree in arranged]
        took = time.process_time() - began
        orders = [each.lattice.orders for each in made]
        states = np.mean([each.lattice.states for each in made])
        arcs = np.mean([each.lattice.arcs for each in made])
        exact = np.mean([each.exact for each in made])
        middle = 10 ** np.mean([len(str(number)) - 1 + np.log10(float(str(number)[0])) for number in orders])
        print(
            f"| {least}-{most} | {len(some)} | {len(some) / took:.1f} | {100 * exact:.0f} % | {states:.0f} | "
            f"{arcs:.0f} | {middle:.3g} | {float(max(orders)):.3g} |",
            flush=True,
        )


def names_of(path: str) -> list[str]:
    """The names of a list."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith("#")]


def chosen_trees(arguments: argparse.Namespace) -> list[TreebankTree]:
    """The trees that a list names."""
    names = set(names_of(arguments.held_out))
    return [tree for tree in read_derivations(arguments.treebank) if tree.id in names]


def held_out(arguments: argparse.Namespace) -> None:
    """Choose sentences to measure on."""
    names = held_out_names(read_derivations(arguments.treebank), arguments.count, 24, arguments.seed)
    Path(arguments.output).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("held-out", "weights", "table", "speed"))
    parser.add_argument("--treebank", required=True)
    parser.add_argument("--held-out")
    parser.add_argument("--model", default="builtin-fergus")
    parser.add_argument("--rescore")
    parser.add_argument("--candidates", type=int, default=30)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2000, help="of held-out")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--rows")
    parser.add_argument("--output")
    arguments = parser.parse_args()
    {"held-out": held_out, "weights": weights, "table": table, "speed": speed}[arguments.part](arguments)


if __name__ == "__main__":
    main()
