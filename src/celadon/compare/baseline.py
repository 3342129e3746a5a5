"""Whether texts got worse since a baseline: their means, and the texts that fell most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from celadon.compare.columns import Column, column_of, first_row, metrics_among, rows_in
from celadon.compare.pairing import Largest, Pairing, PairStore, Row
from celadon.core import FloatArray, MetricScores, Sample, UsageError, is_set_relative
from celadon.io import Chunk, TableRow, read_table_rows
from celadon.io.sources import STDIN
from celadon.metrics.tree_accuracy import check_use_of_trees
from celadon.runs.local import Job
from celadon.runs.local import run as run_job
from celadon.scoring.scorer import Progress, Scorer, ignore

EXCUSED = np.inf
"""Stands for the value of a text that has none and may have none."""


@dataclass(frozen=True)
class Baseline:
    """Scores of before, and how much worse the mean may be now."""

    path: str  # a file of texts, or of scores that ``celadon score --output`` wrote
    tolerance: float  # how much worse, in the metric's own units

    @classmethod
    def read(cls, text: str) -> Baseline:
        """Read ``FILE:TOLERANCE``."""
        path, colon, number = text.rpartition(":")
        try:
            tolerance = float(number)
        except ValueError:
            tolerance = -1.0
        if not (colon and path and 0 <= tolerance < np.inf):
            raise UsageError(f"{text!r} is not FILE:TOLERANCE, as in baseline.jsonl:0.02")
        if path == STDIN:
            raise UsageError("the baseline cannot come from the standard input; give a file")
        return cls(path, tolerance)


class Fallen(NamedTuple):
    """A text that got worse: its row of before and of now, and the two values."""

    before: Row
    now: Row
    old: float
    new: float


class Regression(NamedTuple):
    """How one column compares with the baseline."""

    column: str
    # old, new: the means over the pairs that have both values; NaN where there are none
    old: float
    new: float
    worse_by: float  # how much worse the mean is; negative where it is better
    tolerance: float  # how much it may be
    pairs: int  # how many pairs have both values
    lost: int  # how many texts had a value and have none now, though they should
    fallen: tuple[Fallen, ...]  # the texts that fell most, worst first

    @property
    def passed(self) -> bool:
        """Whether the mean is there and not too much worse, and no value was lost."""
        return self.worse_by <= self.tolerance and not self.lost

    def describe(self) -> str:
        """Return the result in one line."""
        if not self.pairs:
            return f"{self.column}: no pair of rows has both values"
        change = f"worse by {self.worse_by:.4g}" if self.worse_by > 0 else f"better by {-self.worse_by:.4g}"
        same = "the same" if self.worse_by == 0 else change
        lost = f"; {self.lost:,} texts had a value and have none now" if self.lost else ""
        return (
            f"{self.column}: mean {self.old:.4g} before, {self.new:.4g} now: {same}, "
            f"at most {self.tolerance:g} allowed ({self.pairs:,} pairs){lost}"
        )


def columns_to_compare(baseline: Baseline, columns: Sequence[Column], job: Job) -> tuple[Column, ...]:
    """What is compared: the columns with limits, else the metrics of the baseline's columns, else the defaults."""
    chosen = tuple(columns)
    if not chosen:
        row = first_row(baseline.path)
        named = list(metrics_among(row)) if row is not None else []
        chosen = tuple(map(column_of, named or _defaults(baseline, job)))
    if job.standardize_on is None:
        for column in chosen:
            if is_set_relative(column.metric):
                raise UsageError(
                    f"{column.name} says how a text stands in its own set, so two sets cannot be compared by it; "
                    "--standardize-on gives both the same constants"
                )
    return chosen


def _defaults(baseline: Baseline, job: Job) -> Sequence[str]:
    reader = replace(job, inputs=[baseline.path], format=None).reader(ignore)
    chunk = next(iter(reader), None)
    scorer = Scorer()
    scorer.choose(chunk.samples if chunk else [Sample("")])
    return [metric.spec for metric in scorer.metrics]


def load_baseline(
    store: PairStore,
    baseline: Baseline,
    columns: Sequence[Column],
    job: Job,
    progress: Progress,
    read: Callable[[int], None],
) -> None:
    """Put the baseline's rows into the store as side ``a``; columns that the file has not are scored now."""
    row = first_row(baseline.path)
    missing = [column for column in columns if row is None or column.name not in row]
    if not missing:
        for rows in rows_in(read_table_rows(baseline.path), job.fields, columns):
            store.add("a", rows)
            read(len(rows))
        return

    def take(chunk: Chunk, scores: Mapping[str, MetricScores]) -> None:
        own_rows = [TableRow(dict(sample.extra), "", sample.origin) for sample in chunk.samples]
        values = [
            column.values(scores) if column in missing else np.array([each.number(column.name) for each in own_rows])
            for column in columns
        ]
        store.add("a", rows_of(chunk, np.stack(values, axis=1)))

    specs = list(dict.fromkeys(column.metric.spec for column in missing))
    relative = any(is_set_relative(column.metric) for column in missing)
    run_job(
        replace(
            job,
            inputs=[baseline.path],
            format=None,
            metrics=specs,
            standardize_on=job.standardize_on if relative else None,
            trees=job.trees if _rest_on_trees(missing) else None,
            watch=take,
        ),
        progress,
    )


def _rest_on_trees(columns: Sequence[Column]) -> bool:
    try:
        check_use_of_trees([column.metric for column in columns])
    except UsageError:
        return False
    return True


def rows_of(chunk: Chunk, values: FloatArray) -> list[Row]:
    """The rows of a chunk with their values, rows x columns."""
    return [
        Row(sample.id, sample.system, sample.origin, sample.text, row)
        for sample, row in zip(chunk.samples, values, strict=True)
    ]


def regressions(
    store: PairStore, columns: Sequence[Column], lower_is_better: Sequence[bool], tolerance: float, most_listed: int
) -> tuple[Pairing, tuple[Regression, ...]]:
    """Compare side ``b`` with the baseline, column by column.

    ``store``: with the rows of both sides.
    ``columns``, ``lower_is_better``: what is compared, and which way is worse.
    ``tolerance``: how much worse a mean may be.
    ``most_listed``: how many of the texts that fell most are named.
    """
    pairing = store.pair()
    size = len(columns)
    sums = np.zeros((2, size))
    counts, lost = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    worst = [Largest(most_listed) for _ in columns]
    sign = np.where(lower_is_better, -1.0, 1.0)
    for chunk in store.chunks():
        both = np.isfinite(chunk.first) & np.isfinite(chunk.second)
        counts += both.sum(axis=0)
        lost += (np.isfinite(chunk.first) & np.isnan(chunk.second)).sum(axis=0)
        sums += [np.where(both, side, 0.0).sum(axis=0) for side in (chunk.first, chunk.second)]
        falls = np.where(both, (chunk.first - chunk.second) * sign, 0.0)
        for largest, column_falls in zip(worst, falls.T, strict=True):
            largest.add(chunk.numbers, column_falls)
    with np.errstate(invalid="ignore"):
        old, new_means = sums / counts
    return pairing, tuple(
        Regression(
            column.name,
            float(old[at]),
            float(new_means[at]),
            float((old[at] - new_means[at]) * sign[at]),
            tolerance,
            int(counts[at]),
            int(lost[at]),
            tuple(_fallen(store, pair, at) for pair, _ in worst[at]),
        )
        for at, column in enumerate(columns)
    )


def _fallen(store: PairStore, pair: int, at: int) -> Fallen:
    before, now = store.rows(pair)
    return Fallen(before, now, float(before.values[at]), float(now.values[at]))
