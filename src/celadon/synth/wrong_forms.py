"""Damage by form: agreement, number, tense, case, comparison, the wrong part of speech, as learners do."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from celadon.synth import english
from celadon.synth.pieces import Sentence, between, like, pick

Pieces = list[str]

_AGREEMENT = {
    "is": "are", "are": "is", "was": "were", "were": "was", "has": "have", "have": "has", "does": "do", "do": "does",
    "isn't": "aren't", "aren't": "isn't", "wasn't": "weren't", "weren't": "wasn't", "doesn't": "don't",
    "don't": "doesn't", "hasn't": "haven't", "haven't": "hasn't", "am": "is",
}  # fmt: skip
_CASE_OF_SUBJECT = {"he": "him", "she": "her", "they": "them", "we": "us", "i": "me"}
_CASE_OF_OBJECT = {"him": "he", "them": "they", "us": "we", "me": "I", "her": "she"}
_COMPARED = frozenset(
    "better worse bigger larger smaller higher lower older younger longer shorter faster cheaper easier greater "
    "stronger earlier best worst biggest largest smallest highest lowest oldest youngest longest greatest".split()
)
# related words of two classes, which learners confuse
_RELATED = """
success successful;importance important;difference different;beauty beautiful;health healthy;danger dangerous
fame famous;safety safe;freedom free;strength strong;length long;depth deep;truth true;death dead;life live
choice choose;belief believe;proof prove;advice advise;loss lose;growth grow;thought think;speech speak;sale sell
analysis analyze;development develop;movement move;government govern;improvement improve;agreement agree
education educate;creation create;decision decide;production produce;protection protect;destruction destroy
discovery discover;arrival arrive;refusal refuse;survival survive;difficulty difficult;ability able;possibility possible
responsibility responsible;popularity popular;reality real;society social;science scientific;politics political
economy economic;culture cultural;nature natural;history historical;music musical;religion religious;industry industrial
nation national;region regional;tradition traditional;origin original;center central;finance financial;crime criminal
France French;England English;Germany German;Spain Spanish;Italy Italian;China Chinese;Japan Japanese;Greece Greek
America American;Europe European;Africa African;Russia Russian;Canada Canadian;India Indian;Rome Roman
patience patient;silence silent;presence present;absence absent;intelligence intelligent;independence independent
confidence confident;evidence evident;violence violent;distance distant;anger angry;hunger hungry;luck lucky;noise noisy
"""
_OTHER_CLASS: dict[str, str] = {}
for _entry in _RELATED.replace("\n", ";").split(";"):
    if _entry:
        _one, _two = _entry.split()
        _OTHER_CLASS[_one.lower()] = _two
        _OTHER_CLASS[_two.lower()] = _one
_SUBJECT_BEFORE_VERB = re.compile("(?<=[nwxs])v")
_AFTER_MODAL = re.compile("(?<=[mto])(?=[vweh]).|(?<=[mo]r)[vweh]")
_AFTER_AUXILIARY = re.compile("(?<=[bhe])v|(?<=[bhe]r)v")
_FINITE = re.compile("(?<=[nx])v|(?<=aw)v|(?<=aww)v|(?<=cn)v|(?<=[nx]r)v|(?<=#w)v")
_NOUN = re.compile("(?<=[ad])w(?=[plbhmcts.,])|(?<=[ad]w)w(?=[plbhmcts.,])|(?<=#)w|(?<=[pl])w(?=[plbhmc.,])")
_CONTENT = re.compile("[wvrx]")
_PRONOUN_SUBJECT = re.compile("n(?=[bhmov])")
_PRONOUN_OBJECT = re.compile("(?<=[vptlw])j")
_NEEDS_SINGULAR = frozenset("a an this every each another one".split())
_NEEDS_PLURAL = frozenset("these those many several few various all both".split())
_MASS = frozenset("information furniture equipment advice research evidence knowledge software money music".split())
_VOWEL_SOUND = re.compile("[aeio]|u(?!ni|s[eu]|k)|hour|honest|heir|[fhlmnrsx][A-Z]")
_WORD = re.compile("[a-z]{4,}")


def agreement(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Give a verb the wrong number: is and are, has and have, -s added or dropped."""
    places = [at for at, low in enumerate(sentence.low) if low in _AGREEMENT and _asserts(sentence, at)]
    verbs = [at for at in sentence.where(_SUBJECT_BEFORE_VERB) if _is_present(sentence, at)]
    if verbs and (not places or rng.random() < 0.5):
        at = pick(rng, verbs)
        verb = english.VERB_OF[sentence.low[at]]
        return sentence.changed(at, verb.base if sentence.low[at] == verb.third else verb.third)
    return sentence.changed(at := pick(rng, places), _AGREEMENT[sentence.low[at]]) if places else None


