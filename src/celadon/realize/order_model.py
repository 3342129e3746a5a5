"""A log-linear model of the order of a word and its daughters.

The score of an order is the sum over all pairs of what speaks for the one before the other, and over neighbours of what
speaks for them side by side; the edges of the treelet are neighbours as well. Each of these is a sum of weights of
features: words, supertags, sizes and function words of the two, beside those of the head. Features are hashed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, IntArray
from celadon.parsing.supertags import Supertag
from celadon.realize.grammar import TreeGrammar, class_name, supertag_name
from celadon.realize.tree_chooser import Chosen
from celadon.realize.trees import WordTree, form, unknown_class

BITS = 20
"""Features are hashed to numbers of so many bits."""

_FUNCTION_WORD = 40
_KNOWN = 2


class Looks(NamedTuple):
    """What the features see of a word."""

    word: str
    tag: str
    root: str
    kind: str
    side: str
    function: str
    size: str
    leaning: str
    whole: str


class TreeletScores(NamedTuple):
    """What speaks for the orders of a word (number 0) and its daughters (1 and on)."""

    before: FloatArray  # in row i, column j: for i anywhere before j
    beside: FloatArray  # for i just before j; the last row is the beginning, the last column the end of the treelet


def looks_of_tree(tree: WordTree, chosen: Chosen, grammar: TreeGrammar) -> list[Looks]:
    """What the features see of every word of a tree."""
    counts = [grammar.words.total(form(word)) for word in tree.words]
    return [_looks(tree, chosen, counts, word) for word in range(len(tree))]


def _looks(tree: WordTree, chosen: Chosen, counts: Sequence[float], word: int) -> Looks:
    supertag = chosen.best[word]
    function = sorted(
        tree.words[each].lower()
        for each in tree.daughters[word]
        if not tree.daughters[each] and counts[each] >= _FUNCTION_WORD
    )
    size = tree.sizes[word]
    return Looks(
        form(tree.words[word]) if counts[word] >= _KNOWN else unknown_class(tree.words[word]),
        supertag.tag,
        supertag.root,
        class_name(supertag),
        supertag.host.side if supertag.host else "argument",
        " ".join(function[:3]),
        str(size if size < 4 else 4 + (size >= 6) + (size >= 10) + (size >= 18)),
        _leaning(chosen, word),
        supertag_name(Supertag(supertag.tag, supertag.levels)),
    )


def _leaning(chosen: Chosen, word: int) -> str:
    """How sure it is that a word stands to the left or to the right, in a few steps."""
    sides = {"left": 0.0, "right": 0.0}
    for supertag, share in zip(chosen.candidates[word], chosen.shares[word].tolist(), strict=True):
        if supertag.host:
            sides[supertag.host.side] += share
    return f"{round(4 * sides['left'])}{round(4 * sides['right'])}"


class Features(NamedTuple):
    """The features of several things: all features one after another, and how many each thing has."""

    numbers: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int32]

    @property
    def starts(self) -> IntArray:
        """Where each thing's features begin."""
        return np.cumsum(self.sizes, dtype=np.int64) - self.sizes


def treelet_features(looks: Sequence[Looks], items: Sequence[int], top: bool) -> Features:
    """Return the features of all pairs and neighbours of a treelet: the head, then its daughters.

    First for each pair i, j (i before j) row by row without the diagonal, then for each neighbouring pair in the same
    order, then for each item at the beginning, then at the end. ``top`` is whether the head is the root.
    """
    head, size = looks[items[0]], len(items)
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    siblings = " ".join(sorted(looks[each].root for each in items[1:]))
    found = [
        _hashed(
            _with_head(looks[items[max(i, j)]], head, "<" if j == 0 else ">", siblings, top)
            if 0 in (i, j)
            else _between(looks[items[i]], looks[items[j]], head)
        )
        for i, j in pairs
    ]
    found += [_hashed(_beside(looks[items[i]], looks[items[j]], head, i == 0, j == 0)) for i, j in pairs]
    for edge in "[]":
        found += [_hashed(_at_edge(looks[item], head, edge, at == 0, top)) for at, item in enumerate(items)]
    sizes = np.array(list(map(len, found)), dtype=np.int32)
    return Features(np.fromiter((each for bag in found for each in bag), np.int32, int(sizes.sum())), sizes)


def _hashed(features: Iterator[str]) -> list[int]:
    mask = (1 << BITS) - 1
    return [zlib.crc32(feature.encode()) & mask for feature in features]


