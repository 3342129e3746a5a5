"""Rows that wait on disk until the input has been read to its end."""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from celadon.core import Sample
from celadon.io import parquet
from celadon.io.atomic import output_errors
from celadon.io.remote import is_url, local_path
from celadon.io.rows import Chunk, origin

_LENGTH_BYTES = 8


class Spill:
    """Chunks, each with something that goes with it, written and then read in the same order.

    The file has no name: it is gone as soon as it is closed, or the process ends in whatever way. Chunks come back as
    they were, types included.

    ``beside``: an output whose folder takes the file; for None, or an address, the system's folder of temporary files
        does.
    """

    def __init__(self, beside: str | None) -> None:
        here = beside is not None and not is_url(beside)
        folder = Path(local_path(beside)).resolve().parent if beside and here else Path(tempfile.gettempdir())
        self._shown = beside if beside and here else str(folder / "temporary file")
        with output_errors(self._shown):
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  closed by the spill's own with block
        self._written = 0
        self._read = 0

    @property
    def bytes_total(self) -> int:
        """Bytes that were written."""
        return self._written

    @property
    def bytes_read(self) -> int:
        """Bytes that were read back up to now."""
        return self._read

    def write(self, chunk: Chunk, beside: Any) -> None:
        """Keep a chunk and plain data that go with it: numbers, strings, bytes; lists, tuples and dicts of these."""
        # Not pickle, because nothing but plain data is to come back; not JSON, which has no bytes and keeps a text
        # that stands in a row twice. Only this process ever sees the file.
        data = marshal.dumps((_packed(chunk), beside))
        with output_errors(self._shown):
            self._file.write(len(data).to_bytes(_LENGTH_BYTES, "little"))
            self._file.write(data)
        self._written += _LENGTH_BYTES + len(data)

    def __iter__(self) -> Iterator[tuple[Chunk, Any]]:
        with output_errors(self._shown):
            # what the buffer still holds is written now, and the disk may be full
            self._file.seek(0)
        self._read = 0
        while head := self._file.read(_LENGTH_BYTES):
            data = self._file.read(int.from_bytes(head, "little"))
            self._read += len(head) + len(data)
            chunk, beside = marshal.loads(data)
            yield _unpacked(chunk), beside

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *exception: object) -> None:
        # A full disk makes the last flush fail as well; the file goes all the same.
        with suppress(OSError):
            self._file.close()


def _packed(chunk: Chunk) -> tuple[Any, ...]:
    typed = chunk.batch is not None
    fields = [
        (s.text, s.references, s.source, s.id, s.system, s.markup, s.language, None if typed else dict(s.extra))
        for s in chunk.samples
    ]
    table = _to_arrow(chunk.batch) if typed else None
    return fields, chunk.format, chunk.files, chunk.lines, chunk.raws, table


def _unpacked(data: tuple[Any, ...]) -> Chunk:
    fields, kind, files, lines, raws, table = data
    batch = None if table is None else _from_arrow(table)
    extras = [row[-1] for row in fields] if batch is None else parquet.row_values(batch)
    places = [origin(file, line, by_row=batch is not None) for file, line in zip(files, lines, strict=True)]
    samples = tuple(
        Sample(text, references, source, ident, system, extra, where, (), markup, language)
        for (text, references, source, ident, system, markup, language, _), extra, where in zip(
            fields, extras, places, strict=True
        )
    )
    return Chunk(samples, kind, files, lines, raws, batch)


def _to_arrow(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def _from_arrow(data: bytes) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(data) as stream:
        return stream.read_next_batch()
