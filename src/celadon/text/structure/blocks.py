"""Blocks of a text, their readable characters, and which blocks are prose."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from enum import StrEnum
from html import unescape

Span = tuple[int, int]


class BlockKind(StrEnum):
    """What a block of a text is."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    LIST_ITEM = "list_item"
    QUOTATION = "quotation"
    VERSE = "verse"
    TURN = "turn"
    TABLE = "table"
    CODE = "code"
    FORMULA = "formula"
    HTML = "html"
    FRONT_MATTER = "front_matter"
    SALUTATION = "salutation"
    SIGNATURE = "signature"
    DATA = "data"
    DIRECTIVE = "directive"


class LeftOut(StrEnum):
    """Why a block is not prose."""

    HEADING = "heading"
    TABLE = "table"
    CODE = "code"
    FORMULA = "formula"
    HTML = "html"
    FRONT_MATTER = "front_matter"
    SALUTATION = "salutation"
    SIGNATURE = "signature"
    DATA = "data"
    DIRECTIVE = "directive"
    LABEL = "label"
    FRAGMENT = "fragment"
    WORDLESS = "wordless"


READABLE = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.QUOTATION, BlockKind.VERSE, BlockKind.TURN})
STOPS = frozenset(".!?…。！？｡؟।॥")
PAUSES = frozenset(":;：；؛—―–")
_MARKS = STOPS | PAUSES

# what a run of these characters stands for: one character of a block's text, or a space
_SYMBOL = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,31});|<[bB][rR]\s*/?>")
_BREAKS = dict.fromkeys(map(ord, "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), " ")
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CAPTION = re.compile(r"\W{0,3}(?:Figure|Fig\.|Table|Listing|Chart)\s*\d{1,3}\W{0,2}[:.]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BlockText:
    """The readable text of a block; every character of it has an offset in the source."""

    text: str
    opaque: tuple[Span, ...]
    _starts: tuple[int, ...]
    _runs: tuple[Span, ...]

    def source_offset(self, offset: int) -> int:
        """Return the offset in the source of a character of the block's text (of its end: the end of the last run)."""
        if not self._runs:
            raise IndexError("the block has no text")
        if not 0 <= offset <= len(self.text):
            raise IndexError(f"offset {offset} is outside a block text of {len(self.text)} characters")
        if offset == len(self.text):
            return self._runs[-1][1]
        at = bisect_right(self._starts, offset) - 1
        return min(self._runs[at][0] + offset - self._starts[at], self._runs[at][1] - 1)

    def source_span(self, start: int, end: int) -> Span:
        """Return the characters of the source that a non-empty stretch of the block's text comes from."""
        at = bisect_left(self._starts, end) - 1
        run, length = self._runs[at], end - self._starts[at]
        whole = end == (self._starts[at + 1] if at + 1 < len(self._starts) else len(self.text))
        return self.source_offset(start), run[1] if whole else run[0] + length


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a text; all offsets are those of the text that was read.

    ``spans`` are the runs of readable characters in order, without markers. ``opaque`` are the stretches that a reader
    takes for one noun: inline code, formulas, URLs, paths, addresses, citations, shortcodes.
    """

    kind: BlockKind
    start: int
    end: int
    spans: tuple[Span, ...]
    opaque: tuple[Span, ...] = ()

    def render(self, source: str) -> BlockText:
        """Return the block's text: its runs, with line breaks as spaces and character references resolved."""
        pieces, starts, length = [], [], 0
        for start, end in self.spans:
            piece = source[start:end]
            if piece[:1] in ("&", "<") and _SYMBOL.fullmatch(piece):
                piece = " " if piece[0] == "<" else unescape(piece).replace("\xa0", " ")
            starts.append(length)
            pieces.append(piece)
            length += len(piece)
        runs = self.spans
        opaque = []
        for begin, stop in self.opaque:
            first = bisect_right(runs, (begin, len(source))) - 1
            first = first + 1 if first < 0 or runs[first][1] <= begin else first
            last = bisect_left(runs, (stop, 0)) - 1
            if first <= last:
                low = starts[first] + max(0, begin - runs[first][0])
                high = starts[last] + min(len(pieces[last]), stop - runs[last][0])
                if low < high:
                    opaque.append((low, high))
        return BlockText("".join(pieces).translate(_BREAKS), tuple(opaque), tuple(starts), runs)


def end_mark(text: str) -> str:
    """Return the stop, colon, semicolon or dash that a text ends in, closing quotes and symbols aside, or ""."""
    for character in reversed(text[-24:]):
        if character in _MARKS:
            return character
        if character.isalnum() or character == ",":
            break
    return "—" if text.rstrip("\"'”’»)_* ").endswith("--") else ""


def count_words(text: str) -> int:
    """Return the number of words in the first 400 characters; an ideograph is a word."""
    return len(WORD.findall(text, 0, 400))


def left_out(block: Block, text: str) -> LeftOut | None:
    """Return why a block of a text is not prose, or None when it is prose.

    Only the layout, the length and the mark at the end decide, never the words: damaged prose remains prose.
    """
    if block.kind not in READABLE:
        return LeftOut(block.kind.value)
    rendered = block.render(text)
    outside, at = [], 0
    for start, end in rendered.opaque:
        outside.append(rendered.text[at:start])
        at = end
    outside.append(rendered.text[at:])
    plain = " ".join(outside)
    words = count_words(plain)
    if not words:
        return LeftOut.WORDLESS
    if _CAPTION.match(plain):
        return LeftOut.LABEL
    words += len(rendered.opaque)
    mark = end_mark(plain)
    enough = {BlockKind.TURN: 3, BlockKind.VERSE: 4}.get(block.kind, 8)
    if mark in STOPS or words >= (4 if mark else enough) or _breaks_off(block, text):
        return None
    return LeftOut.LABEL if mark else LeftOut.FRAGMENT


def is_prose(block: Block, text: str) -> bool:
    """Return whether a block consists of sentences: see `left_out`."""
    return left_out(block, text) is None


def _breaks_off(block: Block, text: str) -> bool:
    """Return whether the block is the last, after a whole sentence or a heading below one: prose that was cut short."""
    if block.kind is BlockKind.LIST_ITEM or text[block.end : block.end + 400].strip() or text[block.end :].strip():
        return False
    lines = text[max(0, block.start - 1000) : block.start].splitlines()
    above = [line for line in lines if any(c.isalnum() for c in line)]
    if not above:
        return False
    heading = (
        len(above) > 1 and not end_mark(above[-1]) and not above[-1].rstrip().endswith(",") and lines[-1] != above[-1]
    )
    return end_mark(above[-2 if heading else -1]) in STOPS
