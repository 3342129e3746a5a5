"""Which column of a row is what.

The names are resolved once per set of keys, not once per row: a file of a million rows has a handful of key sets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from celadon.io.written_in import language_named, markup_named

TEXT_NAMES = ("text", "output", "prediction")
REFERENCES_NAMES = ("references", "reference")
NUMBERED_REFERENCES = "ref"

_ABSENT = object()
_KINDS = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
_SHOWN_COLUMNS = 20
# Rows with random keys would otherwise make the cache as large as the file.
_CACHED_PLANS = 1024


class RowError(Exception):
    """What is wrong with one row; the reader adds where."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of the columns; None means that the usual names are tried.

    A name with dots, such as ``scores.overall``, is first looked up as it is, then as a path through nested objects
    and, with integers, lists.
    """

    text: str | None = None  # the generated text; else ``text``, ``output`` or ``prediction``
    # a string or a list of them, or the common beginning of numbered columns; else ``references``, ``reference`` or
    # ``ref0``, ``ref1`` ...
    references: str | None = None
    source: str | None = None  # what the text was made from; else ``source``
    system: str | None = None  # who made the text; else ``system``
    id: str | None = None  # the item's name; else ``id``
    # markup, language: what the text is written in; never looked for under a usual name, as they change scores
    markup: str | None = None
    language: str | None = None
    default_markup: str = "auto"  # no name: the markup of all texts whose row says none


class Place(NamedTuple):
    """Where a field's value is in a row."""

    name: str
    path: tuple[str, ...]
    named: bool

    def get(self, row: Mapping[str, Any]) -> Any:
        """The value; ``_ABSENT`` when the path leads nowhere."""
        if not self.path:
            return row[self.name]
        value: Any = row
        for step in self.path:
            if isinstance(value, Mapping):
                value = value.get(step, _ABSENT)
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                return _ABSENT
        return value


