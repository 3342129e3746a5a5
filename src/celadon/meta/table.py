"""A table of metric scores and human ratings, as arrays, out of rows of any kind."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np

from celadon.core import Direction, FloatArray, InputError, UsageError
from celadon.meta.raters import means

SCORES = "scores."
RATINGS = "ratings."
_NOTHING = ("", "nan", "na", "n/a", "null", "none", "-")
_WORDS = {**dict.fromkeys(_NOTHING, math.nan), "true": 1.0, "false": 0.0}
_SHOWN = 30
_DEEPEST = 8


class Columns:
    """Rows turned into columns by name; a row with an ``origin`` says where it came from.

    An object inside a row becomes columns with its name before theirs (``scores.overall``); a column that already has
    such a name stands first.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._columns: dict[str, list[Any]] = {}
        self.origins: list[str] = []
        self.file = ""
        for number, row in enumerate(rows):
            self.file = self.file or getattr(row, "file", "")
            self.origins.append(getattr(row, "origin", f"row {number + 1}"))
            for name, value in _flat(row).items():
                column = self._columns.setdefault(name, [])
                column.extend([None] * (number - len(column)))
                column.append(value)
        for column in self._columns.values():
            column.extend([None] * (len(self) - len(column)))

    def __len__(self) -> int:
        return len(self.origins)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names, in the order in which they turned up."""
        return tuple(self._columns)

    def values(self, name: str) -> list[Any]:
        """Return the values of a column, None where a row has none."""
        return self._columns[name]

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a column as labels; empty where a row has none."""
        return tuple("" if value is None else str(value) for value in self.values(name))

    def numbers(self, name: str, what: str) -> FloatArray:
        """Return a column as numbers, NaN where there is none; the mean where a cell is a list."""
        numbers = np.full(len(self), np.nan)
        for row, value in enumerate(self._columns[name]):
            listed = as_list(value)
            if listed is not None:
                known = self._list(listed, row, name, what)
                known = known[np.isfinite(known)]
                numbers[row] = known.mean() if len(known) else np.nan
            else:
                numbers[row] = self._number(value, row, name, what)
        return numbers

    def lists(self, name: str, what: str) -> FloatArray | None:
        """Return a column of lists as a matrix, NaN where a list is shorter; None where no cell is a list."""
        cells = {row: as_list(value) for row, value in enumerate(self._columns[name])}
        lists = {row: self._list(value, row, name, what) for row, value in cells.items() if value is not None}
        width = max((len(value) for value in lists.values()), default=0)
        if not width:
            return None
        matrix = np.full((len(self), width), np.nan)
        for row, numbers in lists.items():
            matrix[row, : len(numbers)] = numbers
        return matrix

    def is_numeric(self, name: str) -> bool:
        """Return whether a column has numbers and nothing else."""
        numbers = 0
        for value in self._columns[name]:
            number = as_number(value)
            if number is None:
                return False
            numbers += math.isfinite(number)
        return numbers > 0

    def missing(self, name: str, what: str) -> InputError:
        """Return the error about a column that is not there."""
        close = get_close_matches(name, self.names, n=1, cutoff=0.7)
        hint = f"did you mean {close[0]}? " if close else ""
        listed = ", ".join(self.names[:_SHOWN])
        more = len(self.names) - _SHOWN
        return self.wrong(
            f"there is no {what} {name!r}; {hint}the columns are {listed}{f' and {more} more' if more > 0 else ''}"
        )

    def wrong(self, message: str) -> InputError:
        """Return an error about the table, its file first."""
        return InputError(f"{self.file}: {message}" if self.file else message)

    def _number(self, value: Any, row: int, name: str, what: str) -> float:
        number = as_number(value)
        if number is None:
            raise InputError(
                f"{self.origins[row]}: the {what} {name!r} is {str(value)[:40]!r}, not a number; "
                "leave the cell empty where there is none, or choose another column"
            )
        return number

    def _list(self, values: list[Any], row: int, name: str, what: str) -> FloatArray:
        return np.array([self._number(value, row, name, what) for value in values], dtype=np.float64)


