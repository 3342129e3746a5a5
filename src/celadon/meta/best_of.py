"""The best of a family of metrics: the papers' "BLEU-best", "ROUGE-best" and "WMD-best".

For each rating the one member whose correlation is the strongest stands for the family. To choose it by the same
ratings that it is then judged by flatters it: of several members that know nothing, one looks good by chance. So there
is a second figure: the items are dealt into two halves, a member is chosen on each and judged on the other, and the
mean of both is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from celadon.core import IntArray, UsageError
from celadon.meta.correlation import Correlation, Kind, Level, codes, correlate
from celadon.meta.table import Table

FLATTERS = (
    "a best-of metric was chosen by the ratings that it is correlated with, which flatters it: compare it with others "
    "by the figure across halves, which is of texts that it was not chosen on"
)


class BestRow(NamedTuple):
    """The best member of a family for one rating.

    ``value`` is its correlation on the rows that it was chosen on; ``across`` the mean of the correlations on the half
    of the items that it was not chosen on, and ``chosen`` the members that the two halves chose. NaN where there is no
    value; ``reason`` then says why.
    """

    family: str
    human: str
    level: str
    kind: str
    metric: str
    value: float
    members: int
    across: float
    chosen: tuple[str, ...]
    reason: str


def members_of(wanted: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics that a family is to have; ``rouge*`` stands for all whose names begin so."""
    members: dict[str, None] = {}
    for one in wanted:
        prefix = one.removesuffix("*")
        names = [one] if one in columns else [name for name in columns if prefix != one and name.startswith(prefix)]
        if not names:
            raise UsageError(f"there is no metric {one} in the table; its metrics are {', '.join(columns)}")
        members.update(dict.fromkeys(names))
    return tuple(members)


def best_rows(
    table: Table, families: Mapping[str, Sequence[str]], kind: Kind, levels: Sequence[Level], *, seed: int
) -> tuple[BestRow, ...]:
    """Return the best member of each family for each rating and at each level.

    The strongest is chosen, whether it agrees with people or contradicts them. ``seed`` is of the halves.
    """
    halves = _halves(table, seed)
    return tuple(
        _best(table, name, members, human, level, kind, halves)
        for human in table.humans
        for level in levels
        for name, members in families.items()
    )


def _best(
    table: Table, family: str, members: Sequence[str], human: str, level: Level, kind: Kind, halves: Sequence[IntArray]
) -> BestRow:
    everything = np.arange(table.rows)
    metric, whole = _strongest(table, members, human, level, kind, everything)
    chosen, values = [], []
    for one, other in (halves, halves[::-1]):
        name, correlation = _strongest(table, members, human, level, kind, one)
        if not correlation.reason:
            chosen.append(name)
            values.append(_correlation(table, name, human, level, kind, other).value)
    across = float(np.mean(values)) if len(values) == len(halves) else np.nan
    return BestRow(
        family, human, level, kind, metric, whole.value, len(members), across, tuple(chosen), whole.reason
    )  # fmt: skip


def _strongest(
    table: Table, members: Sequence[str], human: str, level: Level, kind: Kind, rows: IntArray
) -> tuple[str, Correlation]:
    correlations = [(member, _correlation(table, member, human, level, kind, rows)) for member in members]
    # the first of equals, so that the outcome is one
    return max(correlations, key=lambda one: -1.0 if one[1].reason else abs(one[1].value))


def _correlation(table: Table, metric: str, human: str, level: Level, kind: Kind, rows: IntArray) -> Correlation:
    systems, items = (
        None if labels is None else [labels[row] for row in rows.tolist()] for labels in (table.systems, table.items)
    )
    x, y = table.good(metric)[rows], table.good(human)[rows]
    return correlate(x, y, systems=systems, items=items, level=level, kind=kind)


def _halves(table: Table, seed: int) -> tuple[IntArray, IntArray]:
    """The rows of two halves of the items; of the rows where items are not known."""
    item = np.arange(table.rows) if table.items is None else codes(table.items, table.rows)
    count = int(item.max(initial=-1)) + 1
    first = np.zeros(count, dtype=np.bool_)
    first[np.random.default_rng(seed).permutation(count)[: count // 2]] = True
    return np.flatnonzero(first[item]), np.flatnonzero(~first[item])
