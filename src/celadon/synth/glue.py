"""Sentences glued together from sequences of a corpus, as Mutton et al. 2007 make texts of graded fluency.

The first word of the first sequence is drawn by its unigram probability, that of each later one by its probability
after the last word of the sequence before it; the sequence itself is any of those in the corpus that begin with the
word. The whole is drawn on the condition that its last token is a full stop and no other is, which is what would
remain if sentences were drawn until one fits. So the chain never goes where it could not go on: a word that no sequence
begins with is not drawn, and there is nothing to back off to. Sequences do not cross the ends of sentences; a text does
not begin with a mark; one that happens to be a sentence of the corpus, or whose tokens would be others when it is read
again, is drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from celadon.core import FloatArray, InputError, IntArray
from celadon.synth.tokens import (
    FULL_STOP,
    MadeText,
    TokenCorpus,
    capitalised,
    check_request,
    is_word,
    places_of,
    sentence_text,
    text_of,
)

_ROUNDS = 50  # of drawing what is still missing


def glued_sentences(corpus: TokenCorpus, length: int, sequence: int, count: int, seed: int) -> list[MadeText]:
    """Make sentences of ``length`` tokens, the full stop among them, out of sequences of one size, which divides it.

    Of the sentence's own size, real sentences are taken, all different. The same seed gives the same sentences. Raises
    InputError where the corpus has too little.
    """
    check_request(length, count, seed, sequence)
    rng = np.random.default_rng([seed, length, sequence])
    if sequence == length:
        return _real_sentences(corpus, length, count, rng)
    return _Glue(corpus, length, sequence).sentences(count, rng)


def _real_sentences(corpus: TokenCorpus, length: int, count: int, rng: np.random.Generator) -> list[MadeText]:
    found = dict.fromkeys(
        tokens
        for tokens in _sentences_of(corpus, length)
        if tokens[-1] == FULL_STOP and tokens.index(FULL_STOP) == length - 1
    )
    made = [MadeText(text_of(tokens), tokens) for tokens in found]
    if len(made) < count:
        raise InputError(
            f"the corpus has only {len(made)} sentences of {length} tokens that end with a full stop; "
            f"{count} are wanted: give more text or ask for fewer"
        )
    return [made[at] for at in rng.choice(len(made), count, replace=False)]


def _sentences_of(corpus: TokenCorpus, length: int) -> Iterator[tuple[str, ...]]:
    for number in np.flatnonzero(corpus.lengths == length):
        yield corpus.sentence(int(number))


class _Glue:
    """The chain of windows: sequences of one corpus, each known by the place where it begins."""

    def __init__(self, corpus: TokenCorpus, length: int, size: int) -> None:
        self._corpus, self._length, self._size = corpus, length, size
        vocabulary = len(corpus.words)
        self._stop = corpus.words.index(FULL_STOP) if FULL_STOP in corpus.words else vocabulary
        begins, inner, last = self._windows()
        ids = corpus.ids
        # how many there are to choose from; only windows that may stand in a sentence are kept
        self._per_word = np.maximum(np.bincount(ids[begins], minlength=vocabulary), 1)
        before, after = corpus.pairs()
        self._next = _Grouped(before, after, after, vocabulary)
        self._inner = _Grouped(ids[inner], inner, ids[inner + size - 1], vocabulary)
        self._last = _Grouped(ids[last], last, ids[last + size - 1], vocabulary)
        self._begun, self._ended = self._chances(length // size)

    def _windows(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where windows begin; of these, those without a full stop, and those with one as their last token alone."""
        ids, size = self._corpus.ids, self._size
        room = np.repeat(self._corpus.starts[1:], self._corpus.lengths) - np.arange(len(ids))
        begins = np.flatnonzero(room >= size)
        stops = np.concatenate([[0], np.cumsum(ids == self._stop)])
        before_last = stops[begins + size - 1] - stops[begins]
        at_last = ids[begins + size - 1] == self._stop
        return begins, begins[(before_last == 0) & ~at_last], begins[(before_last == 0) & at_last]

    def _chances(self, windows: int) -> tuple[list[FloatArray], list[FloatArray]]:
        """How likely, up to a factor, the sentence ends as it should.

        First by the word that a window begins with, for each number of windows after it from none; then by the last
        word of a window, for each number of windows after it from one.
        """
        per_pair = np.maximum(self._next.sums(np.ones(len(self._corpus.words))), 1)
        begun = [self._last.sums(np.ones(len(self._corpus.words))) / self._per_word]
        ended: list[FloatArray] = []
        for _ in range(windows - 1):
            ended.append(_scaled(self._next.sums(begun[-1]) / per_pair))
            begun.append(_scaled(self._inner.sums(ended[-1]) / self._per_word))
        return begun, ended

    def sentences(self, count: int, rng: np.random.Generator) -> list[MadeText]:
        """Draw until there are enough."""
        first = np.bincount(self._corpus.ids, minlength=len(self._corpus.words)) * self._begun[-1]
        first *= [is_word(word) for word in self._corpus.words]
        if not first.any():
            raise InputError(
                f"the corpus has no sequences of {self._size} tokens that make a sentence of {self._length} with a "
                "full stop at its end; give more text"
            )
        found: list[MadeText] = []
        for _ in range(_ROUNDS):
            found += self._drawn(first, count - len(found), rng)
            if len(found) == count:
                return found
        raise InputError(
            f"sequences of {self._size} tokens of this corpus give hardly anything but its own sentences; "
            "give more text or ask for fewer"
        )

    @cached_property
    def _known(self) -> frozenset[tuple[str, ...]]:
        return frozenset(map(capitalised, _sentences_of(self._corpus, self._length)))

    def _drawn(self, first: FloatArray, count: int, rng: np.random.Generator) -> Iterator[MadeText]:
        """As many sentences, all drawn a step at a time together, without those that will not do."""
        ids, words = self._corpus.ids, self._corpus.words
        begin = places_of(first, rng.random(count))
        parts: list[IntArray] = []
        for to_go in range(len(self._ended), 0, -1):
            windows = self._inner.drawn(begin, self._ended[to_go - 1], rng)
            begin = self._next.drawn(ids[windows + self._size - 1], self._begun[to_go - 1], rng)
            parts.append(windows[:, None] + np.arange(self._size))
        windows = self._last.drawn(begin, np.ones(len(words)), rng)
        parts.append(windows[:, None] + np.arange(self._size))
        for row in ids[np.concatenate(parts, axis=1)].tolist():
            made = sentence_text([words[token] for token in row])
            if made is not None and made.tokens not in self._known:
                yield made


