"""Columns out of rows of any kind: nested names, numbers in strings, lists of ratings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from celadon.core import FloatArray, InputError

SCORES = "scores."
RATINGS = "ratings."
_NOTHING = ("", "nan", "na", "n/a", "null", "none", "-")
_WORDS = {**dict.fromkeys(_NOTHING, math.nan), "true": 1.0, "false": 0.0}
_SHOWN = 30
_DEEPEST = 8


class Columns:
    """Rows turned into columns by name.

    An object inside a row becomes columns with its name before theirs (``scores.overall``); a column that already has
    such a name stands first.

    Parameters
    ----------
    rows
        Mappings of names to values; one with an ``origin`` says where it came from.
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
        """All names, in the order in which they turned up."""
        return tuple(self._columns)

    def values(self, name: str) -> list[Any]:
        """The values of a column, None where a row has none."""
        return self._columns[name]

    def texts(self, name: str) -> tuple[str, ...]:
        """A column as labels; empty where a row has none."""
        return tuple("" if value is None else str(value) for value in self.values(name))

    def numbers(self, name: str, what: str) -> FloatArray:
        """A column as numbers, NaN where there is none; the mean where a cell is a list.

        Raises
        ------
        InputError
            A cell holds something else; the message says where.
        """
        found = np.full(len(self), np.nan)
        for row, value in enumerate(self._columns[name]):
            listed = as_list(value)
            if listed is not None:
                known = self._list(listed, row, name, what)
                known = known[np.isfinite(known)]
                found[row] = known.mean() if len(known) else np.nan
            else:
                found[row] = self._number(value, row, name, what)
        return found

    def lists(self, name: str, what: str) -> FloatArray | None:
        """A column of lists as a matrix, rows x places, NaN where a list is shorter; None where no cell is a list."""
        found = {row: as_list(value) for row, value in enumerate(self._columns[name])}
        lists = {row: self._list(value, row, name, what) for row, value in found.items() if value is not None}
        width = max((len(value) for value in lists.values()), default=0)
        if not width:
            return None
        matrix = np.full((len(self), width), np.nan)
        for row, numbers in lists.items():
            matrix[row, : len(numbers)] = numbers
        return matrix

    def is_numeric(self, name: str) -> bool:
        """Whether a column has numbers and nothing else."""
        numbers = 0
        for value in self._columns[name]:
            number = as_number(value)
            if number is None:
                return False
            numbers += math.isfinite(number)
        return numbers > 0

    def missing(self, name: str, what: str) -> InputError:
        """What to say of a column that is not there."""
        close = get_close_matches(name, self.names, n=1, cutoff=0.7)
        hint = f"did you mean {close[0]}? " if close else ""
        shown = ", ".join(self.names[:_SHOWN])
        more = len(self.names) - _SHOWN
        return self.wrong(
            f"there is no {what} {name!r}; {hint}the columns are {shown}{f' and {more} more' if more > 0 else ''}"
        )

    def wrong(self, message: str) -> InputError:
        """A complaint about the table, its file before it."""
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
    """A value as a number: NaN for nothing, None for what is no number."""
    if value is None:
        return math.nan
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower(), value)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def as_list(value: Any) -> list[Any] | None:
    """A list, also one that is written as JSON in a cell; None for anything else."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str) and value.startswith("["):
        found = _json(value)
        return found if isinstance(found, list) else None
    return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """All values by name; objects, also those written as JSON in a cell, opened up."""
    found: dict[str, Any] = {}
    inner: list[tuple[str, Mapping[str, Any], int]] = []

    def take(prefix: str, values: Mapping[str, Any], depth: int) -> None:
        for key, given in values.items():
            name = f"{prefix}{key}"
            value = _json(given) if isinstance(given, str) and given.startswith("{") else given
            if isinstance(value, Mapping) and depth < _DEEPEST:
                inner.append((f"{name}.", value, depth + 1))
            else:
                found.setdefault(name, given)

    take("", row, 0)
    while inner:
        take(*inner.pop(0))
    return found
