"""Readable runs and opaque stretches within the lines of a block."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from celadon.text.structure.blocks import Span, end_mark

_FRAMED = re.compile(
    r"\{\{[^{}]{0,400}\}\}|\{%[^{}]{0,400}%\}"
    r"|\$\$(?=\S)[^$]{1,400}\$\$|\$(?=[^\s$])[^$]{0,300}(?<=[^\s$])\$(?![\d$])"
    r"|\\\((?:[^\\]|\\(?![()])){1,400}\\\)|\\\[(?:[^\\]|\\(?![\[\]])){1,400}\\\]"
    r"|\[(?:\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,9}|\^[^\]\s]{1,40})\]"
)
_FRAME = re.compile(r"[{$\[\\]")
_TOKEN = re.compile(r"(?<!\S)(?:[^\s@/\\]*+[@/\\]|www\.)\S*")
_EDGES = "()[]{}<>\"'“”‘’«»*_,;!?`"
_NAME = re.compile(
    r"(?:https?|ftps?|file|git|ssh|s3|gs)://\S+|www\.\S+|mailto:\S+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?=.*\w)[\w.@%+~/\\:{}$*-]+"
    r"|[\w.@-]+(?:/[\w.@*-]+)*/[\w.@*-]+\.[A-Za-z]\w{0,5}"
)
_URL = re.compile(r"(?:https?|ftp)://")


class Line(NamedTuple):
    """A line without white space around it: its place in the source, its text, its indent and the mark at its end."""

    start: int
    end: int
    text: str
    indent: int
    mark: str


def make_line(source: str, start: int, end: int, indent: int = 0) -> Line:
    """Return the stripped line between two offsets."""
    raw = source[start:end]
    text = raw.strip()
    start += len(raw) - len(raw.lstrip()) if text else 0
    return Line(start, start + len(text), text, indent, end_mark(text))


def find_opaque(content: str) -> list[Span]:
    """Return formulas, shortcodes, citations, URLs, paths and e-mail addresses, in order and without overlap."""
    found = []
    if _FRAME.search(content):
        found = [match.span() for match in _FRAMED.finditer(content)]
    if "/" in content or "@" in content or "\\" in content or "www." in content:
        for match in _TOKEN.finditer(content):
            start, end = match.span()
            token = match.group()
            if address := _URL.search(token):
                start += address.start()
            bare = content[start:end].rstrip(_EDGES + ".:")
            name = bare.lstrip(_EDGES)
            if name and _NAME.fullmatch(name):
                end = start + len(bare)
                found.append((end - len(name), end))
    return without_overlap(found)


def without_overlap(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, leaving out those that overlap one before them."""
    kept: list[Span] = []
    for span in sorted(spans):
        if span[0] < span[1] and (not kept or span[0] >= kept[-1][1]):
            kept.append(span)
    return kept


def outside(spans: list[Span], others: list[Span]) -> list[Span]:
    """Return the spans that overlap none of the others."""
    others = sorted(others)
    ends, reach = [], 0
    for _, end in others:
        reach = max(reach, end)
        ends.append(reach)
    kept = []
    for start, end in spans:
        before = bisect_right(others, (end - 1, len(ends) and ends[-1] + 1)) - 1
        if before < 0 or ends[before] <= start:
            kept.append((start, end))
    return kept


class Content:
    """Lines joined by line breaks, and where each character of that comes from."""

    def __init__(self, source: str, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.text = "\n".join([source[line.start : line.end] for line in lines])
        self.starts = [0]
        for line in lines[:-1]:
            self.starts.append(self.starts[-1] + line.end - line.start + 1)

    def source(self, offset: int) -> int:
        """Return the offset in the source of a character."""
        at = bisect_right(self.starts, offset) - 1
        return self.lines[at].start + offset - self.starts[at]

    def spans(self, cuts: Sequence[tuple[int, int, bool]]) -> tuple[Span, ...]:
        """Return the runs in the source without the cuts, which are in order; those to keep are runs of their own."""
        if not cuts and len(self.lines) == 1:
            return ((self.lines[0].start, self.lines[0].end),)
        spans: list[Span] = []
        joined = False  # whether the last run may be continued
        at = 0
        for begin, end, keep in (*cuts, (len(self.text), len(self.text), False)):
            for low, high, whole in ((at, begin, False), (begin, end, True)):
                if low >= high or (whole and not keep):
                    continue
                for start, stop in self._pieces(low, high):
                    if joined and not whole and spans[-1][1] == start:
                        spans[-1] = (spans[-1][0], stop)
                    else:
                        spans.append((start, stop))
                    joined = not whole
            at = max(at, end)
        return tuple(spans)

    def opaque(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """Return stretches of the content as stretches of the source."""
        return tuple((self.source(start), self.source(end - 1) + 1) for start, end in without_overlap(spans))

    def _pieces(self, low: int, high: int) -> Iterable[Span]:
        at = bisect_right(self.starts, low) - 1
        while low < high:
            limit = self.starts[at + 1] if at + 1 < len(self.starts) else len(self.text)
            stop = min(high, limit)
            start = self.lines[at].start + low - self.starts[at]
            yield start, start + stop - low
            low, at = stop, at + 1


def scan_plain(source: str, lines: Sequence[Line]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the runs and the opaque stretches of lines without markup."""
    content = Content(source, lines)
    return content.spans(()), content.opaque(find_opaque(content.text))
