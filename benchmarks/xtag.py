"""What XTAG's attachment sites do to FERGUS: coverage, the six metrics, and the orders that are permitted.

    python benchmarks/xtag.py --treebank TREEBANK --model FOLDER --grammar xtag:PATH --held-out LIST
    python benchmarks/xtag.py --treebank TREEBANK --model FOLDER --grammar xtag:PATH --held-out LIST --develop
    python benchmarks/xtag.py --treebank DEV.conllu --model FOLDER --grammar xtag:PATH [--count N | --coverage]

With a list, the sentences that it names, or with --develop those that were kept apart to choose by; without, the whole
treebank, or N sentences of at most 24 words. --coverage counts words and attachments only.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from fergus import figures, names_of, show

from celadon.realize.fergus import Fergus, Realized
from celadon.realize.model_files import open_realizer
from celadon.realize.trees import Arranged
from celadon.realize.xtag_sites import Coverage, XtagSites, open_sites
from celadon.train.realizer.trees import TreebankTree, arrange_derivation, part_trees, read_derivations


def permitted(arranged: Sequence[Arranged], made: Sequence[Realized]) -> list[bool]:
    """For each word with daughters whether its lattice has the true order."""
    found = []
    for (tree, origin), result in zip(((each.tree, each.origin) for each in arranged), made, strict=True):
        for word, daughters in enumerate(tree.daughters):
            if daughters:
                items = [word, *daughters]
                order = sorted(range(len(items)), key=lambda item: origin[items[item]])
                found.append(result.lattice.treelets[word].permits(_first_of_equals(order, items, tree.kinds)))
    return found


def _first_of_equals(order: Sequence[int], items: Sequence[int], kinds: Sequence[int]) -> list[int]:
    """The order with equal subtrees in the order of their numbers, for the lattice has only that one."""
    used: Counter[int] = Counter()
    found = []
    for item in order:
        kind = kinds[items[item]] if item else -1
        same = [each for each in range(1, len(items)) if kinds[items[each]] == kind] if item else [0]
        found.append(same[used[kind]])
        used[kind] += 1
    return found


def compare(fergus: Fergus, sites: XtagSites, trees: Sequence[TreebankTree]) -> None:
    """The metrics without and with XTAG."""
    arranged = [arrange_derivation(tree.derivation) for tree in trees]
    for name, realizer in (("supertags", fergus), ("with XTAG's sites", replace(fergus, sites=sites))):
        began = time.process_time()
        made = [realizer.realize(each.tree) for each in arranged]
        took = time.process_time() - began
        show(name, *figures(trees, [each.sentences[0].words for each in made]))
        orders = np.mean([math.log10(each.lattice.orders) for each in made])
        exact = np.mean([each.exact for each in made])
        true = np.mean(permitted(arranged, made))
        print(
            f"  treelets with the true order {true:.4f}; orders 10^{orders:.2f}; exact {exact:.2f}; "
            f"{len(trees) / took:.1f} sentences a second",
            flush=True,
        )


def coverage(fergus: Fergus, sites: XtagSites, trees: Sequence[TreebankTree]) -> Coverage:
    """What XTAG has to say of trees with the supertags that are chosen for them."""
    total = Coverage()
    for tree in trees:
        unordered = arrange_derivation(tree.derivation).tree
        total += sites.coverage(unordered, fergus.tree_chooser.choose(unordered))
    return total


def main() -> None:
    """Read, count and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--treebank", "--model", "--grammar"):
        parser.add_argument(name, required=True)
    parser.add_argument("--held-out")
    parser.add_argument("--develop", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--coverage", action="store_true")
    arguments = parser.parse_args()
    trees = read_derivations(arguments.treebank)
    if arguments.held_out:
        names = names_of(arguments.held_out)
        trees = (
            list(part_trees(trees, names).develop)
            if arguments.develop
            else [each for each in trees if each.id in names]
        )
    if arguments.count:
        short = [tree for tree in trees if 1 < len(tree.words) <= 24]
        trees = short[:: -(-len(short) // arguments.count)]
    began = time.process_time()
    sites = open_sites(arguments.grammar)
    print(f"XTAG opened in {time.process_time() - began:.2f} s; {len(trees)} sentences")
    fergus, _ = open_realizer(arguments.model)
    if not isinstance(fergus, Fergus):
        parser.error("the baseline has no supertags")
    print(coverage(fergus, sites, trees), flush=True)
    if not arguments.coverage:
        compare(fergus, sites, trees)


if __name__ == "__main__":
    main()
