"""FERGUS put together: Tree Chooser, Unraveler and LP Chooser, from an unordered tree to sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Protocol

import numpy as np

from celadon.parsing.lexicon import CountTable
from celadon.realize.grammar import Tally, TreeGrammar
from celadon.realize.lp_chooser import LEAF, LEAF_SCORES, Beam, Lattice, Sentence, best_sentences
from celadon.realize.order_model import OrderModel, TreeletScores, looks_of_tree
from celadon.realize.tree_chooser import Chosen, TreeChooser
from celadon.realize.trees import WordTree, form
from celadon.realize.trigrams import Trigrams
from celadon.realize.unraveler import Band, Sites, bands_at, bands_for, bands_of, unravel_treelet


@dataclass(frozen=True)
class Settings:
    """What is chosen on development trees."""

    trigram_weight: float = 0.3  # the weight of the trigrams against the order model
    # a word's supertag beside the best one is kept for the lattice where it has at least this share
    kept_share: float = 0.02
    # the weight of a neural language model's log-probability where sentences are ranked again
    rescore_weight: float = 0.5


@dataclass(frozen=True)
class Realized:
    """What was made of a tree."""

    sentences: tuple[Sentence, ...]  # the best sentences, the best first
    exact: bool  # whether they are sure to be the best that the lattice has
    lattice: Lattice  # the orders that are permitted
    chosen: Chosen | None = None  # the supertags; None where the model has none


class Realizer(Protocol):
    """Makes sentences of trees."""

    @property
    def settings(self) -> Settings:
        """What was chosen on development trees."""
        ...

    def realize(self, tree: WordTree, beam: Beam = ...) -> Realized:
        """Make sentences of a tree."""
        ...


@dataclass(frozen=True, eq=False)
class Fergus:
    """The realizer."""

    # grammar, order_model, trigrams: what was learnt
    grammar: TreeGrammar
    order_model: OrderModel
    trigrams: Trigrams
    settings: Settings = field(default_factory=Settings)  # what was chosen on development trees
    sites: Sites | None = None  # another grammar that may say where daughters are attached

    @cached_property
    def tree_chooser(self) -> TreeChooser:
        """Chooses supertags."""
        return TreeChooser(self.grammar)

    def realize(self, tree: WordTree, beam: Beam = Beam()) -> Realized:  # noqa: B008 - frozen
        """Make sentences of a tree; the beam says how many are wanted, and how much is kept on the way."""
        chosen = self.tree_chooser.choose(tree)
        lattice = self.unravel(tree, chosen)
        found = best_sentences(tree, lattice, self.trigrams, self.settings.trigram_weight, beam)
        return Realized(found.sentences, found.exact, lattice, chosen)

    def unravel(self, tree: WordTree, chosen: Chosen) -> Lattice:
        """Make the lattice of all orders that supertags permit."""
        looks = looks_of_tree(tree, chosen, self.grammar)
        treelets, scores = [], []
        for word, daughters in enumerate(tree.daughters):
            if not daughters:
                treelets.append(LEAF)
                scores.append(LEAF_SCORES)
                continue
            scored = self.order_model.scores(looks, [word, *daughters], tree.mothers[word] < 0)
            permitted = [self._permitted(tree, chosen, word, daughter) for daughter in daughters]
            kinds = [tree.kinds[daughter] for daughter in daughters]
            treelets.append(unravel_treelet(bands_of(chosen.best[word]), permitted, kinds, scored))
            scores.append(scored)
        return Lattice(tuple(treelets), tuple(scores))

    def _permitted(self, tree: WordTree, chosen: Chosen, mother: int, daughter: int) -> frozenset[int]:
        above = chosen.best[mother]
        found: frozenset[int] = frozenset()
        for supertag in chosen.kept(daughter, self.settings.kept_share):
            told = None
            if self.sites is not None:
                told = self.sites.sites(tree.words[mother], above, tree.words[daughter], supertag)
            found |= bands_for(above, supertag) if told is None else bands_at(above, told)
        return found


_BANDS = (Band("left", ""), Band(None, ""), Band("right", ""))
_BEFORE, _AFTER = 0, 1
_LEAN = 1.0


@dataclass(frozen=True, eq=False)
class Baseline:
    """The baseline realizer."""

    # how often words stand before and after their mothers: rows of a word with its mother, and of a word alone
    sides: CountTable
    trigrams: Trigrams  # the language model
    settings: Settings = field(default_factory=Settings)  # the weight of rescoring; there is nothing else to choose

    def realize(self, tree: WordTree, beam: Beam = Beam()) -> Realized:  # noqa: B008 - frozen
        """Make sentences of a tree; the arguments are those of :meth:`celadon.realize.fergus.Fergus.realize`."""
        treelets, scores = [], []
        for word, daughters in enumerate(tree.daughters):
            size = len(daughters) + 1
            permitted = [frozenset((self._band(tree.words[word], tree.words[each]),)) for each in daughters]
            nothing = TreeletScores(np.zeros((size, size)), np.zeros((size + 1, size + 1)))
            kinds = [tree.kinds[each] for each in daughters]
            treelets.append(unravel_treelet(_BANDS, permitted, kinds, nothing) if daughters else LEAF)
            scores.append(nothing if daughters else LEAF_SCORES)
        lattice = Lattice(tuple(treelets), tuple(scores))
        found = best_sentences(tree, lattice, self.trigrams, 1.0, beam)
        return Realized(found.sentences, found.exact, lattice)

    def _band(self, mother: str, daughter: str) -> int:
        share = 0.5
        for row in reversed(_rows(mother, daughter)):
            counts = self.sides.row(row, 2)
            share = float((counts[_BEFORE] + _LEAN * share) / (counts.sum() + _LEAN))
        return 0 if share >= 0.5 else 2


def _rows(mother: str, daughter: str) -> tuple[str, str]:
    return (f"{form(daughter)} {form(mother)}", form(daughter))


def count_sides(sentences: Iterable[Sequence[str]], seed: int = 0) -> CountTable:
    """Count sides over random trees of sentences, drawn by a seed."""
    draw = Random(seed)
    tally = Tally()
    for words in sentences:
        order = list(range(len(words)))
        draw.shuffle(order)
        for number, daughter in enumerate(order[1:], 1):
            mother = order[draw.randrange(number)]
            tally.add(_rows(words[mother], words[daughter]), _BEFORE if daughter < mother else _AFTER)
    return tally.table(least=2)
