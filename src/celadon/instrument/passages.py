"""Passages of sound text, cut at the boundaries of blocks to about the same length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from celadon.instrument.halves import Half, document_of, half_of
from celadon.text.structure import Block, BlockKind, Markup, read_blocks
from celadon.text.words import words

REPLY = 0
"""The size of a reply, which is not cut."""
SIZES = (80, 300)
_SHORTEST, _LONGEST = 0.75, 1.4
_REPLY_WORDS = 4
_TEXT_FIELDS = ("text", "output", "response")
_CELL_FIELDS = ("genre", "system", "kind", "category")
_SKIPPED = frozenset({BlockKind.FRONT_MATTER, BlockKind.DIRECTIVE})
GUM, ANSWERS, INSTRUCTIONS = "gum", "answers", "instructions"
"""Genres, or what their names begin with: `gum:news`, `answers:code`."""


class Passage(NamedTuple):
    """Some sound text.

    Attributes
    ----------
    cell
        The group it is counted in: its genre, or the system that wrote it and the kind of its text.
    document
        What it was cut from.
    size
        The number of words that were wanted; 0 for a reply in a dialogue.
    text, markup
        The text, and the markup that it is written in.
    words
        How many there are.
    genre, system
        What kind of text it is, whoever wrote it, and the system that wrote it.
    """

    cell: str
    document: str
    size: int
    text: str
    markup: Markup
    words: int
    genre: str = ""
    system: str = ""


def passages(rows: Iterable[Mapping[str, Any]], halves: frozenset[Half], cell: str = "") -> Iterator[Passage]:
    """Cut rows of sound text into passages of all ``SIZES``; turns of dialogues are replies.

    Parameters
    ----------
    rows
        Objects with ``id`` and ``text`` (or ``output``, ``response``, ``turns``), and what names their cell: ``genre``,
        ``system``, ``kind``.
    halves
        Which documents to take.
    cell
        The name of the cell of rows that name none.
    """
    for row in rows:
        document = document_of(row)
        if half_of(document) not in halves:
            continue
        name = ":".join(str(row[field]) for field in _CELL_FIELDS if row.get(field)) or cell
        genre, system = _genre(row, name), str(row.get("system") or "")
        if turns := row.get("turns"):
            for turn in turns:
                if (count := len(turn.split())) >= _REPLY_WORDS:
                    yield Passage(name, document, REPLY, turn, Markup.PLAIN, count, genre, system)
            continue
        text = str(next(row[field] for field in _TEXT_FIELDS if row.get(field) is not None))
        markup = Markup(row["format"]) if row.get("format") in tuple(Markup) else Markup.AUTO
        blocks = read_blocks(text, markup)
        for size in SIZES:
            for start, end, count in _cut(text, blocks, size):
                yield Passage(name, document, size, text[start:end], markup, count, genre, system)


def _genre(row: Mapping[str, Any], name: str) -> str:
    """Name the kind of a row's text, whoever wrote it; ``name`` where nothing else does."""
    if row.get("system"):
        return f"{ANSWERS}:{row['kind']}" if row.get("kind") else ANSWERS
    if row.get("instruction"):
        return INSTRUCTIONS
    return f"{GUM}:{name}" if str(row.get("id", "")).startswith("GUM_") else name


def _cut(text: str, blocks: Iterable[Block], size: int) -> Iterator[tuple[int, int, int]]:
    """Yield where passages of about ``size`` words begin and end, and how many words they have."""
    start, end, count = -1, -1, 0
    for block in blocks:
        here = len(words(block.render(text).text, "rouge"))
        if block.kind in _SKIPPED or count + here > _LONGEST * size:
            if count >= _SHORTEST * size:
                yield start, end, count
            start, count = -1, 0
            if block.kind in _SKIPPED or here > _LONGEST * size:
                continue
        start = block.start if start < 0 else start
        end, count = block.end, count + here
        if count >= size:
            yield start, end, count
            start, count = -1, 0
    if count >= _SHORTEST * size:
        yield start, end, count


def drawn(found: Iterable[Passage], most: int, random: np.random.Generator) -> list[Passage]:
    """Draw at most ``most`` passages of each cell and size, from as many documents as there are."""
    every = list(found)
    taken: Counter[tuple[str, int]] = Counter()
    of_document: Counter[tuple[str, int, str]] = Counter()
    ranked: list[tuple[int, int, int]] = []
    for at in random.permutation(len(every)).tolist():
        passage = every[at]
        key = passage.cell, passage.size, passage.document
        ranked.append((of_document[key], len(ranked), at))
        of_document[key] += 1
    chosen = []
    # the first passage of every document before the second of any
    for _, _, at in sorted(ranked):
        group = every[at].cell, every[at].size
        if taken[group] < most:
            taken[group] += 1
            chosen.append(at)
    return [every[at] for at in sorted(chosen)]
