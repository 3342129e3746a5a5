"""What a reproduced table is made of: blocks of one data set each, with every figure in full precision beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from celadon.core import FloatArray
from celadon.meta.correlation import Kind, correlate
from celadon.meta.significance import fisher_interval
from celadon.reproduce.sets import Rating

NOTHING = "–"
NO_DATA = "no data"


class Figure(NamedTuple):
    """One number of ours and what it rests on; theirs where the paper has one for the same data."""

    table: str
    data: str
    metric: str
    rating: str
    statistic: str
    ours: float
    theirs: float | str | None
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a result
    nulls: int
    low: float = math.nan
    high: float = math.nan
    reason: str = ""


@dataclass(frozen=True)
class Block:
    """One table for people: a title, lines of text before it, a header, rows, and lines after it.

    ``left`` columns hold words, the others numbers.
    """

    title: str
    text: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    left: int = 1


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper: its name for ``--only``, its title, a caption, its blocks and all figures."""

    name: str
    title: str
    caption: str
    blocks: tuple[Block, ...]
    figures: tuple[Figure, ...]


def number(value: float, digits: int = 3) -> str:
    """A number as tables print it; a dash where there is none, and never a minus before zero."""
    if math.isnan(value):
        return NOTHING
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def beside(ours: str, theirs: float | str | None) -> str:
    """Ours, and theirs in brackets where there is one."""
    if theirs is None:
        return ours
    return f"{ours} ({theirs if isinstance(theirs, str) else number(theirs, 2)})"


def correlation_figure(
    table: str,
    data: str,
    metric: str,
    rating: Rating,
    kind: Kind,
    scores: FloatArray,
    human: FloatArray,
    theirs: float | None = None,
) -> Figure:
    """The correlation of a metric with a rating, with a 95% interval by Fisher's z."""
    found = correlate(scores, human, kind=kind)
    low, high = fisher_interval(found.value, found.count, kind=kind)
    return Figure(
        table,
        data,
        metric,
        rating.dimension,
        kind,
        found.value,
        theirs,
        found.count,
        found.nulls,
        low,
        high,
        found.reason,
    )


def not_run_notes(not_run: Mapping[str, str], shown: Iterable[str]) -> tuple[str, ...]:
    """A line for each reason why metrics have no figures."""
    why: dict[str, list[str]] = {}
    for name in dict.fromkeys(shown):
        if name in not_run:
            why.setdefault(not_run[name], []).append(name)
    return tuple(f"Not run: {', '.join(metrics)}: {reason}." for reason, metrics in why.items())


def used(figures: Sequence[Figure]) -> tuple[str, str]:
    """The rows that figures rest on and those without a score: one number, or the ends where they differ."""
    return _ends([figure.count for figure in figures]), _ends([figure.nulls for figure in figures])


def _ends(counts: Sequence[int]) -> str:
    if not counts:
        return NOTHING
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
