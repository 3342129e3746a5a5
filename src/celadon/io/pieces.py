"""The input cut into pieces, so that many workers can read it and a run can go on where it was stopped."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeAlias

from celadon.core import InputError, UsageError
from celadon.io import delimited, jsonl, parquet, plain
from celadon.io.atomic import output_errors, write_atomically
from celadon.io.fields import Fields
from celadon.io.readers import DELIMITERS, Reader
from celadon.io.remote import is_url, reads_anywhere, shown_name
from celadon.io.rows import BadRow, Chunk
from celadon.io.sources import STDIN, Part, Source, Stream, find_sources, open_stream, raw_blocks

PlanProgress: TypeAlias = Callable[[int, int], None]
"""Told how many bytes of the input are read, and of how many."""

_READ_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive rows of one file."""

    index: int  # its number among all pieces, from 0
    name: str  # the file as messages show it
    path: str  # what is read: the file, its address, or the unpacked copy of it
    format: str
    # start, end: where in what is read the rows are: bytes, or for Parquet rows counted from 0
    start: int
    end: int
    first_line: int  # the number of the line at ``start``, from 1; of Parquet the number of the row
    first_row: int  # how many rows of the input, bad ones included, come before
    rows: int  # how many rows these are, bad ones included
    header: str = ""  # the text of the header, for CSV and TSV

    def without_secrets(self) -> Piece:
        """Return the piece to be stored: an address loses its password or token, and can no longer be read."""
        return replace(self, path=shown_name(self.path))


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One input file: its name without secrets, its bytes as given, their hash, and its rows."""

    name: str
    size: int
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True)
class Plan:
    """All files of the input and the pieces they are cut into, in their order."""

    files: tuple[PlannedFile, ...]
    pieces: tuple[Piece, ...]


def plan_pieces(
    inputs: Sequence[str],
    format: str | None,  # noqa: A002
    rows_per_piece: int,
    *,
    work_folder: Path,
    progress: PlanProgress = lambda done, total: None,
) -> Plan:
    """Hash the input and find where its pieces begin, in one pass over its bytes.

    ``inputs``: files, patterns and addresses.
    ``format``: the format of all inputs; by default the endings tell.
    ``rows_per_piece``: the rows of every piece but the last one of a file.
    ``work_folder``: takes the unpacked copies of files that cannot be entered in the middle: compressed ones, and those
        of web servers. The same file always gets the same name there.
    ``progress``: told how far it has come.
    Raises InputError where the reader does, and where an input cannot be read a second time.
    """
    if rows_per_piece < 1:
        raise ValueError("rows_per_piece must be at least 1")
    if STDIN in inputs:
        raise UsageError("- (the standard input) can be read once, and a run may have to read it again; give a file")
    sources = find_sources(inputs, format)
    files: list[PlannedFile] = []
    pieces: list[Piece] = []
    rows = 0
    tally = _Tally(sum(source.size or 0 for source in sources), progress)
    for source in sources:
        finger = _Fingerprint(tally)
        own = _pieces_of(source, rows_per_piece, work_folder, finger)
        for piece in own:
            pieces.append(replace(piece, index=len(pieces), first_row=rows + piece.first_row))
        files.append(PlannedFile(source.name, finger.size, finger.sha256, sum(piece.rows for piece in own)))
        rows += files[-1].rows
    return Plan(tuple(files), tuple(pieces))


def read_piece(
    piece: Piece, fields: Fields, *, chunk_rows: int, max_text_chars: int, on_bad: Callable[[BadRow], None]
) -> Iterator[Chunk]:
    """Read the rows of a piece, as :class:`Reader` gives them in its file.

    Raises InputError where the reader does, and where the file has changed since the pieces were planned.
    """
    part = Part(piece.start, piece.end, piece.first_line, piece.header)
    source = Source(piece.name, piece.path, piece.format, None, None, part)
    reader = Reader([source], fields, chunk_rows=chunk_rows, max_text_chars=max_text_chars, on_bad=on_bad)
    yield from reader
    if reader.rows_read != piece.rows:
        raise InputError(f"{piece.name}: was changed while it was being read; start the run anew")


class _Tally:
    """Adds up bytes for the progress bar."""

    def __init__(self, total: int, progress: PlanProgress) -> None:
        self._total = total
        self._progress = progress
        self._done = 0

    def add(self, size: int) -> None:
        self._done += size
        # a server may not have told a size
        self._progress(self._done, max(self._total, self._done))


class _Fingerprint:
    """The size and hash of the bytes it is shown."""

    def __init__(self, tally: _Tally) -> None:
        self._hash = hashlib.sha256()
        self._tally = tally
        self.size = 0

    def add(self, data: bytes) -> None:
        self._hash.update(data)
        self.size += len(data)
        self._tally.add(len(data))

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def _pieces_of(source: Source, rows_per_piece: int, work_folder: Path, finger: _Fingerprint) -> list[Piece]:
    """The pieces of one file, numbered as if it were the only one."""
    remote = source.path is not None and is_url(source.path)
    if source.size is None and not remote:
        raise InputError(f"{source.name}: is not a regular file, and a run may have to read it again; save it first")
    copied = source.compression is not None or (remote and not reads_anywhere(source.path or ""))
    if source.format == "parquet":
        if copied:
            source = _copied(source, work_folder, finger)
        else:
            _look_through(source, finger)
        return _parquet_pieces(source, parquet.count_rows(source), rows_per_piece)
    if copied:
        source = _copied(source, work_folder, finger)
    with open_stream(source, finger.add if not copied else None) as stream:
        return _text_pieces(stream, rows_per_piece)


def _parquet_pieces(source: Source, rows: int, rows_per_piece: int) -> list[Piece]:
    return [
        _piece(source, Part(start, end, start + 1), first_row=start, rows=end - start)
        for start in range(0, rows, rows_per_piece)
        for end in [min(start + rows_per_piece, rows)]
    ]


def _text_pieces(stream: Stream, rows_per_piece: int) -> list[Piece]:
    source = stream.source
    header, last_line = "", 0
    if source.format in DELIMITERS:
        header, last_line, ends = delimited.header_and_row_ends(stream, DELIMITERS[source.format])
    else:
        ends = jsonl.row_ends(stream) if source.format == "jsonl" else plain.row_ends(stream)
    pieces: list[Piece] = []
    start, first_line, before, rows = stream.buffer.tell(), last_line + 1, 0, 0

    def close() -> None:
        pieces.append(
            _piece(source, Part(start, stream.buffer.tell(), first_line, header), first_row=before, rows=rows - before)
        )

    for last_line in ends:
        rows += 1
        if rows - before == rows_per_piece:
            close()
            start, first_line, before = stream.buffer.tell(), last_line + 1, rows
    if rows > before:
        close()
    if not pieces:
        raise InputError(f"{source.name}: {'has a header but no rows' if header else 'is empty'}")
    return pieces


def _piece(source: Source, part: Part, *, first_row: int, rows: int) -> Piece:
    path = source.path or ""
    # workers may have another current folder
    path = path if is_url(path) else os.path.abspath(path)  # noqa: PTH100  links are to stay
    return Piece(
        0, source.name, path, source.format, part.start, part.end, part.first_line, first_row, rows, part.header
    )


def _look_through(source: Source, finger: _Fingerprint, copy: BinaryIO | None = None) -> None:
    """Show all bytes of a file to the fingerprint, and write them to a copy."""
    for data in raw_blocks(source):
        finger.add(data)
        if copy is not None:
            copy.write(data)


def _copied(source: Source, work_folder: Path, finger: _Fingerprint) -> Source:
    """The source as a plain file of this machine: fetched, and unpacked unless it is Parquet."""
    named = hashlib.sha256((source.path or "").encode("utf-8", "surrogatepass")).hexdigest()[:16]
    place = str(work_folder / f"{named}.{source.format}")
    with output_errors(place):
        work_folder.mkdir(parents=True, exist_ok=True)
    with write_atomically(place) as file:
        if source.format == "parquet":
            _look_through(source, finger, file)
        else:
            with open_stream(source, finger.add) as stream:
                shutil.copyfileobj(stream.buffer, file, _READ_BYTES)
        size = file.tell()
    # a part, because what a file may begin with has been looked at already
    part = None if source.format == "parquet" else Part(0, size, 1)
    return Source(source.name, place, source.format, None, size, part)
