"""The prose of a text: the sentences that can be judged, without markup, each with its place in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from hashlib import sha256

from celadon.text.language import ENGLISH, MIXED, UNKNOWN, TextLanguage, identify, text_language
from celadon.text.scripts import is_wordless
from celadon.text.sentence_splitter import WEIGHTS as SPLITTER
from celadon.text.sentence_splitter import split_sentences
from celadon.text.structure import Block, BlockKind, LeftOut, Markup, left_out, read_blocks
from celadon.text.structure.blocks import READABLE, STOPS, WORD, BlockText, end_mark

Place = tuple[int, int]

_VERSION = 1
"""To be raised with every change of what is judged."""

_FEWEST = 3
"""Words of a text that is one block; with fewer it is a fragment."""
_FULL_LINE = 8
"""Words of a paragraph that is surely no heading."""
_REFERENCE = re.compile(r"\s*(?:\[[^\[\]]{1,60}\]\s*)+$")
_VERSE_LINE = re.compile(r"\w[^\n\r]*\w\S*")
_DATA = frozenset({LeftOut.CODE, LeftOut.DATA, LeftOut.FORMULA, LeftOut.TABLE, LeftOut.HTML, LeftOut.DIRECTIVE})


class Nothing(StrEnum):
    """Why a text has nothing to judge."""

    EMPTY = "empty"
    WORDLESS = "wordless"
    FRAGMENT = "fragment"
    DATA = "data"
    LANGUAGE = "language"


@dataclass(frozen=True, slots=True)
class Prose:
    """The prose of a text.

    Attributes
    ----------
    text
        The blocks of prose without their markup, one a line.
    sentences
        Where its sentences begin and end; none crosses a block.
    verse
        Whether each of them is a line of verse.
    share
        The share of the words of the original that are in them.
    skipped
        Why each block that is no prose was left out.
    nothing
        Why there are none; None where there are.
    language
        The language of the sentences, those that were left out for it included.
    broken_off
        Whether the last block of the original is prose that stops without a mark of its end.
    """

    text: str
    sentences: tuple[Place, ...]
    verse: tuple[bool, ...]
    share: float
    skipped: tuple[LeftOut, ...]
    nothing: Nothing | None
    language: TextLanguage
    broken_off: bool
    _starts: tuple[int, ...]
    _blocks: tuple[BlockText, ...]

    def source_span(self, start: int, end: int) -> Place:
        """Return where some of ``text``, inside of one block, stands in the original."""
        at = bisect_right(self._starts, start) - 1
        offset = self._starts[at]
        return self._blocks[at].source_span(start - offset, end - offset)


@cache
def prose_version() -> str:
    """Return what a signature must say of how prose is read: a number, and what the splitter's weights are."""
    return f"{_VERSION}/{sha256(SPLITTER.read_bytes()).hexdigest()[:8]}"


@lru_cache(maxsize=4096)
def read_prose(text: str, markup: Markup = Markup.AUTO, declared: str = "") -> Prose:
    """Read the prose of a text.

    Parameters
    ----------
    text
        The text.
    markup
        What it is written in.
    declared
        The ISO 639 code of its language, if that is known; else each sentence's language is identified.
    """
    blocks = read_blocks(text, markup)
    reasons = [left_out(block, text) for block in blocks]
    if not any(reason is None for reason in reasons) and _is_one_fragment(text, blocks, reasons):
        reasons = [None if block.kind in READABLE else reason for block, reason in zip(blocks, reasons, strict=True)]
    elif _ends_in_a_fragment(text, blocks, reasons):
        reasons[-1] = None
    prosaic = [block for block, reason in zip(blocks, reasons, strict=True) if reason is None]
    chosen = [block.render(text) for block in prosaic]
    starts, sentences, at = [], [], 0
    lines: set[Place] = set()
    for block, rendered in zip(prosaic, chosen, strict=True):
        starts.append(at)
        places = [(at + start, at + end) for start, end in _split(text, block, rendered.text)]
        sentences += places
        lines.update(places if block.kind is BlockKind.VERSE else ())
        at += len(rendered.text) + 1
    prose = "\n".join(block.text for block in chosen)
    language = (
        TextLanguage(declared, {declared: 1.0})
        if declared
        else text_language(prose[start:end] for start, end in sentences)
    )
    nothing = None if sentences else _nothing(text, reasons)
    if language.code not in (ENGLISH, UNKNOWN):
        english = [(start, end) for start, end in sentences if identify(prose[start:end]).code in (ENGLISH, UNKNOWN)]
        if language.code == MIXED and english:
            sentences = english
        else:
            sentences, nothing = [], Nothing.LANGUAGE
    total = len(WORD.findall(text))
    judged = sum(len(WORD.findall(prose, start, end)) for start, end in sentences)
    return Prose(
        prose,
        tuple(sentences),
        tuple(place in lines for place in sentences),
        judged / total if total else 0.0,
        tuple(reason for reason in reasons if reason is not None),
        nothing,
        language,
        bool(sentences) and _is_broken_off(text, blocks, reasons),
        tuple(starts),
        tuple(chosen),
    )


