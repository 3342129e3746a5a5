"""The LP Chooser: the best paths through the lattice, under the trigrams and the order model.

A path's score is the order model's score of every treelet plus the weighted logarithm of the trigrams' probability.
Subtrees are done from the leaves up. All that the words outside can see of a part of a sentence is its first two and
last two words and, within a treelet, the item placed last; of parts that are alike in these, only the best can be in
the best sentence (Viterbi), and only the best N in the best N. Where a state still has more parts than the beam is
wide, the worst are dropped and the result is said not to be exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, IntArray
from celadon.models.language.language_model import LanguageModel
from celadon.realize.order_model import TreeletScores
from celadon.realize.trees import WordTree
from celadon.realize.trigrams import Table, Trigrams
from celadon.realize.unraveler import HEAD, Arc, TreeletLattice

NONE = -1


class Parts(NamedTuple):
    """Some parts of sentences, each over the same words."""

    score: FloatArray  # what is known of their scores: nothing yet of the trigrams that end in their first two words
    # first, second: their first two words; the second is NONE in a part of one word
    first: IntArray
    second: IntArray
    # before_last, last: their last two words, likewise
    before_last: IntArray
    last: IntArray
    item: IntArray  # the item placed last
    back: IntArray  # where they come from: the state before and the part there, the item and its part

    def take(self, chosen: npt.NDArray[Any]) -> Parts:
        """Some of the parts."""
        return Parts(*(column[chosen] for column in self))


class Path(NamedTuple):
    """A sentence: the numbers of the tree's words in their order, and its score."""

    order: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class Beam:
    """How much is kept."""

    width: int = 128  # the most parts of a state
    best: int = 1  # how many sentences are wanted


class PathChooser:
    """Finds the best paths through the lattices of one tree's treelets.

    The table has the trigrams of the tree's different words in alphabetical order, already weighted.
    """

    def __init__(
        self,
        tree: WordTree,
        lattices: Sequence[TreeletLattice],
        scores: Sequence[TreeletScores],
        table: Table,
        beam: Beam,
    ) -> None:
        self._tree, self._lattices, self._scores, self._beam = tree, lattices, scores, beam
        self._table = table
        number = {word: at for at, word in enumerate(sorted(set(tree.words)))}
        self._numbers = [number[word] for word in tree.words]
        self._begin, self._end = len(number), len(number) + 1
        self.exact = True
        # what the first two words are thought to cost, where the words before them are not known
        self._first_guess = table.mean(axis=(0, 1), dtype=np.float64)
        self._second_guess = table.mean(axis=0, dtype=np.float64)
        self._states: list[list[Parts]] = [[] for _ in tree.words]
        self._done: list[Parts] = [_NO_PARTS] * len(tree)

    def paths(self) -> Iterator[Path]:
        """Yield the best sentences, the best first."""
        for word in range(len(self._tree) - 1, -1, -1):
            self._done[word] = self._subtree(word)
        root = self._done[0]
        before_last = np.where(root.before_last >= 0, root.before_last, self._begin)
        scores = root.score + self._opening(root) + self._table[before_last, root.last, self._end]
        ranked = np.argsort(-scores, kind="stable")
        yield from (Path(tuple(self._words(0, int(at))), float(scores[at])) for at in ranked)

    def _opening(self, root: Parts) -> FloatArray:
        first = self._table[self._begin, self._begin, root.first].astype(np.float64)
        second = np.where(root.second >= 0, self._table[self._begin, root.first, root.second], 0.0)
        return np.asarray(first + second)

    def _subtree(self, word: int) -> Parts:
        lattice, scores = self._lattices[word], self._scores[word]
        states: list[list[Parts]] = [[] for _ in lattice.masks]
        merged: list[Parts] = []
        for state, mask in enumerate(lattice.masks):
            here = self._kept(_joined(states[state])) if state else _NO_PARTS
            merged.append(here)
            states[state] = []
            gains = scores.before[[item for item in range(mask.bit_length()) if mask >> item & 1]].sum(axis=0)
            for arc in lattice.arcs[state]:
                added = self._item(word, arc.item)
                if state:
                    parts = self._extended(here, added, arc.item, state, scores.beside[:, arc.item] + gains[arc.item])
                else:
                    parts = self._begun(added, arc.item, float(scores.beside[-1, arc.item]))
                states[arc.target].append(parts)
        self._states[word] = merged
        full = merged[-1]
        done = full._replace(
            score=full.score + scores.beside[full.item, -1],
            item=np.zeros(len(full.item), dtype=np.int64),
            back=np.stack([np.full(len(full.item), len(merged) - 1), np.arange(len(full.item))], axis=1),
        )
        return self._kept(done)

    def _item(self, word: int, item: int) -> Parts:
        """The parts of an item: the word itself, or a daughter's subtree."""
        if item != HEAD:
            return self._done[self._tree.daughters[word][item - 1]]
        one = np.array([self._numbers[word]])
        none = np.array([NONE])
        return Parts(np.zeros(1), one, none, none, one, np.zeros(1, np.int64), np.zeros((1, 2), np.int64))

    def _begun(self, added: Parts, item: int, gain: float) -> Parts:
        count = len(added.score)
        return added._replace(
            score=added.score + gain,
            item=np.full(count, item),
            back=_pointers(np.zeros(count, np.int64), np.zeros(count, np.int64), item, np.arange(count)),
        )

    def _extended(self, here: Parts, added: Parts, item: int, state: int, gain: FloatArray) -> Parts:
        """Every part of a state with every part of an item behind it."""
        table, size = self._table, len(added.score)
        total = (here.score + gain[here.item])[:, None] + added.score[None]
        rows = table[here.before_last, here.last]
        total += np.where(here.before_last[:, None] >= 0, rows[:, added.first], 0.0)
        total += np.where(
            added.second[None] >= 0, table[here.last[:, None], added.first[None], added.second[None]], 0.0
        )
        left = np.repeat(np.arange(len(here.score)), size)
        right = np.tile(np.arange(size), len(here.score))
        second, before_last = here.second[left], added.before_last[right]
        return Parts(
            total.ravel(),
            here.first[left],
            np.where(second >= 0, second, added.first[right]),
            np.where(before_last >= 0, before_last, here.last[left]),
            added.last[right],
            np.full(len(left), item),
            _pointers(np.full(len(left), state), left, item, right),
        )

    def _kept(self, parts: Parts) -> Parts:
        """The parts that can still be in the best sentences, the best first, no more than the beam is wide."""
        if len(parts.score) <= 1:
            return parts
        guess = self._first_guess[parts.first] + np.where(
            parts.second >= 0, self._second_guess[parts.first, parts.second], 0.0
        )
        parts = parts.take(np.argsort(-(parts.score + guess), kind="stable"))
        size = self._end + 2
        key = parts.item
        for column in (parts.first, parts.second + 1, parts.before_last + 1, parts.last):
            key = key * size + column
        kept = _first_of_each(key, self._beam.best)
        if len(kept) > self._beam.width:
            self.exact = False
            kept = kept[: self._beam.width]
        return parts.take(kept)

    def _words(self, word: int, part: int) -> list[int]:
        """The words of a part of a subtree."""
        found: list[int] = []
        waiting = [(word, part)]
        # from the end to the beginning, subtrees opened as they are met
        while waiting:
            word, part = waiting.pop()
            if part < 0:
                found.append(word)
                continue
            state, at = self._done[word].back[part].tolist()
            pieces = []
            while state:
                state, at, item, piece = self._states[word][state].back[at].tolist()
                pieces.append((word, -1) if item == HEAD else (self._tree.daughters[word][item - 1], piece))
            waiting.extend(reversed(pieces))
        return found[::-1]