class _Grouped:
    """Items sorted by their keys, each with a word whose value is its weight."""

    def __init__(self, keys: IntArray, items: IntArray, weighing: IntArray, size: int) -> None:
        order = np.argsort(keys, kind="stable")
        self._keys, self._items, self._weighing = keys[order], items[order], weighing[order]
        self._bounds = np.searchsorted(self._keys, np.arange(size + 1))

    def sums(self, values: FloatArray) -> FloatArray:
        """For each key the weights of its items together."""
        return np.bincount(self._keys, values[self._weighing], len(self._bounds) - 1).astype(np.float64)

    def drawn(self, keys: IntArray, values: FloatArray, rng: np.random.Generator) -> IntArray:
        """For each of some keys one of its items, by the items' weights."""
        chances = rng.random(len(keys))
        found = np.zeros(len(keys), dtype=np.int64)
        unique, which = np.unique(keys, return_inverse=True)
        for number, key in enumerate(unique):
            begin, end = self._bounds[key], self._bounds[key + 1]
            mine = which == number
            found[mine] = self._items[begin + places_of(values[self._weighing[begin:end]], chances[mine])]
        return found


def _scaled(values: FloatArray) -> FloatArray:
    """The same proportions, far from the smallest number that there is."""
    most = values.max(initial=0.0)
    return values / most if most else values
