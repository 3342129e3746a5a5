"""Tokens as the Penn Treebank has them, put together into a text that reads as text does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from celadon.text.penn_words import penn_words

FULL_STOP = "."


class MadeText(NamedTuple):
    """A text that was made, and its tokens."""

    text: str
    tokens: tuple[str, ...]


_SHOWN = {"``": '"', "''": '"', "`": "'", "-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}"}
_CLITICS = frozenset(("n't", "'s", "'re", "'ve", "'ll", "'d", "'m"))
_NO_SPACE_BEFORE = frozenset((",", FULL_STOP, ";", ":", "?", "!", "%", "-RRB-", "-RCB-", ">", "'", "''", *_CLITICS))
_NO_SPACE_AFTER = frozenset(("-LRB-", "-LCB-", "<", "``", "`"))
_MONEY = ("$", "#", "£", "€", "¥")


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a sentence."""
    return [word.form for word in penn_words(text)]


def text_of(tokens: Sequence[str]) -> str:
    """Return the tokens as a text, with spaces where a reader expects them.

    A full stop after an abbreviation's own is not written twice.
    """
    made: list[str] = []
    before = ""
    for token in tokens:
        if token == FULL_STOP and before.endswith(FULL_STOP):
            continue
        if made and not _meet(before, token):
            made.append(" ")
        made.append(_SHOWN.get(token, token))
        before = token
    return "".join(made)


def sentence_text(tokens: Sequence[str]) -> MadeText | None:
    """Return the tokens as a sentence that begins with a capital.

    None where it would begin with a clitic or a mark that leans on a word before it, and where the text, read again,
    would have other tokens.
    """
    if _leans(tokens[0]):
        return None
    shown = capitalised(tokens)
    text = text_of(shown)
    return MadeText(text, shown) if tuple(tokens_of(text)) == shown else None


def capitalised(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens, the first with a capital."""
    return (tokens[0][:1].upper() + tokens[0][1:], *tokens[1:])


def is_word(token: str) -> bool:
    """Return whether the token is more than a mark or a clitic."""
    return token[0].isalnum() and not _leans(token)


def _leans(token: str) -> bool:
    return token in _NO_SPACE_BEFORE or token.lower() in _CLITICS


def _meet(before: str, token: str) -> bool:
    """Whether no space stands between two tokens."""
    if _leans(token) or before in _NO_SPACE_AFTER:
        return True
    if before.endswith(_MONEY):
        return token[:1].isdigit()
    return before.lower() == "can" and token == "not"
