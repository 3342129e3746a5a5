"""The paper's baseline: whether a word precedes or follows its mother, learnt from trees that are random.

Of each sentence a random tree is made; counted is how often a word stands before and how often after another that is
its mother, and how often it does so whatever the mother. A daughter stands on the side that is likelier; the trigrams
order those that stand on one side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from celadon.parsing.lexicon import CountTable
from celadon.realize.counts import Tally
from celadon.realize.fergus import Realized, Settings
from celadon.realize.lattice import LEAF, LEAF_SCORES, Lattice, best_sentences
from celadon.realize.lp_chooser import Beam
from celadon.realize.order_model import TreeletScores
from celadon.realize.trees import WordTree
from celadon.realize.trigrams import Trigrams
from celadon.realize.unraveler import Band, unravel_treelet
from celadon.realize.word_forms import form

_BANDS = (Band("left", ""), Band(None, ""), Band("right", ""))
_BEFORE, _AFTER = 0, 1
_LEAN = 1.0


@dataclass(frozen=True, eq=False)
class Baseline:
    """The baseline realizer.

    Attributes
    ----------
    sides
        How often words stand before and after their mothers: rows of a word with its mother, and of a word alone.
    trigrams
        The language model.
    settings
        The weight of rescoring; there is nothing else to choose.
    """

    sides: CountTable
    trigrams: Trigrams
    settings: Settings = field(default_factory=Settings)

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
    """Count sides over random trees of sentences.

    Parameters
    ----------
    sentences
        The words of each sentence in their order.
    seed
        Which trees are made.
    """
    draw = Random(seed)
    tally = Tally()
    for words in sentences:
        order = list(range(len(words)))
        draw.shuffle(order)
        for number, daughter in enumerate(order[1:], 1):
            mother = order[draw.randrange(number)]
            tally.add(_rows(words[mother], words[daughter]), _BEFORE if daughter < mother else _AFTER)
    return tally.table(least=2)
