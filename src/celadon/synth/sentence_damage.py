"""Sentences damaged on purpose, in the ways of learners, templates, summarisers and weak language models.

Every kind of damage is a small function from a sentence in pieces to other pieces, or None where it does not apply.
``KINDS`` holds them all by name, each with how often it is chosen and how bad it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from celadon.core import UsageError
from celadon.synth import cuts_and_joins, missing_words, repeated_words, word_order, wrong_forms, wrong_words
from celadon.synth.neutral_variants import neutral
from celadon.synth.pieces import Sentence, between, capital, fold, join, split

__all__ = ["KINDS", "DamageKind", "Damaged", "damage", "damage_by", "neutral"]

_TRIES = 16
_FEWEST = 4  # words that must be left
_MARKS = ",;:.)"
_LONG = 10  # words; in a longer sentence a small fault weighs less


class Damaged(NamedTuple):
    """A damaged text, the kinds of damage done to it in order, and how bad it is, from 0 to 1."""

    text: str
    kinds: tuple[str, ...]
    severity: float


@dataclass(frozen=True)
class DamageKind:
    """A way to damage a sentence.

    Parameters
    ----------
    make
        The function that does it; None where the damage does not apply.
    weight
        How often it is chosen, relative to the others.
    severity
        How bad one such damage is in a short sentence, 0 to 1.
    local
        Whether the fault stays in its place, so that it weighs less in a long sentence.
    """

    make: Callable[[Sentence, np.random.Generator, Sequence[str]], list[str] | None]
    weight: float
    severity: float
    local: bool = True


KINDS: dict[str, DamageKind] = {
    "article_missing": DamageKind(missing_words.article_missing, 3, 0.25),
    "preposition_missing": DamageKind(missing_words.preposition_missing, 3, 0.4),
    "auxiliary_missing": DamageKind(missing_words.auxiliary_missing, 5, 0.45),
    "infinitive_to_missing": DamageKind(missing_words.infinitive_to_missing, 4, 0.35),
    "noun_missing": DamageKind(missing_words.noun_missing, 2.5, 0.55),
    "subject_missing": DamageKind(missing_words.subject_missing, 4, 0.5),
    "verb_missing": DamageKind(missing_words.verb_missing, 3, 0.6),
    "value_missing": DamageKind(missing_words.value_missing, 4, 0.6),
    "conjunction_missing": DamageKind(missing_words.conjunction_missing, 2, 0.35),
    "words_missing": DamageKind(missing_words.words_missing, 2, 0.75, local=False),
    "grammar_missing": DamageKind(missing_words.grammar_missing, 1, 0.75, local=False),
    "middle_skipped": DamageKind(missing_words.middle_skipped, 3, 0.6),
    "word_doubled": DamageKind(repeated_words.word_doubled, 2, 0.35),
    "phrase_doubled": DamageKind(repeated_words.phrase_doubled, 2.5, 0.5),
    "loop": DamageKind(repeated_words.loop, 2.5, 0.85, local=False),
    "jump_back": DamageKind(repeated_words.jump_back, 2, 0.6),
    "coordinated_twice": DamageKind(repeated_words.coordinated_twice, 1.5, 0.5),
    "clause_repeated": DamageKind(repeated_words.clause_repeated, 2, 0.6, local=False),
    "word_echoed": DamageKind(repeated_words.word_echoed, 2, 0.5),
    "subject_repeated": DamageKind(repeated_words.subject_repeated, 3, 0.4),
    "marks_repeated": DamageKind(repeated_words.marks_repeated, 0.5, 0.6),
    "neighbours_swapped": DamageKind(word_order.neighbours_swapped, 2, 0.45),
    "several_swapped": DamageKind(word_order.several_swapped, 1, 0.9, local=False),
    "phrase_moved": DamageKind(word_order.phrase_moved, 2, 0.5),
    "window_shuffled": DamageKind(word_order.window_shuffled, 1.5, 0.65),
    "all_shuffled": DamageKind(word_order.all_shuffled, 1, 1.0, local=False),
    "halves_swapped": DamageKind(word_order.halves_swapped, 1, 0.65, local=False),
    "agreement": DamageKind(wrong_forms.agreement, 6, 0.3),
    "article_form": DamageKind(wrong_forms.article_form, 3, 0.2),
    "noun_number": DamageKind(wrong_forms.noun_number, 5, 0.3),
    "verb_after_modal": DamageKind(wrong_forms.verb_after_modal, 6, 0.4),
    "verb_after_auxiliary": DamageKind(wrong_forms.verb_after_auxiliary, 7, 0.4),
    "finite_verb": DamageKind(wrong_forms.finite_verb, 7, 0.45),
    "pronoun_case": DamageKind(wrong_forms.pronoun_case, 3, 0.4),
    "comparison": DamageKind(wrong_forms.comparison, 4, 0.35),
    "word_class": DamageKind(wrong_forms.word_class, 1.5, 0.35),
    "misspelled": DamageKind(wrong_forms.misspelled, 1.2, 0.25),
    "wrong_preposition": DamageKind(wrong_words.wrong_preposition, 4, 0.3),
    "wrong_article": DamageKind(wrong_words.wrong_article, 2, 0.3),
    "spurious_word": DamageKind(wrong_words.spurious_word, 2, 0.45),
    "conjunction_broken": DamageKind(wrong_words.conjunction_broken, 1, 0.45),
    "negation_broken": DamageKind(wrong_words.negation_broken, 1.5, 0.5),
    "look_alike": DamageKind(wrong_words.look_alike, 1.5, 0.25),
    "nonsense_words": DamageKind(wrong_words.nonsense_words, 2, 0.55, local=False),
    "unknown_marks": DamageKind(wrong_words.unknown_marks, 3, 0.55, local=False),
    "end_cut": DamageKind(cuts_and_joins.end_cut, 4, 0.6, local=False),
    "beginning_cut": DamageKind(cuts_and_joins.beginning_cut, 2, 0.5, local=False),
    "halves_glued": DamageKind(cuts_and_joins.halves_glued, 3, 0.7, local=False),
    "crossed_over": DamageKind(cuts_and_joins.crossed_over, 2, 0.55, local=False),
    "run_on": DamageKind(cuts_and_joins.run_on, 1, 0.4, local=False),
    "stray_stop": DamageKind(cuts_and_joins.stray_stop, 1.5, 0.5),
    "stray_comma": DamageKind(cuts_and_joins.stray_comma, 0.7, 0.25),
    "endless": DamageKind(cuts_and_joins.endless, 1.5, 0.6, local=False),
}

_NAMES = tuple(KINDS)
_BOUNDS = np.array(tuple(accumulate(kind.weight for kind in KINDS.values())))


def damage(sentence: str, rng: np.random.Generator, others: Sequence[str]) -> Damaged | None:
    """Damage a sentence, in one way or in several.

    Parameters
    ----------
    sentence
        A sentence that is as good as can be had.
    rng
        Where all chance comes from: the same state gives the same damage.
    others
        Sentences of other texts, for the kinds that put in what does not belong here. May be empty.

    Returns
    -------
    Damaged or None
        Never the sentence itself, whatever the case and the white space; None where nothing could be done to it.
    """
    wanted = _how_many(sentence, rng)
    whole, kinds, soundness = split(sentence), list[str](), 1.0
    enough = min(_FEWEST, len(sentence.split()))
    made = sentence
    for _ in range(_TRIES):
        name = _NAMES[int(np.searchsorted(_BOUNDS, rng.random() * _BOUNDS[-1], side="right"))]
        once = _apply(name, whole, rng, others) if name not in kinds else None
        # a second damage may undo the first, and what is left of many cuts may be a fine short sentence
        if once is None or fold(once.text) == fold(sentence) or len(once.text.split()) < enough:
            continue
        made, whole = once.text, split(once.text)
        kinds.append(name)
        soundness *= 1 - once.severity
        if len(kinds) >= wanted:
            break
    return Damaged(made, tuple(kinds), 1 - soundness) if kinds else None


def damage_by(kind: str, sentence: str, rng: np.random.Generator, others: Sequence[str]) -> Damaged | None:
    """Damage a sentence in one way.

    Parameters
    ----------
    kind
        One of the names in ``KINDS``.
    sentence, rng, others
        As in :func:`damage`.

    Raises
    ------
    UsageError
        There is no such kind.
    """
    if kind not in KINDS:
        raise UsageError(f"unknown kind of damage {kind!r}; known: {', '.join(KINDS)}")
    return _apply(kind, split(sentence), rng, others)


def _apply(kind: str, whole: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Damaged | None:
    way = KINDS[kind]
    pieces = way.make(whole, rng, others) if whole.pieces else None
    if not pieces:
        return None
    original = join(whole.pieces)
    text = _without_first_marks(join(pieces), original)
    if kind != "beginning_cut" and original[:1].isupper():
        text = capital(text)
    if not text or fold(text) == fold(original):
        return None
    weight = min(1.0, (_LONG / len(whole.pieces)) ** 0.25) if way.local else 1.0
    return Damaged(text, (kind,), way.severity * weight)


def _without_first_marks(text: str, original: str) -> str:
    return text if original[:1] in _MARKS else text.lstrip(_MARKS + " ")


def _how_many(sentence: str, rng: np.random.Generator) -> int:
    # long sentences of bad generators have more faults, so a fault is not rarer per word in them
    draw = rng.random()
    few = 1 if draw < 0.55 else 2 if draw < 0.8 else between(rng, 3, 5)
    return few + (between(rng, 0, 2) if sentence.count(" ") > 25 and rng.random() < 0.5 else 0)
