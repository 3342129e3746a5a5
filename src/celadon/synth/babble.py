"""The output of a weak language model: a chain of words over given sentences, fluent from word to word, senseless as
a whole; and its usual failures, drifting off and going round in circles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from celadon.core import UsageError
from celadon.synth.pieces import Sentence, between, clash, fold, join, pick, split
from celadon.synth.sentence_damage import Damaged

_END = 0  # stands before and after every sentence
_TRIES = 8
_FEWEST_WORDS = 4
_PAIRED = frozenset("\"()[]{}“”‘’'«»")  # marks a chain cannot close again
_COUNTED = 2000  # continuations looked at to find the most frequent ones


def _said(text: str) -> int:
    # a number for the text, since the texts themselves would fill the memory
    return hash(fold(text).rstrip(".!?"))


class Babbler:
    """A chain of words learnt from sentences, with two words or one of context.

    It takes some thousands of sentences at least for babble that is not just the sentences again. Raises UsageError
    where there is no word in them.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self._ids: dict[str, int] = {"": _END}
        stream = [_END]
        for sentence in sentences:
            stream.append(_END)
            words = (piece for piece in split(sentence).pieces if piece.strip() not in _PAIRED)
            stream += [self._ids.setdefault(piece, len(self._ids)) for piece in words]
            stream.append(_END)
        if len(self._ids) == 1:
            raise UsageError("no words to babble with; give sentences")
        self._pieces = list(self._ids)
        self._stream = np.array(stream, dtype=np.int64)
        # for every context the places where it occurs lie side by side
        self._after_one = self._stream[:-1]
        self._after_two = self._stream[:-2] * len(self._ids) + self._stream[1:-1]
        self._by_one = np.argsort(self._after_one, kind="stable")
        self._by_two = np.argsort(self._after_two, kind="stable")
        self._after_one = self._after_one[self._by_one]
        self._after_two = self._after_two[self._by_two]
        self._likeliest: dict[int, tuple[int, ...]] = {}
        self._known = {_said(sentence) for sentence in sentences}

    def babble(self, rng: np.random.Generator) -> Damaged | None:
        """Return a sentence of the chain alone; None where it only ever says what it has read."""
        for _ in range(_TRIES):
            trust = 0.2 + 0.7 * rng.random()
            ids = self._chain([_END, _END], between(rng, 8, 40), trust, rng)
            text = self._text((), ids, rng)
            if len(ids) >= _FEWEST_WORDS and _said(text) not in self._known:
                return Damaged(text, ("babble",), 1 - 0.4 * trust)
        return None

    def drift(self, sentence: str, rng: np.random.Generator) -> Damaged | None:
        """Return a real beginning that the chain goes on with; None where it knows no word of the sentence."""
        whole = split(sentence)
        for _ in range(_TRIES):
            kept = self._cut(whole.pieces[: whole.stop], rng)
            if not kept:
                return None
            trust = 0.2 + 0.6 * rng.random()
            ids = self._chain(self._context(whole.pieces[:kept]), between(rng, 4, 25), trust, rng)
            text = self._text(whole.pieces[:kept], ids, rng)
            if len(ids) > 2 and fold(text) != fold(sentence) and _said(text) not in self._known:
                share = len(ids) / (kept + len(ids))
                return Damaged(text, ("drift",), (0.5 + 0.5 * share) * (1 - 0.3 * trust))
        return None

    def circle(self, sentence: str, rng: np.random.Generator) -> Damaged | None:
        """Return a real beginning after which the same word always follows a word, so that it goes round in circles."""
        whole = split(sentence)
        kept = self._cut(whole.pieces[: whole.stop], rng)
        if not kept:
            return None
        ids = self._context(whole.pieces[:kept])
        chosen: dict[int, int] = {}
        for _ in range(between(rng, 8, 30)):
            likely = self._likely(ids[-1])
            if not likely:
                break
            ids.append(chosen.setdefault(ids[-1], pick(rng, likely)))
        text = self._text(whole.pieces[:kept], ids[2:], rng)
        return Damaged(text, ("circle",), 0.95) if len(ids) > 5 and fold(text) != fold(sentence) else None

    def patch(self, sentence: str, rng: np.random.Generator) -> Damaged | None:
        """Return the sentence with a few words inside it put by the chain, which cannot go on as the sentence does."""
        whole = split(sentence)
        for _ in range(_TRIES):
            kept = self._cut(whole.pieces[: max(0, whole.stop - 2)], rng)
            if not kept:
                return None
            ids = self._chain(self._context(whole.pieces[:kept]), between(rng, 2, 5), 0.3, rng)
            gone = min(whole.stop - 1, kept + len(ids) + between(rng, -1, 1))
            made = [*whole.pieces[:kept], *(self._pieces[word] for word in ids), *whole.pieces[gone:]]
            seam = Sentence(tuple(made)).classes[kept + len(ids) - 1 : kept + len(ids) + 1]
            if ids and clash(seam[0], seam[1]) and fold(join(made)) != fold(sentence):
                return Damaged(join(made), ("patch",), 0.5)
        return None

    def _cut(self, pieces: Sequence[str], rng: np.random.Generator) -> int:
        """Where to leave a sentence: after a word that the chain knows, not too early; 0 for nowhere."""
        places = [at for at in range(max(1, len(pieces) // 4), len(pieces)) if pieces[at - 1] in self._ids]
        return pick(rng, places) if places else 0

    def _context(self, pieces: Sequence[str]) -> list[int]:
        return [self._ids.get(piece, _END) for piece in ("", *pieces)[-2:]]

    def _chain(self, context: list[int], most: int, trust: float, rng: np.random.Generator) -> list[int]:
        ids = list(context)
        for _ in range(most):
            word = self._follow(ids[-2], ids[-1], trust, rng)
            if word == _END:
                break
            ids.append(word)
        return ids[2:]

    def _follow(self, before: int, last: int, trust: float, rng: np.random.Generator) -> int:
        if rng.random() < trust or last == _END:
            key = before * len(self._pieces) + last
            begin, end = np.searchsorted(self._after_two, (key, key + 1))
            if begin < end:
                return int(self._stream[self._by_two[begin + int(rng.random() * (end - begin))] + 2])
        begin, end = np.searchsorted(self._after_one, (last, last + 1))
        return int(self._stream[self._by_one[begin + int(rng.random() * (end - begin))] + 1]) if begin < end else _END

    def _likely(self, last: int) -> tuple[int, ...]:
        """The likeliest words after a word, at most eight, the end and marks not among them."""
        if last not in self._likeliest:
            begin, end = np.searchsorted(self._after_one, (last, last + 1))
            step = max(1, int(end - begin) // _COUNTED)
            words, counts = np.unique(self._stream[self._by_one[begin:end:step] + 1], return_counts=True)
            ordered = (int(words[at]) for at in np.lexsort((words, -counts)))
            self._likeliest[last] = tuple(word for word in ordered if self._pieces[word].strip()[:1].isalnum())[:8]
        return self._likeliest[last]

    def _text(self, kept: Sequence[str], ids: Sequence[int], rng: np.random.Generator) -> str:
        text = join([*kept, *(self._pieces[word] for word in ids)])
        ended = text[-1:] in {".", "!", "?", '"'}
        return text if ended or rng.random() < 0.5 else text.rstrip(" ,;:-–") + "."
