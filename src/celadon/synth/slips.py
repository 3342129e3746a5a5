"""Damage as people do it in a hurry: slips of the keyboard, words that sound alike, regular forms of irregular words.

Unlike the kinds of :mod:`celadon.synth.sentence_damage` these leave a sentence that is right but for one or two words.
Each kind names what is wrong with the words that it changes. :func:`slips_of_corrections` makes further kinds of what
people corrected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np

from celadon.models.encoders.word_findings import FindingKind, word_spans
from celadon.synth import english
from celadon.synth.faulty_words import AGREEMENT
from celadon.synth.pieces import DamageKind, Kinds, Make, Others, Pieces, Rng, Sentence, between, like, pick

KINDS = Kinds()

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEAR: dict[str, str] = {}
for _number, _row in enumerate(_ROWS):
    for _at, _key in enumerate(_row):
        _sides = _row[max(0, _at - 1) : _at] + _row[_at + 1 : _at + 2]
        _below = _ROWS[_number + 1][max(0, _at - 1) : _at + 1] if _number + 1 < len(_ROWS) else ""
        _NEAR[_key] = _sides + _below

# each word of a group may be written for any other
_HOMOPHONES = """
its it's;their there they're;your you're;whose who's;to too;than then;affect effect;lose loose;accept except
principle principal;complement compliment;weather whether;passed past;quite quiet;advice advise;were where we're
of off;here hear;know no;new knew;write right;buy by;peace piece;plain plane;brake break;week weak;whole hole;hour our
sight site cite;threw through;wait weight;fair fare;led lead;desert dessert;device devise;breath breathe;choose chose
cloths clothes;dairy diary;everyday every;formally formerly;later latter;lightning lightening
moral morale;personal personnel;precede proceed;rise raise;role roll;stationary stationery;which witch
allusion illusion;capital capitol;council counsel;elicit illicit
lay lie;maybe may
prophecy prophesy;sense since;set sit;sometime sometimes;their them;though through;thorough through;use used
suppose supposed;an and;form from;on one;not now;if of;is as;it is;has as;this these;that than;in an;be by
"""
_SOUNDS_LIKE: dict[str, list[str]] = {}
for _group in _HOMOPHONES.replace("\n", ";").split(";"):
    _members = _group.split()
    for _one in _members:
        _SOUNDS_LIKE.setdefault(_one, []).extend(each for each in _members if each != _one)

_PARTED = {
    "a lot": "alot", "as well": "aswell", "in front": "infront", "at least": "atleast", "in fact": "infact",
    "each other": "eachother", "such as": "suchas", "no one": "noone", "up to": "upto", "in case": "incase",
    "cannot": "can not", "into": "in to", "something": "some thing", "everything": "every thing",
    "without": "with out", "within": "with in", "itself": "it self", "maybe": "may be", "throughout": "through out",
    "sometimes": "some times", "therefore": "there fore", "another": "an other", "together": "to gether",
    "already": "all ready", "however": "how ever", "whenever": "when ever", "inside": "in side",
}  # fmt: skip
_LONG_SUBJECT = re.compile("(?<=[wx])[plt][adrwx#]{1,5}(?=r?[bh])")
_OPENING = frozenset(
    "however therefore moreover furthermore finally additionally instead otherwise similarly thus".split()
)
_PAST_TIME = frozenset("yesterday ago last".split())
_PREPOSITIONS = ("of", "to", "on", "with", "from", "in", "for", "by", "at", "about", "into", "as")
_CONTRACTED = re.compile(r"(?i)^(?:\w+n['’]t|\w+['’](?:re|ve|ll|m|s))$")
_VOWELS = re.compile("[aeiou]")


@KINDS.add(10, 0.25)
def keyboard_slip(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Hit the key beside, hit one twice or not at all, or two in the wrong order."""
    at = pick(rng, _spellable(sentence))
    word = sentence.pieces[at].lstrip()
    place = between(rng, 0 if rng.random() < 0.15 else 1, len(word) - 2)
    way = between(rng, 0, 4)
    near = _NEAR.get(word[place].lower(), "")
    if way == 0 and near:
        slip = word[:place] + pick(rng, near) + word[place + 1 :]
    elif way == 1 and near:
        slip = word[:place] + word[place] + pick(rng, near) + word[place + 1 :]
    elif way == 2:
        slip = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    elif way == 3:
        slip = word[:place] + word[place] + word[place:]
    else:
        slip = word[:place] + word[place + 1 :]
    return _with(sentence, at, slip)


