"""What a word is looked up as: its form, and the class it falls into where the form is not known."""

from __future__ import annotations

import re
from collections.abc import Container

_DIGIT = re.compile(r"\d")
_ENDINGS = ("ing", "ed", "ly", "tion", "ness", "ment", "ous", "able", "al", "er", "est", "ity", "ive", "s")
# what is written without letters and is no punctuation
_SYMBOLS = frozenset("$ % # & £ € ¥ + = @ < > US$ C$ A$".split())


def form(word: str) -> str:
    """A word with every digit as 9: numbers of one shape are alike."""
    return _DIGIT.sub("9", word)


def is_punctuation(word: str) -> bool:
    """Whether a token of plain text is a mark of punctuation; ``%``, ``$`` and the like are read as words."""
    return word in _BRACKETS or (not any(map(str.isalnum, word)) and word not in _SYMBOLS)


_BRACKETS = frozenset(("-LRB-", "-RRB-", "-LCB-", "-RCB-", "-LSB-", "-RSB-"))


def unknown_class(word: str) -> str:
    """The class of a word that is not known, by its shape and ending."""
    if any(map(str.isdigit, word)):
        return "<9>" if not any(map(str.isalpha, word)) else "<9a>"
    if not any(map(str.isalpha, word)):
        return "<.>"
    if word[:1].isupper():
        return "<AA>" if word.isupper() and len(word) > 1 else "<A>"
    lower = word.lower()
    ending = next((each for each in _ENDINGS if lower.endswith(each) and len(lower) > len(each) + 2), "")
    return f"<a-{'-' if '-' in lower else ''}{ending}>"


def known_form(word: str, known: Container[str]) -> str:
    """The form under which a word is known: as it is written, in small letters, or its class."""
    written = form(word)
    if written in known:
        return written
    small = written.lower()
    return small if small in known else unknown_class(word)
