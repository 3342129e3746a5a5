"""Sentences damaged on purpose, in the ways of learners, templates, summarisers and weak language models.

Every kind of damage is a small function from a sentence in pieces to other pieces. ``KINDS`` holds them all by name,
each with how often it is chosen and how bad it is.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np

from celadon.core import UsageError
from celadon.synth import cuts_and_joins, faulty_structure, faulty_words
from celadon.synth.pieces import DamageKind, DoesNotApply, Others, Rng, Sentence, between, capital, fold, join, split

_TRIES = 16
_FEWEST = 4  # words that must be left
_MARKS = ",;:.)"
_LONG = 10  # words; in a longer sentence a small fault weighs less


class Damaged(NamedTuple):
    """A damaged text, the kinds of damage done to it in order, and how bad it is, from 0 to 1."""

    text: str
    kinds: tuple[str, ...]
    severity: float


KINDS: dict[str, DamageKind] = {**faulty_structure.KINDS, **faulty_words.KINDS, **cuts_and_joins.KINDS}
_NAMES = tuple(KINDS)
_BOUNDS = np.array(tuple(accumulate(kind.weight for kind in KINDS.values())))


def damage(sentence: str, rng: Rng, others: Others) -> Damaged | None:
    """Damage a sound sentence, in one way or in several; the same state of ``rng`` gives the same damage.

    ``others`` are sentences of other texts, for the kinds that put in what does not belong here; there may be none.
    The result is never the sentence itself, whatever the case and the white space; None where nothing could be done.
    """
    wanted = _how_many(sentence, rng)
    whole, kinds, soundness = split(sentence), list[str](), 1.0
    enough = min(_FEWEST, len(sentence.split()))
    made = sentence
    for _ in range(_TRIES):
        name = _NAMES[int(np.searchsorted(_BOUNDS, rng.random() * _BOUNDS[-1], side="right"))]
        once = apply_kind(name, KINDS[name], whole, rng, others) if name not in kinds else None
        # a second damage may undo the first, and what is left of many cuts may be a fine short sentence
        if once is None or fold(once.text) == fold(sentence) or len(once.text.split()) < enough:
            continue
        made, whole = once.text, split(once.text)
        kinds.append(name)
        soundness *= 1 - once.severity
        if len(kinds) >= wanted:
            break
    return Damaged(made, tuple(kinds), 1 - soundness) if kinds else None


def damage_by(kind: str, sentence: str, rng: Rng, others: Others) -> Damaged | None:
    """Damage a sentence in one way, one of the names in ``KINDS``; see :func:`damage`."""
    if kind not in KINDS:
        raise UsageError(f"unknown kind of damage {kind!r}; known: {', '.join(KINDS)}")
    return apply_kind(kind, KINDS[kind], split(sentence), rng, others)


def apply_kind(kind: str, way: DamageKind, whole: Sentence, rng: Rng, others: Others) -> Damaged | None:
    """Damage a sentence in the way that is called ``kind``; None where that changes nothing."""
    try:
        pieces = way.make(whole, rng, others) if whole.pieces else None
    except DoesNotApply:
        pieces = None
    if not pieces:
        return None
    original = join(whole.pieces)
    text = join(pieces)
    if original[:1] not in _MARKS:
        text = text.lstrip(_MARKS + " ")
    if kind != "beginning_cut" and original[:1].isupper():
        text = capital(text)
    if not text or (original.casefold() == text.casefold() if way.spacing else fold(original) == fold(text)):
        return None
    weight = min(1.0, (_LONG / len(whole.pieces)) ** 0.25) if way.local else 1.0
    return Damaged(text, (kind,), way.severity * weight)


def _how_many(sentence: str, rng: Rng) -> int:
    # long sentences of bad generators have more faults, so a fault is not rarer per word in them
    draw = rng.random()
    few = 1 if draw < 0.55 else 2 if draw < 0.8 else between(rng, 3, 5)
    return few + (between(rng, 0, 2) if sentence.count(" ") > 25 and rng.random() < 0.5 else 0)
