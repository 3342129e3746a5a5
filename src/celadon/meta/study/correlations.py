"""Correlations of every metric with every rating, over all rows and over groups of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, IntArray, UsageError
from celadon.meta.bootstrap import Unit, bootstrap
from celadon.meta.correlation import (
    FEWEST,
    LEVELS,
    Kind,
    Level,
    codes,
    complete_coefficient,
    correlate,
    mean_squared_error_after_fit,
    reliable_rows,
)
from celadon.meta.study.rows import CorrelationRow
from celadon.meta.table import Table

# With more groups than this the largest are shown.
MOST_GROUPS = 40


class Group(NamedTuple):
    """Some of the rows, under a name: ``system=NAME``, ``domain=NAME``, ``reliable``; empty for all rows."""

    name: str
    rows: IntArray


class _Draw(NamedTuple):
    """What the bootstrap draws, how often, and from which seed."""

    resamples: int
    seed: int
    unit: Unit | None


def allowed_levels(table: Table) -> tuple[Level, ...]:
    """Return the levels at which there is something to correlate."""
    levels: list[Level] = ["instance"]
    if table.systems is not None and len(set(table.systems)) >= FEWEST:
        levels.append("system")
    if table.items is not None and max(Counter(table.items).values(), default=0) >= FEWEST:
        levels.append("within_item")
    return tuple(levels)


def check_level(table: Table, level: str) -> None:
    """Raise UsageError for a level that this table cannot have."""
    if level not in LEVELS:
        raise UsageError(f"unknown level {level!r}; known: {', '.join(LEVELS)}")
    if level == "system":
        systems = sorted(set(table.systems or ()))
        if not systems:
            raise UsageError("the system level needs to know who made each text; name the column with --system-field")
        if len(systems) < 2:
            raise UsageError(
                f"the system level needs at least {FEWEST} systems, and all rows are of one ({systems[0]}); "
                "add rows of other systems or use --level instance"
            )
    if level == "within_item":
        if table.items is None:
            raise UsageError("the within-item level needs to know the item of each text; name it with --item-field")
        if max(Counter(table.items).values()) < 2:
            raise UsageError(
                "the within-item level needs items with several texts, and here each has one; "
                "name the column that they share with --item-field, or use --level instance"
            )


def check_unit(table: Table, unit: Unit | None) -> None:
    """Raise UsageError for a unit of the bootstrap that this table does not know."""
    if unit in ("items", "both") and table.items is None:
        raise UsageError("to draw items the bootstrap needs to know them; name their column with --item-field")
    if unit in ("systems", "both") and table.systems is None:
        raise UsageError("to draw systems the bootstrap needs to know them; name their column with --system-field")


def row_groups(table: Table, human: str, by: Collection[str]) -> Iterator[Group]:
    """Yield the groups to look at one by one: each system, each domain, the rows on which all raters agree."""
    for name, labels in (("system", table.systems), ("domain", table.domains)):
        if name not in by or labels is None or len(set(labels)) < 2:
            continue
        column = np.array(labels, dtype=object)
        for label, _ in Counter(filter(None, labels)).most_common(MOST_GROUPS):
            yield Group(f"{name}={label}", np.flatnonzero(column == label))
    if "reliable" in by and human in table.ratings:
        reliable = np.flatnonzero(reliable_rows(table.ratings[human]))
        if len(reliable) < table.rows:
            yield Group("reliable", reliable)


def correlation_rows(
    table: Table,
    kind: Kind,
    levels: Sequence[Level],
    groups: Collection[str],
    *,
    resamples: int,
    seed: int,
    unit: Unit | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> tuple[CorrelationRow, ...]:
    """Return all correlations: first over all rows, level by level, then group by group at the instance level.

    Without resamples there are no intervals. ``unit`` is what the bootstrap draws; by default items where they are
    known, else rows, and over systems these too. ``tick`` is called with how many of how many are done.
    """
    draw = _Draw(resamples, seed, unit)
    everything = Group("", np.arange(table.rows))
    plan: list[tuple[str, Level, Group]] = [(human, level, everything) for human in table.humans for level in levels]
    plan += [(human, "instance", group) for human in table.humans for group in row_groups(table, human, groups)]
    rows: list[CorrelationRow] = []
    for human, level, group in plan:
        for metric in table.metrics:
            rows.append(_row(table, metric, human, level, kind, group, draw))
            if tick is not None:
                tick(len(rows), len(plan) * len(table.metrics))
    return tuple(rows)


def _row(table: Table, metric: str, human: str, level: Level, kind: Kind, group: Group, draw: _Draw) -> CorrelationRow:
    rows = group.rows
    x, y = table.good(metric)[rows], table.good(human)[rows]
    systems = _cut(table.systems, rows)
    items = _cut(table.items, rows)
    whole = correlate(x, y, systems=systems, items=items, level=level, kind=kind)
    low = high = np.nan
    if not whole.reason and draw.resamples:
        interval = bootstrap(x, y, systems=systems, items=items, level=level, kind=kind, **draw._asdict())
        low, high = interval.low, interval.high
    error = np.nan if level == "within_item" else _error(x, y, systems if level == "system" else None)
    used = len(rows) - whole.nulls
    return CorrelationRow(
        metric, human, level, kind, group.name, whole.value, low, high, whole.pvalue, error, used, whole.nulls,
        whole.reason,
    )  # fmt: skip


def _error(x: FloatArray, y: FloatArray, systems: Sequence[str] | None) -> float:
    """Return the mean squared error after a linear fit, of rows or of the systems' means."""
    if systems is not None:
        both = np.isfinite(x) & np.isfinite(y)
        _, place = np.unique(codes(systems, len(x))[both], return_inverse=True)
        counts = np.bincount(place)
        x, y = np.bincount(place, x[both]) / counts, np.bincount(place, y[both]) / counts
    return mean_squared_error_after_fit(x, y).value


def _cut(labels: Sequence[str] | None, rows: IntArray) -> list[str] | None:
    return None if labels is None else [labels[row] for row in rows.tolist()]


def between_metrics(table: Table, kind: Kind) -> dict[tuple[str, str], float]:
    """Return the correlation of every metric with every other, both ways round, and 1 with itself."""
    columns: dict[str, FloatArray] = {metric: table.good(metric) for metric in table.metrics}
    values: dict[tuple[str, str], float] = {}
    for at, one in enumerate(table.metrics):
        values[one, one] = 1.0
        for other in table.metrics[at + 1 :]:
            value = complete_coefficient(columns[one], columns[other], kind, FEWEST)
            values[one, other] = values[other, one] = value
    return values
