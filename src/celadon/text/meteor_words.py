"""METEOR's words: tokens and normalised forms as METEOR 1.5 makes them of plain English text, found in one pass.

* Everything is lower-cased; single typographic quotes and the backtick become ``'``, double ones and ``''`` become
  ``"``, the en dash ``-``.
* Initials and dotted abbreviations lose their periods: *U.S.* is ``us``, *p.m.* is ``pm``.
* A hyphen between letters or digits separates and is dropped: *well-known* is two words.
* An apostrophe between letters begins a new word: *didn't* is ``didn`` and ``'t``.
* A period or comma inside a number stays in it, as does a period inside a word (*example.com*).
* A period at a word's end is a word of its own, unless the word is a title (*Mr.*), a capital letter, or is followed
  by a word in lower case.
* Every other visible character is a word; several periods are one.

Beyond METEOR, letters of other scripts keep their combining marks, and in scripts without spaces each character with
its marks is a word, as everywhere in this package.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import regex

from celadon.text.words import _LETTER, _UNSPACED, Word

_SAME_LENGTH = str.maketrans({"‘": "'", "’": "'", "`": "'", "“": '"', "”": '"', "–": "-"})

# Words after which a period is part of the word: mostly titles, which stand before a name.
_TITLES = (
    "Adm Asst Bart Bros Capt Cmdr Col Comdr Corp Dr Drs Gen Gov Hon Hosp Insp Lt Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op "
    "Pfc Prof Pvt Rep Reps Res Rev Rt Sen Sens Sgt Sr St Supt v vs [A-Z]"
).replace(" ", "|")
_NUMBERED = "Art|Nos?|pp"


def _template(alnum: str, letter: str, digit: str, lower: str, unspaced: str, other: str) -> str:
    period = rf"(?:\.(?=\s+{lower}))?"
    return "|".join(
        [
            *([unspaced] if unspaced else []),
            # most words stand alone, and are found the quicker for coming first
            rf"(?<!\S){alnum}++(?!\S)",
            rf"(?<!{alnum})(?<!\.)(?=(?:{digit}+\.)*{digit}*{letter})(?:{alnum}++\.){{2,}}+(?!{alnum})",
            rf"(?<!{alnum})(?:{_TITLES})\.(?!{alnum}|\.)",
            rf"(?<!{alnum})(?:{_NUMBERED})\.(?=\s+{digit})",
            rf"(?:(?<!{alnum})(?<!{alnum}\.)(?<!-)-+|(?<!\S)\.)?{alnum}++(?:\.{alnum}++|(?<={digit}),(?={digit}){alnum}++)*+"
            rf"(?:-++(?!{alnum}))?{period}",
            rf"(?<={letter})'(?:{letter}'{letter}+|{letter}+){period}",
            rf"(?<={digit})'s",
            r"''|\.{2,}",
            rf"-++(?!{alnum})",
            other,
        ]
    )


_ASCII = re.compile(_template("[A-Za-z0-9]", "[A-Za-z]", "[0-9]", "[a-z]", "", r"[^\sA-Za-z0-9\x00-\x1f\x7f-]"))
_UNICODE = regex.compile(
    _template(
        alnum=_LETTER,
        letter=rf"[{_LETTER}--\p{{N}}]",
        digit=r"\p{N}",
        lower=r"\p{Ll}",
        unspaced=_UNSPACED,
        other=r"[^\s\p{L}\p{N}\p{M}\p{Cc}\-]\p{M}*",
    ),
    regex.V1,
)


def _form(token: str) -> str:
    """Return the normalised form of a token found by one of the patterns."""
    form = token.lower()
    if form.isalnum():
        return form
    if form[-1] == "." and form.count(".") > 1 and form != token.upper():
        return form.replace(".", "")
    if form == "''":
        return '"'
    if form[0] == "-" or form[-1] == "-":
        return form.replace("--", "-")
    return form


def located_meteor_words(text: str) -> list[Word]:
    """Split a text into METEOR's words, each with its character offsets."""
    pattern: Any = _ASCII if text.isascii() else _UNICODE
    return [Word(_form(found.group()), *found.span()) for found in pattern.finditer(text.translate(_SAME_LENGTH))]


def meteor_words(text: str) -> list[str]:
    """Split a text into METEOR's words."""
    pattern: Any = _ASCII if text.isascii() else _UNICODE
    return [sys.intern(_form(token)) for token in pattern.findall(text.translate(_SAME_LENGTH))]
