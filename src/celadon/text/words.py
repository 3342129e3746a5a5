"""Words: one Unicode-aware tokenizer, a named normalisation per metric.

Four normalisations are known:

``rouge``
    Lower case; runs of letters and digits; everything else separates. On ASCII text this is what rouge_score does.
``rouge-stems``
    The same, and words of more than three characters are stemmed, as rouge_score's ``use_stemmer`` does.
``surface``
    Case kept; a run of letters and digits (an apostrophe inside a word stays in it) or one other visible character.
``whitespace``
    The text is already tokenized: split at white space and keep what is there.

In scripts that put no spaces between words (Han, kana, Thai, Lao, Khmer, Myanmar) each character with its marks is a
word. Elsewhere combining marks belong to the word they stand in, so Hindi and pointed Hebrew do not fall apart.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import NamedTuple

import regex

from celadon.core import UsageError
from celadon.text.porter import porter_stem


class Word(NamedTuple):
    """A normalised word and where it stands in the text."""

    form: str
    start: int
    end: int


_UNSPACED_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED = rf"[{_UNSPACED_SCRIPTS}&&[\p{{L}}\p{{N}}\p{{M}}]][\p{{M}}\u200d\u200c\u0e33\u0eb3]*"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}\u200c\u200d]--[{_UNSPACED_SCRIPTS}]]"
_ROUGE = regex.compile(rf"{_UNSPACED}|{_LETTER}+", regex.V1)
_SURFACE = regex.compile(
    rf"{_UNSPACED}|{_LETTER}+(?:['’]{_LETTER}+)*|[^\s\p{{L}}\p{{N}}\p{{M}}\p{{Cc}}]\p{{M}}*|\p{{M}}+", regex.V1
)

# The standard library is several times faster than regex. It knows neither scripts nor marks, so it is used for texts
# of ASCII alone, and of the European characters (without combining marks) among which the patterns mean the same.
_PLAIN = re.compile(
    "[\x00-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u214f]*"
)
_PLAIN_ROUGE = re.compile(r"[^\W_]+")
_PLAIN_SURFACE = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s\x00-\x1f\x7f-\x9f]|_")
_ASCII_SURFACE = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*|[^\sA-Za-z0-9\x00-\x1f\x7f]")
# the standard library agrees with str.split about what white space is
_WHITESPACE = re.compile(r"\S+")
_ASCII_ROUGE_TABLE = {code: " " for code in range(128) if not chr(code).isalnum()}


def _rouge(text: str) -> list[str]:
    if text.isascii():
        return text.lower().translate(_ASCII_ROUGE_TABLE).split()
    pattern = _PLAIN_ROUGE if _PLAIN.fullmatch(text) else _ROUGE
    found: list[str] = pattern.findall(text.lower())
    return found


def _surface(text: str) -> list[str]:
    pattern = _ASCII_SURFACE if text.isascii() else _PLAIN_SURFACE if _PLAIN.fullmatch(text) else _SURFACE
    found: list[str] = pattern.findall(text)
    return found


def rouge_stem(word: str) -> str:
    """Return the stem of a word in lower case, by which ROUGE knows it; a short word is its own."""
    return porter_stem(word) if len(word) > 3 else word


def _rouge_stems(text: str) -> list[str]:
    return list(map(rouge_stem, _rouge(text)))


_SPLITTERS: dict[str, Callable[[str], list[str]]] = {
    "rouge": _rouge,
    "rouge-stems": _rouge_stems,
    "surface": _surface,
    "whitespace": str.split,
}
_PATTERNS = {"rouge": _ROUGE, "rouge-stems": _ROUGE, "surface": _SURFACE, "whitespace": _WHITESPACE}
_FORMS: dict[str, Callable[[str], str]] = {
    "rouge": str.lower,
    "rouge-stems": lambda word: rouge_stem(word.lower()),
}

NORMALISATIONS: tuple[str, ...] = tuple(_SPLITTERS)


def splitter(normalisation: str) -> Callable[[str], list[str]]:
    """Return the function from a text to its words under a normalisation."""
    try:
        return _SPLITTERS[normalisation]
    except KeyError:
        known = ", ".join(NORMALISATIONS)
        raise UsageError(f"unknown normalisation {normalisation!r}; known: {known}") from None


def form_of(normalisation: str) -> Callable[[str], str]:
    """Return the function from a word as it is written to its form under a normalisation."""
    return _FORMS.get(normalisation, str)


def words(text: str, normalisation: str) -> list[str]:
    """Split a text into words."""
    return splitter(normalisation)(text)


def located_words(text: str, normalisation: str) -> list[Word]:
    """Split a text into the same words as :func:`words`, each with its character offsets."""
    splitter(normalisation)
    form = form_of(normalisation)
    matches = _PATTERNS[normalisation].finditer(text)
    return [Word(sys.intern(form(match.group())), match.start(), match.end()) for match in matches]


def word_places(text: str, normalisation: str) -> list[tuple[int, int]]:
    """Return where the words of :func:`words` are: the characters at which each begins and ends."""
    splitter(normalisation)
    pattern = _ASCII_SURFACE if normalisation == "surface" and text.isascii() else _PATTERNS[normalisation]
    return [match.span() for match in pattern.finditer(text)]
