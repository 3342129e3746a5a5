"""Two sets of scores of the same items, side by side: which reads better, and the texts that changed most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from celadon.core import Direction, MetricInfo
from celadon.meta.paired_differences import PairedResult

LEVEL = 0.05
"""The chance of even one false finding among all metrics."""


class ComparedMetric(NamedTuple):
    """One metric, or a part of one, of both sides.

    Attributes
    ----------
    name
        Its column.
    info
        Of the metric.
    lower_is_better
        Which end is the better one.
    result
        What the pairs tell.
    adjusted
        The p-value after Holm's correction for the number of metrics.
    """

    name: str
    info: MetricInfo
    lower_is_better: bool
    result: PairedResult
    adjusted: float

    @property
    def better(self) -> str:
        """``A`` or ``B`` where one is shown to be better, else nothing."""
        result = self.result
        if not (self.adjusted < LEVEL and (result.low > 0 or result.high < 0)):
            return ""
        return "B" if (result.difference > 0) is not self.lower_is_better else "A"

    @property
    def wins(self) -> int:
        """In how many pairs B is the better one."""
        return self.result.lower if self.lower_is_better else self.result.higher

    @property
    def losses(self) -> int:
        """In how many pairs A is the better one."""
        return self.result.higher if self.lower_is_better else self.result.lower

    @property
    def verdict(self) -> str:
        """The finding in one line."""
        result = self.result
        if not result.pairs:
            return f"{self.name}: no pair has both values"
        low, high = (_signed(value, result) for value in (result.low, result.high))
        told = f"{self.name} {_signed(result.difference, result)} ({low} .. {high})"
        if not self.better:
            return f"no difference can be told: {told}"
        verb = "scores" if self.info.needs else "reads"
        return f"{self.better} {verb} better than {'A' if self.better == 'B' else 'B'}: {told}"


def _signed(value: float, result: PairedResult) -> str:
    size = max(abs(result.mean_a), abs(result.mean_b))
    return f"{value:+.{2 if size > 10 else 3}f}" if math.isfinite(value) else "-"


class TextOf(NamedTuple):
    """One side of a pair: who it is, where it stands, its text if there is one, and its value."""

    id: str | None
    system: str | None
    where: str
    text: str | None
    value: float


class ChangedText(NamedTuple):
    """A pair whose value changed much; ``gain`` is positive where B is better."""

    first: TextOf
    second: TextOf
    gain: float


@dataclass(frozen=True)
class Comparison:
    """What two sets of scores tell of each other.

    Attributes
    ----------
    names
        What A and B are.
    rows
        How many rows each has.
    pairs, paired_by, alone
        How many pairs there are, by what they were found, and how many rows of each side have no partner.
    metrics
        All that both have, the one that decides first.
    better, worse
        The texts that gained and those that lost most from A to B under the first metric.
    signatures
        For each metric how its scores were made, where a side tells.
    notes
        What a reader should know.
    seed, resamples
        Of the intervals and tests.
    """

    names: tuple[str, str]
    rows: tuple[int, int]
    pairs: int
    paired_by: str
    alone: tuple[int, int]
    metrics: tuple[ComparedMetric, ...]
    better: tuple[ChangedText, ...]
    worse: tuple[ChangedText, ...]
    signatures: tuple[Mapping[str, str] | None, Mapping[str, str] | None]
    notes: tuple[str, ...]
    seed: int
    resamples: int

    @property
    def verdict(self) -> str:
        """The finding of the first metric."""
        return self.metrics[0].verdict


def in_order(metrics: Sequence[str]) -> list[str]:
    """Put first what tells of the reading as a whole; the others stay in their order."""
    return sorted(metrics, key=lambda name: name.partition("[")[0] != "celadon")


def is_lower_better(info: MetricInfo) -> bool:
    """Whether the lower end is the better one."""
    return info.direction is Direction.LOWER
