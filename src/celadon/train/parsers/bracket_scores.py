"""Labelled brackets found and missed: how well a parser does on trees that it was not made of.

As is the custom for Penn trees: tags and the root do not count, punctuation is taken out of both trees, and ``PRT`` is
the same as ``ADVP``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from celadon.parsing.brackets import Tree, base_label

PUNCTUATION = frozenset({",", ":", "``", "''", "."})
"""Tags that are taken out, by the tree that people made."""

_NOT_COUNTED = frozenset({"TOP", "ROOT", "S1", ""})


@dataclass(frozen=True)
class BracketScores:
    """Counts of brackets over sentences.

    Attributes
    ----------
    matched
        Brackets that are in both trees.
    gold, found
        Brackets of the trees that people made, and of the parser's.
    sentences
        How many sentences were compared.
    whole
        In how many of them all brackets are right.
    """

    matched: int = 0
    gold: int = 0
    found: int = 0
    sentences: int = 0
    whole: int = 0

    @property
    def precision(self) -> float:
        """The share of the parser's brackets that are right."""
        return self.matched / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of the right brackets that the parser has."""
        return self.matched / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.matched / (self.gold + self.found) if self.gold + self.found else 0.0

    def __add__(self, other: BracketScores) -> BracketScores:
        return BracketScores(
            self.matched + other.matched,
            self.gold + other.gold,
            self.found + other.found,
            self.sentences + other.sentences,
            self.whole + other.whole,
        )


def compare_trees(gold: Tree, found: Tree) -> BracketScores:
    """Compare two trees of one sentence.

    Parameters
    ----------
    gold
        The tree that people made, without traces.
    found
        The parser's.
    """
    kept = [leaf.label not in PUNCTUATION for leaf in gold.leaves()]
    right, made = _brackets(gold, kept), _brackets(found, kept)
    return BracketScores((right & made).total(), right.total(), made.total(), 1, int(right == made))


def _brackets(tree: Tree, kept: list[bool]) -> Counter[tuple[str, int, int]]:
    places = [0]
    for keeps in kept:
        places.append(places[-1] + keeps)
    found: Counter[tuple[str, int, int]] = Counter()

    def visit(node: Tree, start: int) -> int:
        if node.is_tag:
            return start + 1
        end = start
        for child in node.children:
            end = visit(child, end)
        label = base_label(node.label)
        if label not in _NOT_COUNTED and places[end] > places[start]:
            found["ADVP" if label == "PRT" else label, places[start], places[end]] += 1
        return end

    visit(tree, 0)
    return found
