"""What the generators that go by a treebank know of words: which bear a tag, and which follow each other in a corpus.

P(word | tag) is turned round by Bayes' rule: the treebank tells P(tag | word), the corpus how frequent the word is (one
more than its count, so that a word of the treebank that the corpus has not is rare and not impossible). P(word |
previous word) is the corpus's, smoothed as Witten and Bell do: for a word seen c times with t different words after it,
the share t / (c + t) goes to the single words' frequencies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.parsing.brackets import Tree, plain
from celadon.parsing.supertags import derive
from celadon.synth.tokens import FULL_STOP, TokenCorpus

_PAIRS_KEPT = 1024


class TaggedWord(NamedTuple):
    """A word of a treebank, with its part of speech and the tag that templates are made of."""

    word: str
    part_of_speech: str
    tag: str


def part_of_speech_words(trees: Iterable[Tree]) -> list[list[TaggedWord]]:
    """Return the sentences of trees, tagged with parts of speech."""
    cleaned = (plain(tree) for tree in trees)
    return [
        [TaggedWord(leaf.word, leaf.label, leaf.label) for leaf in tree.leaves()]
        for tree in cleaned
        if tree is not None
    ]


def supertag_words(trees: Iterable[Tree]) -> list[list[TaggedWord]]:
    """Return the sentences of trees, tagged with supertags."""
    derived = (derive(tree) for tree in trees)
    return [
        [TaggedWord(one.word, one.supertag.tag, str(one.supertag)) for one in whole.in_order()]
        for whole in derived
        if whole is not None
    ]


class Candidates(NamedTuple):
    """The words of a tag: their numbers and the logarithms of P(word | tag)."""

    words: IntArray
    logprobs: FloatArray


class Joins(NamedTuple):
    """The pairs of words of two tags that the corpus has: places among the candidates, sorted by the second, log P."""

    before: IntArray
    after: IntArray
    logprobs: FloatArray


class Lexicon:
    """The words of a treebank's tagged sentences by their numbers, and a corpus's pairs of words.

    The full stop belongs to the tags that mostly bear it (``stops``), and to no other.
    """

    def __init__(self, corpus: TokenCorpus, sentences: Sequence[Sequence[TaggedWord]]) -> None:
        tags_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        words_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for sentence in sentences:
            for each in sentence:
                tags_of[each.word][each.tag] += 1
                words_of[each.tag][each.word] += 1
        numbers = {word: number for number, word in enumerate(corpus.words)}
        for word in tags_of:
            numbers.setdefault(word, len(numbers))
        self.words = tuple(numbers)
        self.stops = frozenset(tag for tag, words in words_of.items() if words.most_common(1)[0][0] == FULL_STOP)
        counts = np.bincount(corpus.ids, minlength=len(numbers))
        self._candidates: dict[str, Candidates] = {}
        for tag, words in words_of.items():
            known = sorted(numbers[word] for word in words if word != FULL_STOP or tag in self.stops)
            shares = np.array([words[self.words[at]] / tags_of[self.words[at]].total() for at in known])
            weights = shares * (counts[known] + 1)
            self._candidates[tag] = Candidates(np.array(known, dtype=np.int64), np.log(weights / weights.sum()))
        self._log_single: FloatArray = np.log((counts + 1) / (counts.sum() + len(counts)))
        self._place = np.full(len(numbers), -1, dtype=np.int64)
        self._count_pairs(corpus)
        self.joins = lru_cache(maxsize=_PAIRS_KEPT)(self._joins)

    def candidates(self, tag: str) -> Candidates:
        """Return the words of a tag."""
        return self._candidates[tag]

    def log_single(self, words: IntArray) -> FloatArray:
        """Return log P(word) of words."""
        return self._log_single[words]

    def log_unseen(self, words: IntArray) -> FloatArray:
        """Return, for words, the logarithm of the share of what follows that goes to the single words."""
        return self._log_unseen[words]

    def _count_pairs(self, corpus: TokenCorpus) -> None:
        before, after = corpus.pairs()
        size = len(self.words)
        keys, counts = np.unique(before * size + after, return_counts=True)
        self._before, self._after = keys // size, keys % size
        self._bounds = np.searchsorted(self._before, np.arange(size + 1))
        seen = np.bincount(before, minlength=size)
        kinds = np.diff(self._bounds)
        # where nothing is known of what follows, all goes to the single words
        share = np.where(seen > 0, kinds / np.maximum(seen + kinds, 1), 1.0)
        self._log_unseen: FloatArray = np.log(share)
        single = np.exp(self._log_single[self._after])
        own = counts / (seen + kinds)[self._before]
        self._log_pair = np.log(own + share[self._before] * single)

    def _joins(self, tag: str, next_tag: str) -> Joins:
        before, after = self._candidates[tag].words, self._candidates[next_tag].words
        begins, ends = self._bounds[before], self._bounds[before + 1]
        sizes = ends - begins
        where = np.repeat(np.arange(len(before)), sizes)
        pairs = np.arange(sizes.sum()) + np.repeat(begins - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
        self._place[after] = np.arange(len(after))
        places = self._place[self._after[pairs]]
        self._place[after] = -1
        kept = np.flatnonzero(places >= 0)
        order = kept[np.argsort(places[kept], kind="stable")]
        return Joins(where[order], places[order], self._log_pair[pairs[order]])
