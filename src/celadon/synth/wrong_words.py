"""Damage by the wrong word: prepositions, articles, conjunctions, negation, look-alikes, nonsense, unknown marks."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from celadon.synth import english
from celadon.synth.pieces import Sentence, like, pick, split

Pieces = list[str]

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
_MASS = frozenset(
    "information furniture equipment advice research evidence knowledge software money music water".split()
)
_CONTENT = re.compile("[wvx]")
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


def wrong_preposition(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
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
    if not places:
        return None
    at, choices = pick(rng, places)
    return sentence.changed(at, pick(rng, choices))


def wrong_article(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Put an article where none may stand: "a informations", "a houses", "the his", "in the London"."""
    found: list[list[str]] = []
    for at in sentence.where(_NAKED_PLURAL):
        low = sentence.low[at]
        plural = english.drop_s(low) is not None and low not in english.VERB_OF
        if sentence.low[at - 1] in {"the", "these", "those", "many", "several", "some"} and (plural or low in _MASS):
            found.append(sentence.changed(at - 1, "an" if low[0] in "aeio" else "a"))
    for at in sentence.where(_BEFORE_NAME):
        article = pick(rng, ("the", "the", "a"))
        found.append([*sentence.pieces[:at], " " + article, *sentence.pieces[at:]])
    return pick(rng, found) if found else None


def spurious_word(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Put in a grammatical word where it cannot stand: "in near the river", "the of house"."""
    choices = []
    for letter, words in _BAD_INSERTIONS:
        places = [at for at, found in enumerate(sentence.classes[:-1]) if found == letter and at < sentence.stop - 1]
        choices += [(at, words) for at in places]
    if not choices:
        return None
    at, words = pick(rng, choices)
    return [*sentence.pieces[: at + 1], " " + pick(rng, words), *sentence.pieces[at + 1 :]]


def conjunction_broken(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
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
    if not commas or sentence.classes[0] == "s":
        return None
    at = pick(rng, commas)
    return [
        *sentence.pieces[: at + 1],
        pick(rng, (" and but", " but because", " so that because", " or and")),
        *sentence.pieces[at + 1 :],
    ]


def negation_broken(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Negate wrongly: "is not no", "not can", "does not is", "there is no a"."""
    places = [at for at, letter in enumerate(sentence.classes[:-1]) if letter in "bm" and 0 < at < sentence.stop - 1]
    if not places:
        return None
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


def look_alike(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Confuse words that look or sound alike: their and there, from and form."""
    places = [at for at, low in enumerate(sentence.low) if low in _LOOK_ALIKES and _is_confused(sentence, at)]
    if not places:
        return None
    # by word first, or "and" would be nearly all there is
    low = pick(rng, sorted({sentence.low[at] for at in places}))
    return sentence.changed(pick(rng, [at for at in places if sentence.low[at] == low]), pick(rng, _LOOK_ALIKES[low]))


def _is_confused(sentence: Sentence, at: int) -> bool:
    before, after = sentence.classes[at - 1 : at], sentence.classes[at + 1 : at + 2]
    return {
        "have": before == "m", "its": after == "w", "which": before not in {"p", "l", ","}, "this": after == "w",
        "these": after == "w", "those": after == "w", "other": after == "w", "much": after == "w", "who": before != ",",
    }.get(sentence.low[at], True)  # fmt: skip


def nonsense_words(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
    """Put words of other sentences, of the same class, ending and about the same length, in the place of some."""
    places = [at for at in sentence.where(_CONTENT) if len(sentence.low[at]) > 2 and at]
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


def unknown_marks(sentence: Sentence, rng: np.random.Generator, others: Sequence[str]) -> Pieces | None:
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
