"""Rows as they are read, and the file of those that could not be scored."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from celadon.core import Sample
from celadon.io.atomic import Committing, Draft, output_errors
from celadon.io.values import to_json

# A cut row keeps enough to be recognised, never enough to fill the memory or the rejects file.
CUT_BYTES = 64 * 1024


def chomp(raw: bytes) -> bytes:
    """The line without its line ending, which may be ``\\n`` or ``\\r\\n``."""
    if raw.endswith(b"\n"):
        return raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    return raw


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be scored; its string form is ``file:line: what is wrong``."""

    file: str  # the file as the user named it, ``<stdin>`` for the standard input
    line: int  # the line where the row begins, from 1; in Parquet, which has no lines, the number of the row
    message: str
    raw: bytes = field(repr=False)  # the row as it was, without its line ending; of Parquet, the row as JSON
    numbered_by_row: bool = False  # whether ``line`` counts rows
    cut: bool = False  # whether ``raw`` is only the beginning of the row

    @property
    def where(self) -> str:
        """``file:line``, or ``file:row N`` for Parquet."""
        return origin(self.file, self.line, by_row=self.numbered_by_row)

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def origin(file: str, line: int, *, by_row: bool) -> str:
    """How a place is shown to people."""
    return f"{file}:row {line}" if by_row else f"{file}:{line}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive good rows of the input."""

    samples: tuple[Sample, ...]
    format: str  # the format all of them came in
    # files, lines: for each row, where it came from
    files: tuple[str, ...] = field(repr=False)
    lines: tuple[int, ...] = field(repr=False)
    raws: tuple[bytes, ...] = field(default=(), repr=False)  # for each row, its bytes; empty for Parquet
    # for Parquet, the Arrow ``RecordBatch`` of exactly these rows, so that types survive into Parquet output
    batch: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.samples)

    def raw(self, i: int) -> bytes:
        """Row ``i`` as it was, without its line ending; of Parquet, the row as JSON."""
        if self.batch is None:
            return chomp(self.raws[i])
        return to_json(self.samples[i].extra)

    def bad(self, i: int, message: str) -> BadRow:
        """Row ``i`` as a rejected row, for a later stage that finds fault with it."""
        return BadRow(self.files[i], self.lines[i], message, self.raw(i), numbered_by_row=self.batch is not None)

    def without(self, rows: Collection[int]) -> Chunk:
        """The same chunk with the rows of these indices left out."""
        if not rows:
            return self
        dropped = frozenset(rows)
        kept = [i for i in range(len(self.samples)) if i not in dropped]
        return Chunk(
            samples=tuple(self.samples[i] for i in kept),
            format=self.format,
            files=tuple(self.files[i] for i in kept),
            lines=tuple(self.lines[i] for i in kept),
            raws=tuple(self.raws[i] for i in kept) if self.raws else (),
            batch=None if self.batch is None else take_rows(self.batch, kept),
        )


def take_rows(batch: Any, rows: list[int]) -> Any:
    """The given rows of an Arrow RecordBatch."""
    import pyarrow as pa

    return batch.take(pa.array(rows, type=pa.int64()))


def rejects_path(output: str) -> str:
    """Where the rejected rows of an output go."""
    return f"{output}.rejects.jsonl"


class Rejects(Committing):
    """Writes bad rows, one JSON object per line: ``file``, ``line``, ``error``, ``row``.

    A row that is not UTF-8 is in ``row_base64`` instead, a row of which only the beginning is kept has ``cut``. Used
    in a ``with`` block it commits or aborts as a writer does. Without bad rows there is no file, and one of an earlier
    run is removed.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0
        self._draft = Draft(path)
        self._open: tuple[Path, BinaryIO] | None = None
        self._finished = False

    def add(self, bad: BadRow) -> None:
        """Write one row."""
        with output_errors(self.path):
            if self._open is None:
                self._open = self._draft.open()
            self._open[1].write(_line(bad))
        self.count += 1

    def commit(self) -> None:
        """Put the file in its place."""
        if self._finished:
            return
        try:
            if self._open is None:
                self._draft.remove_target()
            else:
                self._draft.commit(self._open[0])
        except BaseException:
            self.abort()
            raise
        self._finished = True

    def abort(self) -> None:
        """Give up; the file of an earlier run stays."""
        if not self._finished:
            self._finished = True
            self._draft.abort()


def _line(bad: BadRow) -> bytes:
    row: dict[str, Any] = {"file": bad.file, "line": bad.line, "error": bad.message}
    try:
        row["row"] = bad.raw.decode("utf-8")
    except UnicodeDecodeError:
        row["row_base64"] = base64.b64encode(bad.raw).decode("ascii")
    if bad.cut:
        row["cut"] = True
    text = json.dumps(row, ensure_ascii=False)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # A file name, or a field named in the message, may have no UTF-8 form.
        return json.dumps(row).encode("ascii") + b"\n"
