"""Lines of a byte stream, none of them loaded beyond a bound; and a corpus of plain text, a paragraph a line."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from celadon.core import InputError
from celadon.io.rows import CUT_BYTES, chomp
from celadon.io.sources import find_sources, open_stream

MAX_LINE_BYTES = 64 * 1024 * 1024

# Told of a row that cannot be used: its line, what is wrong, its bytes, and whether these were cut.
Report = Callable[[int, str, bytes, bool], None]
# A row: the line where it begins, its bytes and its columns.
Record = tuple[int, bytes, dict[str, Any]]

TOO_LONG = f"is longer than {MAX_LINE_BYTES // (1024 * 1024)} MiB"
NUL = "has a NUL byte"


def numbered_lines(buffer: io.BufferedReader, first: int = 1) -> Iterator[tuple[int, bytes, bool]]:
    """Every line with its number, its bytes with the line ending, and whether it had to be cut."""
    number = first - 1
    readline = buffer.readline
    while line := readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n") and buffer.peek(1):
            line = line[:CUT_BYTES]
            while (rest := buffer.readline(1024 * 1024)) and not rest.endswith(b"\n"):
                pass
            yield number, line, True
        else:
            yield number, line, False


def not_utf8(error: UnicodeDecodeError, before: int = 0) -> str:
    """What is wrong with bytes that do not decode; ``before`` bytes of the row came earlier."""
    return f"not valid UTF-8: byte 0x{error.object[error.start]:02x} at position {before + error.start + 1}"


def decode(number: int, line: bytes, cut: bool, report: Report) -> str | None:
    """The line as text; None when it was reported as a bad row."""
    if cut:
        report(number, TOO_LONG, line, True)
    elif b"\0" in line:
        report(number, NUL, chomp(line), False)
    else:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            report(number, not_utf8(error), chomp(line), False)
    return None


def corpus_size(paths: Sequence[str]) -> int | None:
    """The size of the files as they lie on disk; None where there is no telling.

    Raises InputError if there is no such file.
    """
    sizes = [source.size for source in find_sources(paths, "txt")]
    return None if None in sizes else sum(size or 0 for size in sizes)


def read_paragraphs(paths: Sequence[str], advance: Callable[[int], None] = lambda size: None) -> Iterator[str]:
    """Yield the lines of text files (also .xz, .gz, .zst), an empty one for a blank line and after every file.

    ``advance``: told how many more bytes of the files, as they lie on disk, have been read.
    """
    for source in find_sources(paths, "txt"):

        def refuse(number: int, what: str, line: bytes, cut: bool, name: str = source.name) -> None:
            raise InputError(f"{name}:{number}: {what}")

        reported = 0
        with open_stream(source) as stream:
            for number, line, cut in numbered_lines(stream.buffer):
                yield (decode(number, chomp(line), cut, refuse) or "").strip()
                if (at := stream.consumed()) != reported:
                    advance(at - reported)
                    reported = at
        yield ""
