"""Sentences: where they begin and end, by Punkt (the nupunkt package) and by the lines of the text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from celadon.text.scripts import is_wordless

if TYPE_CHECKING:
    from nupunkt import PunktSentenceTokenizer

# what str.splitlines takes for the end of a line
_LINE = re.compile("[^\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]+")
_LIST_NUMBER = re.compile(r"[(\[]?\d{1,3}[.)\]]+")
# Punkt waits for a space after a full stop; these scripts put none
_WIDE_STOP = re.compile("[。！？｡]+[」』”’）】》]*")


def split_sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return the characters of each sentence, begin and end, without white space around it.

    The end of a line always ends a sentence; an abbreviation, a decimal point or an initial does not. Within a line, a
    stretch without letters and digits belongs to the sentence before it, or else to the one after it, and the number
    of a list's item (``2.``) to the one after it. Every character that is not white space is in one of the sentences.
    """
    return tuple(span for line in _LINE.finditer(text) for span in _of_line(line.group(), line.start()))


def splitter_version() -> str:
    """Return what a signature must say of how sentences are found."""
    from importlib.metadata import version

    return f"nupunkt-{version('nupunkt')}"


@cache
def _punkt() -> PunktSentenceTokenizer:
    # one of our own: the package's shared one can be taught abbreviations by anybody in the process
    from nupunkt.models import load_default_model

    return load_default_model()


def _of_line(line: str, offset: int) -> list[tuple[int, int]]:
    ends = {end for _, (_, end) in _punkt().tokenize_with_spans(line)}
    ends.update(stop.end() for stop in _WIDE_STOP.finditer(line))
    found: list[tuple[int, int]] = []
    waiting: int | None = None  # where a stretch begins that belongs to what comes after it
    begin = 0
    for end in sorted(ends | {len(line)}):
        inside = line[begin:end]
        bare = inside.strip()
        if bare:
            start = begin + inside.index(bare[0])
            if _LIST_NUMBER.fullmatch(bare) or (is_wordless(bare) and not found):
                waiting = start if waiting is None else waiting
            elif is_wordless(bare) and waiting is None:
                found[-1] = (found[-1][0], start + len(bare))
            else:
                found.append((start if waiting is None else waiting, start + len(bare)))
                waiting = None
        begin = end
    if waiting is not None:
        found.append((waiting, len(line.rstrip())))
    return [(start + offset, end + offset) for start, end in found]