def as_number(value: Any) -> float | None:
    """Return a value as a number: NaN for nothing, None for what is no number."""
    if value is None:
        return math.nan
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower(), value)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def as_list(value: Any) -> list[Any] | None:
    """Return a list, also one that is written as JSON in a cell; None for anything else."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str) and value.startswith("["):
        parsed = _json(value)
        return parsed if isinstance(parsed, list) else None
    return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return all values by name; objects, also those written as JSON in a cell, are opened up."""
    flat: dict[str, Any] = {}
    inner: list[tuple[str, Mapping[str, Any], int]] = []

    def take(prefix: str, values: Mapping[str, Any], depth: int) -> None:
        for key, nested in values.items():
            name = f"{prefix}{key}"
            value = _json(nested) if isinstance(nested, str) and nested.startswith("{") else nested
            if isinstance(value, Mapping) and depth < _DEEPEST:
                inner.append((f"{name}.", value, depth + 1))
            else:
                flat.setdefault(name, nested)

    take("", row, 0)
    while inner:
        take(*inner.pop(0))
    return flat


# From the name of a column to the direction of the metric that it belongs to; None for what is no known metric.
Known: TypeAlias = Callable[[str], Direction | None]

FEWEST_ROWS = 3
# Error rates by their usual names, with or without options in brackets.
_ERROR_RATES = frozenset({"ter", "hter", "wer", "cer"})
_TEXTS = ("text", "output", "prediction")
_REFERENCES = ("references", "reference")


@dataclass(frozen=True)
class Table:
    """Scores and ratings of the same rows.

    ``columns`` are all numeric columns, NaN where a row has none; ``metrics`` and ``humans`` name those that are
    metrics and ratings (means over raters where single ratings are known), ``lower_is_better`` those of which less is
    better. ``ratings`` are, where single raters are known, rows x raters, NaN where a rater did not rate.

    ``items``, ``systems`` and ``domains`` say for each row what it belongs to, who made it and where it comes from.
    ``origins`` are ``file:line`` or ``row N``. ``passed_over`` are numeric columns that nobody named, and so were taken
    neither for metrics nor for ratings.
    """

    columns: Mapping[str, FloatArray]
    metrics: tuple[str, ...]
    humans: tuple[str, ...]
    lower_is_better: frozenset[str] = frozenset()
    ratings: Mapping[str, FloatArray] = field(default_factory=dict)
    items: tuple[str, ...] | None = None
    systems: tuple[str, ...] | None = None
    domains: tuple[str, ...] | None = None
    texts: tuple[str, ...] | None = None
    references: tuple[tuple[str, ...], ...] | None = None
    origins: tuple[str, ...] | None = None
    passed_over: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def good(self, name: str) -> FloatArray:
        """Return a column, turned round where less is better, so that more is better in all of them."""
        return -self.columns[name] if name in self.lower_is_better else self.columns[name]

    def parts(self, metric: str) -> tuple[str, ...]:
        """Return the columns that are parts of a metric: ``metric.part``; parts of these are not."""
        parts = [name for name in self.columns if name.startswith(f"{metric}.")]
        below = tuple(f"{name}." for name in parts)
        return tuple(name for name in parts if not name.startswith(below))

    def name_of(self, row: int) -> str:
        """Return a row as a person would call it: its item and system, else where it came from."""
        labels = [labels[row] for labels in (self.items, self.systems) if labels is not None and labels[row]]
        if labels:
            return " ".join(labels)
        return self.origins[row] if self.origins else f"row {row + 1}"


