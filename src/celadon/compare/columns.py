"""Columns of scores: metrics and parts by name, in tables that anybody wrote, and limits that every text must keep."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from celadon.compare.pairing import Row
from celadon.core import CeladonError, Direction, FloatArray, Metric, MetricScores, NullKind, UsageError
from celadon.io import Fields, TableRow, read_table_rows
from celadon.io.fields import Place, Resolver
from celadon.io.sources import find_sources
from celadon.meta.intervals import Interval
from celadon.metrics.registry import load, named_part, names

_TABLE_ROWS = 2048
PASSING_NULLS = frozenset({NullKind.FRAGMENT, NullKind.DATA})
"""Kinds of texts that pass a gate without a score unless it is told otherwise: there is nothing to judge."""
_NO_KIND = "none"
LANGUAGES = ("english", "any")
"""In which language a text without a score must be."""


class Column(NamedTuple):
    """A metric, or a part of one, under the name of its column."""

    name: str  # ``metric`` or ``metric.part``, as ``celadon score --output`` calls it
    metric: Metric
    part: str | None  # the part; None for the metric itself

    @property
    def range(self) -> Interval:
        """The least and the greatest value; those of a part are not known."""
        if self.part is not None:
            return Interval(-math.inf, math.inf)
        return Interval(self.metric.info.low, self.metric.info.high)

    def values(self, scores: Mapping[str, MetricScores]) -> FloatArray:
        """One number per text; NaN where there is none."""
        result = scores[self.metric.spec]
        return result.values if self.part is None else result.parts[self.part]

    def reason(self, scores: Mapping[str, MetricScores], row: int) -> str:
        """Why a text has no value."""
        why = scores[self.metric.spec].reasons.get(row)
        return why or f"this text has no {self.part or self.metric.spec}"


class Limit(NamedTuple):
    """A bound of a column; a text without a value does not keep it."""

    column: Column
    bound: float
    is_least: bool  # whether values may not be lower; otherwise they may not be higher

    def kept_by(self, value: float) -> bool:
        """Whether a value is within the limit; NaN never is."""
        return value >= self.bound if self.is_least else value <= self.bound

    def __str__(self) -> str:
        return f"{self.column.name} {'at least' if self.is_least else 'at most'} {self.bound:g}"


def column_of(name: str) -> Column:
    """Find a metric or a part by name. Raises UsageError if there is no such metric, or it has no such part."""
    named = named_part(name.strip())
    if named is None:
        raise UsageError(f"{name!r} is neither a metric nor a part of one, as in gruen or rougeL.precision")
    metric = load(named.spec)
    if named.part is None:
        return Column(metric.spec, metric, None)
    if named.part not in metric.info.parts:
        close = get_close_matches(named.part, metric.info.parts, n=1, cutoff=0.5)
        hint = f"; did you mean {metric.spec}.{close[0]}?" if close else ""
        known = ", ".join(metric.info.parts) or "none"
        raise UsageError(f"{metric.spec} has no part {named.part!r}{hint} (its parts: {known})")
    return Column(f"{metric.spec}.{named.part}", metric, named.part)


def limits_of(least: Sequence[str], most: Sequence[str]) -> tuple[Limit, ...]:
    """Read limits, each as ``NAME=NUMBER``, each column loaded once.

    ``least``, ``most``: what values may not be lower, and what they may not be higher than.
    """
    options = [(text, True) for text in least] + [(text, False) for text in most]
    columns: dict[str, Column] = {}
    limits = []
    for text, is_least in options:
        name, equals, number = text.rpartition("=")
        bound = _number(number) if equals and not number.rstrip().endswith("]") else None
        if bound is None:
            raise UsageError(f"{text!r} is not a limit; write NAME=NUMBER, as in gruen=0.6")
        column = columns.setdefault(name, column_of(name))
        limits.append(Limit(column, bound, is_least))
    return tuple(dict.fromkeys(limits))


def nulls_of(kinds: str | Iterable[str] | None, language: str = "english") -> frozenset[NullKind]:
    """Read which kinds of texts may pass without a score.

    ``kinds``: names, also as ``fragment,data``; ``none`` for none of them; None for the usual ones.
    ``language``: ``any`` where texts in other languages may pass as well.
    Raises UsageError if there is no such kind or language.
    """
    if language not in LANGUAGES:
        raise UsageError(f"{language!r} is no language of a gate; write {' or '.join(LANGUAGES)}")
    foreign = {NullKind.LANGUAGE} if language == "any" else set()
    if kinds is None:
        return PASSING_NULLS | foreign
    names = [name.strip().lower() for name in (kinds.split(",") if isinstance(kinds, str) else kinds)]
    if names == [_NO_KIND]:
        return frozenset(foreign)
    for name in names:
        if name not in set(NullKind):
            known = ", ".join(NullKind)
            raise UsageError(f"{name!r} is no kind of text without a score; there are {known}, or {_NO_KIND} alone")
    return frozenset(map(NullKind, names)) | foreign


def passed_line(counts: Mapping[NullKind, int]) -> str:
    """Say how many texts without a score passed, by kind; nothing where none did."""
    total = sum(counts.values())
    listed = ", ".join(f"{counts[kind]:,} {kind}" for kind in NullKind if counts.get(kind))
    return f"{total:,} {'text' if total == 1 else 'texts'} without a score passed: {listed}" if total else ""


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def lower_is_better(column: Column, limits: Sequence[Limit]) -> bool:
    """Which way a column gets worse: the metric tells; of a part, the side on which it is bounded."""
    if column.part is None:
        return column.metric.info.direction is Direction.LOWER
    return all(not limit.is_least for limit in limits if limit.column.name == column.name)


def rows_in(rows: Iterable[TableRow], fields: Fields, columns: Sequence[Column]) -> Iterator[list[Row]]:
    """Read the rows of any table, some at a time; id, system and text need not be there."""
    resolver, rows = Resolver(fields), iter(rows)
    while some := list(islice(rows, _TABLE_ROWS)):
        yield [_row(row, resolver, columns) for row in some]


def _row(row: TableRow, resolver: Resolver, columns: Sequence[Column]) -> Row:
    plan = resolver.plan(tuple(row), cells=False)
    ident, system, text = (_label(place, row) for place in (plan.id, plan.system, plan.text))
    return Row(ident, system, row.origin, text, np.array([row.number(column.name) for column in columns]))


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
    metrics: dict[str, Metric] = {}
    for column in columns:
        part = named_part(column)
        if part is not None and part.part is None and part.spec.partition("[")[0] in known:
            try:
                metrics[column] = load(column)
            except CeladonError:
                # a column that looks like a metric, with an option that this version has not
                continue
    parts = {f"{name}.{part}" for name, metric in metrics.items() for part in metric.info.parts}
    return {name: metric for name, metric in metrics.items() if name not in parts}
