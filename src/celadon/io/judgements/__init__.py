"""Public data sets of human judgements, each read from its own layout into one form.

Every row has id, system, domain, text, references, source; ``scores.DIM``, the published number of a dimension; and,
where single ratings are known, ``ratings.DIM``, a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from celadon.core import InputError, UsageError
from celadon.io.judgements import (
    blimp,
    chaganty2018,
    cola,
    gug,
    novikova2017,
    sulem2018,
    summeval,
    toutanova2016,
    webnlg2020,
)
from celadon.io.judgements.files import data_files
from celadon.io.judgements.rows import Row

__all__ = ["DATA_SETS", "DataSet", "Row", "load"]


@dataclass(frozen=True)
class DataSet:
    """A known data set.

    Attributes
    ----------
    name
        What it is asked for by.
    title
        One line for people.
    dimensions
        What was rated.
    lower_is_better
        Those of the dimensions whose lower values are the better ones.
    pattern
        Which files of a folder are its own: patterns, the first that matches counts.
    read
        From one file to rows.
    """

    name: str
    title: str
    dimensions: tuple[str, ...]
    pattern: str
    read: Callable[..., Iterator[Row]]
    lower_is_better: frozenset[str] = frozenset()


def _known(name: str, title: str, module: Any, *lower: str) -> DataSet:
    return DataSet(name, title, module.DIMENSIONS, module.PATTERN, module.read, frozenset(lower))


DATA_SETS = {
    known.name: known
    for known in (
        _known("novikova2017", "dialogue outputs, medians 1 to 6 (Novikova et al. 2017)", novikova2017),
        _known("chaganty2018", "CNN/Daily Mail summaries, -1 to 1 (Chaganty et al. 2018)", chaganty2018, "hter"),
        _known("summeval", "CNN/Daily Mail summaries, 1 to 5 (Fabbri et al. 2021)", summeval),
        _known("webnlg2020", "texts from triples (WebNLG+ 2020); judgements without the texts", webnlg2020),
        _known("gug", "learners' sentences, grammaticality 1 to 4 (Heilman et al. 2014)", gug),
        _known("cola", "linguists' sentences, acceptable or not (Warstadt et al. 2019)", cola),
        _known("blimp", "minimal pairs, acceptable or not (Warstadt et al. 2020)", blimp),
        _known("sulem2018", "simplifications, 1 to 5 (Sulem et al. 2018)", sulem2018),
        _known("toutanova2016", "compressions, 1 to 3 (Toutanova et al. 2016)", toutanova2016),
    )
}


def load(name: str, path: str, **options: Any) -> Iterator[Row]:
    """Read a data set.

    Parameters
    ----------
    name
        One of :data:`DATA_SETS`.
    path
        A file, a pattern, or a folder, in which the data set's own files are found; compressed or not.
    **options
        Of the data set: ``with_references`` of chaganty2018.

    Returns
    -------
    Iterator
        Rows in the common form, file after file.

    Raises
    ------
    UsageError
        There is no such data set.
    InputError
        A file cannot be read or is not of this data set; the message begins with ``file:line``.
    """
    if name not in DATA_SETS:
        close = get_close_matches(name, DATA_SETS, n=1, cutoff=0.4)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"unknown data set {name!r}{hint} (known: {', '.join(DATA_SETS)})")
    return _rows(DATA_SETS[name], data_files(path, DATA_SETS[name].pattern), options)


def _rows(known: DataSet, files: list[str], options: dict[str, Any]) -> Iterator[Row]:
    for file in files:
        empty = True
        for row in known.read(file, **options):
            empty = False
            yield row
        if empty:
            raise InputError(f"{file}: has no judgements of {known.name}")
