"""Writers: the input's columns, then the scores, then the reasons, in a file that appears whole or not at all."""

from __future__ import annotations

import csv
import io
import sys
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from celadon.core import UsageError
from celadon.io.atomic import Committing, Draft, output_errors
from celadon.io.compress import Sink, compressed
from celadon.io.rows import Chunk
from celadon.io.sources import COMPRESSIONS, ENDINGS, Source, endings, open_stream
from celadon.io.values import mend_surrogates, number_text, to_cell, to_json

REASON = "reason"
PREFIX = "input."

# Rows with random keys would otherwise make the cache as large as the output.
_CACHED_NAMES = 1024


class Names:
    """Gives input columns whose names the scores need another name.

    ``score_columns``: the names that the scores take; ``reason`` is taken as well.
    ``mend``: whether names without a UTF-8 form are mended, for formats that have no escapes.
    """

    def __init__(self, score_columns: Iterable[str], *, mend: bool) -> None:
        self._taken = frozenset(score_columns) | {REASON}
        self._mend = mend
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.renamed: dict[str, str] = {}

    def collide(self, columns: Iterable[str]) -> bool:
        """Whether a score has the name of any of these columns."""
        return not self._taken.isdisjoint(columns)

    def of(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The output names of a row's columns, in their order."""
        key = tuple(columns)
        names = self._known.get(key)
        if names is None:
            if len(self._known) >= _CACHED_NAMES:
                self._known.clear()
            names = self._known[key] = self._make(key)
        return names

    def _make(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        used = {column for column in columns if column not in self._taken}
        names = []
        for column in columns:
            name = mend_surrogates(column) if self._mend else column
            while name in self._taken or (name in used and name != column):
                name = PREFIX + name
            if name != column:
                used.add(name)
                self.renamed[column] = name
            names.append(name)
        return tuple(names)


ScoreValues = Sequence[float | None]


class Writer(Committing):
    """Writes scored chunks.

    Used in a ``with`` block: leaving it commits, an exception removes every temporary file and leaves an older output
    as it was.

    ``score_columns``: the names of the score columns in their final order.
    ``renamed``: input columns that had the name of a score column, with the names they got.
    """

    # Whether the format can write any string; JSON has escapes, tables do not.
    _any_string = False

    def __init__(self, path: str, score_columns: Sequence[str]) -> None:
        self.path = path
        self.score_columns = tuple(score_columns)
        self._names = Names(score_columns, mend=not self._any_string)
        self._draft = Draft(path)
        self._finished = False

    @property
    def renamed(self) -> dict[str, str]:
        """Input columns that got another name because a score has theirs."""
        return dict(self._names.renamed)

    def write(
        self, chunk: Chunk, scores: Mapping[str, ScoreValues], reasons: Sequence[str | None] | None = None
    ) -> None:
        """Write the chunk's rows with their scores.

        ``scores``: for each score column one value per row; None or NaN where there is none.
        ``reasons``: for each row why a score is missing, or None.
        """
        columns = [_listed(scores[name]) for name in self.score_columns]
        notes: list[str | None] = [None] * len(chunk) if reasons is None else list(reasons)
        if len(scores) != len(columns) or {len(notes), *map(len, columns)} - {len(chunk)}:
            raise ValueError("scores and reasons must have the writer's columns and one value per row of the chunk")
        if chunk.samples:
            with output_errors(self.path):
                self._write(chunk, columns, notes)

    def commit(self) -> None:
        """Finish the file and put it in its place."""
        if self._finished:
            return
        try:
            with output_errors(self.path):
                self._draft.commit(self._finish())
        except BaseException:
            self.abort()
            raise
        self._finished = True

    def abort(self) -> None:
        """Give up: no temporary file stays, an older output is as it was."""
        if not self._finished:
            self._finished = True
            self._release()
            self._draft.abort()

    @abstractmethod
    def _write(self, chunk: Chunk, columns: list[list[float | None]], reasons: list[str | None]) -> None: ...

    @abstractmethod
    def _finish(self) -> Path:
        """Complete the output and tell in which temporary file it is."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of whatever still holds a temporary file; must not raise."""


def _listed(values: ScoreValues) -> list[float | None]:
    """A plain list; an array's own conversion is much faster than going through its elements."""
    convert = getattr(values, "tolist", None)
    return convert() if convert is not None else list(values)


class JsonlWriter(Writer):
    """JSON Lines; ``reason`` only in rows that have one."""

    _any_string = True

    def __init__(self, path: str, score_columns: Sequence[str], compression: str | None) -> None:
        super().__init__(path, score_columns)
        self._labels = [f", {to_json(name).decode('utf-8')}: " for name in self.score_columns]
        self._temporary, file = self._draft.open()
        self._file = compressed(file, compression)

    def _write(self, chunk: Chunk, columns: list[list[float | None]], reasons: list[str | None]) -> None:
        parts = [
            [label + number_text(value, "null") for value in values]
            for label, values in zip(self._labels, columns, strict=True)
        ]
        tails: list[str] = list(map("".join, zip(*parts, strict=True))) if parts else [""] * len(chunk)
        out: list[bytes] = []
        for i, sample in enumerate(chunk.samples):
            tail = tails[i].encode("utf-8")
            reason = reasons[i]
            if reason is not None:
                tail += b', "reason": ' + to_json(reason)
            out.append(self._head(chunk, i, sample.extra))
            out.append(tail if len(sample.extra) else tail[2:])
            out.append(b"}\n")
        self._file.write(b"".join(out))

    def _head(self, chunk: Chunk, i: int, extra: Mapping[str, Any]) -> bytes:
        """The row's object without its closing brace."""
        if self._names.collide(extra):
            return to_json(dict(zip(self._names.of(extra), extra.values(), strict=True)))[:-1]
        if chunk.format == "jsonl":
            raw = chunk.raws[i].strip()
            # What is already valid JSON in UTF-8 goes out as it came in: faster, and numbers keep all their digits.
            if b"\\u" not in raw and b"NaN" not in raw and b"Infinity" not in raw:
                return raw[:-1]
        return to_json(extra)[:-1]

    def _finish(self) -> Path:
        self._file.close()
        return self._temporary

    def _release(self) -> None:
        with suppress(OSError, ValueError):
            self._file.close()


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


_WRITTEN = tuple(ending for ending, kind in ENDINGS.items() if kind != "txt")


def open_writer(path: str, score_columns: Sequence[str]) -> Writer:
    """A writer for the path's ending.

    ``path``: the output: ``.jsonl``, ``.csv`` or ``.tsv``, each also compressed, or ``.parquet``.
    ``score_columns``: the names of the score columns in their final order.
    Returns a writer to be used in a ``with`` block.
    Raises UsageError if the ending is unknown.
    Raises OutputError if nothing can be written there.
    """
    if len(set(score_columns)) != len(score_columns):
        raise UsageError("two score columns have the same name")
    ending, compression = endings(path)
    kind = ENDINGS.get(ending)
    if kind == "jsonl":
        return JsonlWriter(path, score_columns, compression)
    if kind in ("csv", "tsv"):
        return CsvWriter(path, score_columns, "," if kind == "csv" else "\t", compression)
    if kind == "parquet" and compression is None:
        from celadon.io.parquet_writer import ParquetWriter

        return ParquetWriter(path, score_columns)
    raise UsageError(
        f"{path}: cannot tell the format to write; known endings are {', '.join(_WRITTEN)}, "
        f"all but the last also with {', '.join(COMPRESSIONS)}"
    )
