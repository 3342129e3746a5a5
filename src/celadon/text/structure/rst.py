"""Blocks of reStructuredText by its indentation, underlines, markers and directives."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from celadon.text.structure.blocks import STOPS, Block, BlockKind, Span
from celadon.text.structure.inline import Content, Line, find_opaque, outside
from celadon.text.structure.plain import Piece, make_blocks, split_lines

K = BlockKind
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}$")
_EXPLICIT = re.compile(r"\.\.(?:\s|$)|__\s")
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|]+\| )?([\w:.+-]+?)::(?:\s|$)")
_NOTE = re.compile(r"\.\. \[[^\]\s]{1,40}\]\s+")
_BULLET = re.compile(r"(?:[-*+•‣⁃]|\(?(?:\d{1,3}|#|[a-zA-Z]|[ivxlIVXL]{2,5})[.)])(\s+)(?=\S)")
_FIELD = re.compile(r":(?! )[^:`\n]{1,60}(?<! ):(?:\s+|$)")
_HEADER = re.compile(r"[A-Z][\w-]{0,30}:(?:\s|$)")
_TABLE = re.compile(r"\+[-=+]{3,}\+$|={2,}(?:\s+={2,})+$|-{2,}(?:\s+-{2,})+$")
# directives whose body is text like any other
_READ = frozenset(
    "note warning tip important caution danger hint attention error admonition seealso versionadded versionchanged"
    " deprecated topic epigraph highlights pull-quote sidebar canonical-doc canonical-pypa-spec container only".split()
)
# of these, what stands beside the name is a title or a version
_TITLED = frozenset("admonition topic sidebar versionadded versionchanged deprecated".split())
_WHOLE = {
    **dict.fromkeys(("code", "code-block", "sourcecode", "parsed-literal", "literalinclude", "highlight"), K.CODE),
    **dict.fromkeys(("table", "csv-table", "list-table"), K.TABLE),
    "math": K.FORMULA,
}
_INLINE = re.compile(
    r"(?P<literal>``(?=\S)[^`]{1,400}(?:`[^`]{1,100}){0,2}``)|(?P<role>:[a-zA-Z][\w:+.-]{0,40}:`(?P<inner>[^`]{1,400})`)"
    r"|(?P<phrase>`(?=\S)(?P<words>[^`]{1,400})`(?:__?(?!\w)|:[a-zA-Z][\w-]{0,30}:)?)"
    r"|(?P<strong>\*\*(?=\S)[^*]{1,400}\*\*)|(?P<emphasis>(?<![\w*])\*(?=[^\s*])[^*]{1,400}\*(?![\w*]))"
    r"|(?P<note>\[[#*\w.-]{1,40}\]_(?!\w))|(?P<substitution>(?<!\w)\|(?=\S)[^|\n]{1,60}\|_{0,2})"
    r"|(?P<escape>\\[\s\S])|(?P<reference>(?<![\w_])[A-Za-z0-9][\w-]*+(?<=[A-Za-z0-9]_)(?!\w))"
)
_TARGET = re.compile(r"\s*<[^<>]*>$")


def read_rst(source: str) -> list[Block]:
    """Return the blocks of reStructuredText."""
    lines = list(split_lines(source))
    at = 0
    pieces: list[Piece] = []
    while at < len(lines) and not lines[at].text:
        at += 1
    if at + 1 < len(lines) and all(_HEADER.match(line.text) for line in lines[at : at + 2]):
        header = at
        while at < len(lines) and lines[at].text:
            at += 1
        pieces.append(Piece(K.FRONT_MATTER, lines[header:at], lines[header].start))
    items: list[int] = []  # where the text of the list items begins that the next lines can belong to
    while at < len(lines):
        line = lines[at]
        if not line.text:
            at += 1
            continue
        while items and line.indent < items[-1]:
            items.pop()
        at = _read_block(lines, at, items, pieces)
    return make_blocks(source, pieces, scan_rst)


def _read_block(lines: list[Line], at: int, items: list[int], pieces: list[Piece]) -> int:
    """Add the block that begins at a line; return the line after it."""
    line = lines[at]
    text = line.text
    if _EXPLICIT.match(text):
        return _read_explicit(lines, at, items, pieces)
    if text[:4] == ">>> " or (text[0] in "+=-" and _TABLE.match(text)):
        doctest = text[0] == ">"
        end = _end(lines, at, lambda other: other.text != "") if doctest else _table_end(lines, at)
        return _add(pieces, K.CODE if doctest else K.TABLE, lines, at, end)
    below = lines[at + 1] if at + 1 < len(lines) else lines[at]
    if _ADORNMENT.match(text):
        under = lines[at + 2].text if below.text and at + 2 < len(lines) else ""
        # a line above and below a title, or a rule
        return _add(pieces, K.HEADING, lines, at + 1, at + 2) + 1 if under and under in text else at + 1
    if _ADORNMENT.match(below.text) and len(below.text) >= min(len(text), 4) and line.indent == below.indent:
        return _add(pieces, K.HEADING, lines, at, at + 1) + 1
    if text[:2] == "| ":
        end = _end(lines, at, lambda other: other.text[:1] == "|")
        verses = [verse._replace(start=verse.start + 2, text=verse.text[2:].strip()) for verse in lines[at:end]]
        pieces.append(Piece(K.VERSE, verses, line.start))
        return end
    return _read_paragraph(lines, at, items, pieces)


def _read_paragraph(lines: list[Line], at: int, items: list[int], pieces: list[Piece]) -> int:
    """Add a paragraph or the first paragraph of a list item, and the literal block that `::` announces."""
    line = lines[at]
    kind = K.PARAGRAPH if line.indent == (items[-1] if items else 0) else K.QUOTATION
    first = line
    if marker := _BULLET.match(line.text) or _FIELD.match(line.text):
        kind, skip = K.LIST_ITEM, marker.end()
        first = line._replace(start=line.start + skip, text=line.text[skip:], indent=line.indent + skip)
        end = _end(
            lines,
            at + 1,
            lambda other: other.indent > line.indent and not _BULLET.match(other.text) and other.text != "",
        )
        items.append(min([first.indent, *(other.indent for other in lines[at + 1 : end])]))
    else:
        end = _end(lines, at + 1, lambda other: other.indent == line.indent and other.text != "")
        if end == at + 1 < len(lines) and lines[end].text and lines[end].indent > line.indent:
            items.append(lines[end].indent)  # a term and its definition
    block = [first, *lines[at + 1 : end]]
    last = block[-1]
    if not last.text.endswith("::"):
        pieces.append(Piece(kind, block, line.start))
        return end
    block[-1] = last._replace(end=last.end - 1, text=last.text[:-1])
    if block[-1].text != ":":
        pieces.append(Piece(kind, block, line.start))
    code = _end(lines, end, lambda other: not other.text)
    if code < len(lines) and lines[code].indent > first.indent:
        return _add(pieces, K.CODE, lines, code, _body_end(lines, code, first.indent))
    return end


def _read_explicit(lines: list[Line], at: int, items: list[int], pieces: list[Piece]) -> int:
    line = lines[at]
    end = _body_end(lines, at + 1, line.indent)
    directive = _DIRECTIVE.match(line.text)
    name = directive[1].lower() if directive else ""
    if directive and name in _READ:
        rest = line.text[directive.end() :].strip()
        marker = line._replace(end=line.start + directive.end(), text=line.text[: directive.end()])
        pieces.append(Piece(K.DIRECTIVE, [marker], line.start))
        body = at + 1
        if rest and name not in _TITLED:
            body = _end(lines, body, lambda other: other.text != "")
            text = line._replace(start=line.end - len(rest), text=rest)
            pieces.append(Piece(K.PARAGRAPH, [text, *lines[at + 1 : body]], text.start))
        body = min(end, _end(lines, body, lambda other: not other.text or _FIELD.match(other.text) is not None))
        items += [lines[body].indent] if body < end else []
        return max(body, at + 1)
    note = _NOTE.match(line.text)
    body_lines = [other for other in lines[at:end] if other.text]
    if note and body_lines[-1].mark in STOPS and not any("://" in other.text for other in body_lines):
        text = line._replace(start=line.start + note.end(), text=line.text[note.end() :])
        pieces.append(Piece(K.LIST_ITEM, [text, *body_lines[1:]], line.start))
        return end
    return _add(pieces, _WHOLE.get(name, K.DIRECTIVE), lines, at, end)


def _add(pieces: list[Piece], kind: BlockKind, lines: list[Line], at: int, end: int) -> int:
    pieces.append(Piece(kind, [line for line in lines[at:end] if line.text], lines[at].start))
    return end


def _end(lines: list[Line], at: int, belongs: Callable[[Line], bool]) -> int:
    """Return the first line from one on that does not belong."""
    while at < len(lines) and belongs(lines[at]):
        at += 1
    return at


def _table_end(lines: list[Line], at: int) -> int:
    """Return the line after a table: a simple one ends with a border that a blank line follows."""
    if lines[at].text[0] != "+":
        end = at + 3
        while end < len(lines) and (not lines[end].text or lines[end].indent >= lines[at].indent):
            if _TABLE.match(lines[end].text) and (end + 1 == len(lines) or not lines[end + 1].text):
                return end + 1
            end += 1
    return _end(lines, at, lambda line: line.text != "")


def _body_end(lines: list[Line], at: int, indent: int) -> int:
    """Return the line after those that are blank or indented more."""
    end = at
    while at < len(lines) and (not lines[at].text or lines[at].indent > indent):
        at += 1
        end = at if lines[at - 1].text else end
    return end


def scan_rst(source: str, lines: Sequence[Line]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the runs and the opaque stretches of lines of reStructuredText."""
    content = Content(source, lines)
    text = content.text
    cuts: list[tuple[int, int, bool]] = []
    opaque: list[Span] = []
    for match in _INLINE.finditer(text):
        start, end = match.span()
        if match["literal"]:
            cuts += [(start, start + 2, False), (end - 2, end, False)]
            opaque.append((start + 2, end - 2))
        elif match["role"] or match["phrase"]:
            low, high = match.span("inner" if match["role"] else "words")
            inner = text[low:high]
            low += match["role"] is not None and inner[0] in "~!" and len(inner) > 1
            if (target := _TARGET.search(inner)) and target.start():
                high = match.start("inner" if match["role"] else "words") + target.start()
            cuts += [(start, low, False), (high, end, False)]
            if not target and (match["role"] or not re.search(r"\w\s\w|^[A-Za-z]+$", inner)):
                opaque.append((low, high))
        elif match["strong"] or match["emphasis"]:
            size = 2 if match["strong"] else 1
            cuts += [(start, start + size, False), (end - size, end, False)]
        elif match["note"]:
            cuts.append((end - 1, end, False))
            opaque.append((start, end - 1))
        elif match["substitution"]:
            opaque.append((start, end))
        elif match["escape"]:
            cuts.append((start, start + 1 + text[start + 1].isspace(), False))
        else:
            cuts.append((end - (2 if text[end - 2] == "_" else 1), end, False))
    taken = [*opaque, *(cut[:2] for cut in cuts)]
    return content.spans(cuts), content.opaque([*opaque, *outside(find_opaque(text), taken)])
