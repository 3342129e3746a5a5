"""Rows of any table, as they are: what ``celadon score`` wrote, or scores and ratings of somebody else."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from celadon.core import InputError
from celadon.io import parquet
from celadon.io.atomic import write_atomically
from celadon.io.compress import compressed
from celadon.io.readers import records
from celadon.io.rows import origin
from celadon.io.sources import Source, Stream, endings, find_sources, open_stream
from celadon.io.values import to_json

_BATCH_ROWS = 2048
_BATCH_BYTES = 8_000_000


class TableRow(dict[str, Any]):
    """The columns of one row, and where it came from: ``file:line``, or ``file:row N`` in Parquet."""

    __slots__ = ("file", "origin")

    def __init__(self, values: dict[str, Any], file: str, origin: str) -> None:
        super().__init__(values)
        self.file = file
        self.origin = origin

    def number(self, name: str) -> float:
        """Return the number in a column; NaN where the cell is empty or there is none."""
        value = self.get(name)
        if value is None or value == "":
            return math.nan
        try:
            if isinstance(value, int | float | str) and not isinstance(value, bool):
                return float(value)
        except ValueError:
            pass
        raise InputError(f"{self.origin}: {name} is not a number: {str(value)[:40]!r}")


def read_table_rows(path: str, *, format: str | None = None) -> Iterator[TableRow]:  # noqa: A002
    """Read the rows of a table; no column is required.

    ``path``: CSV, TSV, JSON Lines (each also as .gz, .xz, .zst) or Parquet; a pattern; or ``-`` for the standard input.
    ``format``: ``csv``, ``tsv``, ``jsonl`` or ``parquet`` instead of what the ending says.
    Raises InputError if the file cannot be read or a row is malformed; the message begins with ``file:line``.
    """
    for source in find_sources([path], format):
        if source.format == "txt":
            raise InputError(f"{source.name}: a plain text has no columns; give CSV, TSV, JSON Lines or Parquet")
        empty = True
        for row in _parquet_rows(source) if source.format == "parquet" else _text_rows(source):
            empty = False
            yield row
        if empty:
            raise InputError(f"{source.name}: is empty")


def _text_rows(source: Source) -> Iterator[TableRow]:
    def report(line: int, message: str, raw: bytes, cut: bool) -> None:
        raise InputError(f"{source.name}:{line}: {message}")

    with open_stream(source) as opened:
        stream = _first_line_tells(opened) if opened.source.format == "txt" else opened
        for line, _, row in records(stream, report):
            yield TableRow(row, source.name, origin(source.name, line, by_row=False))


def _first_line_tells(stream: Stream) -> Stream:
    """The standard input is CSV or TSV if it is not JSON Lines; a tab in its first line makes it TSV."""
    first = stream.buffer.peek(1 << 16).partition(b"\n")[0]
    return dataclasses.replace(
        stream, source=dataclasses.replace(stream.source, format="tsv" if b"\t" in first else "csv")
    )


def _parquet_rows(source: Source) -> Iterator[TableRow]:
    for rows in parquet.batches(source, _BATCH_ROWS, _BATCH_BYTES):
        for at, values in enumerate(rows.values):
            where = origin(source.name, rows.first + at, by_row=True)
            if at in rows.flaws:
                raise InputError(f"{where}: {rows.flaws[at]}")
            yield TableRow(values, source.name, where)


def write_json_rows(path: str, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as JSON Lines, compressed as the ending says; the file appears whole or not at all.

    Returns how many rows were written.
    """
    count = 0
    with write_atomically(path) as file:
        sink = compressed(file, endings(path)[1])
        for row in rows:
            sink.write(to_json(row) + b"\n")
            count += 1
        sink.close()
    return count
