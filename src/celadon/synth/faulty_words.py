"""Damage to the words themselves: the wrong form, as learners have it, and the wrong word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from celadon.synth import english
from celadon.synth.pieces import Kinds, Others, Pieces, Rng, Sentence, between, like, pick, split

KINDS = Kinds()

# wrong forms

AGREEMENT = {
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


@KINDS.add(6, 0.3)
def agreement(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Give a verb the wrong number: is and are, has and have, -s added or dropped."""
    places = [at for at, low in enumerate(sentence.low) if low in AGREEMENT and _asserts(sentence, at)]
    verbs = [at for at in sentence.where(_SUBJECT_BEFORE_VERB) if _is_present(sentence, at)]
    if verbs and (not places or rng.random() < 0.5):
        at = pick(rng, verbs)
        verb = english.VERB_OF[sentence.low[at]]
        return sentence.changed(at, verb.base if sentence.low[at] == verb.third else verb.third)
    return sentence.changed(at := pick(rng, places), AGREEMENT[sentence.low[at]])


def _asserts(sentence: Sentence, at: int) -> bool:
    # "to do", "can have": those are for the form after a modal; you was, if it were: some say so
    before = sentence.low[at - 1] if at else ""
    return before not in {"you", "if"} and not (at and sentence.classes[at - 1] in "mto" and sentence.low[at] == "do")


def _is_present(sentence: Sentence, at: int) -> bool:
    verb = english.VERB_OF[sentence.low[at]]
    if sentence.low[at] == verb.third:
        return True
    return sentence.low[at] == verb.base != verb.past and sentence.low[at - 1] in english.SUBJECTS