_NOTHING = np.zeros(0, np.int64)
_NO_PARTS = Parts(np.zeros(0), _NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, np.zeros((0, 4), np.int64))


def _pointers(state: IntArray, part: IntArray, item: int, piece: IntArray) -> IntArray:
    return np.stack([state, part, np.full(len(state), item), piece], axis=1)


def _joined(several: Sequence[Parts]) -> Parts:
    if len(several) == 1:
        return several[0]
    return Parts(*(np.concatenate(columns) for columns in zip(*several, strict=True)))


def _first_of_each(keys: IntArray, best: int) -> IntArray:
    """The places of the first few of each key, in their order."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    begins = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
    rank = np.arange(len(keys)) - np.repeat(begins, np.diff(np.append(begins, len(keys))))
    return np.sort(order[rank < best])


LEAF = TreeletLattice((0, 1), ((Arc(HEAD, 1),), ()))
"""The lattice of a word without daughters."""

LEAF_SCORES = TreeletScores(np.zeros((1, 1)), np.zeros((2, 2)))


@dataclass(frozen=True)
class Lattice:
    """The lattice of a tree: that of each word with its daughters, in which a subtree is one arc."""

    treelets: tuple[TreeletLattice, ...]  # for each word its lattice
    scores: tuple[TreeletScores, ...]  # for each word what speaks for the orders of its treelet

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
    """A sentence that was made."""

    order: tuple[int, ...]  # the numbers of the tree's words in their order
    words: tuple[str, ...]  # the words
    score: float  # its score; higher is better


@dataclass(frozen=True)
class Found:
    """The best sentences, the best first, and whether they are sure to be the best that the lattice has."""

    sentences: tuple[Sentence, ...]
    exact: bool


def best_sentences(tree: WordTree, lattice: Lattice, trigrams: Trigrams, weight: float, beam: Beam) -> Found:
    """Find the best sentences of a lattice; ``weight`` is that of the trigrams against the lattice's scores."""
    table = trigrams.table(sorted(set(tree.words))) * np.float32(weight)
    chooser = PathChooser(tree, lattice.treelets, lattice.scores, table, beam)
    sentences: dict[tuple[str, ...], Sentence] = {}
    for path in chooser.paths():
        words = tuple(tree.words[word] for word in path.order)
        sentences.setdefault(words, Sentence(path.order, words, path.score))
        if len(sentences) == beam.best:
            break
    return Found(tuple(sentences.values()), lattice.exact and chooser.exact)


NBEST = 30
"""So many sentences of a tree are ranked again, where no other number is asked for."""

Written = Callable[[Sequence[str]], str]


def rescore(
    found: Sequence[Sequence[Sentence]], model: LanguageModel, weight: float, written: Written
) -> list[tuple[Sentence, ...]]:
    """Rank the sentences of each tree again: by their score, plus the weighted log-probability of the text."""
    texts = [written(sentence.words) for sentences in found for sentence in sentences]
    logprobs = iter([float(scores.logprobs.sum()) for scores in model.score(texts)])
    ranked = []
    for sentences in found:
        scored = [replace(each, score=each.score + weight * next(logprobs)) for each in sentences]
        order = np.argsort([-each.score for each in scored], kind="stable")
        ranked.append(tuple(scored[at] for at in order))
    return ranked
