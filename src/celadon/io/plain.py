"""Plain text: a line is a text, an empty line an empty text."""

from __future__ import annotations

from collections.abc import Iterator

from celadon.io.lines import Record, Report, decode, numbered_lines
from celadon.io.rows import chomp
from celadon.io.sources import Stream


def records(stream: Stream, report: Report) -> Iterator[Record]:
    """Every line as a row with the one column ``text``."""
    for number, line, cut in numbered_lines(stream.buffer, stream.source.first_line):
        text = decode(number, chomp(line), cut, report)
        if text is not None:
            yield number, line, {"text": text}


def row_ends(stream: Stream) -> Iterator[int]:
    """For every row, good or bad, the number of its last line; the stream then stands behind it."""
    for number, _, _ in numbered_lines(stream.buffer):
        yield number