def make_table(
    rows: Iterable[Mapping[str, Any]],
    *,
    humans: Sequence[str],
    metrics: Sequence[str] | None = None,
    system_field: str | None = None,
    domain_field: str | None = None,
    item_field: str | None = None,
    lower_is_better: Collection[str] | None = None,
    known: Known | None = None,
) -> Table:
    """Make a table out of rows: what ``celadon.io.read_table_rows`` reads, or plain dicts.

    Parameters
    ----------
    rows
        Mappings of column names to values.
    humans
        The rating columns. ``overall`` is also found as ``scores.overall``; single ratings as ``ratings.overall`` (a
        list), as ``overall.1``, ``overall.2`` ..., or as a list in the column itself.
    metrics
        The metric columns; by default those that ``known`` knows, else every numeric column that is nothing else.
    system_field, domain_field, item_field
        Who made the text, where it comes from, what it was made from; else ``system``, ``domain`` and ``id``.
    lower_is_better
        Columns of which less is better, beside those that are known to be so.
    known
        Tells metrics from other columns, and their direction.

    Raises
    ------
    InputError
        A column is not there or holds text, or fewer than three rows can be used; the message says which and where.
    UsageError
        No rating or no metric was named, or one is named as both.
    """
    table = Columns(rows)
    if not humans:
        raise UsageError("no rating was named; name the column of human scores")
    if not len(table):
        raise table.wrong("there are no rows")
    people = {name: human_ratings(table, name) for name in dict.fromkeys(humans)}
    labels = {
        usual: _labels(table, field, usual)
        for usual, field in (("system", system_field), ("domain", domain_field), ("id", item_field))
    }
    taken = {system_field or "system", domain_field or "domain", item_field or "id"}
    chosen = _metrics(table, metrics, list(people), taken, known)
    columns = {name: column for name, (column, _) in people.items()}
    columns.update({name: table.numbers(name, "metric column") for name in chosen})
    _check_rows(table, columns, chosen, list(people))
    others = [name for name in table.names if name not in columns and name not in taken and table.is_numeric(name)]
    columns.update({name: table.numbers(name, "column") for name in others})
    of_others = (SCORES, RATINGS, *(f"{name}." for name in (*chosen, *people)))
    passed_over = () if metrics else tuple(name for name in others if not name.startswith(of_others))
    texts = next((name for name in _TEXTS if name in table), None)
    return Table(
        columns=columns,
        metrics=tuple(chosen),
        humans=tuple(people),
        lower_is_better=_lower(columns, lower_is_better or (), known),
        ratings={name: ratings for name, (_, ratings) in people.items() if ratings is not None},
        items=_own_items(labels["id"], table.origins),
        systems=labels["system"],
        domains=labels["domain"],
        texts=table.texts(texts) if texts else None,
        references=_references(table),
        origins=tuple(table.origins),
        passed_over=passed_over,
    )


def make_ratings(
    rows: Iterable[Mapping[str, Any]], *, humans: Sequence[str] = (), raters: Sequence[str] = ()
) -> dict[str, FloatArray]:
    """Return single ratings for questions about the raters alone: rows x raters, NaN where a rater did not rate.

    Columns in ``raters`` each hold the ratings of one person; together they are the rating ``ratings``, or the one
    human.
    """
    table = Columns(rows)
    if raters:
        if len(raters) < 2:
            raise UsageError("agreement needs at least two raters; name more columns")
        for name in raters:
            if name not in table:
                raise table.missing(name, "rater's column")
        columns = [table.numbers(name, "rater's column") for name in raters]
        return {(humans or ("ratings",))[0]: np.column_stack(columns)}
    people = {name: human_ratings(table, name)[1] for name in dict.fromkeys(humans)}
    for name, ratings in people.items():
        if ratings is None:
            short = name.removeprefix(SCORES)
            raise table.wrong(
                f"there are no single ratings of {name!r}: looked for a list in {RATINGS}{short} or {name}, and for "
                f"{short}.1, {short}.2 ...; else name the columns of the raters"
            )
    return {name: ratings for name, ratings in people.items() if ratings is not None}


def make_humans(rows: Iterable[Mapping[str, Any]], humans: Sequence[str]) -> dict[str, FloatArray]:
    """Return the ratings of every row, by the name of the rating; NaN where there is none."""
    table = Columns(rows)
    return {name: human_ratings(table, name)[0] for name in dict.fromkeys(humans)}


def human_ratings(table: Columns, name: str) -> tuple[FloatArray, FloatArray | None]:
    """Return the rating of each row, and the single ratings where they are known."""
    what = "rating column"
    short = name.removeprefix(SCORES)
    column = next((place for place in (name, f"{SCORES}{name}") if place in table), None)
    single: FloatArray | None = None
    for place in filter(None, (f"{RATINGS}{short}", column)):
        if single is None and place in table:
            single = table.lists(place, what)
    if single is None:
        single = _numbered(table, (short, f"{RATINGS}{short}", name), what)
    if column is not None:
        return table.numbers(column, what), single
    if single is None:
        raise table.missing(name, what)
    return means(single), single


