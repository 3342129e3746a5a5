"""Porter's stemmer (1980) with the changes that NLTK made to it, which rouge_score and NLTK's METEOR stem by.

Beyond Porter: a few irregular words; *ies* and *ied* of words of four letters become *ie*; *y* becomes *i* after any
consonant but the first letter (*enjoy* stays, *spy* becomes *spi*); *bli*, *fulli* and *logi* are endings.
"""

from __future__ import annotations

from functools import lru_cache

_IRREGULAR = {
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
    **{word: word for word in "sky news inning outing canning howe proceed exceed succeed".split()},
}


def _endings(text: str) -> tuple[tuple[str, str], ...]:
    """Read ``old:new`` pairs; the first ending that a word has decides."""
    pairs = (pair.partition(":") for pair in text.split())
    return tuple((old, new) for old, _, new in pairs)


_SECOND = _endings(
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
    "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble fulli:ful logi:log"
)
_THIRD = _endings("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
_FOURTH = _endings("al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:")


def _shape(word: str) -> str:
    """Return ``c`` for each consonant and ``v`` for each vowel; *y* is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Return how many times consonants follow vowels."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Tell whether a word ends in consonant, vowel, consonant (not w, x or y), or is a vowel and a consonant."""
    shape = _shape(word)
    return (shape.endswith("cvc") and word[-1] not in "wxy") or shape == "vc"


@lru_cache(maxsize=1 << 17)
def porter_stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _without_participle(_without_plural(word))
    if word.endswith("y") and len(word) > 2 and _shape(word)[-2] == "c":
        word = word[:-1] + "i"
    word = _second(word)
    word = _replaced(word, _THIRD, 0)
    word = _replaced(word, _FOURTH, 1)
    if word.endswith("e"):
        stem = word[:-1]
        measure = _measure(stem)
        if measure > 1 or (measure == 1 and not _is_short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _without_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_participle(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = next((ending for ending in ("ed", "ing") if word.endswith(ending)), "")
    stem = word.removesuffix(ending)
    if not ending or "v" not in _shape(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and _shape(stem)[-1] == "c":
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _is_short(stem) else stem


def _second(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _second(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, _SECOND, 0)


def _replaced(word: str, endings: tuple[tuple[str, str], ...], above: int) -> str:
    for old, new in endings:
        if word.endswith(old):
            stem = word[: len(word) - len(old)]
            fits = _measure(stem) > above and (old != "ion" or stem[-1:] in ("s", "t"))
            return stem + new if fits else word
    return word