@KINDS.add(3, 0.2)
def article_form(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Write a for an and the other way round."""
    places = [
        at for at, low in enumerate(sentence.low[:-1]) if low in {"a", "an"} and _WORD.match(sentence.low[at + 1])
    ]
    places = [at for at in places if bool(_VOWEL_SOUND.match(sentence.low[at + 1])) == (sentence.low[at] == "an")]
    return sentence.changed(at := pick(rng, places), "an" if sentence.low[at] == "a" else "a")


@KINDS.add(5, 0.3)
def noun_number(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
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
    return sentence.changed(*pick(rng, found))


def _counts(word: str) -> bool:
    return word in {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"} or (
        word.isdigit() and len(word) < 4 and word != "1"
    )


@KINDS.add(6, 0.4)
def verb_after_modal(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put a finite or a participle form after a modal, do or to: "can went", "did not took", "to making"."""
    places = [
        at
        for at in sentence.where(_AFTER_MODAL)
        if sentence.low[at] in {"be", "have"} or english.is_base(sentence.low[at])
    ]
    at = pick(rng, places)
    if sentence.low[at] in {"be", "have"}:
        return sentence.changed(at, pick(rng, ("been", "is", "being") if sentence.low[at] == "be" else ("has", "had")))
    verb = english.VERB_OF[sentence.low[at]]
    return sentence.changed(at, pick(rng, [form for form in (verb.past, verb.third, verb.gerund) if form != verb.base]))


@KINDS.add(7, 0.4)
def verb_after_auxiliary(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put a base form after be or have: "was build in 1900", "has live there"."""
    places = []
    for at in sentence.where(_AFTER_AUXILIARY):
        verb = english.VERB_OF[sentence.low[at]]
        if sentence.low[at] in (verb.participle, verb.gerund) and verb.base != verb.participle:
            places.append(at)
    at = pick(rng, places)
    verb = english.VERB_OF[sentence.low[at]]
    forms = {verb.base, verb.third, verb.base} | ({verb.past} if verb.past != verb.participle else set())
    return sentence.changed(at, pick(rng, sorted(forms)))


@KINDS.add(7, 0.45)
def finite_verb(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put a form without tense where the clause needs one: "he going home", "she taken the road"."""
    places = [
        at
        for at in sentence.where(_FINITE)
        if sentence.low[at] in ((verb := english.VERB_OF[sentence.low[at]]).past, verb.third)
    ]
    at = pick(rng, places)
    verb = english.VERB_OF[sentence.low[at]]
    forms = [verb.gerund, "to " + verb.base] + ([verb.participle] * 2 if verb.participle != verb.past else [])
    if sentence.low[at - 1] not in {"i", "you", "we", "they"}:
        forms.append(verb.base)
    return sentence.changed(at, pick(rng, forms))


@KINDS.add(3, 0.4)
def pronoun_case(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Write him for he, they for them."""
    places = {at: _CASE_OF_SUBJECT.get(sentence.low[at]) for at in sentence.where(_PRONOUN_SUBJECT)}
    places |= {at: _CASE_OF_OBJECT.get(sentence.low[at]) for at in sentence.where(_PRONOUN_OBJECT)}
    found = [(at, form) for at, form in places.items() if form]
    return sentence.changed(*pick(rng, found))


@KINDS.add(4, 0.35)
def comparison(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
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
    return sentence.changed(pick(rng, at_than), pick(rng, ("then", "as", "that", "from")))


@KINDS.add(1.5, 0.35)
def word_class(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put a related word of another class: "more success than", "the important of"."""
    found: list[tuple[int, str]] = []
    for at in sentence.where(_CONTENT):
        low = sentence.low[at]
        if low.endswith("ly") and len(low) > 6 and at + 1 < len(sentence.low) and sentence.classes[at + 1] in "vw":
            found.append((at, low[:-3] + "y" if low.endswith("ily") else low[:-2]))
        if low in _OTHER_CLASS:
            found += [(at, _OTHER_CLASS[low])] * 3
    return sentence.changed(*pick(rng, found))


@KINDS.add(1.2, 0.25)
def misspelled(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Spell one to three longer words as people in a hurry and learners do."""
    places = [at for at, low in enumerate(sentence.low) if len(low) > 4 and low.isalpha() and low.isascii()]
    if not places:
        return None
    chosen = {pick(rng, places) for _ in range(between(rng, 1, 3))}
    return [
        like(piece, _misspell(piece.strip(), rng)) if at in chosen else piece
        for at, piece in enumerate(sentence.pieces)
    ]


def _misspell(word: str, rng: Rng) -> str:
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


# wrong words

# words that want a certain preposition
_GOVERNED = {
    "of": "part member number capital one most some consist consists kind type lot because instead result use death "
    "south north east west history department university end beginning name majority series author",
    "to": "according due related similar belongs returned moved married leads access addition response contribution",
    "on": "based depends depend focused focuses relies effect impact influence",
    "with": "together agree compared associated filled combined deal deals",
    "from": "different derived suffered suffer ranging prevent graduated",
    "in": "interested located born involved interest increase participated resulted",
    "for": "responsible known famous reason responsibility search waiting looking",
    "by": "followed written caused made directed produced published designed founded led owned surrounded",
    "at": "look looking looked aimed",
}
_GOVERNOR = {word: preposition for preposition, line in _GOVERNED.items() for word in line.split()}
_PREPOSITIONS = ("of", "to", "on", "with", "from", "in", "for", "by", "at", "about", "into", "as", "since")
_DAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
_YEAR = re.compile(r"1\d{3}|20[0-2]\d")
_LOOK_ALIKES = {
    "their": ("there", "they're"), "there": ("their",), "its": ("it's", "it"), "it's": ("its",), "your": ("you're",),
    "you're": ("your",), "than": ("then",), "too": ("to",), "whose": ("who's", "which"), "affect": ("effect",),
    "effect": ("affect",), "lose": ("loose",), "have": ("of",), "were": ("where",), "where": ("were",),
    "who": ("which",),
    "which": ("who", "what"), "because": ("cause of", "because of"), "through": ("trough", "threw"), "many": ("much",),
    "much": ("many",), "fewer": ("less",), "among": ("between of",), "until": ("till to",), "such": ("so such",),
    "other": ("others",), "others": ("other",), "another": ("an other", "other"), "this": ("these",),
    "these": ("this",),
    "those": ("that",), "with": ("whit",), "from": ("form",), "and": ("an",), "most": ("almost",), "almost": ("most",),
}  # fmt: skip
_UNKNOWN = ("<unk>", "<unk>", "<unk>", "[UNK]", "UNK", "unk", "@unk@", "<UNK>")
_REPLACEABLE = re.compile("[wvx]")
_UNKNOWABLE = re.compile("[wvx#]")
_NAKED_PLURAL = re.compile("(?<=[ad])w(?=[plbhmcts.,])")
_BEFORE_NAME = re.compile("(?<=[plvb])x(?=[^x])|(?<=[vplb])d")
_BAD_INSERTIONS = (
    # after these classes, these words cannot stand
    ("a", ("of", "in", "is", "and", "to", "the", "was", "with")),
    ("p", ("of", "is", "and", "in", "to", "for")),
    ("t", ("the is", "of", "for", "are")),
    ("m", ("to", "is", "the", "of")),
    ("b", ("has", "is", "does", "of the", "can")),
    ("l", ("near", "of", "at", "is", "for")),
    ("w", ("the of", "is the", "of and", "a", "is of")),
)  # fmt: skip


@KINDS.add(4, 0.3)
def wrong_preposition(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put another preposition where a word wants a certain one, or before a day or a year: "depends of", "at 1990"."""
    low = sentence.low
    places: list[tuple[int, Sequence[str]]] = []
    for at in range(1, len(low) - 1):
        if low[at] in english.STRICT_PREPOSITIONS or low[at] in english.LOOSE_PREPOSITIONS or low[at] == "to":
            if _GOVERNOR.get(low[at - 1]) == low[at]:
                places.append((at, [word for word in _PREPOSITIONS if word != low[at]]))
            elif low[at] == "in" and _YEAR.fullmatch(low[at + 1]):
                places.append((at, ("at", "on", "of", "to", "with")))
            elif low[at + 1] in _DAYS and low[at] == "on":
                places.append((at, ("in", "at", "of", "to")))
            elif low[at] == "of" and sentence.classes[at - 1] in "wx":
                places.append((at, ("at", "with", "to", "since", "by")))
    at, choices = pick(rng, places)
    return sentence.changed(at, pick(rng, choices))


@KINDS.add(2, 0.3)
def wrong_article(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put an article where none may stand: "a informations", "a houses", "the his", "in the London"."""
    found: list[list[str]] = []
    for at in sentence.where(_NAKED_PLURAL):
        low = sentence.low[at]
        uncounted = low in _MASS or low == "water"
        plural = english.drop_s(low) is not None and low not in english.VERB_OF
        if sentence.low[at - 1] in {"the", "these", "those", "many", "several", "some"} and (plural or uncounted):
            found.append(sentence.changed(at - 1, "an" if low[0] in "aeio" else "a"))
    for at in sentence.where(_BEFORE_NAME):
        article = pick(rng, ("the", "the", "a"))
        found.append([*sentence.pieces[:at], " " + article, *sentence.pieces[at:]])
    return pick(rng, found)


@KINDS.add(2, 0.45)
def spurious_word(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put in a grammatical word where it cannot stand: "in near the river", "the of house"."""
    choices = []
    for letter, words in _BAD_INSERTIONS:
        places = [at for at, found in enumerate(sentence.classes[:-1]) if found == letter and at < sentence.stop - 1]
        choices += [(at, words) for at in places]
    at, words = pick(rng, choices)
    return [*sentence.pieces[: at + 1], " " + pick(rng, words), *sentence.pieces[at + 1 :]]


@KINDS.add(1, 0.45)
def conjunction_broken(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put two conjunctions for one, or although with but: "and but", "because that"."""
    places = [at for at, letter in enumerate(sentence.classes) if letter == "c" and 0 < at < sentence.stop - 1]
    if places:
        at = pick(rng, places)
        pairs = {
            "and": ("and but", "and or", "but and", "and and also", "and which"),
            "but": ("but although", "but and"),
        }
        pairs["or"] = ("or and", "and or but", "or either")
        return sentence.changed(at, pick(rng, pairs.get(sentence.low[at], ("and nor",))))
    commas = [at for at, low in enumerate(sentence.low) if low == "," and 2 < at < sentence.stop - 2]
    if sentence.classes[0] == "s":
        return None
    at = pick(rng, commas)
    return [
        *sentence.pieces[: at + 1],
        pick(rng, (" and but", " but because", " so that because", " or and")),
        *sentence.pieces[at + 1 :],
    ]


@KINDS.add(1.5, 0.5)
def negation_broken(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Negate wrongly: "is not no", "not can", "does not is", "there is no a"."""
    places = [at for at, letter in enumerate(sentence.classes[:-1]) if letter in "bm" and 0 < at < sentence.stop - 1]
    at = pick(rng, places)
    pieces, low = sentence.pieces, sentence.low
    if sentence.classes[at + 1] == "a" and sentence.classes[at] == "b" and rng.random() < 0.5:
        return [*pieces[: at + 1], pick(rng, (" no", " not no")), *pieces[at + 1 :]]
    if low[at + 1] == "not":
        return [*pieces[: at + 2], pick(rng, (" not", " no")), *pieces[at + 2 :]]
    wrong = pick(
        rng, (f"not {low[at]}", f"do not {low[at]}", f"does not {low[at]}", f"{low[at]} not no", f"don't {low[at]}")
    )
    return sentence.changed(at, wrong)


@KINDS.add(1.5, 0.25)
def look_alike(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Confuse words that look or sound alike: their and there, from and form."""
    places = [at for at, low in enumerate(sentence.low) if low in _LOOK_ALIKES and _is_confused(sentence, at)]
    # by word first, or "and" would be nearly all there is
    low = pick(rng, sorted({sentence.low[at] for at in places}))
    return sentence.changed(pick(rng, [at for at in places if sentence.low[at] == low]), pick(rng, _LOOK_ALIKES[low]))


def _is_confused(sentence: Sentence, at: int) -> bool:
    before, after = sentence.classes[at - 1 : at], sentence.classes[at + 1 : at + 2]
    return {
        "have": before == "m", "its": after == "w", "which": before not in {"p", "l", ","}, "this": after == "w",
        "these": after == "w", "those": after == "w", "other": after == "w", "much": after == "w", "who": before != ",",
    }.get(sentence.low[at], True)  # fmt: skip


@KINDS.add(2, 0.55, local=False)
def nonsense_words(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put words of other sentences, of the same class, ending and about the same length, in the place of some."""
    places = [at for at in sentence.where(_REPLACEABLE) if len(sentence.low[at]) > 2 and at]
    if not places or not others:
        return None
    wanted = max(1, round(len(places) * (0.15 + 0.5 * rng.random())))
    pool = [split(pick(rng, others)) for _ in range(3)]
    pieces = list(sentence.pieces)
    for at in (pick(rng, places) for _ in range(wanted)):
        fitting = [word for other in pool for word in _fitting(other, sentence.classes[at], sentence.low[at])]
        if fitting:
            pieces[at] = like(sentence.pieces[at], pick(rng, fitting))
    return pieces if pieces != list(sentence.pieces) else None


def _fitting(other: Sentence, letter: str, word: str) -> list[str]:
    ending = next((end for end in ("ing", "ed", "ly", "s") if word.endswith(end)), "")
    return [
        piece.strip()
        for at, piece in enumerate(other.pieces)
        if at
        and other.classes[at] == letter
        and abs(len(other.low[at]) - len(word)) < 4
        and other.low[at] != word
        and next((end for end in ("ing", "ed", "ly", "s") if other.low[at].endswith(end)), "") == ending
    ]


@KINDS.add(3, 0.55, local=False)
def unknown_marks(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put the mark of an unknown word for some words, names and rare words rather than others."""
    places = sentence.where(_UNKNOWABLE)
    rare = [at for at in places if sentence.classes[at] in "x#" or len(sentence.low[at]) > 7]
    if not places:
        return None
    mark = pick(rng, _UNKNOWN)
    share = 0.5 * rng.random()
    chosen = {pick(rng, rare or places)} | {at for at in (rare or places) if rng.random() < share}
    return [
        piece[: len(piece) - len(piece.lstrip())] + mark if at in chosen else piece
        for at, piece in enumerate(sentence.pieces)
    ]
