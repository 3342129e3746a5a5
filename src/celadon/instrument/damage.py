"""The kinds of damage that an instrument must notice, each with one seeded definition.

A text is damaged in place: sentences are replaced where they stand, so that headings, lists, code and the spaces
between stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from celadon.synth.faulty_words import AGREEMENT
from celadon.synth.pieces import capital, join, lowered, split

Span = tuple[int, int]

DROPPED = 12
"""One word in so many is dropped."""
SWAPPED = 0.4
"""The share of sentences in which two neighbors are swapped."""
REPEATED = MIXED = 1 / 3
"""The share of sentences that give way to an earlier one, or to one of another document."""
_WORD = re.compile(r"\w")
_ARTICLES = frozenset({"a", "an", "the"})
_LOOPED_WORDS = (3, 6)
_LOOPED_TIMES = (3, 5)


class _Text(NamedTuple):
    """A text, the places of its sentences, and sentences of other documents."""

    text: str
    places: Sequence[Span]
    others: Sequence[str]

    @property
    def sentences(self) -> list[str]:
        return [self.text[start:end] for start, end in self.places]

    def replaced(self, sentences: Sequence[str]) -> str:
        """Return the text with other sentences in the places of its own."""
        pieces, at = [], 0
        for (start, end), sentence in zip(self.places, sentences, strict=True):
            pieces += [self.text[at:start], sentence]
            at = end
        return "".join([*pieces, self.text[at:]])


def damaged(
    kind: str, text: str, places: Sequence[Span], others: Sequence[str], random: np.random.Generator
) -> str | None:
    """Return a damaged copy of a text; None where the damage changes nothing.

    Parameters
    ----------
    kind
        One of ``KINDS``.
    text, places
        The text, and the characters of its sentences, begin and end.
    others
        Sentences of other documents.
    random
        The source of all chance.
    """
    copy = KINDS[kind](_Text(text, places, others), random)
    return None if copy == text else copy


def _dropped(text: _Text, random: np.random.Generator) -> str:
    """Drop one word in twelve, at least one."""
    parts = [split(sentence) for sentence in text.sentences]
    words = [(s, at) for s, part in enumerate(parts) for at, piece in enumerate(part.pieces) if _WORD.search(piece)]
    count = min(max(1, round(len(words) / DROPPED)), max(len(words) - 1, 0))
    gone = {words[at] for at in random.permutation(len(words))[:count]}
    kept = [[piece for at, piece in enumerate(part.pieces) if (s, at) not in gone] for s, part in enumerate(parts)]
    return text.replaced([join(pieces) for pieces in kept])


def _swapped(text: _Text, random: np.random.Generator) -> str:
    """Swap two neighboring words in two sentences of five, at least in one."""
    sentences = text.sentences
    chosen = random.permutation(len(sentences))[: max(1, round(SWAPPED * len(sentences)))]
    for number in chosen.tolist():
        pieces = list(split(sentences[number]).pieces)
        pairs = [
            at
            for at in range(len(pieces) - 1)
            if _WORD.search(pieces[at])
            and _WORD.search(pieces[at + 1])
            and pieces[at].strip() != pieces[at + 1].strip()
        ]
        if pairs:
            at = pairs[int(random.integers(len(pairs)))]
            first, second = pieces[at].strip(), pieces[at + 1].strip()
            if at == 0:
                first, second = lowered(first), capital(second)
            pieces[at], pieces[at + 1] = _spaced(pieces[at], second), _spaced(pieces[at + 1], first)
            sentences[number] = join(pieces)
    return text.replaced(sentences)


def _spaced(old: str, new: str) -> str:
    return old[: len(old) - len(old.lstrip())] + new


def _agreement(text: _Text, random: np.random.Generator) -> str:
    """Flip the number of every form of be, have and do."""

    def flip(piece: str) -> str:
        bare = piece.strip()
        other = AGREEMENT.get(bare.lower())
        return piece if other is None else _spaced(piece, capital(other) if bare[0].isupper() else other)

    return text.replaced([join(map(flip, split(sentence).pieces)) for sentence in text.sentences])


def _articles(text: _Text, random: np.random.Generator) -> str:
    """Remove all articles."""

    def without(sentence: str) -> str:
        pieces = [piece for piece in split(sentence).pieces if piece.strip().lower() not in _ARTICLES]
        begins_big = sentence[:1].isupper()
        return join([capital(pieces[0]) if begins_big else pieces[0], *pieces[1:]]) if pieces else sentence

    return text.replaced(list(map(without, text.sentences)))


def _repeated(text: _Text, random: np.random.Generator) -> str:
    """Replace a third of the sentences, at least one, by copies of sentences before them."""
    sentences = text.sentences
    if len(sentences) < 2:
        return text.text
    count = max(1, round(REPEATED * len(sentences)))
    for at in sorted((random.permutation(len(sentences) - 1)[:count] + 1).tolist()):
        sentences[at] = sentences[int(random.integers(at))]
    return text.replaced(sentences)


def _mixed(text: _Text, random: np.random.Generator) -> str:
    """Replace a third of the sentences, at least one, by sentences of other documents."""
    sentences = text.sentences
    if len(sentences) < 2:
        return text.text
    for at in random.permutation(len(sentences))[: max(1, round(MIXED * len(sentences)))].tolist():
        sentences[at] = text.others[int(random.integers(len(text.others)))]
    return text.replaced(sentences)


def _cut(text: _Text, random: np.random.Generator) -> str:
    """End the text in the middle of its last sentence that has at least four words."""
    for (start, _), sentence in zip(reversed(text.places), reversed(text.sentences), strict=True):
        pieces = [piece for piece in split(sentence).pieces if _WORD.search(piece)]
        if len(pieces) >= 4:
            kept = int(random.integers(2, len(pieces) - 1))
            words = list(re.finditer(r"\S+", sentence))
            end = words[min(kept, len(words) - 1) - 1].end()
            return text.text[: start + end].rstrip(" ,;:.!?")
    return text.text


def _looped(text: _Text, random: np.random.Generator) -> str:
    """Let a phrase of three to six words come three to five times more, in one sentence of at least six words."""
    sentences = text.sentences
    for number in random.permutation(len(sentences)).tolist():
        words = sentences[number].split()
        if len(words) >= _LOOPED_WORDS[1]:
            size = int(random.integers(_LOOPED_WORDS[0], _LOOPED_WORDS[1] + 1))
            start = int(random.integers(len(words) - size + 1))
            phrase = words[start : start + size]
            again = [word.strip(".!?") for word in phrase] * int(
                random.integers(_LOOPED_TIMES[0], _LOOPED_TIMES[1] + 1)
            )
            sentences[number] = " ".join([*words[:start], *again, *words[start:]])
            return text.replaced(sentences)
    return text.text


def _shuffled(text: _Text, random: np.random.Generator) -> str:
    """Put the sentences of the text into another order."""
    sentences = text.sentences
    return text.replaced([sentences[at] for at in random.permutation(len(sentences)).tolist()])


KINDS: Mapping[str, Callable[[_Text, np.random.Generator], str]] = {
    "dropped": _dropped,
    "swapped": _swapped,
    "agreement": _agreement,
    "articles": _articles,
    "repeated": _repeated,
    "mixed": _mixed,
    "cut": _cut,
    "looped": _looped,
    "shuffled": _shuffled,
}
OF_DOCUMENTS = frozenset({"repeated", "mixed", "shuffled"})
"""Kinds that a single reply cannot have."""
