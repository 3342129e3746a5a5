"""Plain text: a line is a text, an empty line an empty text."""

from __future__ import annotations

from collections.abc import Iterator

from celadon.io.lines import Record, Report, decode, numbered_lines
from celadon.io.rows import chomp
from celadon.io.sources import Stream


def records(stream: Stream, report: Report) -> Iterator[Record]:
    """Every line as a row with the one column ``text``."""
    for number, line, cut in numbered_lines(stream.buffer):
        text = decode(number, chomp(line), cut, report)
        if text is not None:
            yield number, line, {"text": text}
