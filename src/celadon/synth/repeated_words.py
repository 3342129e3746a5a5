"""Damage by repetition inside a sentence: doubled words and phrases, loops, clauses that come again."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from celadon.synth.pieces import Sentence, between, pick, spaced, split

Pieces = list[str]

_MAY_BE_DOUBLED = frozenset("had that very so much more really bye ha no yes".split())
_WORDS = re.compile("[^,.]+")
_PHRASE = re.compile("[adpl][a-z]?[wx]{1,3}(?=[^wx]|$)")
_NOUN_PHRASE = re.compile("(?<=[ad])[wx]{1,3}(?=[^wx]|$)")
_CONTENT = re.compile("[wvx]")
_SUBJECT = re.compile("(?:(?<=^a)|(?<=^d)|(?<=^aw)|(?<=^ax)|(?<=,a)|(?<=sa)|(?<=ca)|(?<=^)|(?<=^x))[wx](?=[bhm])")


def _words_between_marks(sentence: Sentence, at_least: int) -> list[tuple[int, int]]:
    spans = (match.span() for match in _WORDS.finditer(sentence.classes))
    return [(begin, end) for begin, end in spans if end - begin >= at_least]


def word_doubled(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Write a word twice, a short grammatical one rather than another."""
    places = [at for at in range(sentence.stop) if sentence.low[at] not in _MAY_BE_DOUBLED]
    places = [at for at in places if sentence.classes[at] not in ",.#"]
    small = [at for at in places if sentence.classes[at] in "abdehlmopstc"]
    if not places:
        return None
    at = pick(rng, small if small and rng.random() < 0.6 else places)
    again = spaced(sentence.pieces[at : at + 1])
    return [*sentence.pieces[: at + 1], *again, *sentence.pieces[at + 1 :]]


def phrase_doubled(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Write a phrase twice in a row: "of the town of the town", "in the north in the north"."""
    spans = _words_between_marks(sentence, 3)
    if not spans:
        return None
    begin, end = pick(rng, spans)
    phrases = [match.span() for match in _PHRASE.finditer(sentence.classes)]
    if phrases and rng.random() < 0.6:
        left, right = pick(rng, phrases)
    else:
        left = between(rng, begin, end - 2)
        right = min(end, left + between(rng, 2, 6))
    return [*sentence.pieces[:right], *spaced(sentence.pieces[left:right]), *sentence.pieces[right:]]


def loop(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Go round in a phrase several times and break off, or find the way out: "of the bottle of the bottle of the"."""
    spans = _words_between_marks(sentence, 2)
    if not spans:
        return None
    begin, end = pick(rng, spans)
    size = between(rng, 1, min(5, end - begin))
    left = between(rng, begin, end - size)
    again = spaced(sentence.pieces[left : left + size])
    if rng.random() < 0.3:
        again = [*again, pick(rng, (",", " and", " ,"))]
    rounds = between(rng, 2, 3 if size > 3 else 8)
    made = [*sentence.pieces[: left + size], *(again * rounds)]
    if rng.random() < 0.5:
        return [*made, *sentence.pieces[left + size :]]
    made += again[: between(rng, 0, len(again) - 1)]
    return [*made, *sentence.pieces[sentence.stop :]] if rng.random() < 0.5 else made


def jump_back(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Go back some words and say them again before going on: "was born in was born in Paris"."""
    if sentence.stop < 6:
        return None
    at = between(rng, 4, sentence.stop - 1)
    back = between(rng, 2, min(10, at - 1))
    return [*sentence.pieces[:at], *spaced(sentence.pieces[at - back : at]), *sentence.pieces[at:]]


def coordinated_twice(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Join a phrase with itself: "a phone number and phone number"."""
    phrases = [match.span() for match in _NOUN_PHRASE.finditer(sentence.classes)]
    if not phrases:
        return None
    begin, end = pick(rng, phrases)
    if rng.random() < 0.5:
        begin -= 1
    link = pick(rng, (" and", " and", " or", ",", ", and"))
    return [*sentence.pieces[:end], link, *spaced(sentence.pieces[begin:end]), *sentence.pieces[end:]]


def clause_repeated(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Say the sentence again after itself, whole, cut or with the end of another sentence."""
    stop = sentence.stop
    if stop < 5:
        return None
    link = pick(rng, (" and", ", and", ",", ", and later", " that", " but", " because"))
    kept = stop if rng.random() < 0.4 else between(rng, max(3, stop // 2), stop)
    again = spaced(sentence.pieces[:kept])
    ending: Sequence[str] = ()
    if kept < stop and others and rng.random() < 0.6:
        other = split(pick(rng, others))
        ending = other.pieces[max(1, other.stop - between(rng, 2, 6)) : other.stop]
    return [*sentence.pieces[:stop], link, *again, *ending, *sentence.pieces[stop:]]


def word_echoed(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Put an earlier word in a later one's place: "the game is about the idea of the game of the game"."""
    places = [at for at in sentence.where(_CONTENT) if at and len(sentence.low[at]) > 3]
    if len(places) < 3:
        return None
    source = pick(rng, places[:-1])
    later = [at for at in places if at > source and sentence.low[at] != sentence.low[source]]
    if not later:
        return None
    changed = {at for at in later if rng.random() < 0.35} | {pick(rng, later)}
    word = sentence.pieces[source].strip()
    return [
        piece[: len(piece) - len(piece.lstrip())] + word if at in changed else piece
        for at, piece in enumerate(sentence.pieces)
    ]


def subject_repeated(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Take the subject up again with a pronoun: "the hotel it is near the station"."""
    places = sentence.where(_SUBJECT)
    if not places:
        return None
    at = pick(rng, places) + 1
    many = sentence.low[at] in {"are", "were", "have"}
    pronoun = " they" if many else pick(rng, (" it", " it", " it", " he", " she", " which it"))
    return [*sentence.pieces[:at], pronoun, *sentence.pieces[at:]]


def marks_repeated(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Run wild in commas and stops, in the sentence or at its end: ".,.,.,"."""
    if sentence.stop < 2:
        return None
    marks = pick(rng, (",", ", and", ".,", " ,", " ..", " '' ''", ",,", ", ,")) * between(rng, 1, 4)
    at = between(rng, 1, sentence.stop)
    return [*sentence.pieces[:at], marks, *(sentence.pieces[at:] if rng.random() < 0.5 else ["."])]
