"""FERGUS put together: Tree Chooser, Unraveler and LP Chooser, from an unordered tree to sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from celadon.realize.grammar import TreeGrammar
from celadon.realize.lattice import LEAF, LEAF_SCORES, Lattice, Sentence, best_sentences
from celadon.realize.lp_chooser import Beam
from celadon.realize.order_model import OrderModel, looks_of_tree
from celadon.realize.tree_chooser import Chosen, TreeChooser
from celadon.realize.trees import WordTree
from celadon.realize.trigrams import Trigrams
from celadon.realize.unraveler import Sites, bands_at, bands_for, bands_of, unravel_treelet


@dataclass(frozen=True)
class Settings:
    """What is chosen on development trees.

    Attributes
    ----------
    trigram_weight
        The weight of the trigrams against the order model.
    kept_share
        A word's supertag beside the best one is kept for the lattice where it has at least this share.
    rescore_weight
        The weight of a neural language model's log-probability where sentences are ranked again.
    """

    trigram_weight: float = 0.3
    kept_share: float = 0.02
    rescore_weight: float = 0.5


@dataclass(frozen=True)
class Realized:
    """What was made of a tree.

    Attributes
    ----------
    sentences
        The best sentences, the best first.
    exact
        Whether they are sure to be the best that the lattice has.
    lattice
        The orders that are permitted.
    chosen
        The supertags; None where the model has none.
    """

    sentences: tuple[Sentence, ...]
    exact: bool
    lattice: Lattice
    chosen: Chosen | None = None


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
    """The realizer.

    Attributes
    ----------
    grammar, order_model, trigrams
        What was learnt.
    settings
        What was chosen on development trees.
    sites
        Another grammar that may say where daughters are attached.
    """

    grammar: TreeGrammar
    order_model: OrderModel
    trigrams: Trigrams
    settings: Settings = field(default_factory=Settings)
    sites: Sites | None = None

    @cached_property
    def tree_chooser(self) -> TreeChooser:
        """Chooses supertags."""
        return TreeChooser(self.grammar)

    def realize(self, tree: WordTree, beam: Beam = Beam()) -> Realized:  # noqa: B008 - frozen
        """Make sentences of a tree.

        Parameters
        ----------
        tree
            The tree.
        beam
            How many sentences are wanted, and how much is kept on the way.
        """
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