# The fields of one row in the order of ``Sample``: text, references, source, id, system. A plain tuple, because one is
# made for every row.
Values = tuple[str, tuple[str, ...], str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the fields are in all rows that have the same keys."""

    text: Place | None
    references: tuple[Place, ...]
    numbered: bool
    source: Place | None
    id: Place | None
    system: Place | None
    markup: Place | None
    language: Place | None
    default_markup: str
    no_text: str
    cells: bool

    def read(self, row: Mapping[str, Any]) -> Values:
        """The fields' values; raises RowError where they are not what they should be."""
        if self.text is None:
            raise RowError(self.no_text)
        name, path, _ = self.text
        text = self.text.get(row) if path else row[name]
        if type(text) is not str:
            raise RowError(self.no_text if text is _ABSENT else _not_a_string(name, text))
        if not self.references:
            references: tuple[str, ...] = ()
        elif self.numbered:
            references = _numbered(self.references, row)
        else:
            references = _references(self.references[0], row, self.cells)
        return (
            text,
            references,
            None if self.source is None else self._label(self.source, row, True),
            None if self.id is None else self._label(self.id, row, False),
            None if self.system is None else self._label(self.system, row, False),
        )

    def written_in(self, row: Mapping[str, Any]) -> tuple[str, str]:
        """The markup and the language of the text; raises RowError where they are not known."""
        return (
            self.default_markup if self.markup is None else self._markup(self.markup, row),
            "" if self.language is None else self._language(self.language, row),
        )

    def _markup(self, place: Place, row: Mapping[str, Any]) -> str:
        try:
            return markup_named((self._label(place, row, True) or "").strip() or self.default_markup)
        except ValueError as error:
            raise RowError(f"{place.name}: {error}") from None

    def _language(self, place: Place, row: Mapping[str, Any]) -> str:
        try:
            return language_named(self._label(place, row, True) or "")
        except ValueError as error:
            raise RowError(f"{place.name}: {error}") from None

    def _label(self, place: Place, row: Mapping[str, Any], strict: bool) -> str | None:
        name, path, named = place
        value = place.get(row) if path else row[name]
        if type(value) is str:
            # CSV cannot tell null from an empty cell, and rows without an id must not look like one item.
            return value if value or not self.cells else None
        if value is None or value is _ABSENT:
            return None
        if not strict and not isinstance(value, (list, Mapping)):
            return str(value)
        # A column that merely happens to be called `source` or `id` must not spoil the row.
        if not named:
            return None
        raise RowError(_not_a_string(name, value))

    def resolved(self) -> Fields:
        """The names in use; None for what these rows do not have."""
        return Fields(
            text=self.text and self.text.name,
            references=", ".join(place.name for place in self.references) or None,
            source=self.source and self.source.name,
            system=self.system and self.system.name,
            id=self.id and self.id.name,
            markup=self.markup and self.markup.name,
            language=self.language and self.language.name,
        )


class Resolver:
    """Makes plans for sets of keys and remembers them."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._plans: dict[tuple[tuple[str, ...], bool], Plan] = {}

    def plan(self, keys: tuple[str, ...], *, cells: bool) -> Plan:
        """The plan for rows with these keys; ``cells`` when all values are strings, as in CSV."""
        plan = self._plans.get((keys, cells))
        if plan is None:
            if len(self._plans) >= _CACHED_PLANS:
                self._plans.clear()
            plan = self._plans[keys, cells] = self._make(keys, cells)
        return plan

    def missing(self, plan: Plan, keys: Iterable[str]) -> str | None:
        """What a header lacks, as a message; None when it has every column asked for."""
        if plan.text is None:
            return plan.no_text
        named = {
            name: getattr(self._fields, name) for name in ("references", "source", "system", "id", "markup", "language")
        }
        for field, name in named.items():
            if name is not None and not getattr(plan, field):
                return f"no {field}: looked for {name}; there are {_listed(keys)}"
        return None

    def _make(self, keys: tuple[str, ...], cells: bool) -> Plan:
        fields = self._fields
        present = frozenset(keys)
        references, numbered = _find_references(present, fields.references)
        looked_for = fields.text if fields.text is not None else ", ".join(TEXT_NAMES)
        return Plan(
            text=_find(present, fields.text, TEXT_NAMES),
            references=references,
            numbered=numbered,
            source=_find(present, fields.source, ("source",)),
            id=_find(present, fields.id, ("id",)),
            system=_find(present, fields.system, ("system",)),
            markup=_find(present, fields.markup, ()),
            language=_find(present, fields.language, ()),
            default_markup=fields.default_markup,
            no_text=f"no text: looked for {looked_for}; there are {_listed(keys)}",
            cells=cells,
        )


def _find(present: frozenset[str], chosen: str | None, names: tuple[str, ...]) -> Place | None:
    if chosen is None:
        return next((Place(name, (), named=False) for name in names if name in present), None)
    if chosen in present:
        return Place(chosen, (), named=True)
    path = tuple(chosen.split("."))
    return Place(chosen, path, named=True) if len(path) > 1 and path[0] in present else None


def _find_references(present: frozenset[str], chosen: str | None) -> tuple[tuple[Place, ...], bool]:
    for name in REFERENCES_NAMES if chosen is None else (chosen,):
        if name in present:
            return (Place(name, (), named=chosen is not None),), False
    stem = NUMBERED_REFERENCES if chosen is None else chosen
    numbered = re.compile(re.escape(stem) + r"([0-9]{1,9})")
    matches = [match for match in map(numbered.fullmatch, present) if match]
    if matches:
        matches.sort(key=lambda match: (int(match[1]), match[0]))
        return tuple(Place(match[0], (), named=chosen is not None) for match in matches), True
    place = None if chosen is None else _find(present, chosen, ())
    return ((place,) if place else ()), False


def _references(place: Place, row: Mapping[str, Any], cells: bool) -> tuple[str, ...]:
    name, path, _ = place
    value = place.get(row) if path else row[name]
    if type(value) is str:
        listed = _json_list(value) if cells and value.startswith("[") else None
        return (value,) if listed is None else listed
    if value is None or value is _ABSENT:
        return ()
    if not isinstance(value, list):
        raise RowError(f"{name} is {_kind(value)}, neither a string nor a list of strings")
    for item in value:
        if type(item) is not str:
            raise RowError(f"{name}: item {value.index(item) + 1} is {_kind(item)}, not a string")
    return tuple(value)


def _json_list(cell: str) -> tuple[str, ...] | None:
    """The strings of a cell that holds a JSON list of strings; None for any other text that begins with a bracket."""
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _numbered(places: tuple[Place, ...], row: Mapping[str, Any]) -> tuple[str, ...]:
    texts = []
    empty = False
    for place in places:
        value = place.get(row)
        if value is None:
            continue
        if type(value) is not str:
            raise RowError(_not_a_string(place.name, value))
        if value:
            texts.append(value)
        else:
            empty = True
    # With nothing but empty cells the row has a reference, an empty one, and a metric must be able to say so.
    return tuple(texts) or (("",) if empty else ())


def _kind(value: Any) -> str:
    return _KINDS.get(type(value)) or f"a value of type {type(value).__name__}"


def _not_a_string(name: str, value: Any) -> str:
    return f"{name} is null" if value is None else f"{name} is {_kind(value)}, not a string"


def _listed(keys: Iterable[str]) -> str:
    names = list(keys)
    if not names:
        return "no fields"
    listed = ", ".join(names[:_SHOWN_COLUMNS])
    return listed if len(names) <= _SHOWN_COLUMNS else f"{listed} and {len(names) - _SHOWN_COLUMNS} more"
