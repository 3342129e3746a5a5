"""Metrics built up from their aspects, one after the other: the ablation of GRUEN (Zhu and Bhat 2020, Figure 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from celadon.core import CeladonError, FloatArray
from celadon.meta.bootstrap import bootstrap
from celadon.meta.correlation import Kind, correlate
from celadon.meta.study import Study
from celadon.meta.table import Table
from celadon.metrics.gruen.models import WEIGHTS
from celadon.metrics.reading.celadon import Celadon
from celadon.metrics.registry import load

ASPECTS = ("grammaticality", "focus", "redundancy", "coherence")
"""The aspects in the order in which the paper adds them: G, GU, GRU, GRUEN."""
_LETTERS = ("G", "GU", "GRU", "GRUEN")

Combine: TypeAlias = Callable[[Mapping[str, FloatArray]], FloatArray]


class Rung(NamedTuple):
    """The correlation of some aspects of a metric with a rating, over the rows that have all of them.

    ``low`` and ``high`` bound a 95% bootstrap interval; NaN where there is none.
    """

    metric: str
    human: str
    aspects: tuple[str, ...]
    kind: str
    value: float
    low: float
    high: float
    used: int

    @property
    def letters(self) -> str:
        """The aspects as the paper calls them."""
        return _LETTERS[len(self.aspects) - 1]


def ladder(study: Study) -> tuple[Rung, ...]:
    """Correlate grammaticality, then that with each further aspect, with every rating.

    The table has the columns of `gruen` or `celadon` and of their four aspects, as ``celadon score`` writes them:
    ``gruen.grammaticality``, ``gruen[tier=standard].grammaticality``. Rungs come metric by metric, rating by rating.
    """
    return tuple(rung for metric, combine in _combined(study.table) for rung in _rungs(study, metric, combine))


def _combined(table: Table) -> Iterator[tuple[str, Combine]]:
    """The metrics all of whose aspects are there, and how each puts them together."""
    for metric in table.metrics:
        if all(f"{metric}.{aspect}" in table.columns for aspect in ASPECTS):
            combine = _combination(metric)
            if combine is not None:
                yield metric, combine


def _combination(metric: str) -> Combine | None:
    name = metric.partition("[")[0]
    if name == "gruen":
        return _clipped_sum
    if name != "celadon":
        return None
    try:
        combination = load(metric)
    except CeladonError:
        # a file of weights that is not here, or a metric of another version
        return None
    return combination.used_weights().score if isinstance(combination, Celadon) else None


def _clipped_sum(aspects: Mapping[str, FloatArray]) -> FloatArray:
    total = np.sum([getattr(WEIGHTS, name) * values for name, values in aspects.items()], axis=0)
    return np.asarray(np.clip(total, 0.0, 1.0))


def _rungs(study: Study, metric: str, combine: Combine) -> Iterator[Rung]:
    table = study.table
    columns = {aspect: table.columns[f"{metric}.{aspect}"] for aspect in ASPECTS}
    complete = np.isfinite(list(columns.values())).all(axis=0)
    kinds: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
    kind = next((kind for kind in kinds if any(row.kind == kind for row in study.correlations)), kinds[0])
    for human in table.humans:
        people = np.where(complete, table.good(human), np.nan)
        for count in range(1, len(ASPECTS) + 1):
            aspects = ASPECTS[:count]
            values = combine({aspect: columns[aspect] for aspect in aspects})
            whole = correlate(values, people, kind=kind)
            low = high = math.nan
            if study.resamples and not whole.reason:
                drawn = bootstrap(
                    values, people, items=table.items, kind=kind, resamples=study.resamples, seed=study.seed
                )
                low, high = drawn.low, drawn.high
            yield Rung(metric, human, aspects, kind, whole.value, low, high, whole.count)


def by_metric(rungs: Sequence[Rung]) -> dict[str, list[Rung]]:
    """The rungs of each metric."""
    groups: dict[str, list[Rung]] = {}
    for rung in rungs:
        groups.setdefault(rung.metric, []).append(rung)
    return groups
