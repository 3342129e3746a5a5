"""Grammars of the chart parser: states, rules with the logarithms of their probabilities, and a lexicon."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray

_KEPT = 50_000

Numbers = npt.NDArray[np.int32]


class Tagging(NamedTuple):
    """The states that a word may have, and the logarithm of the word's probability in each."""

    states: Numbers
    scores: FloatArray


class RuleArrays(NamedTuple):
    """Rules as the compiled loops want them: binary ones by their left child, unary ones by their child."""

    first: Numbers
    parent: Numbers
    right: Numbers
    score: FloatArray
    unary_first: Numbers
    unary_parent: Numbers
    unary_score: FloatArray
    projection: Numbers


class Rules:
    """Binary (parent, left child, right child) and unary (parent, child) rules over numbered states.

    ``root`` is the state of a whole sentence. Scores are logarithms of each rule's probability given its parent. No
    cycle of unary rules may gain: their probabilities multiply to at most 1. ``projection`` is for each state the
    coarse state that it belongs to; by default all belong to one.
    """

    def __init__(
        self,
        states: int,
        root: int,
        binary: Numbers,
        binary_scores: FloatArray,
        unary: Numbers,
        unary_scores: FloatArray,
        projection: Numbers | None = None,
    ) -> None:
        self.states = states
        self.root = root
        order = np.lexsort((binary[:, 0], binary[:, 2], binary[:, 1]))
        self.binary = np.ascontiguousarray(binary[order], dtype=np.int32)
        order_of_unary = np.lexsort((unary[:, 0], unary[:, 1]))
        self.unary = np.ascontiguousarray(unary[order_of_unary], dtype=np.int32)
        self.arrays = RuleArrays(
            _first(self.binary[:, 1], states),
            np.ascontiguousarray(self.binary[:, 0]),
            np.ascontiguousarray(self.binary[:, 2]),
            np.ascontiguousarray(binary_scores[order], dtype=np.float64),
            _first(self.unary[:, 1], states),
            np.ascontiguousarray(self.unary[:, 0]),
            np.ascontiguousarray(unary_scores[order_of_unary], dtype=np.float64),
            np.zeros(states, dtype=np.int32) if projection is None else np.asarray(projection, dtype=np.int32),
        )


def _first(children: Numbers, states: int) -> Numbers:
    return np.searchsorted(children, np.arange(states + 1)).astype(np.int32)


class Lexicon(Protocol):
    """What words may be."""

    def taggings(self, words: Sequence[str]) -> list[Tagging]:
        """Return what each word of a sentence may be; every word may be something."""
        ...


class RememberingLexicon(ABC):
    """A lexicon that works out what a word may be only once."""

    @abstractmethod
    def tagging(self, word: str, first: bool) -> Tagging:
        """Return what a word may be, where it stands first in its sentence or elsewhere."""

    def taggings(self, words: Sequence[str]) -> list[Tagging]:
        """Return what each word of a sentence may be."""
        return [self._remembered(word, at == 0) for at, word in enumerate(words)]

    @cached_property
    def _known(self) -> dict[tuple[str, bool], Tagging]:
        return {}

    def _remembered(self, word: str, first: bool) -> Tagging:
        found = self._known.get((word, first))
        if found is None:
            found = self.tagging(word, first)
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[word, first] = found
        return found


@dataclass(frozen=True, eq=False)
class Grammar:
    """A grammar of the chart parser.

    ``labels`` are what each of the ``states`` is called in a tree; empty for one that only joins parts of a larger
    constituent. ``coarse`` are the rules without annotations, by which charts are pruned, and ``shares`` for each tag's
    state the logarithm of its share of the coarse tag, for other states 0; None where charts cannot be pruned.
    ``closing`` is a state that stands for the end of the sentence, which the rules read like a word.
    """

    states: tuple[str, ...]
    labels: tuple[str, ...]
    rules: Rules
    lexicon: Lexicon
    coarse: Rules | None = None
    shares: FloatArray | None = None
    closing: int | None = None
    scripts: tuple[str, ...] = ("Latin",)
