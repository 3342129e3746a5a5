"""CSV and TSV: a header, then records that may span lines inside quotes."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator

from celadon.core import InputError
from celadon.io.lines import MAX_LINE_BYTES, NUL, TOO_LONG, Record, Report, not_utf8, numbered_lines
from celadon.io.rows import CUT_BYTES, chomp
from celadon.io.sources import Stream


class _OversizedError(Exception):
    """The record is over the bound: most likely a quote that nobody closed."""


class _Tape:
    """Feeds lines to the CSV parser and remembers which of them the current record took."""

    def __init__(self, stream: Stream) -> None:
        self._lines = numbered_lines(stream.buffer, stream.source.first_line)
        self.last = stream.source.first_line - 1
        self.begin()

    def begin(self) -> None:
        """A new record begins with the next line."""
        self.line = 0
        self.taken: list[bytes] = []
        self.size = 0
        self.flaw: str | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.last, line, cut = next(self._lines)
        if not self.taken:
            self.line = self.last
        before = self.size
        self.taken.append(line)
        self.size += len(line)
        if cut or self.size > MAX_LINE_BYTES:
            raise _OversizedError
        if b"\0" in line:
            self.flaw = self.flaw or NUL
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            # The parser must still see the quotes of this line to know where the record ends.
            self.flaw = self.flaw or not_utf8(error, before)
            return line.decode("utf-8", errors="replace")

    def raw(self) -> bytes:
        """The bytes of the current record."""
        return self.taken[0] if len(self.taken) == 1 else b"".join(self.taken)


def records(stream: Stream, report: Report, delimiter: str) -> Iterator[Record]:
    """Every record as a row; all its values are strings, blank lines are no rows."""
    name = stream.source.name
    tape, parser = _parser(stream, delimiter)
    part = stream.source.part
    header = _header(name, tape, parser) if part is None else next(csv.reader([part.header], delimiter=delimiter))
    columns = len(header)
    empty = True
    while True:
        tape.begin()
        try:
            cells = next(parser)
        except StopIteration:
            break
        except _OversizedError:
            report(tape.line, f"{TOO_LONG}; is a quote not closed?", tape.raw()[:CUT_BYTES], True)
        except csv.Error as error:
            report(tape.line, tape.flaw or _explained(error), chomp(tape.raw()), False)
        else:
            if tape.flaw is not None:
                report(tape.line, tape.flaw, chomp(tape.raw()), False)
            elif len(cells) == columns:
                yield tape.line, tape.raw(), dict(zip(header, cells, strict=True))
            elif cells:
                problem = (
                    f"too {'many' if len(cells) > columns else 'few'} cells: {len(cells)}, the header has {columns}"
                )
                report(tape.line, problem, chomp(tape.raw()), False)
            else:
                continue
        empty = False
    if header and empty:
        raise InputError(f"{name}: has a header but no rows")


def header_and_row_ends(stream: Stream, delimiter: str) -> tuple[str, int, Iterator[int]]:
    """The text of the header, the number of its last line, and for every row, good or bad, that of its last line.

    After each of them the stream stands behind it.
    """
    tape, parser = _parser(stream, delimiter)
    _header(stream.source.name, tape, parser)
    return tape.raw().decode("utf-8") if tape.taken else "", tape.last, _row_ends(tape, parser)


def _row_ends(tape: _Tape, parser: Iterator[list[str]]) -> Iterator[int]:
    while True:
        tape.begin()
        try:
            blank = not next(parser) and tape.flaw is None
        except StopIteration:
            return
        except (_OversizedError, csv.Error):
            blank = False
        if not blank:
            yield tape.last


def _parser(stream: Stream, delimiter: str) -> tuple[_Tape, Iterator[list[str]]]:
    # Cells of any size are allowed: the tape bounds the record.
    csv.field_size_limit(sys.maxsize)
    tape = _Tape(stream)
    return tape, csv.reader(tape, delimiter=delimiter, strict=True)


def _header(name: str, tape: _Tape, parser: Iterator[list[str]]) -> list[str]:
    """The names of the columns, from the first record that is not blank; empty when there is none."""
    header: list[str] = []
    while not header:
        tape.begin()
        try:
            header = next(parser)
        except StopIteration:
            return []
        except _OversizedError as error:
            raise InputError(f"{name}:{tape.line}: the header {TOO_LONG}") from error
        except csv.Error as error:
            raise InputError(f"{name}:{tape.line}: the header cannot be read: {_explained(error)}") from error
        if tape.flaw is not None:
            raise InputError(f"{name}:{tape.line}: the header cannot be read: {tape.flaw}")
    twice = next((column for i, column in enumerate(header) if column in header[:i]), None)
    if twice is not None:
        raise InputError(f"{name}:{tape.line}: the header has the column {twice!r} more than once")
    return header


def _explained(error: csv.Error) -> str:
    """The parser's complaint in the words of someone who looks at the file."""
    text = str(error)
    if "unexpected end of data" in text:
        return "unclosed quote: the file ends inside a quoted cell"
    if "expected after" in text:
        return "a quoted cell goes on after its closing quote; a quote inside a quoted cell is written twice"
    if "new-line character" in text:
        return "a bare carriage return outside of quotes; lines end with LF or CRLF"
    return f"not valid CSV: {text}"
