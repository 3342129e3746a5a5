"""Blocks of Markdown: block structure by markdown-it, inline markup by a scanner that keeps source offsets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, partial
from html.entities import html5
from typing import TYPE_CHECKING

from celadon.text.structure.blocks import STOPS, Block, BlockKind, Span
from celadon.text.structure.html import read_region
from celadon.text.structure.inline import Content, Line, find_opaque, make_line, outside
from celadon.text.structure.plain import Piece, make_blocks, read_plain, split_group, survey

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

K = BlockKind
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_LEAVES = {
    "fence": K.CODE,
    "code_block": K.CODE,
    "html_block": K.HTML,
    "table_open": K.TABLE,
    "definition": K.DIRECTIVE,
}
_CONTAINERS = {"blockquote_open": K.QUOTATION, "list_item_open": K.LIST_ITEM}
# more markers in a row than the parser reads
_DEEP = re.compile(r"(?:>[ \t]?){20}|(?:[*+-][ \t]+){20}(?=\w)")
_LONG_SHORTCODE = re.compile(r"\{\{[<%][^{}\r\n]{0,400}[\r\n][^{}]{0,1000}\}\}")
_SPECIAL = re.compile(r"[\\`*_~\[\]<&!]")
_TOKEN = re.compile(
    r"(?P<name>\{\{[^{}]{0,400}\}\}|\{%[^{}]{0,400}%\}"
    r"|\$\$(?=\S)[^$]{1,400}\$\$|\$(?=[^\s$])[^$]{0,300}(?<=[^\s$])\$(?![\d$])"
    r"|\\\((?:[^\\]|\\(?![()])){1,400}\\\)|\\\[(?:[^\\]|\\(?![\[\]])){1,400}\\\]|\[\^[^\]\s]{1,40}\]"
    r"|(?<!\w)https?://[^\s<>\"`\])]*[^\s<>\"`\]).,;:!?*_'])"
    r"|(?P<escape>\\[!-/:-@\[-`{-~\n])|(?P<code>`+)|(?P<comment><!--)"
    r"|(?P<address><(?:[a-zA-Z][\w+.-]{1,31}:[^\s<>]*|[\w.+-]{1,64}@[\w.-]{1,200})>)|(?P<tag></?[a-zA-Z][^<>]{0,2000}>)"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,31});)"
    r"|(?P<open>!?\[)|(?P<close>\])|(?P<mark>\*+|_+|~~+)"
)
_TARGET = re.compile(
    r"\(\s*(?:<[^<>\n]*>|(?:[^\s()\\<]|\\.|\((?:[^\s()\\]|\\.){0,200}\))*)"
    r"(?:\s+(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?\s*\)"
)
_LINK_END = re.compile(r"\]\([^\s()]*\)")
_NOTHING = re.compile("")
_LABEL = re.compile(r"\[([^\[\]]{0,400})\]")
_ITEM_BOX = re.compile(r"\[[ xX]\]\s+|\[\^[^\]\s]{1,40}\]:\s*")
_CODE_TAG = re.compile(r"<(code|kbd|tt|samp|var)\b", re.IGNORECASE)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"inline_definitions": True, "maxNesting": 60}).enable("table")
    # inline markup is read by our own scanner: tokens have no offsets, and some inputs take quadratic time
    parser.core.ruler.disable(["inline", "text_join"], ignoreInvalid=True)
    return parser


def read_markdown(source: str, start: int = 0) -> list[Block]:
    """Return the blocks of Markdown from an offset on."""
    if _DEEP.search(source, start):
        return read_plain(source, start)
    starts = [start, *(match.end() for match in _LINE_BREAK.finditer(source, start)), len(source)]
    environment: dict[str, dict[str, object]] = {}
    # a shortcode of several lines can begin one with ">" or "-", which must not be taken for markup
    masked = _LONG_SHORTCODE.sub(lambda match: re.sub(r"[^\r\n]", "x", match.group()), source)
    tokens = _parser().parse(masked[start:], environment)
    groups = _groups(masked, starts, tokens)
    layout = survey((line for _, lines in groups for line in lines), soft=True)
    pieces: list[Piece] = []
    for kind, lines in groups:
        if kind in (K.PARAGRAPH, K.QUOTATION, K.LIST_ITEM):
            parts = split_group(lines, layout)
            if kind is K.QUOTATION:
                for part in parts:
                    part.kind = kind if part.kind is K.PARAGRAPH else part.kind
            elif kind is K.LIST_ITEM and parts and parts[0].kind in (K.PARAGRAPH, K.HEADING):
                parts[0].kind = kind
            pieces += parts
        elif lines:
            pieces.append(Piece(kind, lines, lines[0].start))
    scan = partial(scan_markdown, labels=frozenset(environment.get("references", ())))
    blocks: list[Block] = []
    for block in make_blocks(source, pieces, scan):
        blocks += read_region(source, block.start, block.end) if block.kind is K.HTML else [block]
    return blocks


def _groups(source: str, starts: Sequence[int], tokens: Sequence[Token]) -> list[tuple[BlockKind, list[Line]]]:
    """Return the lines of each block, without the markers of the quotations and lists that it is in."""
    groups: list[tuple[BlockKind, list[Line]]] = []
    containers = [K.PARAGRAPH]  # what a paragraph is: in a quotation, as the first of a list item, elsewhere
    opener = None
    for token in tokens:
        if token.type in _CONTAINERS:
            containers.append(_CONTAINERS[token.type])
        elif token.type in ("blockquote_close", "list_item_close"):
            containers.pop()
        elif token.map and token.type in _LEAVES:
            first, last = token.map
            spans = zip(starts[first:last], starts[first + 1 : last + 1], strict=False)
            lines = [line for start, end in spans if (line := make_line(source, start, end)).text]
            prose = token.type == "code_block" and _is_indented_prose(lines)
            groups.append((K.PARAGRAPH if prose else _LEAVES[token.type], lines))
        elif token.map and token.type == "inline" and opener and opener.type in ("paragraph_open", "heading_open"):
            lines = _locate(source, starts[slice(token.map[0], token.map[1] + 1)], token.content)
            kind = containers[-1]
            # a dashed line below a paragraph makes it a heading, but is mostly meant as a rule
            if opener.markup[:1] == "#" or (opener.markup and len(lines) == 1 and lines[0].mark not in STOPS):
                kind = K.HEADING
            elif kind is K.LIST_ITEM:
                containers[-1] = K.PARAGRAPH
            groups.append((kind, lines))
        opener = token
    return groups


def _locate(source: str, starts: Sequence[int], content: str) -> list[Line]:
    """Return the lines of a block's content as they stand in the source, behind the markers."""
    lines = []
    for start, end, text in zip(starts, starts[1:], content.split("\n"), strict=False):
        at = source.rfind(text.strip(), start, end)
        line = make_line(source, at if at >= 0 else start, at + len(text.strip()) if at >= 0 else end)
        lines.append(line._replace(text=_LINK_END.sub("]", line.text)) if "](" in line.text else line)
    return [line for line in lines if line.text]


