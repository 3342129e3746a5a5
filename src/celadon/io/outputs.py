"""Which writer an output gets."""

from __future__ import annotations

from collections.abc import Sequence

from celadon.core import UsageError
from celadon.io.csv_writer import CsvWriter
from celadon.io.parquet_writer import ParquetWriter
from celadon.io.sources import COMPRESSIONS, ENDINGS, endings
from celadon.io.writers import JsonlWriter, Writer

_WRITTEN = tuple(ending for ending, kind in ENDINGS.items() if kind != "txt")


def open_writer(path: str, score_columns: Sequence[str]) -> Writer:
    """A writer for the path's ending.

    Parameters
    ----------
    path
        The output: ``.jsonl``, ``.csv`` or ``.tsv``, each also compressed, or ``.parquet``.
    score_columns
        The names of the score columns in their final order.

    Returns
    -------
    Writer
        To be used in a ``with`` block.

    Raises
    ------
    UsageError
        The ending is unknown.
    OutputError
        Nothing can be written there.
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
        return ParquetWriter(path, score_columns)
    raise UsageError(
        f"{path}: cannot tell the format to write; known endings are {', '.join(_WRITTEN)}, "
        f"all but the last also with {', '.join(COMPRESSIONS)}"
    )