def _with_head(a: Looks, h: Looks, d: str, siblings: str, top: bool) -> Iterator[str]:
    yield f"a{d}{a.kind}|{h.tag}"
    yield f"b{d}{a.root}|{a.tag}|{h.tag}"
    yield f"c{d}{a.word}|{h.tag}"
    yield f"d{d}{a.word}|{h.word}"
    yield f"e{d}{a.kind}|{h.word}"
    yield f"f{d}{a.function}|{a.root}|{h.tag}"
    yield f"g{d}{a.size}|{a.kind}|{h.tag}"
    yield f"h{d}{a.kind}|{h.whole}"
    yield f"i{d}{a.leaning}"
    yield f"j{d}{a.leaning}|{a.tag}|{h.tag}"
    yield f"k{d}{a.root}|{a.tag}|{h.kind}"
    yield f"l{d}{a.root}|{a.tag}|{h.tag}|{siblings}"
    yield f"m{d}{a.side}|{a.root}"
    yield f"n{d}{a.whole}|{h.whole}"
    yield f"o{d}{a.word}|{h.function}|{h.tag}"
    yield f"p{d}{a.root}|{a.tag}|{h.tag}|{h.function}"
    yield f"q{d}{a.word}"
    yield f"r{d}{a.root}|{a.function}|{h.word}"
    yield f"s{d}{top}|{a.root}|{a.tag}|{h.tag}"


def _between(a: Looks, b: Looks, h: Looks) -> Iterator[str]:
    yield f"A{a.kind}|{b.kind}"
    yield f"B{a.kind}|{b.kind}|{h.tag}"
    yield f"C{a.tag}|{b.tag}|{h.tag}"
    yield f"D{a.word}|{b.kind}"
    yield f"E{a.kind}|{b.word}"
    yield f"F{a.word}|{b.word}"
    yield f"G{a.kind}|{b.kind}|{h.word}"
    yield f"H{a.root}|{b.root}|{a.size}|{b.size}"
    yield f"I{a.function}|{b.function}|{h.tag}"
    yield f"J{a.function}|{b.root}|{h.tag}"
    yield f"K{a.root}|{b.function}|{h.tag}"
    yield f"L{a.word}|{b.tag}|{h.tag}"
    yield f"M{a.tag}|{b.word}|{h.tag}"
    yield f"N{a.leaning}|{b.leaning}"
    yield f"O{a.root}|{a.tag}|{b.root}|{b.tag}"
    yield f"P{a.size}|{b.size}|{a.side}|{b.side}"
    yield f"Q{a.root}|{b.root}|{h.whole}"
    yield f"R{a.whole}|{b.whole}|{h.tag}"


def _beside(a: Looks, b: Looks, h: Looks, a_head: bool, b_head: bool) -> Iterator[str]:
    d = f"{a_head:d}{b_head:d}"
    yield f"1{d}{a.tag}|{b.tag}"
    yield f"2{d}{a.kind}|{b.kind}"
    yield f"3{d}{a.word}|{b.tag}"
    yield f"4{d}{a.tag}|{b.word}"
    yield f"5{d}{a.word}|{b.word}"
    yield f"6{d}{a.root}|{b.root}|{h.tag}"
    yield f"7{d}{a.function}|{a.root}|{b.root}|{b.function}"
    yield f"8{d}{a.size}|{b.size}|{a.root}|{b.root}"


def _at_edge(a: Looks, h: Looks, d: str, is_head: bool, top: bool) -> Iterator[str]:
    d = f"{d}{is_head:d}"
    yield f"t{d}{a.kind}|{h.tag}"
    yield f"u{d}{a.word}|{h.tag}"
    yield f"v{d}{a.kind}|{h.kind}"
    yield f"w{d}{a.root}|{a.tag}|{top}"
    yield f"x{d}{a.word}|{top}"
    yield f"y{d}{a.root}|{a.size}|{top}"
    yield f"z{d}{a.function}|{a.root}|{h.tag}"


@dataclass(frozen=True, eq=False)
class OrderModel:
    """The weights of features."""

    weights: npt.NDArray[np.float32]  # one for each hashed feature

    def scores(self, looks: Sequence[Looks], items: Sequence[int], top: bool) -> TreeletScores:
        """Score the pairs and neighbours of a treelet; the arguments are those of :func:`treelet_features`."""
        found = treelet_features(looks, items, top)
        sums = np.add.reduceat(self.weights[found.numbers].astype(np.float64), found.starts)
        return split_sums(sums, len(items))


def split_sums(sums: FloatArray, size: int) -> TreeletScores:
    """Put what :func:`treelet_features` tells of, summed, into tables."""
    rows, columns = np.nonzero(~np.eye(size, dtype=np.bool_))
    pairs = len(rows)
    before, beside = np.zeros((size, size)), np.zeros((size + 1, size + 1))
    before[rows, columns] = sums[:pairs]
    beside[rows, columns] = sums[pairs : 2 * pairs]
    beside[size, :size] = sums[2 * pairs : 2 * pairs + size]
    beside[:size, size] = sums[2 * pairs + size :]
    return TreeletScores(before, beside)
