"""The Tree Chooser: the supertags of the words of a tree, by a stochastic model of daughters given their mothers.

For a daughter d with supertag s of class c below a mother m::

    P(d | m) = P(c | m's word and class, leaning on her supertag, her class, her tag)
               P(s | c, leaning on c alone, from m's tag) P(number of d's daughters | s) P(s | d's word) / P(s)

The best assignment to the whole tree is found exactly (a maximum over supertags, from the leaves up). The shares of all
candidates (sums in place of maxima, up and down again) tell which others are worth keeping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, IntArray
from celadon.parsing.supertags import Supertag
from celadon.realize.grammar import (
    MOST_DAUGHTERS,
    TreeGrammar,
    leaning,
    looks_of,
    mother_contexts,
    supertag_name,
    within_contexts,
)
from celadon.realize.trees import WordTree, form

CANDIDATES = 40
"""At most so many supertags of a word are tried."""

_LEAST = 1e-4
_FREQUENT = 200
_KEPT_WORDS = 50_000
Mask: TypeAlias = npt.NDArray[np.bool_]
# stands for the supertag above the root
_NOBODY = -1


@dataclass(frozen=True)
class Chosen:
    """The supertags of a tree's words."""

    best: tuple[Supertag, ...]  # each word's supertag in the best assignment
    candidates: tuple[tuple[Supertag, ...], ...]  # for each word the supertags that were tried
    shares: tuple[FloatArray, ...]  # for each word the shares of these, over all assignments
    logprob: float  # how probable the best assignment is

    def kept(self, word: int, least: float) -> list[Supertag]:
        """The best supertag of a word, and the others that have at least a share."""
        others = [
            supertag
            for supertag, share in zip(self.candidates[word], self.shares[word], strict=True)
            if share >= least and supertag != self.best[word]
        ]
        return [self.best[word], *others]


class TreeChooser:
    """Chooses supertags by the counts of a grammar."""

    def __init__(self, grammar: TreeGrammar) -> None:
        self.grammar = grammar
        self._words: dict[str, tuple[IntArray, FloatArray]] = {}
        self._numbers: dict[int, FloatArray] = {}
        self._below: dict[int, FloatArray] = {}
        self._within: dict[str, FloatArray] = {}

    def choose(self, tree: WordTree) -> Chosen:
        """Choose the supertags of all words of a tree."""
        tried = [self._candidates(tree, word) for word in range(len(tree))]
        above = self._above(tree, tried)
        logprob, best = _viterbi(tree, tried, above)
        shares = _shares(tree, tried, above)
        supertags = self.grammar.supertags
        return Chosen(
            tuple(supertags[tried[word][0][best[word]]] for word in range(len(tree))),
            tuple(tuple(supertags[number] for number in numbers) for numbers, _ in tried),
            tuple(shares),
            logprob,
        )

    def _candidates(self, tree: WordTree, word: int) -> tuple[IntArray, FloatArray]:
        """The supertags to try for a word, and what speaks for each beside the mother."""
        numbers, scores = self._of_word(tree.words[word])
        count = len(tree.daughters[word])
        fits = self.grammar.slots[numbers] <= count
        if tree.relations[word] and (told := self._of_relation(tree, word, numbers, fits)).any():
            fits = told
        if not fits.any():
            # none of the word's supertags can be had with so few daughters: those with the fewest places
            fits = self.grammar.slots[numbers] == self.grammar.slots[numbers].min()
        numbers, scores = numbers[fits], scores[fits]
        scores = scores + np.array([self._number_share(int(each))[min(count, MOST_DAUGHTERS)] for each in numbers])
        order = np.argsort(-scores, kind="stable")[:CANDIDATES]
        return numbers[order], scores[order]

    def _of_relation(self, tree: WordTree, word: int, numbers: IntArray, fits: Mask) -> Mask:
        named = [self.grammar.supertags[each].root == tree.relations[word] for each in numbers]
        return np.asarray(fits & np.array(named))

    def _of_word(self, word: str) -> tuple[IntArray, FloatArray]:
        found = self._words.get(word)
        if found is None:
            if len(self._words) >= _KEPT_WORDS:
                self._words.clear()
            found = self._words[word] = self._look_up(word)
        return found

    def _look_up(self, word: str) -> tuple[IntArray, FloatArray]:
        """The supertags of a word, and the logarithms of P(s | word) / P(s)."""
        grammar = self.grammar
        size = len(grammar.supertags)
        written = form(word)
        if written not in grammar.words and written.lower() in grammar.words:
            written = written.lower()
        counts = grammar.words.row(written, size)
        shares = grammar.shares
        if counts.sum() < _FREQUENT:
            for look in looks_of(word):
                shares = leaning(grammar.looks.row(look, size), shares)
            shares = (counts + 2.0 * shares) / (counts.sum() + 2.0)
        else:
            shares = counts / counts.sum()
        kept = np.flatnonzero(shares >= min(_LEAST, shares.max()))
        return kept, np.log(shares[kept]) - np.log(grammar.shares[kept])

    def _number_share(self, supertag: int) -> FloatArray:
        """The logarithms of the shares of numbers of daughters."""
        found = self._numbers.get(supertag)
        if found is None:
            width = MOST_DAUGHTERS + 1
            name = self.grammar.class_names[self.grammar.classes[supertag]]
            shares = np.full(width, 1 / width)
            for row in (f"c {name}", f"s {supertag_name(self.grammar.supertags[supertag])}"):
                shares = leaning(self.grammar.numbers.row(row, width), shares)
            found = self._numbers[supertag] = np.log(shares)
        return found

    def _above(self, tree: WordTree, tried: Sequence[tuple[IntArray, FloatArray]]) -> list[FloatArray]:
        """For each word the logarithms of P(s | mother), a row for each of the mother's supertags."""
        found = [np.empty(0)] * len(tree)
        found[0] = self._below_mother("", [_NOBODY], tried[0][0])
        for word, daughters in enumerate(tree.daughters):
            if daughters:
                numbers = [tried[daughter][0] for daughter in daughters]
                rows = self._below_mother(tree.words[word], tried[word][0].tolist(), np.concatenate(numbers))
                ends = np.cumsum([len(each) for each in numbers])
                for daughter, columns in zip(daughters, np.split(rows, ends[:-1], axis=1), strict=True):
                    found[daughter] = columns
        return found

    def _below_mother(self, word: str, mothers: Sequence[int], numbers: IntArray) -> FloatArray:
        """The logarithms of the shares of supertags (columns) below a word that has one of some supertags (rows)."""
        width, classes = len(self.grammar.class_names), self.grammar.classes[numbers]
        rows = np.empty((len(mothers), len(numbers)))
        within = np.empty_like(rows)
        for row, mother in enumerate(mothers):
            supertag = self.grammar.supertags[mother] if mother != _NOBODY else None
            shares = self._daughter_classes(mother, supertag)[classes]
            lexical = mother_contexts(word, supertag)[0]
            if lexical in self.grammar.daughters:
                counts = self.grammar.daughters.row(lexical, width)
                shares = leaning(counts, shares, chosen=classes)
            rows[row] = shares
            within[row] = self._within_class(supertag)[numbers]
        return np.asarray(np.log(rows) + within)

    def _daughter_classes(self, mother: int, supertag: Supertag | None) -> FloatArray:
        """The shares of daughters' classes, whatever the mother's word."""
        found = self._below.get(mother)
        if found is None:
            width = len(self.grammar.class_names)
            found = np.full(width, 1 / width)
            for row in reversed(mother_contexts("", supertag)[1:]):
                found = leaning(self.grammar.daughters.row(row, width), found)
            self._below[mother] = found
        return found

    def _within_class(self, mother: Supertag | None) -> FloatArray:
        """For every supertag the logarithm of its share of its class, below a mother of that tag."""
        tag = mother.tag if mother else ""
        found = self._within.get(tag)
        if found is None:
            size = len(self.grammar.supertags)
            shares = np.empty(size)
            for number, name in enumerate(self.grammar.class_names):
                members = np.flatnonzero(self.grammar.classes == number)
                narrow, wide = within_contexts(name, mother)
                counts = self.grammar.within.row(wide, size)[members]
                shares[members] = counts / counts.sum()
                if narrow in self.grammar.within:
                    shares[members] = leaning(self.grammar.within.row(narrow, size)[members], shares[members])
            found = self._within[tag] = np.log(shares)
        return found