def _split(text: str, block: Block, rendered: str) -> tuple[Place, ...]:
    """Return the sentences of a block; of verse with few marks of their end, its lines."""
    raw = "".join(text[start:end] for start, end in block.spans)
    lines = raw.splitlines()
    stops = sum(character in STOPS for character in raw)
    if block.kind is not BlockKind.VERSE or len(raw) != len(rendered) or 2 * stops >= len(lines):
        return split_sentences(rendered)
    return tuple((match.start(), match.end()) for match in _VERSE_LINE.finditer(raw))


def _is_one_fragment(text: str, blocks: tuple[Block, ...], reasons: list[LeftOut | None]) -> bool:
    """Return whether a text is one short line of more than two words: an answer, a headline."""
    readable = [block for block in blocks if block.kind in READABLE or block.kind is BlockKind.HEADING]
    return len(readable) == len(blocks) == 1 and len(WORD.findall(text)) >= _FEWEST


def _ends_in_a_fragment(text: str, blocks: tuple[Block, ...], reasons: list[LeftOut | None]) -> bool:
    """Return whether a text ends in a paragraph that seems to break off: it is judged, however short."""
    return (
        bool(blocks)
        and blocks[-1].kind is BlockKind.PARAGRAPH
        and reasons[-1] is LeftOut.FRAGMENT
        and len(WORD.findall(text, blocks[-1].start)) > _FEWEST
    )


def _counts(block: Block) -> bool:
    return block.kind not in {BlockKind.DIRECTIVE, BlockKind.HTML, BlockKind.FRONT_MATTER}


def _is_broken_off(text: str, blocks: tuple[Block, ...], reasons: list[LeftOut | None]) -> bool:
    """Return whether the last block stops in mid-sentence, by its layout and by that of blocks of its kind.

    Items of lists, lines of verse and turns do without a mark of their end unless most of their like have one; a short
    paragraph of its own may be a heading, unless a sentence ends in it.
    """
    last = max((at for at, block in enumerate(blocks) if _counts(block)), default=-1)
    if last < 0 or reasons[last] is not None or _has_end(blocks[last], text):
        return False
    kind = blocks[last].kind
    if kind is BlockKind.PARAGRAPH:
        rendered = blocks[last].render(text).text
        return len(WORD.findall(rendered)) >= _FULL_LINE or len(split_sentences(rendered)) > 1
    alike = [_has_end(block, text) for block in blocks[:last] if block.kind is kind]
    return 2 * sum(alike) > len(alike)


def _has_end(block: Block, text: str) -> bool:
    """Return whether a block ends in a mark, perhaps with a reference after it, or in code or a link."""
    rendered = block.render(text)
    bare = _REFERENCE.sub("", rendered.text.rstrip()).rstrip()
    return bool(end_mark(bare)) or any(end >= len(bare) for _, end in rendered.opaque)


def _nothing(text: str, reasons: list[LeftOut | None]) -> Nothing:
    if not text.strip():
        return Nothing.EMPTY
    if is_wordless(text):
        return Nothing.WORDLESS
    return Nothing.DATA if any(reason in _DATA for reason in reasons) else Nothing.FRAGMENT
