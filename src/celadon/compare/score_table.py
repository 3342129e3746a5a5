"""Tables of scores that ``celadon score --output`` wrote, or anybody else: which of their columns are metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from celadon.core import CeladonError, Metric
from celadon.io import Fields, TableRow, read_table_rows
from celadon.io.fields import Place, Resolver
from celadon.io.sources import find_sources
from celadon.metrics.registry import load, named_part, names


class Labels(NamedTuple):
    """Who a row is, and its text."""

    id: str | None
    system: str | None
    text: str | None


class Labeller:
    """Finds the id, the system and the text of rows of any table; none of them need be there.

    Parameters
    ----------
    fields
        Which column is what.
    """

    def __init__(self, fields: Fields) -> None:
        self._resolver = Resolver(fields)

    def labels(self, row: TableRow) -> Labels:
        """Who a row is."""
        plan = self._resolver.plan(tuple(row), cells=False)
        return Labels(_label(plan.id, row), _label(plan.system, row), _label(plan.text, row))


def _label(place: Place | None, row: TableRow) -> str | None:
    value: Any = None if place is None else place.get(row)
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def first_row(path: str) -> TableRow | None:
    """The first row of a table; None where the file is plain text."""
    if all(source.format == "txt" for source in find_sources([path], None)):
        return None
    return next(read_table_rows(path))


def metrics_among(columns: Iterable[str]) -> dict[str, Metric]:
    """The metrics that have a column of their own, in its order; parts of another of them are left out."""
    known = frozenset(names())
    found: dict[str, Metric] = {}
    for column in columns:
        part = named_part(column)
        if part is not None and part.part is None and part.spec.partition("[")[0] in known:
            try:
                found[column] = load(column)
            except CeladonError:
                # a column that looks like a metric, with an option that this version has not
                continue
    parts = {f"{name}.{part}" for name, metric in found.items() for part in metric.info.parts}
    return {name: metric for name, metric in found.items() if name not in parts}
