"""CSV and TSV output; columns may turn up at any row."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from celadon.io.columns import REASON
from celadon.io.compress import Sink, compressed
from celadon.io.rows import Chunk
from celadon.io.sources import Source, open_stream
from celadon.io.values import mend_surrogates, number_text, to_cell
from celadon.io.writers import Writer

# Few enough that even rows with very long texts fit in the memory.
_MERGE_ROWS = 256


class _Segment(NamedTuple):
    """Rows under one header: a temporary file, and how many input columns its rows have."""

    path: Path
    inputs: int


class CsvWriter(Writer):
    """A table with a header, which must come first although later rows may bring new columns.

    Rows go into a file under the header known so far. When a new column turns up another file is begun, and in the
    end they are put together under the full header: a column's place is where it was first seen.
    """

    def __init__(self, path: str, score_columns: Sequence[str], delimiter: str, compression: str | None) -> None:
        super().__init__(path, score_columns)
        self._delimiter = delimiter
        self._compression = compression
        # The names of the input columns, in the order in which they turned up.
        self._inputs: dict[str, None] = {}
        self._segments: list[_Segment] = []
        # Opened now, so that a folder one cannot write in is known before hours of scoring.
        self._path, self._plain = self._draft.open()
        self._file: Sink = compressed(self._plain, compression)

    def _write(self, chunk: Chunk, columns: list[list[float | None]], reasons: list[str | None]) -> None:
        before = len(self._inputs)
        rows = []
        for sample in chunk.samples:
            names = self._names.of(sample.extra)
            self._inputs.update(dict.fromkeys(names))
            rows.append(dict(zip(names, sample.extra.values(), strict=True)))
        if not self._segments or len(self._inputs) > before:
            self._begin_segment()
        inputs = list(self._inputs)
        scores = [[number_text(value, "") for value in values] for values in columns]
        tails = zip(*scores, [reason or "" for reason in reasons], strict=True)
        self._put([*[to_cell(row.get(name)) for name in inputs], *tail] for row, tail in zip(rows, tails, strict=True))

    def _begin_segment(self) -> None:
        if self._segments:
            self._file.close()
            self._plain.flush()
            self._path, self._plain = self._draft.open()
            self._file = compressed(self._plain, self._compression)
        self._segments.append(_Segment(self._path, len(self._inputs)))
        self._put([[*self._inputs, *self.score_columns, REASON]])

    def _put(self, rows: Iterable[Sequence[str]]) -> None:
        lines: list[str] = []
        # Only with a carriage return in the terminator does the csv module quote cells that hold one.
        csv.writer(SimpleNamespace(write=lines.append), delimiter=self._delimiter, lineterminator="\r\n").writerows(
            rows
        )
        text = "".join([line[:-2] + "\n" for line in lines])
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError:
            data = mend_surrogates(text).encode("utf-8")
        self._file.write(data)

    def _finish(self) -> Path:
        if not self._segments:
            self._begin_segment()
        self._file.close()
        if len(self._segments) > 1:
            self._plain.flush()
            self._merge()
        return self._path

    def _merge(self) -> None:
        """All rows under the full header; the first columns of every segment are already in its order."""
        csv.field_size_limit(sys.maxsize)
        segments = self._segments
        self._segments = []
        self._path, self._plain = self._draft.open()
        self._file = compressed(self._plain, self._compression)
        self._put([[*self._inputs, *self.score_columns, REASON]])
        for path, inputs in segments:
            gap = [""] * (len(self._inputs) - inputs)
            with open_stream(Source(str(path), str(path), "csv", self._compression, None)) as stream:
                lines = io.TextIOWrapper(stream.buffer, encoding="utf-8", newline="")
                parser = csv.reader(lines, delimiter=self._delimiter)
                next(parser)
                while rows := list(islice(parser, _MERGE_ROWS)):
                    self._put([*row[:inputs], *gap, *row[inputs:]] for row in rows)
            self._draft.discard(path)
        self._file.close()

    def _release(self) -> None:
        with suppress(OSError, ValueError):
            self._file.close()