def _numbered(table: Columns, stems: Sequence[str], what: str) -> FloatArray | None:
    """Return single ratings in columns ``overall.1``, ``overall.2`` and so on."""
    for stem in stems:
        numbered = re.compile(re.escape(stem) + r"\.([0-9]{1,6})")
        matches = [match for match in map(numbered.fullmatch, table.names) if match]
        if len(matches) > 1:
            matches.sort(key=lambda match: int(match[1]))
            return np.column_stack([table.numbers(match[0], what) for match in matches])
    return None


def _metrics(
    table: Columns, named: Sequence[str] | None, humans: Sequence[str], taken: Collection[str], known: Known | None
) -> list[str]:
    if named:
        for name in named:
            if name in humans:
                raise UsageError(f"{name!r} is named both as a metric and as a rating; it can be one of them")
            if name not in table:
                raise table.missing(name, "metric column")
        return list(dict.fromkeys(named))
    ours = [*humans, *(f"{SCORES}{name}" for name in humans), *taken]
    numeric = [name for name in table.names if name not in ours and table.is_numeric(name)]
    registered = [name for name in numeric if known is not None and known(name) is not None]
    if registered:
        return registered
    ratings = (SCORES, RATINGS, *(f"{name}." for name in humans))
    parts = tuple(f"{name}." for name in numeric)
    left = [name for name in numeric if not name.startswith(ratings) and not name.startswith(parts)]
    if not left:
        raise table.wrong(
            f"there is no metric: no numeric column besides the ratings ({', '.join(humans)}); "
            "score the texts first with: celadon score FILE --output SCORED"
        )
    return left


def _labels(table: Columns, name: str | None, usual: str) -> tuple[str, ...] | None:
    if name is not None:
        place = next((place for place in (name, f"{SCORES}{name}") if place in table), None)
        if place is None:
            raise table.missing(name, f"{'item' if usual == 'id' else usual} column")
        return table.texts(place)
    if usual not in table:
        return None
    labels = table.texts(usual)
    return labels if any(labels) else None


def _own_items(items: tuple[str, ...] | None, origins: Sequence[str]) -> tuple[str, ...] | None:
    """A row without an item is one of its own, and not one with all others that have none."""
    return items and tuple(item or origin for item, origin in zip(items, origins, strict=True))


def _check_rows(
    table: Columns, columns: Mapping[str, FloatArray], metrics: Sequence[str], humans: Sequence[str]
) -> None:
    for human in humans:
        rated = np.isfinite(columns[human])
        most = max(int((rated & np.isfinite(columns[metric])).sum()) for metric in metrics)
        if most < FEWEST_ROWS:
            raise table.wrong(
                f"{most or 'no'} row{'s' if most != 1 else ''} of {len(table)} {'has' if most == 1 else 'have'} both "
                f"the rating {human!r} and a metric; at least {FEWEST_ROWS} are needed"
            )


def _lower(columns: Mapping[str, FloatArray], named: Collection[str], known: Known | None) -> frozenset[str]:
    unknown = [name for name in named if name not in columns]
    if unknown:
        raise UsageError(f"lower is better: there is no column {unknown[0]!r} among the metrics and ratings")

    return frozenset(named) | {name for name in columns if less_is_better(name, known)}


def less_is_better(name: str, known: Known | None = None) -> bool:
    """Return whether a column is known to be the better the less it is."""
    direction = known(name) if known is not None else None
    if direction is not None:
        return direction is Direction.LOWER
    return name.removeprefix(SCORES).partition("[")[0] in _ERROR_RATES and "]." not in name


def _references(table: Columns) -> tuple[tuple[str, ...], ...] | None:
    name = next((name for name in _REFERENCES if name in table), None)
    if name is None:
        return None
    references: list[tuple[str, ...]] = []
    for value in table.values(name):
        listed = as_list(value)
        references.append(tuple(map(str, listed)) if listed is not None else () if value is None else (str(value),))
    return tuple(references)
