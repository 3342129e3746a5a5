"""Blocks of HTML by its tags."""

from __future__ import annotations

import re
from collections.abc import Sequence

from celadon.text.structure.blocks import Block, BlockKind, Span, end_mark
from celadon.text.structure.inline import Content, Line, find_opaque
from celadon.text.structure.plain import Layout, Piece, make_blocks, split_group

K = BlockKind
# html.parser is not used: on unclosed tags and comments it takes quadratic time. A tag holds no "<" here, so that the
# search for its end stays before the next one
_TAG = re.compile(
    r"<!--|<[!?][^<>]*>|<(?P<close>/?)(?P<name>[a-zA-Z][\w:-]{0,40})(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+'|[\"'])*+>"
)
_BLOCKS = {
    **dict.fromkeys("h1 h2 h3 h4 h5 h6 title dt figcaption caption summary legend".split(), K.HEADING),
    **dict.fromkeys("li dd".split(), K.LIST_ITEM),
    **dict.fromkeys(
        "p div body html head article section main header footer aside nav ul ol dl blockquote figure form fieldset hr"
        " details address option select button label center".split(),
        K.PARAGRAPH,
    ),
}
_WHOLE = {**dict.fromkeys("script style pre textarea template".split(), K.CODE), "svg": K.HTML, "table": K.TABLE}
_OPAQUE_TAGS = frozenset("code kbd tt samp var".split())
_INLINE = re.compile(
    rf"(?P<tag>{_TAG.pattern})|(?P<entity>&(?:#\d{{1,7}}|#[xX][\da-fA-F]{{1,6}}|[A-Za-z]\w{{1,31}});)|(?P<space>\s\s+)"
)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def read_html(source: str) -> list[Block]:
    """Return the blocks of an HTML page."""
    return read_region(source, 0, len(source))


def read_region(source: str, start: int, end: int) -> list[Block]:
    """Return the blocks of HTML between two offsets."""
    pieces: list[Piece] = []
    kind, quotes, begin, at = K.PARAGRAPH, 0, start, start
    unclosed: set[str] = set()
    while tag := _TAG.search(source, at, end):
        name = (tag["name"] or "").lower()
        at = tag.end()
        if name and name not in _WHOLE and name not in _BLOCKS:
            continue
        pieces += _pieces(source, begin, tag.start(), K.QUOTATION if quotes and kind is K.PARAGRAPH else kind)
        if name in _BLOCKS:
            kind = K.PARAGRAPH if tag["close"] else _BLOCKS[name]
            quotes = max(0, quotes + (-1 if tag["close"] else 1)) if name == "blockquote" else quotes
        else:
            closing = rf"</{name}\b[^<>]*>" if name else "-->"
            closed = None
            if closing not in unclosed and not tag["close"] and (name or tag.group() == "<!--"):
                closed = re.compile(closing, re.IGNORECASE).search(source, at, end)
                at = closed.end() if closed else at
                unclosed |= set() if closed else {closing}
            line = Line(tag.start(), at, source[tag.start() : at], 0, "")
            pieces.append(Piece(_WHOLE.get(name, K.HTML) if closed else K.HTML, [line], line.start))
        begin = at
    pieces += _pieces(source, begin, end, K.QUOTATION if quotes and kind is K.PARAGRAPH else kind)
    return make_blocks(source, pieces, scan_html)


def _pieces(source: str, start: int, end: int, kind: BlockKind) -> list[Piece]:
    """Return the pieces of what stands between two tags of blocks; `<br>` ends a line."""
    lines = []
    for stop, after in [*(match.span() for match in _BREAK.finditer(source, start, end)), (end, end)]:
        raw = source[start:stop]
        if text := " ".join(_TAG.sub("", raw).split()):
            low = start + len(raw) - len(raw.lstrip())
            lines.append(Line(low, low + len(raw.strip()), text, 0, end_mark(text)))
        start = after
    if len(lines) < 2 or kind not in (K.PARAGRAPH, K.QUOTATION):
        return [Piece(kind, lines, lines[0].start)] if lines else []
    pieces = split_group(lines, Layout())
    for piece in pieces:
        piece.kind = kind if piece.kind is K.PARAGRAPH else piece.kind
    return pieces


def scan_html(source: str, lines: Sequence[Line]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the runs and the opaque stretches of lines of HTML, which `<br>` parts."""
    start, end = lines[0].start, lines[-1].end
    text = source[start:end]
    content = Content(source, [Line(start, end, text, 0, "")])
    cuts: list[tuple[int, int, bool]] = []
    opaque: list[Span] = []
    opened = -1
    for match in _INLINE.finditer(text):
        low, high = match.span()
        if match["space"]:
            cuts.append((low + 1, high, False))
            continue
        cuts.append((low, high, match["entity"] is not None or _BREAK.fullmatch(match.group()) is not None))
        if (match["name"] or "").lower() in _OPAQUE_TAGS:
            if match["close"] and opened >= 0:
                opaque.append((opened, low))
            opened = -1 if match["close"] else high
    found = [span for span in find_opaque(text) if "<" not in text[slice(*span)]]
    return content.spans(cuts), content.opaque([*opaque, *found])
