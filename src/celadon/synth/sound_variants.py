"""Variants of a sentence that are as sound as it is: names, numbers, contractions, spelling, commas, case.

They teach a model that none of these is a fault. Good and damaged sentences get the same variant, so that it tells
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from celadon.synth.pieces import pick

_NAMES = (
    "Anna Maria Peter Lucas Fatima Chen Priya Ahmed Olga Diego Ingrid Kofi Yuki Hannah Omar Elena Tomas Aisha Björn "
    "Grace Mateo Leila Viktor Chloe"
).split()
_COMMON_NAMES = frozenset(
    "John Mary James Robert Michael William David Richard Joseph Thomas Charles George Paul Henry Peter Anna Sarah "
    "Elizabeth Jane Alice Edward Frank Jack Tom Emma Lucy Kate Martin Steven Susan Linda Helen Ruth Maria".split()
)
_CONTRACTIONS = {
    "it is": "it's", "is not": "isn't", "are not": "aren't", "do not": "don't", "does not": "doesn't",
    "did not": "didn't", "cannot": "can't", "will not": "won't", "would not": "wouldn't", "should not": "shouldn't",
    "was not": "wasn't", "were not": "weren't", "has not": "hasn't", "have not": "haven't", "I am": "I'm",
    "you are": "you're", "we are": "we're", "they are": "they're", "I have": "I've", "we have": "we've",
    "you will": "you'll", "I will": "I'll", "that is": "that's",
}  # fmt: skip
_EXPANSIONS = {short: long for long, short in _CONTRACTIONS.items() if short not in {"it's", "that's"}}
_SPELLINGS = """
color colour;colors colours;favorite favourite;honor honour;labor labour;neighbor neighbour;neighbors neighbours
behavior behaviour;behaviors behaviours;center centre;centers centres;theater theatre;meter metre;meters metres
organize organise;organized organised;organization organisation;organizations organisations;realize realise
realized realised;recognize recognise;recognized recognised;customize customise;customized customised
initialize initialise;initialized initialised;optimize optimise;optimized optimised;specialized specialised
authorize authorise;authorized authorised;authorization authorisation;defense defence;license licence;offense offence
analyze analyse;analyzed analysed;traveled travelled;traveling travelling;canceled cancelled;labeled labelled
modeling modelling;modeled modelled;fulfill fulfil;skillful skilful;gray grey;program programme;catalog catalogue
dialog dialogue;aging ageing;toward towards;learned learnt;spelled spelt;burned burnt;while whilst;among amongst
"""
_OTHER_SHORE: dict[str, str] = {}
for _pair in _SPELLINGS.replace("\n", ";").split(";"):
    if _pair:
        _one, _two = _pair.split()
        _OTHER_SHORE[_one], _OTHER_SHORE[_two] = _two, _one
_WORD = re.compile(r"[A-Za-z]+")
_NUMBER = re.compile(r"(?<![\w.,])\d{2,4}(?![\w,]|\.\d)")
_LISTED = re.compile(r"(\w+, [\w ]{2,30}?),? (and|or) (?=\w)")
_CONTRACTED = re.compile(r"\b(" + "|".join(map(re.escape, _EXPANSIONS)) + r")\b")
_EXPANDED = re.compile(r"\b(" + "|".join(map(re.escape, _CONTRACTIONS)) + r")\b")

Variant = Callable[[str, np.random.Generator], str]


def sound_variant(sentence: str, rng: np.random.Generator) -> str:
    """Change a sentence in ways that leave it as good as it is; often nothing is changed."""
    for share, variant in VARIANTS.values():
        if rng.random() < share:
            sentence = variant(sentence, rng)
    return sentence


def _names(sentence: str, rng: np.random.Generator) -> str:
    chosen = dict[str, str]()

    def other(match: re.Match[str]) -> str:
        word = match.group()
        return chosen.setdefault(word, pick(rng, _NAMES)) if word in _COMMON_NAMES else word

    return _WORD.sub(other, sentence)


def _numbers(sentence: str, rng: np.random.Generator) -> str:
    def other(match: re.Match[str]) -> str:
        size = len(match.group())
        # a year stays one
        return str(int(rng.integers(1700, 2025) if size == 4 else rng.integers(10 ** (size - 1), 10**size)))

    return _NUMBER.sub(other, sentence)


def _contractions(sentence: str, rng: np.random.Generator) -> str:
    if _CONTRACTED.search(sentence):
        return _CONTRACTED.sub(lambda match: _EXPANSIONS[match.group()], sentence)
    return _EXPANDED.sub(lambda match: _CONTRACTIONS[match.group()], sentence)


def _spelling(sentence: str, rng: np.random.Generator) -> str:
    def other(match: re.Match[str]) -> str:
        word = match.group()
        found = _OTHER_SHORE.get(word.lower(), word)
        return found.capitalize() if word[0].isupper() and found != word else found

    return _WORD.sub(other, sentence)


def _oxford_comma(sentence: str, rng: np.random.Generator) -> str:
    comma = "," if rng.random() < 0.5 else ""
    return _LISTED.sub(lambda match: f"{match.group(1)}{comma} {match.group(2)} ", sentence)


VARIANTS: dict[str, tuple[float, Variant]] = {
    "names": (0.3, _names),
    "numbers": (0.3, _numbers),
    "contractions": (0.3, _contractions),
    "spelling": (0.5, _spelling),
    "oxford_comma": (0.5, _oxford_comma),
    "small_letters": (0.12, lambda text, rng: text.lower()),
    "capitals": (0.06, lambda text, rng: text.upper()),
    "no_final_mark": (0.08, lambda text, rng: text.rstrip(".") or text),
}
"""How often each is chosen, and what it does."""
