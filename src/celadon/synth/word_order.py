"""Damage by order: neighbours swapped, phrases moved to where they cannot stand, words shuffled."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from celadon.synth.pieces import Sentence, between, lowered, pick

Pieces = list[str]

# pairs of which one word cannot stand on the other side of its neighbour
_RIGID_PAIR = re.compile("(?=a[wx#]|[pt][adwxv]|l[adx]|b[av]|m[vew]|[he]v|p[xj])..")
_PHRASE = re.compile("[pl][ad]?[wx#]{1,3}(?=[^wx#]|$)")
# where nothing may be put in: after an article, a preposition, to
_CLOSED = re.compile("(?<=[apt])[wxvad]")


def neighbours_swapped(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Swap two neighbours, one of them a grammatical word: "house the", "Paris in"."""
    places = sentence.where(_RIGID_PAIR)
    if not places:
        return None
    at = pick(rng, places)
    pieces = list(sentence.pieces)
    pieces[at], pieces[at + 1] = pieces[at + 1], lowered(pieces[at])
    return pieces


def several_swapped(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Swap neighbours in several places."""
    if sentence.stop < 6:
        return None
    pieces = [lowered(sentence.pieces[0]), *sentence.pieces[1:]]
    at = between(rng, 0, 2)
    while at + 1 < sentence.stop:
        if not set(sentence.classes[at : at + 2]) & {",", "."}:
            pieces[at], pieces[at + 1] = pieces[at + 1], pieces[at]
        at += between(rng, 2, 5)
    return pieces


def phrase_moved(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Move a prepositional phrase into the middle of another phrase: "the in 2012 team"."""
    phrases = [match.span() for match in _PHRASE.finditer(sentence.classes)]
    if not phrases:
        return None
    begin, end = pick(rng, phrases)
    places = [at for at in sentence.where(_CLOSED) if not begin <= at <= end]
    if not places:
        return None
    at = pick(rng, places)
    pieces, moved = sentence.pieces, [lowered(piece) for piece in sentence.pieces[begin:end]]
    if at < begin:
        return [*pieces[:at], *moved, *pieces[at:begin], *pieces[end:]]
    return [*pieces[:begin], *pieces[end:at], *moved, *pieces[at:]]


def _shuffled(sentence: Sentence, rng: np.random.Generator, begin: int, end: int) -> Pieces:
    order = rng.permutation(end - begin) + begin
    pieces = [lowered(sentence.pieces[0]), *sentence.pieces[1:]]
    return [*pieces[:begin], *(pieces[at] for at in order), *pieces[end:]]


def window_shuffled(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Shuffle four to seven neighbours."""
    if sentence.stop < 5:
        return None
    size = between(rng, 4, min(7, sentence.stop))
    begin = between(rng, 0, sentence.stop - size)
    return _shuffled(sentence, rng, begin, begin + size)


def all_shuffled(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Shuffle all the words."""
    return _shuffled(sentence, rng, 0, sentence.stop) if sentence.stop > 3 else None


def halves_swapped(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Put the end first, divided where a word waits for the next: "town was built in 1900 the"."""
    places = [at for at in sentence.where(_CLOSED) if 2 <= at < sentence.stop - 1]
    if not places:
        return None
    at = pick(rng, places)
    pieces = [lowered(sentence.pieces[0]), *sentence.pieces[1:]]
    return [*pieces[at : sentence.stop], *pieces[:at], *pieces[sentence.stop :]]
