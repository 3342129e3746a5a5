"""What words may be: P(word | tag) from counts, and from the shape and ending of words that are rare or new.

For a word w seen c(w) times, with b the tag as the treebank has it and t the grammar's finer one::

    P(b | w) = (c(b, w) + LEANING P(b | shape, ending)) / (c(w) + LEANING)        where c(w) < FREQUENT
    P(t | w) = P(b | w) (c(t, w) + LEANING P(t | b)) / (c(b, w) + LEANING)
    P(w | t) = P(t | w) c(w) / c(t)

A new word counts as UNSEEN of a word. P(b | shape, ending) is counted on rare words. It goes from the shape (capitals,
digits, a hyphen, first in the sentence) to the last one, two and three letters, each step leaning on the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.parsing.grammar import Numbers, RememberingLexicon, Tagging

FREQUENT = 100
"""A word seen so often is taken to have no tags but those it was seen with."""

RARE = 5
"""Words seen at most so often tell what new words of their shape may be."""

LEANING = 1.0
UNSEEN = 0.5
LEAST = 1e-5
"""Tags less probable than that, given the word, are left out."""

_SHAPES = ("9", "9a", ".", "a", "AA", "^A", "A")
_LONGEST_ENDING = 3
_NUMBER = re.compile(r"[\d.,:/-]*\d[\d.,:/-]*")


def shapes(word: str, first: bool) -> Iterator[str]:
    """Yield the classes that a word belongs to by its look, from the widest to the narrowest.

    Where a word stands ``first`` in its sentence, a capital says little.
    """
    shape = _shape(word, first)
    yield shape
    if "-" in word and len(word) > 1:
        shape += "-"
        yield shape
    if shape[0] != "9":
        lower = word.lower()
        for size in range(1, min(_LONGEST_ENDING, len(word) - 2) + 1):
            yield f"{shape}~{lower[-size:]}"


def _shape(word: str, first: bool) -> str:
    if _NUMBER.fullmatch(word):
        return "9"
    if any(map(str.isdigit, word)):
        return "9a"
    if not any(map(str.isalpha, word)):
        return "."
    if not word[:1].isupper():
        return "a"
    if word.isupper() and len(word) > 1:
        return "AA"
    return "^A" if first else "A"


class CountTable:
    """Counts of columns in named rows, of which most are zero; ``first`` is where the entries of each row begin."""

    def __init__(self, names: Sequence[str], first: IntArray, column: IntArray, count: FloatArray) -> None:
        self.names = tuple(names)
        self.first, self.column, self.count = first, column, count
        self._row_of = {name: row for row, name in enumerate(self.names)}

    def __contains__(self, name: str) -> bool:
        return name in self._row_of

    def row(self, name: str, width: int) -> FloatArray:
        """The counts of a row, zeros where there is none."""
        found = np.zeros(width)
        row = self._row_of.get(name)
        if row is not None:
            part = slice(self.first[row], self.first[row + 1])
            found[self.column[part]] = self.count[part]
        return found

    def total(self, name: str) -> float:
        """The sum of a row, zero where there is none."""
        row = self._row_of.get(name)
        return 0.0 if row is None else float(self.count[self.first[row] : self.first[row + 1]].sum())

    def totals(self, width: int) -> FloatArray:
        """The sum of each column."""
        return np.bincount(self.column, weights=self.count, minlength=width).astype(np.float64)


@dataclass(eq=False)
class CountedLexicon(RememberingLexicon):
    """The lexicon of a grammar that was counted on a treebank.

    ``tags`` are the grammar's states that stand over words, ``bases`` the treebank's tags of each. ``words`` are counts
    of words with the grammar's tags, ``looks`` of the looks of rare words with the treebank's tags.
    """

    tags: Numbers
    bases: IntArray
    words: CountTable
    looks: CountTable

    @cached_property
    def _tag_counts(self) -> FloatArray:
        return self.words.totals(len(self.tags))

    @cached_property
    def shares(self) -> FloatArray:
        """P(t | b)."""
        by_base = np.bincount(self.bases, weights=self._tag_counts)
        return self._tag_counts / by_base[self.bases]

    @cached_property
    def _rare(self) -> FloatArray:
        """The tags of rare words whatever their shape."""
        counts = sum((self.looks.row(shape, self._width) for shape in _SHAPES), np.zeros(self._width))
        # a treebank so small that no word is rare
        return counts / counts.sum() if counts.sum() else np.full(self._width, 1 / self._width)

    @property
    def _width(self) -> int:
        return int(self.bases.max()) + 1

    def tagging(self, word: str, first: bool) -> Tagging:
        """What a word may be."""
        if first and word not in self.words and word[:1].isupper() and word.lower() in self.words:
            word = word.lower()
        counts = self.words.row(word, len(self.tags))
        total = counts.sum()
        by_base = np.bincount(self.bases, weights=counts, minlength=self._width)
        if total >= FREQUENT:
            base_shares = by_base / total
        else:
            base_shares = (by_base + LEANING * self._by_look(word, first)) / (total + LEANING)
        within = (counts + LEANING * self.shares) / (by_base[self.bases] + LEANING)
        shares = base_shares[self.bases] * within
        kept = np.flatnonzero(shares >= min(LEAST, shares.max()))
        scores = np.log(shares[kept] * max(total, UNSEEN) / self._tag_counts[kept])
        return Tagging(self.tags[kept], scores)

    def _by_look(self, word: str, first: bool) -> FloatArray:
        """P(b | shape, ending)."""
        shares = self._rare
        for name in shapes(word, first):
            counts = self.looks.row(name, self._width)
            shares = (counts + LEANING * shares) / (counts.sum() + LEANING)
        return shares


def tag_shares(lexicon: CountedLexicon, states: int) -> FloatArray:
    """For each of a grammar's states that is a tag the logarithm of its share of the treebank's tag; for others 0."""
    found = np.zeros(states)
    found[lexicon.tags] = np.log(lexicon.shares)
    return found
