"""Parquet: batches of rows with their Arrow types."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from celadon.core import InputError
from celadon.io.arrow import require_pyarrow
from celadon.io.remote import fetch, is_url, open_url, reads_anywhere
from celadon.io.sources import Source

_READ_BUFFER_BYTES = 1024 * 1024


class Rows(NamedTuple):
    """Consecutive rows of a file.

    The number of the first of them, from 1; their values; for rows that cannot be decoded what is wrong, by index;
    the Arrow batch of the same rows; and the share of the file that is read when these are.
    """

    first: int
    values: list[dict[str, Any]]
    flaws: dict[int, str]
    batch: Any
    share: float


class _Unreadable(NamedTuple):
    """A cell that Arrow stores but nobody can decode."""

    message: str


def batches(source: Source, max_rows: int, max_bytes: int) -> Iterator[Rows]:
    """Every row group in pieces of at most ``max_rows`` rows and about ``max_bytes`` bytes.

    Raises InputError if the file is not Parquet, is damaged, or has no rows.
    Raises MissingExtraError if pyarrow is not installed.
    """
    with _opened(source) as parquet:
        total = parquet.metadata.num_rows
        start, end = (0, total) if source.part is None else (source.part.start, source.part.end)
        number = start + 1
        for batch in _row_range(parquet, start, end, _batch_rows(parquet.metadata, max_rows, max_bytes)):
            for piece in _pieces(batch, max_bytes):
                share = (number + piece.num_rows - 1) / total
                yield _rows(piece, number, share)
                number += piece.num_rows


def count_rows(source: Source) -> int:
    """How many rows the file has; raises InputError as :func:`batches` does."""
    with _opened(source) as parquet:
        rows: int = parquet.metadata.num_rows
        return rows


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    """The file, of which the schema is checked; turns what goes wrong in the block into one clear error."""
    require_pyarrow(source.name)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with _opened_bytes(source) as file:
            # A buffered reader keeps a column's pages from being loaded for a whole row group at once.
            parquet = pq.ParquetFile(file, buffer_size=_READ_BUFFER_BYTES, pre_buffer=False)
            _check_schema(source.name, parquet.schema_arrow, parquet.metadata.num_rows)
            yield parquet
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(f"{source.name}: not a Parquet file, or truncated or corrupt: {reason}") from error


@contextmanager
def _opened_bytes(source: Source) -> Iterator[Any]:
    """The file, in which Arrow can go back and forth."""
    import pyarrow as pa

    path = source.path or ""
    with ExitStack() as stack:
        if is_url(path) and not reads_anywhere(path):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="celadon-")))
            fetch(path, folder / "fetched.parquet")
            path = str(folder / "fetched.parquet")
        if is_url(path):
            # Arrow asks for what it needs, here and there in the file, and no more is to be fetched.
            remote = stack.enter_context(open_url(path, cache_type="none"))
            yield stack.enter_context(pa.PythonFile(remote, mode="r"))
        else:
            yield stack.enter_context(pa.OSFile(path, "rb"))


def _row_range(parquet: Any, start: int, end: int, batch_rows: int) -> Iterator[Any]:
    """Batches of the rows from ``start`` to ``end``; row groups that have none of them are left alone."""
    before = 0
    for group in range(parquet.metadata.num_row_groups):
        rows = parquet.metadata.row_group(group).num_rows
        if before < end and before + rows > start:
            position = before
            for batch in parquet.iter_batches(batch_size=batch_rows, row_groups=[group]):
                first, last = max(start - position, 0), min(end - position, batch.num_rows)
                position += batch.num_rows
                if first < last:
                    yield batch.slice(first, last - first)
                if position >= end:
                    break
        before += rows


def _check_schema(name: str, schema: Any, total: int) -> None:
    names: list[str] = schema.names
    twice = next((column for i, column in enumerate(names) if column in names[:i]), None)
    if twice is not None:
        raise InputError(f"{name}: has the column {twice!r} more than once")
    if total == 0:
        raise InputError(f"{name}: has columns but no rows")


def _batch_rows(metadata: Any, max_rows: int, max_bytes: int) -> int:
    """How many rows to decode at once, by the mean size of a row in the fattest row group."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    mean = max((group.total_byte_size / group.num_rows for group in groups if group.num_rows), default=0.0)
    return max(1, min(max_rows, int(max_bytes / max(mean, 1.0))))


def _pieces(batch: Any, max_bytes: int) -> Iterator[Any]:
    """The batch, halved until no part is too large: a mean says nothing of the longest row."""
    if batch.nbytes <= max_bytes or batch.num_rows <= 1:
        if batch.num_rows:
            yield batch
        return
    half = batch.num_rows // 2
    yield from _pieces(batch.slice(0, half), max_bytes)
    yield from _pieces(batch.slice(half), max_bytes)


def row_values(batch: Any) -> list[dict[str, Any]]:
    """The rows of an Arrow batch as :func:`batches` gives them."""
    return _rows(batch, 1, 0.0).values


def _rows(batch: Any, first: int, share: float) -> Rows:
    names = batch.schema.names
    columns = [_values(column) for column in batch.columns]
    flaws: dict[int, str] = {}
    for name, column in zip(names, columns, strict=True):
        for i, cell in enumerate(column):
            if type(cell) is _Unreadable:
                flaws.setdefault(i, f"{name}: {cell.message}")
                # Still to be shown among the rejected rows.
                column[i] = f"<{cell.message}>"
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    return Rows(first, rows, flaws, batch, share)


def _values(column: Any) -> list[Any]:
    """The column's values as Python objects."""
    import pyarrow as pa

    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        return [_cell(cell) for cell in column]
    except (ValueError, OverflowError, ImportError, pa.ArrowException):
        # Python's dates are coarser and shorter than Arrow's: show such values as Arrow writes them.
        return [None if not cell.is_valid else str(cell) for cell in column.cast(pa.string())]
    return values


def _cell(cell: Any) -> Any:
    try:
        return cell.as_py()
    except UnicodeDecodeError as error:
        return _Unreadable(f"not valid UTF-8: byte 0x{error.object[error.start]:02x} at position {error.start + 1}")
