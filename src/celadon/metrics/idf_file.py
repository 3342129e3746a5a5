"""Inverse document frequencies from a file of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from celadon.core import InputError
from celadon.text.inverse_frequency import DocumentCounts

_ROWS_AT_ONCE = 512


def counts_of_file(
    path: str, documents: Callable[[Sequence[str]], Iterable[Iterable[str]]], reader: str
) -> DocumentCounts:
    """Count in how many texts of a file each word stands; the file is any that can be scored.

    Parameters
    ----------
    path
        The file.
    documents
        From texts to the words of each; texts that cannot be read are left out.
    reader
        Who reads them, for messages: ``the word vectors``.

    Raises
    ------
    InputError
        It cannot be read, or there is no text in it that is known; the message says where.
    """
    from celadon.io import BadRow, Fields, Reader

    def refuse(row: BadRow) -> None:
        raise InputError(str(row))

    counts = DocumentCounts(0, {})
    for chunk in Reader([path], Fields(), chunk_rows=_ROWS_AT_ONCE, on_bad=refuse):
        counts = counts.merged(DocumentCounts.of(documents([sample.text for sample in chunk.samples])))
    if not counts.documents:
        raise InputError(f"{path}: there is no text in it that {reader} know, so it gives no idf")
    return counts
