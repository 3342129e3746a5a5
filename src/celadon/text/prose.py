"""The prose of a text: the sentences that can be judged, without markup, each with its place in the text."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from celadon.text.language import ENGLISH, MIXED, UNKNOWN, TextLanguage, identify, text_language
from celadon.text.scripts import is_wordless
from celadon.text.sentence_splitter import split_sentences
from celadon.text.structure import Block, BlockKind, LeftOut, Markup, left_out, read_blocks
from celadon.text.structure.blocks import READABLE, WORD, BlockText

Span = tuple[int, int]

_FEWEST = 3
"""Words of a text that is one block; with fewer it is a fragment."""
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
    share
        The share of the words of the original that are in them.
    nothing
        Why there are none; None where there are.
    language
        The language of the sentences, those that were left out for it included.
    broken_off
        Whether the last block of the original is prose that stops without a mark of its end.
    """

    text: str
    sentences: tuple[Span, ...]
    share: float
    nothing: Nothing | None
    language: TextLanguage
    broken_off: bool
    _starts: tuple[int, ...]
    _blocks: tuple[BlockText, ...]

    def source_span(self, start: int, end: int) -> Span:
        """Return where some of ``text``, inside of one block, stands in the original."""
        at = bisect_right(self._starts, start) - 1
        offset = self._starts[at]
        return self._blocks[at].source_span(start - offset, end - offset)


@lru_cache(maxsize=4096)
def read_prose(text: str, markup: Markup = Markup.AUTO) -> Prose:
    """Read the prose of a text.

    Parameters
    ----------
    text
        The text.
    markup
        What it is written in.
    """
    blocks = read_blocks(text, markup)
    reasons = [left_out(block, text) for block in blocks]
    if not any(reason is None for reason in reasons) and _is_one_fragment(text, blocks, reasons):
        reasons = [None if block.kind in READABLE else reason for block, reason in zip(blocks, reasons, strict=True)]
    elif _ends_in_a_fragment(text, blocks, reasons):
        reasons[-1] = None
    chosen = [block.render(text) for block, reason in zip(blocks, reasons, strict=True) if reason is None]
    starts, sentences, at = [], [], 0
    for block in chosen:
        starts.append(at)
        sentences += [(at + start, at + end) for start, end in split_sentences(block.text)]
        at += len(block.text) + 1
    prose = "\n".join(block.text for block in chosen)
    language = text_language(prose[start:end] for start, end in sentences)
    nothing = None if sentences else _nothing(text, reasons)
    if language.code not in (ENGLISH, UNKNOWN):
        english = [(start, end) for start, end in sentences if identify(prose[start:end]).code in (ENGLISH, UNKNOWN)]
        if language.code == MIXED and english:
            sentences = english
        else:
            sentences, nothing = [], Nothing.LANGUAGE
    total = len(WORD.findall(text))
    judged = sum(len(WORD.findall(prose, start, end)) for start, end in sentences)
    last = next((reason for block, reason in zip(blocks[::-1], reasons[::-1], strict=True) if _counts(block)), None)
    return Prose(
        prose,
        tuple(sentences),
        judged / total if total else 0.0,
        nothing,
        language,
        bool(sentences) and last is None and _has_no_end(prose),
        tuple(starts),
        tuple(chosen),
    )


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


def _has_no_end(prose: str) -> bool:
    from celadon.text.structure.blocks import end_mark

    return not end_mark(prose.rstrip())


def _nothing(text: str, reasons: list[LeftOut | None]) -> Nothing:
    if not text.strip():
        return Nothing.EMPTY
    if is_wordless(text):
        return Nothing.WORDLESS
    return Nothing.DATA if any(reason in _DATA for reason in reasons) else Nothing.FRAGMENT
