"""Limits that every text must keep: ``gruen=0.6``, ``slor[model=smollm2]=1.2``, ``rougeL.precision=0.3``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from celadon.core import Direction, FloatArray, Metric, MetricScores, UsageError
from celadon.metrics.registry import load, named_part


class Column(NamedTuple):
    """A metric, or a part of one, under the name of its column.

    Attributes
    ----------
    name
        ``metric`` or ``metric.part``, as ``celadon score --output`` calls it.
    metric
        The metric.
    part
        The part; None for the metric itself.
    """

    name: str
    metric: Metric
    part: str | None

    def values(self, scores: Mapping[str, MetricScores]) -> FloatArray:
        """One number per text; NaN where there is none."""
        made = scores[self.metric.spec]
        return made.values if self.part is None else made.parts[self.part]

    def reason(self, scores: Mapping[str, MetricScores], row: int) -> str:
        """Why a text has no value."""
        why = scores[self.metric.spec].reasons.get(row)
        return why or f"this text has no {self.part or self.metric.spec}"


class Limit(NamedTuple):
    """A bound of a column; a text without a value does not keep it.

    Attributes
    ----------
    column
        What is bounded.
    bound
        The number.
    is_least
        Whether values may not be lower; otherwise they may not be higher.
    """

    column: Column
    bound: float
    is_least: bool

    def kept_by(self, value: float) -> bool:
        """Whether a value is within the limit; NaN never is."""
        return value >= self.bound if self.is_least else value <= self.bound

    def __str__(self) -> str:
        return f"{self.column.name} {'at least' if self.is_least else 'at most'} {self.bound:g}"


def column_of(name: str) -> Column:
    """Find a metric or a part by name.

    Raises
    ------
    UsageError
        There is no such metric, or it has no such part.
    """
    found = named_part(name.strip())
    if found is None:
        raise UsageError(f"{name!r} is neither a metric nor a part of one, as in gruen or rougeL.precision")
    metric = load(found.spec)
    if found.part is None:
        return Column(metric.spec, metric, None)
    if found.part not in metric.info.parts:
        close = get_close_matches(found.part, metric.info.parts, n=1, cutoff=0.5)
        hint = f"; did you mean {metric.spec}.{close[0]}?" if close else ""
        known = ", ".join(metric.info.parts) or "none"
        raise UsageError(f"{metric.spec} has no part {found.part!r}{hint} (its parts: {known})")
    return Column(f"{metric.spec}.{found.part}", metric, found.part)


def limits_of(least: Sequence[str], most: Sequence[str]) -> tuple[Limit, ...]:
    """Read limits, each as ``NAME=NUMBER``, each column loaded once.

    Parameters
    ----------
    least, most
        What values may not be lower, and what they may not be higher than.
    """
    given = [(text, True) for text in least] + [(text, False) for text in most]
    columns: dict[str, Column] = {}
    limits = []
    for text, is_least in given:
        name, equals, number = text.rpartition("=")
        bound = _number(number) if equals and not number.rstrip().endswith("]") else None
        if bound is None:
            raise UsageError(f"{text!r} is not a limit; write NAME=NUMBER, as in gruen=0.6")
        column = columns.setdefault(name, column_of(name))
        limits.append(Limit(column, bound, is_least))
    return tuple(dict.fromkeys(limits))


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
