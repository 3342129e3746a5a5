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
    lau2020,
    mqm,
    novikova2017,
    sulem2018,
    summeval,
    toutanova2016,
    usr2020,
    webnlg2020,
)
from celadon.io.judgements.common import is_common, read_common
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
    license
        Under what terms it is published, as its publisher says.
    address
        Where the files come from.
    """

    name: str
    title: str
    dimensions: tuple[str, ...]
    pattern: str
    read: Callable[..., Iterator[Row]]
    license: str
    address: str
    lower_is_better: frozenset[str] = frozenset()


def _known(name: str, title: str, module: Any, terms: str, address: str, *lower: str) -> DataSet:
    return DataSet(name, title, module.DIMENSIONS, module.PATTERN, module.read, terms, address, frozenset(lower))


_GITHUB = "https://github.com/"
_NOT_STATED = "not stated"

# docs/data.md has the same table, which tests hold equal
DATA_SETS = {
    known.name: known
    for known in (
        _known(
            "novikova2017",
            "dialogue outputs, medians 1 to 6 (Novikova et al. 2017)",
            novikova2017,
            "MIT",
            f"{_GITHUB}jeknov/EMNLP_17_submission",
        ),
        _known(
            "chaganty2018",
            "CNN/Daily Mail summaries, -1 to 1 (Chaganty et al. 2018)",
            chaganty2018,
            _NOT_STATED,
            f"{_GITHUB}yg211/summary-reward-no-reference",
            "hter",
        ),
        _known(
            "summeval",
            "CNN/Daily Mail summaries, 1 to 5 (Fabbri et al. 2021)",
            summeval,
            "MIT",
            f"{_GITHUB}Yale-LILY/SummEval",
        ),
        _known(
            "webnlg2020",
            "texts from triples (WebNLG+ 2020); judgements without the texts",
            webnlg2020,
            _NOT_STATED,
            f"{_GITHUB}WebNLG/challenge-2020",
        ),
        _known(
            "gug",
            "learners' sentences, grammaticality 1 to 4 (Heilman et al. 2014)",
            gug,
            "CC BY-NC-SA 4.0",
            f"{_GITHUB}EducationalTestingService/gug-data",
        ),
        _known(
            "cola",
            "linguists' sentences, acceptable or not (Warstadt et al. 2019)",
            cola,
            "not stated (published examples)",
            "https://nyu-mll.github.io/CoLA",
        ),
        _known(
            "blimp",
            "minimal pairs, acceptable or not (Warstadt et al. 2020)",
            blimp,
            "CC BY",
            f"{_GITHUB}alexwarstadt/blimp",
        ),
        _known(
            "sulem2018",
            "simplifications, 1 to 5 (Sulem et al. 2018)",
            sulem2018,
            "CC BY-NC-SA 4.0",
            f"{_GITHUB}feralvam/metaeval-simplification",
        ),
        _known(
            "toutanova2016",
            "compressions, 1 to 3 (Toutanova et al. 2016)",
            toutanova2016,
            "Microsoft Research Data License Agreement",
            "https://www.microsoft.com/research (MSR Abstractive Text Compression Dataset)",
        ),
        _known(
            "lau2020",
            "sentences in context, acceptability 1 to 4 (Lau et al. 2020)",
            lau2020,
            "Apache-2.0",
            f"{_GITHUB}jhlau/acceptability-prediction-in-context",
        ),
        _known(
            "usr2020",
            "answers in dialogues, up to 5 (Mehri and Eskenazi 2020)",
            usr2020,
            "MIT",
            f"{_GITHUB}tanyuqian/ctc-gen-eval",
        ),
        _known(
            "mqm",
            "translations, weighted errors (Freitag et al. 2021)",
            mqm,
            "Apache-2.0",
            f"{_GITHUB}google/wmt-mqm-human-evaluation",
            *mqm.DIMENSIONS,
        ),
    )
}


def load(name: str, path: str, **options: Any) -> Iterator[Row]:
    """Read a data set.

    Parameters
    ----------
    name
        One of :data:`DATA_SETS`.
    path
        A file, a pattern, or a folder, in which the data set's own files are found; compressed or not. What
        ``celadon meta load`` wrote is read again.
    **options
        Of the data set: ``with_references`` of chaganty2018. What was written before is read as it is.

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
        for row in read_common(file) if is_common(file) else known.read(file, **options):
            empty = False
            yield row
        if empty:
            raise InputError(f"{file}: has no judgements of {known.name}")
