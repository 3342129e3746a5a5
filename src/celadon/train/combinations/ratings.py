"""Texts with human ratings, and which of them are trained on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, IntArray, OutputError, Sample, UsageError
from celadon.io import Fields, TableRow, check_distinct, read_table_rows
from celadon.io.fields import Resolver, RowError
from celadon.io.judgements import DATA_SETS, load
from celadon.io.judgements.files import text_lines
from celadon.io.sources import STDIN, endings
from celadon.io.values import to_json
from celadon.meta.table import Columns, make_humans

FEWEST_ROWS = 10
# Where nothing is said: one row in so many is kept for the figures.
_HELD_OUT_SHARE = 5
_TABLE_FORMATS = ("jsonl", "csv", "tsv", "parquet")
_COLA = "cola"
_COLA_CELLS = 4

# Called with how many texts are done, and of how many.
Progress: TypeAlias = Callable[[int, int], None]


def quiet(done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, eq=False)
class RatedTexts:
    """A table of texts with a rating."""

    path: str  # where it was read from
    rating: str  # the name of the rating
    values: FloatArray  # the rating of each row; NaN where it has none
    rows: tuple[TableRow, ...]  # the rows as they are in the table
    columns: Columns  # the same by column
    fields: Fields  # which column is what
    cells: bool  # whether all values are strings, as in CSV

    @property
    def name(self) -> str:
        """The file without its folders."""
        return "standard input" if self.path == STDIN else Path(self.path).name

    @property
    def sha256(self) -> str:
        """Of all rows, as JSON lines, in their order; compressing the file does not change it."""
        digest = hashlib.sha256()
        for row in self.rows:
            digest.update(to_json(row) + b"\n")
        return digest.hexdigest()

    def samples(self, rows: IntArray) -> tuple[Sample, ...]:
        """Return some of the rows as samples; raise InputError where one has no text."""
        resolver = Resolver(self.fields)
        found = []
        for at in rows.tolist():
            row = self.rows[at]
            plan = resolver.plan(tuple(row), cells=self.cells)
            try:
                problem = resolver.missing(plan, row)
                values = plan.read(row)
            except RowError as error:
                problem = str(error)
            if problem:
                raise InputError(f"{row.origin}: {problem}")
            found.append(Sample(*values, extra=row, origin=row.origin))
        return tuple(found)


def read_ratings(
    path: str,
    rating: str | None,
    *,
    format: str | None = None,  # noqa: A002
    fields: Fields | None = None,
) -> RatedTexts:
    """Read texts with ratings: a table (- for the standard input), or the files of a known data set.

    The rating may be None for a data set with one rating. ``format`` is one of tables or the name of a data set of
    :data:`celadon.io.judgements.DATA_SETS`; by default the ending tells, and a TSV file without a header that looks
    like CoLA is read as such. ``fields`` says which column is the text, the references, the source.
    """
    known = data_set_of(path, format)
    if rating is None and known is not None and len(DATA_SETS[known].dimensions) == 1:
        rating = DATA_SETS[known].dimensions[0]
    if rating is None:
        offered = f", one of {', '.join(DATA_SETS[known].dimensions)}" if known else ""
        raise UsageError(f"no rating: name the column of human scores with --rating{offered}")
    rows = rows_of(path, format)
    return RatedTexts(
        path=path,
        rating=rating,
        values=make_humans(rows, [rating])[rating],
        rows=rows,
        columns=Columns(rows),
        fields=fields or Fields(),
        cells=has_cells(path, format),
    )


def read_tables(
    path: str,
    test: str | None,
    rating: str | None,
    format: str | None,  # noqa: A002
    fields: Fields | None,
) -> tuple[RatedTexts, RatedTexts | None]:
    """Read the table that is learned from, and another one to test on if there is one."""
    first = read_ratings(path, rating, format=format, fields=fields)
    return first, None if test is None else read_ratings(test, rating, format=format, fields=fields)


def data_set_of(path: str, format: str | None) -> str | None:  # noqa: A002
    """The known data set that a file is of, by what was said or by its first line; None for any other table."""
    known = format if format in DATA_SETS else _COLA if format is None and _looks_like_cola(path) else None
    if known is None and format is not None and format not in _TABLE_FORMATS:
        raise UsageError(
            f"unknown format {format!r}; the formats are {', '.join(_TABLE_FORMATS)}, "
            f"the data sets {', '.join(DATA_SETS)}"
        )
    return known


def rows_of(path: str, format: str | None) -> tuple[TableRow, ...]:  # noqa: A002
    """The rows of a table or of a known data set."""
    known = data_set_of(path, format)
    return tuple(read_table_rows(path, format=format) if known is None else _judgements(known, path))


def _judgements(name: str, path: str) -> Iterator[TableRow]:
    for row in load(name, path):
        yield TableRow(row, path, f"{path}: {row['id']}")


def has_cells(path: str, format: str | None) -> bool:  # noqa: A002
    """Whether all values of a table are strings, as in CSV."""
    if data_set_of(path, format) is not None:
        return False
    # of the standard input only objects in lines have values that are no strings
    return (format or endings(path)[0].removeprefix(".")) in ("csv", "tsv")


def _looks_like_cola(path: str) -> bool:
    """Whether a file has no header but at once a source, a label, a mark and a sentence."""
    if path == STDIN or endings(path)[0] != ".tsv" or not Path(path).is_file():
        return False
    first = [line.split("\t") for _, line in islice(text_lines(path), 1)]
    return bool(first) and len(first[0]) == _COLA_CELLS and first[0][1] in ("0", "1")


def check_output(output: str | Path, inputs: Iterable[str | Path | None]) -> None:
    """Reject an output that cannot be written, or is an input, before the work begins."""
    check_distinct(str(output), [str(path) for path in inputs if path])
    if not Path(output).parent.is_dir():
        raise OutputError(f"{output}: the folder {Path(output).parent} does not exist; create it first")


class Split(NamedTuple):
    """Which rows are trained on, and which are kept for the figures."""

    training: IntArray
    held_out: IntArray


def split_rows(rows: int, *, train: int | None = None, hold_out: int | None = None, seed: int = 0) -> Split:
    """Shuffle rows by a seed and part them: ``train`` of them to train on, or ``hold_out`` to hold out.

    One fifth is held out by default. Raises UsageError where there are not enough rows.
    """
    held = rows // _HELD_OUT_SHARE if hold_out is None else hold_out
    training = rows - held if train is None else train
    if training > rows or held > rows:
        raise UsageError(f"there are {rows:,} usable rows; {max(training, held):,} were asked for")
    if training < FEWEST_ROWS:
        raise UsageError(f"{training:,} of {rows:,} usable rows would be trained on; at least {FEWEST_ROWS} are needed")
    order = np.random.default_rng(seed).permutation(rows)
    return Split(order[:training], order[training:])


def in_pieces(total: int, size: int, progress: Progress) -> Iterator[slice]:
    """Stretches of at most ``size`` rows; says after each how far it got."""
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))
        progress(min(start + size, total), total)


def check_rated(table: RatedTexts, usable: int, reasons: Sequence[str]) -> None:
    """Complain where too few rows can be used, with the first reason."""
    if usable >= FEWEST_ROWS:
        return
    rated = int(np.isfinite(table.values).sum())
    why = f" (for example {reasons[0]})" if reasons else ""
    raise InputError(
        f"{table.path}: {usable} of {len(table.rows)} rows can be used: {rated} have the rating {table.rating!r}, and "
        f"{rated - usable} of these lack something else{why}; at least {FEWEST_ROWS} are needed"
    )


def as_object(figure: Any) -> dict[str, Any]:
    """A named tuple of figures as a JSON object; null for what does not exist."""
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in figure._asdict().items()
    }


def area_under_curve(scores: FloatArray, labels: npt.NDArray[np.bool_]) -> float:
    """The chance that a good text scores above a bad one, ties counting half; NaN where one kind is missing."""
    good, bad = int(labels.sum()), int((~labels).sum())
    if not good or not bad:
        return math.nan
    return (float(stats.rankdata(scores)[labels].sum()) - good * (good + 1) / 2) / (good * bad)


def best_threshold(scores: FloatArray, labels: npt.NDArray[np.bool_]) -> float:
    """The score from which on a text is called good, for the highest Matthews' correlation."""
    order = np.argsort(-scores, kind="stable")
    ordered, hits = scores[order], np.cumsum(labels[order])
    called = np.arange(1, len(scores) + 1)
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    found = _matthews(hits[ends], called[ends], int(labels.sum()), len(labels))
    return float(ordered[ends[int(np.argmax(found))]])


def matthews(called: npt.NDArray[np.bool_], labels: npt.NDArray[np.bool_]) -> float:
    """Matthews' correlation of two columns of yes and no; 0 where one of them does not vary."""
    hits, many = np.array([(called & labels).sum()]), np.array([called.sum()])
    return float(_matthews(hits, many, int(labels.sum()), len(labels))[0])


def _matthews(hits: npt.NDArray[Any], called: npt.NDArray[Any], good: int, rows: int) -> FloatArray:
    hits, called = hits.astype(np.float64), called.astype(np.float64)
    below = np.sqrt(called * (rows - called) * good * (rows - good))
    return np.asarray(np.divide(hits * rows - called * good, below, out=np.zeros_like(hits), where=below > 0))
