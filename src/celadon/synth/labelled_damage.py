"""Damage of one or a few words, and labels for the words that any damage has made wrong."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from celadon.models.encoders.word_findings import FindingKind
from celadon.synth import slips
from celadon.synth.pieces import DamageKind, Others, Rng, split
from celadon.synth.sentence_damage import Damaged, apply_kind
from celadon.synth.word_differences import WordLabel, difference_labels

_TRIES = 12
# how many slips a sentence has: one, two or three
_SEVERAL, _MANY = 0.75, 0.94
_LONGEST_RUN = 3

KIND_OF: Mapping[str, FindingKind] = {
    **slips.KIND_OF_SLIP,
    "agreement": FindingKind.AGREEMENT,
    "noun_number": FindingKind.AGREEMENT,
    "verb_after_modal": FindingKind.VERB_FORM,
    "verb_after_auxiliary": FindingKind.VERB_FORM,
    "finite_verb": FindingKind.VERB_FORM,
    "article_form": FindingKind.ARTICLE,
    "article_missing": FindingKind.ARTICLE,
    "wrong_article": FindingKind.ARTICLE,
    "wrong_preposition": FindingKind.PREPOSITION,
    "preposition_missing": FindingKind.PREPOSITION,
    "misspelled": FindingKind.SPELLING,
    "pronoun_case": FindingKind.WRONG_WORD,
    "comparison": FindingKind.WRONG_WORD,
    "word_class": FindingKind.WRONG_WORD,
    "spurious_word": FindingKind.WRONG_WORD,
    "conjunction_broken": FindingKind.WRONG_WORD,
    "negation_broken": FindingKind.WRONG_WORD,
    "look_alike": FindingKind.WRONG_WORD,
    "nonsense_words": FindingKind.WRONG_WORD,
    "unknown_marks": FindingKind.WRONG_WORD,
    "infinitive_to_missing": FindingKind.MISSING_WORD,
    "auxiliary_missing": FindingKind.MISSING_WORD,
    "subject_missing": FindingKind.MISSING_WORD,
    "verb_missing": FindingKind.MISSING_WORD,
    "noun_missing": FindingKind.MISSING_WORD,
    "middle_skipped": FindingKind.MISSING_WORD,
    "beginning_cut": FindingKind.MISSING_WORD,
    "word_doubled": FindingKind.DOUBLED,
    "phrase_doubled": FindingKind.DOUBLED,
    "loop": FindingKind.DOUBLED,
    "jump_back": FindingKind.DOUBLED,
    "coordinated_twice": FindingKind.DOUBLED,
    "word_echoed": FindingKind.DOUBLED,
    "neighbours_swapped": FindingKind.WORD_ORDER,
    "several_swapped": FindingKind.WORD_ORDER,
    "phrase_moved": FindingKind.WORD_ORDER,
    "window_shuffled": FindingKind.WORD_ORDER,
    "all_shuffled": FindingKind.WORD_ORDER,
    "halves_swapped": FindingKind.WORD_ORDER,
    "marks_repeated": FindingKind.PUNCTUATION,
    "stray_stop": FindingKind.PUNCTUATION,
    "stray_comma": FindingKind.PUNCTUATION,
    "run_on": FindingKind.PUNCTUATION,
    "end_cut": FindingKind.BROKEN_OFF,
    "halves_glued": FindingKind.BROKEN_OFF,
    "crossed_over": FindingKind.BROKEN_OFF,
    "endless": FindingKind.BROKEN_OFF,
}
"""What is wrong with the words that a kind of damage has changed; of kinds without an entry the words tell it."""

SEAMS = frozenset({"end_cut", "halves_glued", "crossed_over", "endless", "run_on"})
"""Kinds that go wrong at one place, after which each word fits the next."""


class Slips:
    """Makes a few slips in a sentence; ``corrections`` are what people have made and corrected."""

    def __init__(self, corrections: Sequence[slips.Correction] = ()) -> None:
        self.kinds: dict[str, DamageKind] = {**slips.KINDS, **slips.slips_of_corrections(corrections)}

    def make(self, sentence: str, rng: Rng, others: Others = (), *, only: Collection[str] = ()) -> Damaged | None:
        """Return a copy with one to three slips; None where no kind applies.

        ``only`` are the kinds to choose from, all where it is empty.
        """
        names = [name for name in self.kinds if not only or name in only]
        bounds = np.cumsum([self.kinds[name].weight for name in names])
        draw = rng.random()
        wanted = 1 if draw < _SEVERAL else 2 if draw < _MANY else 3
        text, kinds, soundness = sentence, list[str](), 1.0
        for _ in range(_TRIES):
            name = names[int(np.searchsorted(bounds, rng.random() * bounds[-1], side="right"))]
            once = apply_kind(name, self.kinds[name], split(text), rng, others)
            if once is None or once.text.casefold() == sentence.casefold():
                continue
            text = once.text
            kinds.append(name)
            soundness *= 1 - once.severity
            if len(kinds) == wanted:
                break
        return Damaged(text, tuple(kinds), 1 - soundness) if kinds else None


def damage_labels(faulty: str, sound: str, kinds: Sequence[str], known: Collection[str] = ()) -> list[WordLabel]:
    """Label the words of a damaged sentence; ``kinds`` are those of the damage, ``known`` as in difference_labels."""
    distinct = set(kinds)
    if len(distinct) > 1:
        return _shortened(difference_labels(faulty, sound, known))
    (kind,) = distinct
    return _shortened(difference_labels(faulty, sound, known, KIND_OF.get(kind), seam=kind in SEAMS))


def _shortened(labels: list[WordLabel]) -> list[WordLabel]:
    """Take the labels off the later words of a long run of faulty ones, of which nobody could say what is wrong."""
    run, shortened = 0, []
    for label in labels:
        run = 0 if label.kind is FindingKind.OK else run + 1
        shortened.append(label._replace(kind=None) if run > _LONGEST_RUN else label)
    return shortened
