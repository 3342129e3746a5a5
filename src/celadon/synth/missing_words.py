"""Damage by words that are not there: articles, prepositions, verbs, subjects, values, whole stretches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from celadon.synth import english
from celadon.synth.pieces import Sentence, between, clash, join, pick, split

Pieces = list[str]

_ARTICLE_BEFORE_SINGULAR = re.compile("a(?=[w])")
_PREPOSITION = re.compile("(?<=[wvx#])[pl](?=[adwx])|(?<=b)[pl](?=[adx])|(?<=v)t(?=[adx])")
_AUXILIARY = re.compile("(?<=[wnx#sr])b(?=[advwrpx#lt])|b(?=v)|[hm](?=r?e)|(?<=s)[om](?=n)|(?<=[wnx])h(?=[ad])")
_INFINITIVE_TO = re.compile("(?<=[vw])t(?=[vwe])")
_NOUN = re.compile("(?<=a)w(?=[plbhmcts.,])|(?<=aw)w(?=[plbhm.,])|(?<=p)[wx](?=[plbhmcts.,])")
_PRONOUN_SUBJECT = re.compile("(?:^|(?<=[,s]))n(?=[bhmov])")
_FIRST_SUBJECT = re.compile("^[adwx#]{1,4}(?=[bhmov])|^[adwx]{1,2}p[adwx]{1,3}(?=[bhmov])")
_VERB = re.compile("[bh]e?r?v(?=[pltadj])|m[re]?[vwe]|(?<=[wxnr])v(?=[adlpjtx])|(?<=[wx])b(?=[adwr])")
_VALUE = re.compile("(?<=[plbt])[x#]+(?![wx#])|(?<=[pl])ax+(?![wx#])")
_CONJUNCTION = re.compile("(?<=[wx#])c(?=[adnxw])")
_GRAMMATICAL = re.compile("[abdehlmopst]")


def _leave_out(sentence: Sentence, rng: np.random.Generator, pattern: re.Pattern[str]) -> Pieces | None:
    spans = [match.span() for match in pattern.finditer(sentence.classes)]
    return sentence.without(*pick(rng, spans)) if spans else None


def article_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out an article before a noun that is not plural, where it is missed."""
    places = [
        at
        for at in sentence.where(_ARTICLE_BEFORE_SINGULAR)
        if sentence.low[at] in english.ARTICLES and not sentence.low[at + 1].endswith("s")
    ]
    return sentence.without(at := pick(rng, places), at + 1) if places else None


def preposition_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out a preposition between a word and its object: "he lives London"."""
    return _leave_out(sentence, rng, _PREPOSITION)


def auxiliary_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out a copula or an auxiliary: "the hotel near the river"."""
    return _leave_out(sentence, rng, _AUXILIARY)


def infinitive_to_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out "to" before a verb, but for "help to", which may do without."""
    places = [at for at in sentence.where(_INFINITIVE_TO) if not sentence.low[at - 1].startswith("help")]
    places = [at for at in places if sentence.low[at + 1] == "be" or english.is_base(sentence.low[at + 1])]
    return sentence.without(at := pick(rng, places), at + 1) if places else None


def noun_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out the noun that an article or a preposition waits for: "the of the town"."""
    return _leave_out(sentence, rng, _NOUN)


def subject_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out the subject, a pronoun's or the first: "is located in the centre"."""
    spans = [match.span() for match in _PRONOUN_SUBJECT.finditer(sentence.classes)]
    # "am sending you a letter": people do so
    spans = [(begin, end) for begin, end in spans if sentence.low[begin] != "i"]
    if first := _FIRST_SUBJECT.search(sentence.classes):
        spans += [first.span()] * 2
    return sentence.without(*pick(rng, spans)) if spans else None


def verb_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out a verb with its auxiliaries: "the authorities for his heavy drinking"."""
    return _leave_out(sentence, rng, _VERB)


def value_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out names and numbers, one or all, as a template does with an empty slot: "is located at ."."""
    spans = [match.span() for match in _VALUE.finditer(sentence.classes)]
    if not spans:
        return None
    gone = spans if rng.random() < 0.3 else [pick(rng, spans)]
    inside = {at for begin, end in gone for at in range(begin, end)}
    return [piece for at, piece in enumerate(sentence.pieces) if at not in inside]


def conjunction_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out what joins two clauses or phrases: "the road the river"."""
    return _leave_out(sentence, rng, _CONJUNCTION)


def words_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out words here and there, a grammatical one among them."""
    places = sentence.where(_GRAMMATICAL)
    if not places or sentence.stop < 4:
        return None
    share = 0.1 + 0.4 * rng.random()
    gone = {pick(rng, places)} | {at for at in range(sentence.stop) if rng.random() < share}
    left = [piece for at, piece in enumerate(sentence.pieces) if at not in gone]
    classes = split(join(left)).classes
    broken = any(clash(one, two) for one, two in pairwise(classes))
    return left if broken or len(gone) > 3 else None


def grammar_missing(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Leave out most articles, prepositions and auxiliaries, beyond what a headline does."""
    places = sentence.where(_GRAMMATICAL)
    gone = {at for at in places if rng.random() < 0.8}
    prepositions = sum(sentence.classes[at] in "plt" for at in gone)
    if prepositions < 1 or len(gone) < 3:
        return None
    return [piece for at, piece in enumerate(sentence.pieces) if at not in gone]


def middle_skipped(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Jump over a stretch to a word that cannot follow, as a copying summariser does: "in the was built"."""
    classes = sentence.classes
    for _ in range(12):
        begin = between(rng, 1, sentence.stop - 3)
        end = begin + between(rng, 2, 10)
        if end < sentence.stop and clash(classes[begin - 1], classes[end]):
            return sentence.without(begin, end)
    return None
