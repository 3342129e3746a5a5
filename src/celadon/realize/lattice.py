"""The lattice of a whole tree, and the sentences found in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from celadon.realize.lp_chooser import Beam, PathChooser
from celadon.realize.order_model import TreeletScores
from celadon.realize.trees import WordTree
from celadon.realize.trigrams import Trigrams
from celadon.realize.unraveler import HEAD, Arc, TreeletLattice

LEAF = TreeletLattice((0, 1), ((Arc(HEAD, 1),), ()))
"""The lattice of a word without daughters."""

LEAF_SCORES = TreeletScores(np.zeros((1, 1)), np.zeros((2, 2)))


@dataclass(frozen=True)
class Lattice:
    """The lattice of a tree: that of each word with its daughters, in which a subtree is one arc.

    Attributes
    ----------
    treelets
        For each word its lattice.
    scores
        For each word what speaks for the orders of its treelet.
    """

    treelets: tuple[TreeletLattice, ...]
    scores: tuple[TreeletScores, ...]

    @property
    def states(self) -> int:
        """The states of all treelets."""
        return sum(len(each.masks) for each in self.treelets)

    @property
    def arcs(self) -> int:
        """The arcs of all treelets."""
        return sum(len(arcs) for each in self.treelets for arcs in each.arcs)

    @property
    def orders(self) -> int:
        """How many orders of the words the lattice encodes."""
        total = 1
        for each in self.treelets:
            total *= each.orders
        return total

    @property
    def exact(self) -> bool:
        """Whether no state was left out."""
        return all(each.exact for each in self.treelets)


@dataclass(frozen=True)
class Sentence:
    """A sentence that was made.

    Attributes
    ----------
    order
        The numbers of the tree's words in their order.
    words
        The words.
    score
        Its score; higher is better.
    """

    order: tuple[int, ...]
    words: tuple[str, ...]
    score: float


@dataclass(frozen=True)
class Found:
    """The best sentences, the best first, and whether they are sure to be the best that the lattice has."""

    sentences: tuple[Sentence, ...]
    exact: bool


def best_sentences(tree: WordTree, lattice: Lattice, trigrams: Trigrams, weight: float, beam: Beam) -> Found:
    """Find the best sentences of a lattice.

    Parameters
    ----------
    tree, lattice
        The tree and its lattice.
    trigrams, weight
        The language model, and its weight against the scores of the lattice.
    beam
        How many sentences are wanted, and how much is kept on the way.
    """
    table = trigrams.table(sorted(set(tree.words))) * np.float32(weight)
    chooser = PathChooser(tree, lattice.treelets, lattice.scores, table, beam)
    sentences: dict[tuple[str, ...], Sentence] = {}
    for path in chooser.paths():
        words = tuple(tree.words[word] for word in path.order)
        sentences.setdefault(words, Sentence(path.order, words, path.score))
        if len(sentences) == beam.best:
            break
    return Found(tuple(sentences.values()), lattice.exact and chooser.exact)