def _asserts(sentence: Sentence, at: int) -> bool:
    # "to do", "can have": those are for the form after a modal; you was, if it were: some say so
    before = sentence.low[at - 1] if at else ""
    return before not in {"you", "if"} and not (at and sentence.classes[at - 1] in "mto" and sentence.low[at] == "do")


def _is_present(sentence: Sentence, at: int) -> bool:
    verb = english.VERB_OF[sentence.low[at]]
    if sentence.low[at] == verb.third:
        return True
    return sentence.low[at] == verb.base != verb.past and sentence.low[at - 1] in english.SUBJECTS


def article_form(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Write a for an and the other way round."""
    places = [
        at for at, low in enumerate(sentence.low[:-1]) if low in {"a", "an"} and _WORD.match(sentence.low[at + 1])
    ]
    places = [at for at in places if bool(_VOWEL_SOUND.match(sentence.low[at + 1])) == (sentence.low[at] == "an")]
    return sentence.changed(at := pick(rng, places), "an" if sentence.low[at] == "a" else "a") if places else None


def noun_number(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Give a noun the number that the word before it forbids: "a cars", "many restaurant", "informations"."""
    found: list[tuple[int, str]] = []
    for at in sentence.where(_NOUN):
        word, before = sentence.low[at], sentence.low[max(0, at - 2) : at]
        single = english.drop_s(word)
        if word in _MASS:
            found.append((at, word + "s"))
        elif single and (_NEEDS_PLURAL & set(before) or _counts(before[-1])):
            found.append((at, single))
        elif single is None and _NEEDS_SINGULAR & set(before) and not word.endswith(("s", "ing", "ed", "ly")):
            found.append((at, english.add_s(word)))
    return sentence.changed(*pick(rng, found)) if found else None


def _counts(word: str) -> bool:
    return word in {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"} or (
        word.isdigit() and len(word) < 4 and word != "1"
    )


def verb_after_modal(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Put a finite or a participle form after a modal, do or to: "can went", "did not took", "to making"."""
    places = [
        at
        for at in sentence.where(_AFTER_MODAL)
        if sentence.low[at] in {"be", "have"} or english.is_base(sentence.low[at])
    ]
    if not places:
        return None
    at = pick(rng, places)
    if sentence.low[at] in {"be", "have"}:
        return sentence.changed(at, pick(rng, ("been", "is", "being") if sentence.low[at] == "be" else ("has", "had")))
    verb = english.VERB_OF[sentence.low[at]]
    return sentence.changed(at, pick(rng, [form for form in (verb.past, verb.third, verb.gerund) if form != verb.base]))


def verb_after_auxiliary(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Put a base form after be or have: "was build in 1900", "has live there"."""
    places = []
    for at in sentence.where(_AFTER_AUXILIARY):
        verb = english.VERB_OF[sentence.low[at]]
        if sentence.low[at] in (verb.participle, verb.gerund) and verb.base != verb.participle:
            places.append(at)
    if not places:
        return None
    at = pick(rng, places)
    verb = english.VERB_OF[sentence.low[at]]
    forms = {verb.base, verb.third, verb.base} | ({verb.past} if verb.past != verb.participle else set())
    return sentence.changed(at, pick(rng, sorted(forms)))


def finite_verb(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Put a form without tense where the clause needs one: "he going home", "she taken the road"."""
    places = [
        at
        for at in sentence.where(_FINITE)
        if sentence.low[at] in ((verb := english.VERB_OF[sentence.low[at]]).past, verb.third)
    ]
    if not places:
        return None
    at = pick(rng, places)
    verb = english.VERB_OF[sentence.low[at]]
    forms = [verb.gerund, "to " + verb.base] + ([verb.participle] * 2 if verb.participle != verb.past else [])
    if sentence.low[at - 1] not in {"i", "you", "we", "they"}:
        forms.append(verb.base)
    return sentence.changed(at, pick(rng, forms))


def pronoun_case(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Write him for he, they for them."""
    places = {at: _CASE_OF_SUBJECT.get(sentence.low[at]) for at in sentence.where(_PRONOUN_SUBJECT)}
    places |= {at: _CASE_OF_OBJECT.get(sentence.low[at]) for at in sentence.where(_PRONOUN_OBJECT)}
    found = [(at, form) for at, form in places.items() if form]
    return sentence.changed(*pick(rng, found)) if found else None


def comparison(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Compare twice or not at all: "more better", "most biggest", "more old", "higher as"."""
    at_compared = [at for at, low in enumerate(sentence.low) if low in _COMPARED]
    if at_compared:
        at = pick(rng, at_compared)
        sign = "most" if sentence.low[at].endswith("st") else "more"
        return [
            *sentence.pieces[:at],
            like(sentence.pieces[at], sign),
            " " + sentence.low[at],
            *sentence.pieces[at + 1 :],
        ]
    at_than = [at for at, low in enumerate(sentence.low) if low == "than"]
    return sentence.changed(pick(rng, at_than), pick(rng, ("then", "as", "that", "from"))) if at_than else None


def word_class(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Put a related word of another class: "more success than", "the important of"."""
    found: list[tuple[int, str]] = []
    for at in sentence.where(_CONTENT):
        low = sentence.low[at]
        if low.endswith("ly") and len(low) > 6 and at + 1 < len(sentence.low) and sentence.classes[at + 1] in "vw":
            found.append((at, low[:-3] + "y" if low.endswith("ily") else low[:-2]))
        if low in _OTHER_CLASS:
            found += [(at, _OTHER_CLASS[low])] * 3
    return sentence.changed(*pick(rng, found)) if found else None


def misspelled(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Spell one to three longer words as people in a hurry and learners do."""
    places = [at for at, low in enumerate(sentence.low) if len(low) > 4 and low.isalpha() and low.isascii()]
    if not places:
        return None
    chosen = {pick(rng, places) for _ in range(between(rng, 1, 3))}
    return [
        like(piece, _misspell(piece.strip(), rng)) if at in chosen else piece
        for at, piece in enumerate(sentence.pieces)
    ]


def _misspell(word: str, rng: np.random.Generator) -> str:
    at = between(rng, 1, len(word) - 2)
    way = between(rng, 0, 5)
    if way == 0 and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if way == 1:
        return word[:at] + word[at] + word[at:]
    if way == 2 and word[at] in "aeiou":
        return word[:at] + pick(rng, [vowel for vowel in "aeiou" if vowel != word[at]]) + word[at + 1 :]
    if way == 3 and (doubled := re.search(r"([a-z])\1", word)):
        return word[: doubled.start()] + word[doubled.start() + 1 :]
    if way == 4:
        near = {"c": "s", "s": "c", "k": "c", "y": "i", "i": "y", "f": "ph", "z": "s", "g": "j", "m": "n", "n": "m"}
        known = [place for place in range(1, len(word)) if word[place] in near]
        if known:
            place = pick(rng, known)
            return word[:place] + near[word[place]] + word[place + 1 :]
    return word[:at] + word[at + 1 :]
