"""Parquet output; columns and types may change at any row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from celadon.io.arrow import JSON, castable, fitted, infer, merge_types, recast, require_pyarrow
from celadon.io.rows import Chunk
from celadon.io.values import mend_surrogates, number_or_none
from celadon.io.writers import REASON, Writer

# A chunk is far too small for a row group: rows wait until there are enough of them.
_GROUP_ROWS = 64 * 1024
_GROUP_BYTES = 64 * 1024 * 1024

# Arrow types by column, in the order of the columns; JSON for columns of mixed types.
_Types = dict[str, Any]


class _Segment(NamedTuple):
    """Rows under one schema: a temporary file, and the types of its input columns."""

    path: Path
    types: _Types


class ParquetWriter(Writer):
    """A typed table, although rows of JSON Lines have no types to begin with.

    The type of an input column is one that holds all values seen; where there is none each value becomes a JSON
    string. When a type changes another file is begun, and in the end all are cast into the last schema.
    """

    def __init__(self, path: str, score_columns: Sequence[str]) -> None:
        require_pyarrow(path)
        super().__init__(path, score_columns)
        self._types: _Types = {}
        self._segments: list[_Segment] = []
        self._waiting: list[Any] = []
        self._writer: Any = None
        # Opened now, so that a folder one cannot write in is known before hours of scoring.
        self._path, self._file = self._draft.open()

    @property
    def json_columns(self) -> tuple[str, ...]:
        """Input columns of mixed types, written as JSON strings."""
        return tuple(name for name, kind in self._types.items() if kind is JSON)

    def _write(self, chunk: Chunk, columns: list[list[float | None]], reasons: list[str | None]) -> None:
        import pyarrow as pa

        raw = self._of_batch(chunk.batch) if chunk.batch is not None else self._of_rows(chunk)
        arrays = {name: values if isinstance(values, pa.Array) else infer(values) for name, values in raw.items()}
        types = self._widened(arrays)
        if not self._segments or list(types.items()) != list(self._types.items()):
            self._types = types
            self._begin_segment()
        inputs = [fitted(raw.get(name), arrays.get(name), kind, len(chunk)) for name, kind in types.items()]
        scores = [pa.array([number_or_none(value) for value in values], type=pa.float64()) for values in columns]
        notes = pa.array([reason and mend_surrogates(reason) for reason in reasons], type=pa.string())
        self._waiting.append(pa.Table.from_arrays([*inputs, *scores, notes], schema=self._schema(types)))
        rows = sum(table.num_rows for table in self._waiting)
        if rows >= _GROUP_ROWS or sum(table.nbytes for table in self._waiting) >= _GROUP_BYTES:
            self._flush()

    def _of_batch(self, batch: Any) -> dict[str, Any]:
        return dict(zip(self._names.of(batch.schema.names), batch.columns, strict=True))

    def _of_rows(self, chunk: Chunk) -> dict[str, list[Any]]:
        """The rows as columns of Python values; None where a row has no such column."""
        columns: dict[str, list[Any]] = {}
        for i, sample in enumerate(chunk.samples):
            for name, value in zip(self._names.of(sample.extra), sample.extra.values(), strict=True):
                column = columns.get(name)
                if column is None:
                    column = columns[name] = [None] * len(chunk)
                column[i] = value
        return columns

    def _widened(self, arrays: dict[str, Any]) -> _Types:
        """The types that hold what was there and these arrays."""
        import pyarrow as pa

        types = dict(self._types)
        for name, array in arrays.items():
            kind = JSON if array is None else merge_types(types.get(name, pa.null()), array.type)
            types[name] = kind if kind is JSON or castable(array, kind) else JSON
        return types

    def _schema(self, types: _Types) -> Any:
        import pyarrow as pa

        inputs = [(name, pa.string() if kind is JSON else kind) for name, kind in types.items()]
        return pa.schema([*inputs, *((name, pa.float64()) for name in self.score_columns), (REASON, pa.string())])

    def _begin_segment(self) -> None:
        import pyarrow.parquet as pq

        if self._segments:
            self._end_segment()
            self._path, self._file = self._draft.open()
        self._segments.append(_Segment(self._path, dict(self._types)))
        self._writer = pq.ParquetWriter(self._file, self._schema(self._types), compression="zstd")

    def _end_segment(self) -> None:
        self._flush()
        self._writer.close()
        self._file.flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._waiting:
            # One table, so that the rows make one row group.
            table = pa.concat_tables(self._waiting)
            self._waiting = []
            self._writer.write_table(table, row_group_size=_GROUP_ROWS)

    def _finish(self) -> Path:
        if not self._segments:
            self._begin_segment()
        self._end_segment()
        if len(self._segments) > 1:
            self._merge()
        return self._path

    def _merge(self) -> None:
        """All segments under one schema."""
        segments = self._segments
        self._types = {name: self._settled(name, kind, segments) for name, kind in self._types.items()}
        self._segments = []
        self._path, self._file = self._draft.open()
        self._begin_segment()
        for path, types in segments:
            for batch in _batches(path):
                self._waiting.append(self._recast(batch, types))
                self._flush()
            self._draft.discard(path)
        self._end_segment()

    def _settled(self, name: str, kind: Any, segments: list[_Segment]) -> Any:
        """The column's last type, unless a value of an earlier segment would not survive the cast."""
        for path, types in segments:
            if kind is JSON:
                break
            if name in types and types[name] != kind:
                fits = all(castable(batch.column(0), kind) for batch in _batches(path, [name]))
                kind = kind if fits else JSON
        return kind

    def _recast(self, batch: Any, types: _Types) -> Any:
        import pyarrow as pa

        inputs = recast(batch, types, self._types)
        rest = [batch.column(name) for name in (*self.score_columns, REASON)]
        return pa.Table.from_arrays([*inputs, *rest], schema=self._schema(self._types))

    def _release(self) -> None:
        if self._writer is not None:
            # Arrow would write the footer when the object goes, into a file that is gone.
            with suppress(OSError, ValueError):
                self._writer.close()
            self._writer.is_open = False
        self._waiting = []


def _batches(path: Path, columns: list[str] | None = None) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        yield from pq.ParquetFile(file).iter_batches(batch_size=_GROUP_ROWS, columns=columns)
