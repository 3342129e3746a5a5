"""The results of a study, as plain values for terminals, files and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from celadon.core import FloatArray
from celadon.meta.table import Table


class CorrelationRow(NamedTuple):
    """One metric against one rating.

    ``group`` is empty for all rows, else ``system=NAME``, ``domain=NAME`` or ``reliable``. ``low`` and ``high`` bound a
    95% bootstrap interval. ``error`` is the mean squared error after the best linear fit. NaN where there is no value;
    ``reason`` then says why. ``used`` rows went in, ``nulls`` had no score or no rating.
    """

    metric: str
    human: str
    level: str
    kind: str
    group: str
    value: float
    low: float
    high: float
    pvalue: float
    error: float
    used: int
    nulls: int
    reason: str


class ComparisonRow(NamedTuple):
    """Whether one metric agrees with a rating better than another; ``adjusted`` is p after the correction.

    ``statistic`` is positive where the first metric is the better one. ``used`` rows went in (at the system level,
    systems).
    """

    human: str
    first: str
    second: str
    test: str
    level: str
    kind: str
    first_value: float
    second_value: float
    statistic: float
    pvalue: float
    adjusted: float
    shown: bool
    reason: str
    used: int = 0


class AccuracyRow(NamedTuple):
    """How often a metric orders pairs as people do."""

    metric: str
    human: str
    pairwise: float
    tie_threshold: float
    system_pairwise: float
    soft_pairwise: float
    reason: str


class AgreementRow(NamedTuple):
    """How far the raters of one rating agree, and what a perfect metric could reach."""

    human: str
    raters: float
    items: int
    pairwise_mean: float
    pairwise_low: float
    pairwise_high: float
    pairwise_sd: float
    kappa: float
    alpha_interval: float
    alpha_ordinal: float
    icc_single: float
    icc_mean: float
    ceiling: float
    reason: str


class DisagreementRow(NamedTuple):
    """A row on which metric and people differ most: ranks are from 0 (worst) to 1 (best)."""

    metric: str
    human: str
    row: int
    metric_rank: float
    human_rank: float
    metric_value: float
    human_value: float


class LevelRow(NamedTuple):
    """The distribution of a metric at one level of a rating: quartiles, ends and mean."""

    metric: str
    human: str
    label: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a result
    mean: float
    quartiles: tuple[float, float, float, float, float]


class AblationRow(NamedTuple):
    """A metric with some of its parts left out, and its correlation then.

    ``without`` is empty for all parts, else the part left out, or ``all but PART``. ``combination`` says how the parts
    were put together: ``sum``, ``sum within 0 and 1``, ``mean``, ``weighted sum within 0 and 1``, ``product of
    powers``, or ``best fit`` to the ratings where none of these gives the metric.
    """

    metric: str
    human: str
    without: str
    value: float
    change: float
    combination: str = "sum"


class ReferencesRow(NamedTuple):
    """The correlation of a metric that is given only some of the references."""

    metric: str
    human: str
    references: int
    value: float
    sd: float


@dataclass(frozen=True)
class Study:
    """All results of one table."""

    table: Table
    correlations: tuple[CorrelationRow, ...] = ()
    comparisons: tuple[ComparisonRow, ...] = ()
    accuracies: tuple[AccuracyRow, ...] = ()
    agreements: tuple[AgreementRow, ...] = ()
    disagreements: tuple[DisagreementRow, ...] = ()
    levels: tuple[LevelRow, ...] = ()
    ablations: tuple[AblationRow, ...] = ()
    references: tuple[ReferencesRow, ...] = ()
    notes: tuple[str, ...] = ()
    between_metrics: Mapping[tuple[str, str], float] = field(default_factory=dict)
    seed: int = 0
    resamples: int = 0

    def column(self, name: str) -> FloatArray:
        """One column of the table."""
        return self.table.columns[name]

    def with_notes(self, notes: Sequence[str]) -> Study:
        """The same study with these notes."""
        return replace(self, notes=tuple(notes))
