"""Treelets of dependency trees: is a word with its daughters in the same order in two texts? Many pairs at once.

A treelet is a word that has daughters, with all of them. The tree is the reference's. In the text that is compared with
it the same words are looked up:

1. words that the alignment of both texts (:mod:`celadon.text.alignment`) matches are there; of the rest, equal words
   are too, as many as both have, first ones first;
2. equal words that are there are paired in their order: the first with the first, the second with the second.

So in a text that has the reference's words in another order every word has its partner. A word that is not there is a
deletion in each of its treelets, as a daughter and as a head; a word of the text that is nobody's partner belongs to no
treelet and is one insertion. The other words of each treelet, in the order of the reference and in that of the text,
are aligned as texts are. Where a reference has several trees, their roots in order are one more treelet; a reference of
a single word is a treelet of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray
from celadon.text.alignment import Ragged, align
from celadon.text.operations import Operations, count_operations

Place = tuple[int, int]


class WrongTreelets(NamedTuple):
    """The treelets whose words stand in another order: their pairs, their heads, and what it takes to mend them.

    ``head`` is the word's number in the reference; -1 stands for the treelet of several roots.
    """

    pair: IntArray
    head: IntArray
    operations: Operations


class Compared(NamedTuple):
    """What comes of comparing.

    Operations are summed over treelets, with the insertions of words that belong to none; ``place`` is the number in
    the text of the partner of each word of the references, -1 where it has none.
    """

    operations: Operations
    place: IntArray
    wrong: WrongTreelets


class _Flat(NamedTuple):
    """The words of all pairs one after another: the number of each, its pair, and where each pair begins."""

    word: IntArray
    pair: IntArray
    starts: IntArray

    @classmethod
    def of(cls, some: Ragged) -> _Flat:
        starts = np.concatenate([[0], np.cumsum(some.lengths)])
        pair = np.repeat(np.arange(len(some.lengths)), some.lengths)
        return cls(some.values[np.arange(len(pair)) + (some.starts - starts[:-1])[pair]], pair, starts)


def compare_treelets(
    references: Ragged, texts: Ragged, partner: IntArray, heads: IntArray, vocabulary: int
) -> Compared:
    """Compare each text with the tree of its reference.

    ``partner`` of each reference word is -1 where it has none; ``heads`` are numbers in the same reference, -1 for a
    root.
    """
    reference, text = _Flat.of(references), _Flat.of(texts)
    place = _places(reference, text, partner, vocabulary)
    treelet, member = _members(reference, references.lengths, heads)
    there = place[member] >= 0
    pairs = len(references.lengths)
    deletions = np.bincount(reference.pair[member[~there]], minlength=pairs)
    new = texts.lengths - np.bincount(reference.pair[place >= 0], minlength=pairs)
    wrong = _wrong(reference, treelet[there], member[there], place, vocabulary)
    summed = [np.bincount(wrong.pair, weights=column, minlength=pairs).astype(np.int64) for column in wrong.operations]
    matches = np.bincount(reference.pair[member[there]], minlength=pairs) - summed[1] - summed[3]
    operations = Operations(matches, summed[1], summed[2] + new, summed[3] + deletions, summed[4], references.lengths)
    return Compared(operations, place, wrong)


def _places(reference: _Flat, text: _Flat, partner: IntArray, vocabulary: int) -> IntArray:
    """Where the text has each word of the reference, by the rules above."""
    keys, text_keys = (flat.pair * vocabulary + flat.word for flat in (reference, text))
    aligned = np.flatnonzero(partner >= 0)
    opposite = text.starts[reference.pair[aligned]] + partner[aligned]
    same = keys[aligned] == text_keys[opposite]
    here, there = (np.zeros(len(some), dtype=np.bool_) for some in (keys, text_keys))
    here[aligned[same]] = True
    there[opposite[same]] = True
    # of what is left, the nth of equal words is there if the text has left as many
    left, text_left = (_in_order(flags, some) for flags, some in ((~here, keys), (~there, text_keys)))
    own, others = keys[left], text_keys[text_left]
    first = np.searchsorted(others, own)
    nth = np.arange(len(own)) - np.searchsorted(own, own)
    found = nth < np.searchsorted(others, own, side="right") - first
    here[left[found]] = True
    there[text_left[(first + nth)[found]]] = True
    place = np.full(len(keys), -1, dtype=np.int64)
    paired, text_paired = _in_order(here, keys), _in_order(there, text_keys)
    place[paired] = text_paired - text.starts[text.pair[text_paired]]
    return place


def _in_order(flags: npt.NDArray[np.bool_], keys: IntArray) -> IntArray:
    """The flagged places, by their keys; equal keys by their places."""
    chosen = np.flatnonzero(flags)
    return chosen[np.argsort(keys[chosen], kind="stable")]


def _members(reference: _Flat, lengths: IntArray, heads: IntArray) -> tuple[IntArray, IntArray]:
    """All treelets, by the words of each, in their order: a treelet's number is its head's, or beyond all words."""
    words = len(heads)
    every = np.arange(words)
    root = heads < 0
    head = reference.starts[reference.pair] + heads
    roots = np.bincount(reference.pair[root], minlength=len(lengths))
    own_treelet = ((roots > 1) | (lengths == 1))[reference.pair]
    head = np.where(root, words + reference.pair, head)
    daughters = every[~root | own_treelet]
    mothers = np.zeros(words, dtype=np.bool_)
    mothers[head[~root]] = True
    member = np.concatenate([every[mothers], daughters])
    treelet = np.concatenate([every[mothers], head[daughters]])
    order = np.argsort(treelet * max(words, 1) + member)
    return treelet[order], member[order]


def _wrong(reference: _Flat, treelet: IntArray, member: IntArray, place: IntArray, vocabulary: int) -> WrongTreelets:
    """Align the treelets whose words do not stand in their order."""
    inside = treelet[1:] == treelet[:-1]
    falls = inside & (place[member[1:]] < place[member[:-1]])
    # the first member of each treelet, and which treelets have a fall
    first = np.flatnonzero(np.concatenate([[True], ~inside]))[: len(treelet)]
    lengths = np.diff(np.append(first, len(treelet)))
    number = np.repeat(np.arange(len(first)), lengths)
    bad = np.zeros(len(first), dtype=np.bool_)
    bad[number[1:][falls]] = True
    chosen = bad[number]
    number, member, lengths = number[chosen], member[chosen], lengths[bad]
    words = reference.word[member]
    reordered = words[np.argsort(number * (int(place.max(initial=0)) + 1) + place[member])]
    starts = np.cumsum(lengths) - lengths
    expected, found = Ragged(words, starts, lengths), Ragged(reordered, starts, lengths)
    operations = count_operations(expected, found, align(expected, found), vocabulary)
    pair = reference.pair[member[starts]]
    head = treelet[first[bad]]
    several = head >= len(place)
    return WrongTreelets(pair, np.where(several, -1, head - reference.starts[pair]), operations)


def heads_of_words(words: Sequence[Place], tokens: Sequence[Place], heads: Sequence[int]) -> list[int]:
    """Carry a tree over from a parser's tokens to words that are cut in another way.

    A word that holds several tokens depends on what the highest of them depends on. Of a token that is several words,
    the first stands for it and the others depend on the first. What depends on a token that is in no word depends on
    that token's head. Every step leads to a higher token, so what comes out has no circles.

    Places are characters, begin and end, in order; the head of a root is -1.
    """
    if list(words) == list(tokens):
        return list(heads)
    first, owner = _overlaps(words, tokens, _depths(heads))
    stands = {token: word for word, token in reversed(list(enumerate(owner))) if token >= 0}
    found = []
    for word, token in enumerate(owner):
        if token < 0:
            found.append(-1)
        elif stands[token] != word:
            found.append(stands[token])
        else:
            above = heads[token]
            while above >= 0 and first[above] < 0:
                above = heads[above]
            found.append(first[above] if above >= 0 else -1)
    return found


def _overlaps(words: Sequence[Place], tokens: Sequence[Place], depths: Sequence[int]) -> tuple[list[int], list[int]]:
    """For each token the first word that shares characters with it; for each word the highest token that does."""
    first, owner = [-1] * len(tokens), [-1] * len(words)
    begin = 0
    for word, (start, end) in enumerate(words):
        while begin < len(tokens) and tokens[begin][1] <= start:
            begin += 1
        token = begin
        while token < len(tokens) and tokens[token][0] < end:
            if first[token] < 0:
                first[token] = word
            if owner[word] < 0 or depths[token] < depths[owner[word]]:
                owner[word] = token
            token += 1
    return first, owner


def _depths(heads: Sequence[int]) -> list[int]:
    """How far below its root each token is."""
    depths = [-1] * len(heads)
    for start in range(len(heads)):
        path, at = [], start
        while at >= 0 and depths[at] < 0:
            path.append(at)
            at = heads[at]
        depth = depths[at] if at >= 0 else -1
        for token in reversed(path):
            depth += 1
            depths[token] = depth
    return depths
