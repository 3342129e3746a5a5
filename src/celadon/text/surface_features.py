"""What a reader sees of a text before reading it: how long it is, how it is laid out, how much it repeats itself."""

from __future__ import annotations

from typing import NamedTuple

from celadon.text.structure import BlockKind, read_blocks
from celadon.text.structure.blocks import WORD

_GRAM = 3


class SurfaceFeatures(NamedTuple):
    """The number of words, the shares of the characters in lists, code and headings, and the share of three-word
    sequences that came before.
    """

    words: int
    lists: float
    code: float
    headings: float
    repetition: float


def surface_features(text: str) -> SurfaceFeatures:
    """Return the surface features of a text; its markup is detected."""
    words = [word.group().lower() for word in WORD.finditer(text)]
    grams = list(zip(*(words[at:] for at in range(_GRAM)), strict=False))
    repeated = 1 - len(set(grams)) / len(grams) if grams else 0.0
    counts = dict.fromkeys((BlockKind.LIST_ITEM, BlockKind.CODE, BlockKind.HEADING), 0)
    # a text of one line has no layout
    for block in read_blocks(text) if "\n" in text.strip() else ():
        if block.kind in counts:
            counts[block.kind] += block.end - block.start
    lists, code, headings = (count / max(len(text.strip()), 1) for count in counts.values())
    return SurfaceFeatures(len(words), min(lists, 1.0), min(code, 1.0), min(headings, 1.0), repeated)
