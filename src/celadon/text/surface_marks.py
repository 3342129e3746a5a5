"""Marks on the surface of an unfinished text: unknown words, loose ends, openings that hang in the air."""

from __future__ import annotations

from typing import NamedTuple

import regex

Place = tuple[int, int]

_UNKNOWN = regex.compile(
    r"<\s*/?\s*unk(?:nown)?\s*>|\[\s*unk\s*\]|@\s*unk\s*@|_unk_|(?<!\w)UNK(?!\w)|\uFFFD", regex.IGNORECASE
)
# Words that end at most 1 in 1,000 of their sentences in Wikipedia and the web treebank EWT, questions left aside.
_HANGING = frozenset(
    "the an and or but nor of to as than if because although whether unless until during toward towards onto under "
    "which who whose whom when my your its our their very every several including among per via he she they we "
    "became shall might must".split()
)
_CLOSED = frozenset(".!?…\"”’')]}»。！？؟।")
_PRONOUNS = frozenset("he she they him her them his hers their theirs".split())
_LINKS = frozenset(
    "however therefore moreover furthermore nevertheless nonetheless thus hence consequently then afterwards meanwhile "
    "instead otherwise additionally besides".split()
)
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’][\p{L}]+)*")


class LooseEnd(NamedTuple):
    """Where a sentence stops before it is over, and why."""

    place: Place
    why: str


def unknown_marks(text: str) -> list[Place]:
    """Return where a generator has put a mark in the place of a word that it did not know."""
    found = [match.span() for match in _UNKNOWN.finditer(text)]
    # "unk" in small letters may be a word; in capitals or in brackets it is a mark
    return [(start, end) for start, end in found if text[start:end].lower() != "unk" or text[start:end] == "UNK"]


def loose_end(sentence: str, last: bool = False) -> LooseEnd | None:
    """Return where a sentence breaks off: on a word that must have another after it, or without any mark of its end.

    The last sentence of a text may do without a full stop, as headlines and lists do.
    """
    words = list(_WORD.finditer(sentence))
    if not words:
        return None
    if hanging := hanging_end(sentence):
        return hanging
    final = words[-1]
    trailing = sentence[final.end() :].strip()
    if trailing and trailing[-1] in ",;:-–—(":
        return LooseEnd((final.start(), len(sentence.rstrip())), f"ends on {trailing[-1]!r}")
    if not last and not (trailing and trailing[-1] in _CLOSED):
        return LooseEnd(final.span(), "has no mark of its end")
    return None


def hanging_end(sentence: str) -> LooseEnd | None:
    """Return the last word of a sentence where it must have another after it."""
    words = list(_WORD.finditer(sentence))
    if len(words) < 2 or words[-1].group().lower() not in _HANGING or _asks(sentence, words[-1].group()):
        return None
    return LooseEnd(words[-1].span(), f"ends on {words[-1].group()!r}")


def _asks(sentence: str, final: str) -> bool:
    """Whether a final preposition or verb is as good as any: in questions, after commas, in capitals as a name."""
    return sentence.rstrip().endswith("?") or (final.isupper() and len(final) > 1)


def hanging_opening(text: str) -> LooseEnd | None:
    """Return the first word of a text where it refers to something that should have come before it."""
    first = _WORD.search(text)
    if first is None:
        return None
    word = first.group().lower()
    if word in _LINKS:
        return LooseEnd(first.span(), f"opens with {first.group()!r}, which goes on from something")
    if word in _PRONOUNS:
        return LooseEnd(first.span(), f"opens with {first.group()!r}, and nobody was named")
    return None