def _is_indented_prose(lines: list[Line]) -> bool:
    """Return whether indented lines read like sentences: CommonMark takes them for code, authors of letters do not."""
    if not lines or lines[-1].mark not in STOPS or not lines[0].text[0].isupper():
        return False
    text = " ".join(line.text for line in lines)
    return sum(c.isalpha() or c.isspace() for c in text) > 0.9 * len(text) and text.count(" ") > 5


def scan_markdown(
    source: str, lines: Sequence[Line], labels: frozenset[str]
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the runs and the opaque stretches of lines of Markdown."""
    content = Content(source, lines)
    text = content.text
    if not _SPECIAL.search(text):
        return content.spans(()), content.opaque(find_opaque(text))
    scanner = _Scanner(text, labels)
    scanner.scan()
    cuts = sorted([*scanner.cuts, *_emphasis(text, scanner.marks)])
    taken = [*scanner.opaque, *(cut[:2] for cut in cuts)]
    return content.spans(cuts), content.opaque([*scanner.opaque, *outside(find_opaque(text), taken)])


class _Scanner:
    """Find what is not read as it stands: each method takes a token of its name and returns where to go on."""

    def __init__(self, text: str, labels: frozenset[str]) -> None:
        self.text = text
        self.labels = labels
        self.cuts: list[tuple[int, int, bool]] = []
        self.opaque: list[Span] = []
        self.marks: list[list[int]] = []
        self._brackets: list[tuple[int, int, int, int]] = []
        self._ticks: dict[int, list[int]] = {}

    def scan(self) -> None:
        box = _ITEM_BOX.match(self.text)
        at = box.end() if box else 0
        self._cut(0, at)
        while token := _TOKEN.search(self.text, at):
            at = getattr(self, f"_{token.lastgroup}")(*token.span())

    def _cut(self, start: int, end: int) -> int:
        self.cuts.append((start, end, False))
        return end

    def _name(self, start: int, end: int) -> int:
        self.opaque.append((start, end))
        return end

    def _escape(self, start: int, end: int) -> int:
        self._cut(start, start + 1)
        return end

    def _code(self, start: int, end: int) -> int:
        if not self._ticks:
            for match in re.finditer(r"`+", self.text):
                self._ticks.setdefault(len(match.group()), []).append(match.start())
        size = end - start
        places = self._ticks.get(size, [])
        closing = bisect_right(places, start)
        if closing == len(places):
            return end
        close = places[closing]
        inner = self.text[end:close]
        pad = len(inner) > 2 and inner[0] in " \n" and inner[-1] in " \n" and not inner.isspace()
        self._cut(start, end + pad)
        self._name(end + pad, close - pad)
        return self._cut(close - pad, close + size)

    def _address(self, start: int, end: int) -> int:
        self._cut(start, start + 1)
        self._name(start + 1, end - 1)
        return self._cut(end - 1, end)

    def _comment(self, start: int, end: int) -> int:
        close = self.text.find("-->", end)
        return self._cut(start, len(self.text) if close < 0 else close + 3)

    def _tag(self, start: int, end: int) -> int:
        tag = _CODE_TAG.match(self.text, start)
        if tag and (close := self.text.find(f"</{tag[1]}", end, end + 400)) > 0:
            self.opaque.append((end, close))
        self.cuts.append((start, end, self.text[start + 1 : start + 3].lower() == "br"))
        return end

    def _entity(self, start: int, end: int) -> int:
        if self.text[start + 1] == "#" or self.text[start + 1 : end] in html5:
            self.cuts.append((start, end, True))
        return end

    def _open(self, start: int, end: int) -> int:
        self._brackets.append((start, len(self.cuts), len(self.opaque), len(self.marks)))
        return end

    def _close(self, start: int, end: int) -> int:
        if not self._brackets:
            return end
        begin, cuts, opaque, marks = self._brackets.pop()
        image = self.text[begin] == "!"
        target = _TARGET.match(self.text, end)
        if not target and self.labels and start - begin < 400:
            label = _LABEL.match(self.text, end)
            name = (label[1] if label else "") or self.text[begin + 1 + image : start]
            if " ".join(name.split()).lower().upper() in self.labels:
                target = label or _NOTHING.match(self.text, end)
        if target and image:
            del self.cuts[cuts:], self.opaque[opaque:], self.marks[marks:]
            return self._cut(begin, target.end())
        if target:
            self._cut(begin, begin + 1)
            return self._cut(start, target.end())
        return end

    def _mark(self, start: int, end: int) -> int:
        self.marks.append([start, end])
        return end


def _emphasis(text: str, marks: list[list[int]]) -> list[tuple[int, int, bool]]:
    """Return the marks of emphasis and deletion that have a partner, by the flanking rules of CommonMark."""
    cuts: list[tuple[int, int, bool]] = []
    openers: dict[str, list[list[int]]] = {"*": [], "_": [], "~": []}
    for mark in marks:
        start, end = mark
        kind = text[start]
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        left = not after.isspace() and (after.isalnum() or not before.isalnum())
        right = not before.isspace() and (before.isalnum() or not after.isalnum())
        may_open, may_close = left, right
        if kind == "_":
            may_open, may_close = left and not (right and before.isalnum()), right and not (left and after.isalnum())
        stack = openers[kind]
        while may_close and mark[0] < mark[1] and (opener := _partner(stack, mark, kind != "~" and left and right)):
            size = min(mark[1] - mark[0], opener[1] - opener[0])
            cuts += [(opener[1] - size, opener[1], False), (mark[0], mark[0] + size, False)]
            opener[1] -= size
            mark[0] += size
            for other in openers.values():  # what opened inside can find no partner outside
                while other and other[-1][0] > opener[0]:
                    other.pop()
            if opener[0] == opener[1]:
                stack.pop()
        if may_open and mark[0] < mark[1]:
            stack.append(mark)
    return cuts


def _partner(stack: list[list[int]], mark: list[int], both: bool) -> list[int] | None:
    """Return the last mark on a stack that another may close; one that may also open must not make a multiple of 3."""
    for opener in stack[:-9:-1]:
        sizes = opener[1] - opener[0], mark[1] - mark[0]
        if not both or sum(sizes) % 3 or not (sizes[0] % 3 or sizes[1] % 3):
            return opener
    return None
