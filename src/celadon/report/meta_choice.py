"""What of a study is shown where there is not room for all: the main correlations, the best metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from celadon.meta.study import CorrelationRow, Study
from celadon.meta.study.notes import LEVEL_WORDS


def level_name(level: str) -> str:
    """Write the name of a level as people say it."""
    return LEVEL_WORDS.get(level, level.replace("_", " "))


def by_value(row: CorrelationRow) -> tuple[bool, float]:
    """Sort the best first and rows without a value last."""
    return math.isnan(row.value), 0.0 if math.isnan(row.value) else -row.value


def columns_of(rows: Sequence[CorrelationRow]) -> list[tuple[str, str]]:
    """Return the pairs of level and kind there are, single rows' level first."""
    pairs = dict.fromkeys((row.level, row.kind) for row in rows)
    return sorted(pairs, key=lambda pair: pair[0] != "instance")


def main_rows(study: Study, human: str, group: str = "") -> list[CorrelationRow]:
    """Return a rating's correlations at the main level and of the main kind, best first."""
    rows = [row for row in study.correlations if row.human == human and row.group == group]
    if not rows:
        return []
    level, kind = columns_of(rows)[0]
    return sorted((row for row in rows if (row.level, row.kind) == (level, kind)), key=by_value)


def best_metrics(study: Study, human: str, most: int | None = None) -> list[str]:
    """Return the metrics that agree best with a rating; those without a value last, those never correlated not."""
    return [row.metric for row in main_rows(study, human)][:most]


def best_of(study: Study, human: str, metrics: Iterable[str]) -> list[str]:
    """Return these metrics, each once, those that agree best with a rating first."""
    names = dict.fromkeys(metrics)
    return list(dict.fromkeys([metric for metric in best_metrics(study, human) if metric in names] + list(names)))


def ceiling(study: Study, human: str) -> float:
    """Return what a perfect metric could reach, NaN where it is not known."""
    return next((row.ceiling for row in study.agreements if row.human == human), math.nan)


def system_means(study: Study, column: str) -> dict[str, float]:
    """Return each system's mean of a column, turned so that more is better; NaN where it has no value."""
    systems = study.table.systems
    if systems is None:
        return {}
    values = study.column(column)
    sign = -1.0 if column in study.table.lower_is_better else 1.0
    known = np.isfinite(values)
    names, codes = np.unique(np.asarray(systems, dtype=object).astype(str), return_inverse=True)
    counts = np.bincount(codes, known, len(names))
    sums = np.bincount(codes, np.where(known, values, 0.0), len(names))
    return {
        str(name): sign * float(total / count) if count else math.nan
        for name, total, count in zip(names, sums, counts, strict=True)
    }


def against_ratings(study: Study) -> tuple[npt.NDArray[np.float64], list[str], list[str]]:
    """Return the main correlations as metrics by ratings, metrics in the order of their mean, with the names."""
    humans = list(study.table.humans)
    correlations = {(row.metric, human): row.value for human in humans for row in main_rows(study, human)}
    metrics = [metric for metric in study.table.metrics if any((metric, human) in correlations for human in humans)]

    def mean(metric: str) -> float:
        values = [correlations.get((metric, human), math.nan) for human in humans]
        known = [value for value in values if math.isfinite(value)]
        return sum(known) / len(known) if known else -math.inf

    metrics.sort(key=lambda metric: -mean(metric))
    cells = [[correlations.get((metric, human), math.nan) for human in humans] for metric in metrics]
    return np.asarray(cells, float).reshape(len(metrics), len(humans)), metrics, humans


def between_metrics(study: Study) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Return the metrics' correlations with each other, in the order of their agreement with people."""
    metrics = [metric for metric in against_ratings(study)[1] if any(metric in pair for pair in study.between_metrics)]
    matrix = np.full((len(metrics), len(metrics)), math.nan)
    places = {metric: place for place, metric in enumerate(metrics)}
    for (first, second), value in study.between_metrics.items():
        if first in places and second in places:
            matrix[places[first], places[second]] = matrix[places[second], places[first]] = value
    np.fill_diagonal(matrix, 1.0)
    return matrix, metrics
