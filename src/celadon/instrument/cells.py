"""Which cell a sound passage is counted in: small groups are pooled, and some are listed but not counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from celadon.instrument.passages import GUM, SIZES, Passage

SPOKEN = frozenset({"conversation", "court", "interview", "podcast", "vlog"})
"""Genres whose sentences are those of speech. They are listed, and do not decide where a gate is."""
# kinds of answers of which a single model has few
_POOLED_ANSWERS = frozenset({"code", "table", "other-language"})
# written in dialect throughout
_DIALECT = "Adventures-of-Huckleberry-Finn"


def in_dialect(row: Mapping[str, Any]) -> bool:
    """Return whether a row is from a book in dialect, which is left out of cells and of training."""
    return str(row.get("id", "")).startswith(_DIALECT)


def is_spoken(passage: Passage) -> bool:
    """Return whether a passage is of a genre of speech."""
    return not SPOKEN.isdisjoint((passage.genre or passage.cell).split(":"))


def pooled(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Put passages into the cells that are counted.

    Written GUM of the longer size is one cell, and so are all instructions; answers with code or tables are pooled over
    systems.
    """
    for passage in passages:
        yield passage._replace(cell=_cell(passage))


def _cell(passage: Passage) -> str:
    family, _, kind = passage.genre.partition(":")
    if passage.system:
        return passage.genre if kind in _POOLED_ANSWERS else passage.cell
    if family == GUM and passage.size == SIZES[-1] and not is_spoken(passage):
        return GUM
    return passage.genre or passage.cell