def _viterbi(
    tree: WordTree, tried: Sequence[tuple[IntArray, FloatArray]], above: Sequence[FloatArray]
) -> tuple[float, list[int]]:
    scores = [local.copy() for _, local in tried]
    pointers: list[IntArray] = [np.empty(0, np.int64)] * len(tree)
    total = 0.0
    for word in range(len(tree) - 1, -1, -1):
        joint = above[word] + scores[word]
        pointers[word] = np.argmax(joint, axis=1)
        if tree.mothers[word] >= 0:
            scores[tree.mothers[word]] += joint.max(axis=1)
        else:
            total = float(joint.max())
    best = [0] * len(tree)
    for word in range(len(tree)):
        mother = tree.mothers[word]
        best[word] = int(pointers[word][best[mother] if mother >= 0 else 0])
    return total, best


def _shares(
    tree: WordTree, tried: Sequence[tuple[IntArray, FloatArray]], above: Sequence[FloatArray]
) -> list[FloatArray]:
    inside = [local.copy() for _, local in tried]
    messages: list[FloatArray] = [np.empty(0)] * len(tree)
    for word in range(len(tree) - 1, -1, -1):
        messages[word] = _log_sum(above[word] + inside[word])
        if tree.mothers[word] >= 0:
            inside[tree.mothers[word]] += messages[word]
    outside: list[FloatArray] = [np.empty(0)] * len(tree)
    shares = []
    for word in range(len(tree)):
        mother = tree.mothers[word]
        if mother < 0:
            outside[word] = above[word][0]
        else:
            rest = outside[mother] + inside[mother] - messages[word]
            outside[word] = _log_sum((above[word] + rest[:, None]).T)
        joint = inside[word] + outside[word]
        weights = np.exp(joint - joint.max())
        shares.append(weights / weights.sum())
    return shares


def _log_sum(rows: FloatArray) -> FloatArray:
    """The logarithm of each row's sum of exponentials."""
    most = rows.max(axis=1)
    return np.asarray(most + np.log(np.exp(rows - most[:, None]).sum(axis=1)))