def _spellable(sentence: Sentence, shortest: int = 4) -> list[int]:
    return [
        at
        for at, low in enumerate(sentence.low)
        if len(low) >= shortest and low.isalpha() and low.isascii() and not sentence.pieces[at].strip().isupper()
    ]


def _with(sentence: Sentence, at: int, word: str) -> Pieces:
    """Return the pieces with a word in one place as it is, its case included."""
    old = sentence.pieces[at]
    return [*sentence.pieces[:at], old[: len(old) - len(old.lstrip())] + word, *sentence.pieces[at + 1 :]]


@KINDS.add(5, 0.25)
def vowel_slip(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Write another vowel, or one consonant for two and two for one: "seperate", "occured"."""
    at = pick(rng, _spellable(sentence, 6))
    word = sentence.pieces[at].lstrip()
    if rng.random() < 0.4:
        places = [place for place in range(1, len(word) - 1) if word[place] not in "aeiou"]
        place = pick(rng, places)
        double = word[place] == word[place + 1]
        return _with(sentence, at, word[:place] + ("" if double else word[place]) + word[place:][double:])
    place = pick(rng, [match.start() for match in _VOWELS.finditer(word) if match.start() > 0])
    return _with(sentence, at, word[:place] + pick(rng, "aeiou".replace(word[place], "")) + word[place + 1 :])


@KINDS.add(8, 0.3)
def homophone(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Write a word that sounds or looks alike: its and it's, there and their, quite and quiet."""
    low = pick(rng, sorted({low for low in sentence.low if low in _SOUNDS_LIKE}))
    at = pick(rng, [at for at, each in enumerate(sentence.low) if each == low])
    return sentence.changed(at, pick(rng, _SOUNDS_LIKE[low]))


@KINDS.add(3, 0.25, spacing=True)
def joined_or_parted(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Write two words as one, or one as two: "alot", "in to"."""
    low = sentence.low
    pairs = [(at, 2, f"{low[at]} {low[at + 1]}") for at in range(len(low) - 1)]
    places = [place for place in [*pairs, *((at, 1, word) for at, word in enumerate(low))] if place[2] in _PARTED]
    at, size, words = pick(rng, places)
    changed = like(sentence.pieces[at], _PARTED[words])
    return [*sentence.pieces[:at], changed, *sentence.pieces[at + size :]]


@KINDS.add(3, 0.2)
def apostrophe_slip(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave out an apostrophe, or write one in a plural: "dont", "the dog's are"."""
    contracted = [at for at, low in enumerate(sentence.low) if _CONTRACTED.match(low)]
    if contracted and rng.random() < 0.7:
        at = pick(rng, contracted)
        return _with(sentence, at, re.sub("['’]", "", sentence.pieces[at].lstrip()))
    plurals = [at for at, low in enumerate(sentence.low) if sentence.classes[at] == "w" and english.drop_s(low)]
    plurals = [at for at in plurals if sentence.low[at][-1] == "s" and sentence.low[at] not in english.VERB_OF]
    plurals = [at for at in plurals if sentence.low[at].isalpha()]
    at = pick(rng, plurals)
    return _with(sentence, at, sentence.pieces[at].lstrip()[:-1] + "'s")


@KINDS.add(6, 0.3)
def distant_agreement(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Let the verb agree with the nearest noun: "the list of items are"."""
    places = []
    for _, end in sentence.spans(_LONG_SUBJECT):
        at = end if sentence.classes[end] in "bh" else end + 1
        if sentence.low[at] in AGREEMENT:
            places.append(at)
    at = pick(rng, places)
    return sentence.changed(at, AGREEMENT[sentence.low[at]])


@KINDS.add(5, 0.3)
def plain_agreement(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Give any verb the other number: "each of them have", "they goes"."""
    places = [(at, AGREEMENT[low]) for at, low in enumerate(sentence.low) if low in AGREEMENT and low != "am"]
    for at, low in enumerate(sentence.low):
        verb = english.VERB_OF.get(low)
        if verb and sentence.classes[at] == "v" and at and sentence.classes[at - 1] in "nwxs":
            if low == verb.third:
                places.append((at, verb.base))
            elif low == verb.base != verb.past and sentence.classes[at - 1] in "nw":
                places.append((at, verb.third))
    places = [(at, form) for at, form in places if not (at and sentence.low[at - 1] in {"to", "you", "if"})]
    places = [(at, form) for at, form in places if not (at and sentence.classes[at - 1] in "mo")]
    return sentence.changed(*pick(rng, places))


@KINDS.add(4, 0.35)
def irregular_form(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Form irregular verbs by rule, or take the past for the participle: "buyed", "has went", "he done"."""
    places: list[tuple[int, str]] = []
    for at, low in enumerate(sentence.low):
        verb = english.VERB_OF.get(low)
        if verb is None or sentence.classes[at] != "v" or low not in (verb.past, verb.participle):
            continue
        regular = verb.base + ("d" if verb.base.endswith("e") else "ed")
        if regular not in (verb.past, verb.participle):
            places.append((at, regular))
            if verb.past not in (verb.participle, verb.base):
                places += [(at, verb.participle if low == verb.past else verb.past)] * 2
    return sentence.changed(*pick(rng, places))


@KINDS.add(4, 0.3)
def wrong_tense(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave the past where the sentence is about the past: "yesterday she goes", "he came and see"."""
    pasts = [
        at
        for at, low in enumerate(sentence.low)
        if sentence.classes[at] == "v" and low == english.VERB_OF[low].past and at
    ]
    finite = [at for at in pasts if sentence.classes[at - 1] in "nxwc"]
    if not (_PAST_TIME & set(sentence.low)) and len(finite) < 2:
        return None
    at = pick(rng, finite)
    verb = english.VERB_OF[sentence.low[at]]
    return sentence.changed(at, verb.base if rng.random() < 0.5 else verb.third)


@KINDS.add(4, 0.35)
def verb_ending(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Lose or change the ending of a verb: "is use", "was been change", "to using", "can helps"."""
    places: list[tuple[int, str]] = []
    for at, low in enumerate(sentence.low):
        verb = english.VERB_OF.get(low)
        before = sentence.classes[at - 1] if at else ""
        if verb is None or before not in tuple("bhmeto") or sentence.classes[at] not in "vw":
            continue
        forms = {verb.base, verb.third, verb.gerund, verb.participle} - {low}
        if before in "be":
            forms -= {verb.gerund, verb.participle}
        elif before == "h":
            forms -= {verb.past, verb.participle}
        places += [(at, form) for form in sorted(forms)]
    return sentence.changed(*pick(rng, places))


@KINDS.add(4, 0.3)
def noun_ending(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Give a noun the other number after a word that asks for one: "this features", "a options", "all the pod"."""
    places: list[tuple[int, str]] = []
    for at in range(1, len(sentence.low)):
        low, before = sentence.low[at], sentence.low[at - 1]
        if sentence.classes[at] != "w" or not low.isalpha():
            continue
        if low in english.VERB_OF and low.endswith(("ed", "ing")):
            continue
        single = english.drop_s(low)
        if single and before in {"these", "those", "many", "several", "multiple", "two", "three", "all", "some", "few"}:
            places.append((at, single))
        elif not single and before in {"a", "an", "this", "each", "every", "another", "one"}:
            after = sentence.classes[at + 1] if at + 1 < len(sentence.low) else "."
            if after in "plbhmcts.,v" and not low.endswith(("s", "ing", "ed", "ly")):
                places.append((at, english.add_s(low)))
    return sentence.changed(*pick(rng, places))


@KINDS.add(6, 0.25)
def article_lost(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave out an article before a noun or an adjective."""
    places = [
        at
        for at, low in enumerate(sentence.low[:-1])
        if low in english.ARTICLES and sentence.classes[at + 1] in "wr" and not sentence.low[at + 1].endswith("s")
    ]
    return sentence.without(at := pick(rng, places), at + 1)


@KINDS.add(3, 0.25)
def article_added(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put an article before a plural, a name or another determiner: "a users", "in the Python", "the this"."""
    places: list[tuple[int, str]] = []
    for at in range(1, len(sentence.low)):
        if sentence.classes[at - 1] not in "plvtb":
            continue
        plural = sentence.classes[at] == "w" and english.drop_s(sentence.low[at])
        if plural or sentence.classes[at] in "dx":
            places.append((at, " a" if plural else pick(rng, (" the", " a"))))
    at, article = pick(rng, places)
    return [*sentence.pieces[:at], article, *sentence.pieces[at:]]


@KINDS.add(5, 0.3)
def preposition_swapped(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Write another preposition."""
    places = [
        at for at, low in enumerate(sentence.low) if low in _PREPOSITIONS and 0 < at < sentence.stop - 1
        and not (low == "to" and sentence.classes[at + 1] == "v")
    ]  # fmt: skip
    at = pick(rng, places)
    return sentence.changed(at, pick(rng, [each for each in _PREPOSITIONS if each != sentence.low[at]]))


@KINDS.add(4, 0.35)
def small_word_lost(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave out a small word that is needed: a preposition, an auxiliary, "to", "that", a pronoun."""
    places = [
        at
        for at, letter in enumerate(sentence.classes[: sentence.stop - 1])
        if letter in "pbmte" or (letter in "ln" and at and sentence.classes[at + 1] in "adwxbmv")
    ]
    at = pick(rng, places)
    return sentence.without(at, at + 1)


@KINDS.add(3, 0.3)
def word_again(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Write a small word twice, or two small words in a row that exclude each other: "the the", "to for"."""
    places = [at for at in range(sentence.stop - 1) if sentence.classes[at] in "apltbhmdscen"]
    at = pick(rng, places)
    again = sentence.low[at]
    if again in {"that", "had", "so", "very", "her"}:
        return None
    return [*sentence.pieces[: at + 1], " " + again, *sentence.pieces[at + 1 :]]


@KINDS.add(3, 0.4)
def neighbors_swapped(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Swap a small word with its neighbor: "use to", "not can", "is it" in a statement."""
    places = [
        at
        for at in range(1, sentence.stop - 1)
        if (sentence.classes[at] in "apbmhte") != (sentence.classes[at + 1] in "apbmhte")
        and sentence.classes[at] not in ",.c"
        and sentence.classes[at + 1] not in ",.c"
    ]
    at = pick(rng, places)
    pieces = list(sentence.pieces)
    pieces[at], pieces[at + 1] = pieces[at + 1], pieces[at]
    return pieces


@KINDS.add(3, 0.2)
def comma_slip(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Lose the comma after an opening word, double a mark, or put a comma between subject and verb."""
    pieces = sentence.pieces
    commas = [at for at, low in enumerate(sentence.low) if low == ","]
    if len(sentence.low) > 2 and sentence.low[0] in _OPENING and sentence.low[1] == ",":
        return sentence.without(1, 2)
    if commas and rng.random() < 0.5:
        at = pick(rng, commas)
        return [*pieces[: at + 1], ",", *pieces[at + 1 :]]
    if rng.random() < 0.4 and sentence.pieces[-1].strip() == ".":
        return [*pieces, "."]
    places = [
        at for at in range(1, sentence.stop) if sentence.classes[at] in "bhm" and sentence.classes[at - 1] in "wx"
    ]
    at = pick(rng, places)
    return [*pieces[:at], ",", *pieces[at:]]


@KINDS.add(2, 0.2)
def bracket_lost(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Lose one of two brackets or quotation marks."""
    marks = [at for at, low in enumerate(sentence.low) if low in {"(", ")", "“", "”", '"'}]
    return sentence.without(at := pick(rng, marks), at + 1)


KIND_OF_SLIP: Mapping[str, FindingKind] = {
    "keyboard_slip": FindingKind.SPELLING,
    "vowel_slip": FindingKind.SPELLING,
    "letter_slip": FindingKind.SPELLING,
    "joined_or_parted": FindingKind.SPELLING,
    "apostrophe_slip": FindingKind.SPELLING,
    "homophone": FindingKind.WRONG_WORD,
    "distant_agreement": FindingKind.AGREEMENT,
    "plain_agreement": FindingKind.AGREEMENT,
    "noun_ending": FindingKind.AGREEMENT,
    "irregular_form": FindingKind.VERB_FORM,
    "wrong_tense": FindingKind.VERB_FORM,
    "verb_ending": FindingKind.VERB_FORM,
    "article_lost": FindingKind.ARTICLE,
    "article_added": FindingKind.ARTICLE,
    "preposition_swapped": FindingKind.PREPOSITION,
    "word_again": FindingKind.DOUBLED,
    "neighbors_swapped": FindingKind.WORD_ORDER,
    "comma_slip": FindingKind.PUNCTUATION,
    "bracket_lost": FindingKind.PUNCTUATION,
}
"""What is wrong with the words that a kind changes; of other kinds the words tell it."""


class Correction(NamedTuple):
    """A sentence before and after somebody corrected it."""

    before: str
    after: str


class LetterChange(NamedTuple):
    """Letters that were written for others, after a certain letter."""

    context: str
    right: str
    written: str


def slips_of_corrections(corrections: Iterable[Correction]) -> Kinds:
    """Return the kinds of damage that undo corrections: words confused and letters mistaken as often as people did."""
    words: Counter[tuple[str, str]] = Counter()
    letters: Counter[LetterChange] = Counter()
    for correction in corrections:
        for wrong, right in _replaced_words(correction):
            words[right, wrong] += 1
            if SequenceMatcher(None, wrong, right).ratio() > 0.6:
                letters.update(_changed_letters(wrong, right))
    kinds = Kinds()
    if words:
        kinds["confused_word"] = DamageKind(_confused(words), 10, 0.3)
    if letters:
        kinds["letter_slip"] = DamageKind(_letter_slip(letters), 10, 0.25)
    return kinds


def _words(text: str) -> list[str]:
    return [text[start:end].lower() for start, end in word_spans(text)]


def _replaced_words(correction: Correction) -> list[tuple[str, str]]:
    """Return the single words that were replaced by single words."""
    before, after = _words(correction.before), _words(correction.after)
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [
        (before[i], after[k])
        for tag, i, j, k, m in changes
        if tag == "replace" and j - i == m - k == 1 and before[i].isalpha() and after[k].isalpha()
    ]


def _changed_letters(wrong: str, right: str) -> list[LetterChange]:
    changes = SequenceMatcher(None, right, wrong, autojunk=False).get_opcodes()
    return [
        LetterChange(right[i - 1 : i], right[i:j], wrong[k:m])
        for tag, i, j, k, m in changes
        if tag != "equal" and i and j - i <= 2 and m - k <= 2
    ]


def _confused(counts: Mapping[tuple[str, str], int]) -> Make:
    """Return the damage that writes a word for which it was once written by mistake."""
    wrong: dict[str, list[str]] = {}
    for (right, written), count in sorted(counts.items()):
        wrong.setdefault(right, []).extend([written] * count)

    def make(sentence: Sentence, rng: Rng, others: Others) -> Pieces:
        low = pick(rng, sorted({low for low in sentence.low if low in wrong}))
        at = pick(rng, [at for at, each in enumerate(sentence.low) if each == low])
        return sentence.changed(at, pick(rng, wrong[low]))

    return make


def _letter_slip(counts: Mapping[LetterChange, int]) -> Make:
    """Return the damage that changes the letters of a longer word as was done, as often as it was done."""
    changes = sorted(counts)
    bounds = np.cumsum([counts[change] for change in changes])

    def make(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
        at = pick(rng, _spellable(sentence))
        word = sentence.pieces[at].lstrip()
        for _ in range(40):
            change = changes[int(np.searchsorted(bounds, rng.random() * bounds[-1], side="right"))]
            found = _places(word, change)
            if found:
                place = pick(rng, found)
                return _with(sentence, at, word[:place] + change.written + word[place + len(change.right) :])
        return None

    return make


def _places(word: str, change: LetterChange) -> Sequence[int]:
    pattern = change.context + change.right
    return [at + 1 for at in range(len(word) - len(pattern) + 1) if word[at : at + len(pattern)].lower() == pattern]
