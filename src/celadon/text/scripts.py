"""Which writing systems a text is in."""

from __future__ import annotations

from functools import cache

import regex

from celadon.core import InputError

_LETTER = regex.compile(r"\p{L}")
_WORD = regex.compile(r"[\p{L}\p{N}]")

ENOUGH = 0.5
"""The share of a text's letters that must be in scripts that a model knows."""


def is_wordless(text: str) -> bool:
    """Whether a text has neither letters nor digits."""
    return _WORD.search(text) is None


def script_share(text: str, scripts: tuple[str, ...]) -> float:
    """Return the share of a text's letters that are in the Unicode scripts; 1 for a text without letters."""
    if text.isascii() and "Latin" in scripts:
        return 1.0
    letters = len(_LETTER.findall(text))
    return len(_letter_in(scripts).findall(text)) / letters if letters else 1.0


def is_in_scripts(text: str, scripts: tuple[str, ...]) -> bool:
    """Whether at least half of a text's letters are in the given scripts; always where no script is named."""
    return not scripts or script_share(text, scripts) >= ENOUGH


@cache
def _letter_in(scripts: tuple[str, ...]) -> regex.Pattern[str]:
    named = "".join(_named(script) for script in scripts)
    return regex.compile(rf"[[{named}]&&\p{{L}}]", regex.V1)


def _named(script: str) -> str:
    pattern = rf"\p{{Script={script}}}"
    try:
        if not script.replace("_", "").isalpha():
            raise regex.error(script)
        regex.compile(pattern)
    except regex.error:
        raise InputError(f"{script!r} is not the name of a Unicode script (such as Latin or Cyrillic)") from None
    return pattern
