"""Which metrics score, which rows they can score, and which columns come of it: the same in every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from celadon.core import Metric
from celadon.io import Chunk, Fields, Reader, Spill
from celadon.io.tree_file import TreeFile
from celadon.metrics.registry import DEFAULTS_WITH_REFERENCES, DEFAULTS_WITHOUT_REFERENCES, load_all
from celadon.metrics.tree_accuracy import check_use_of_trees, told_of_trees
from celadon.runs.faults import Faults
from celadon.scoring.fitting import fitted_on_file, missing

Progress: TypeAlias = Callable[[Reader | Spill, int], None]
"""Told after each batch what is gone through, the input or the rows that wait, and how many of its rows are done."""


class Asked(Protocol):
    """What must be known to make the metrics."""

    @property
    def metrics(self) -> Sequence[str | Metric]: ...
    @property
    def standardize_on(self) -> str | None: ...
    @property
    def fields(self) -> Fields: ...
    @property
    def batch_rows(self) -> int: ...
    @property
    def max_text_chars(self) -> int: ...


def no_progress(read: Reader | Spill, rows: int) -> None:
    """Tell nobody."""


def chosen_metrics(asked: Asked, trees: TreeFile | None, progress: Progress = no_progress) -> tuple[Metric, ...] | None:
    """Return the metrics asked for by name, fitted where a file is given for it; None where none is named."""
    chosen = load_all(asked.metrics) if asked.metrics else None
    if trees is not None:
        check_use_of_trees(chosen or ())
        chosen = told_of_trees(chosen or (), trees.digest)
    if asked.standardize_on is None:
        return chosen
    return fitted_on_file(
        chosen or (),
        asked.standardize_on,
        asked.fields,
        batch_rows=asked.batch_rows,
        max_text_chars=asked.max_text_chars,
        progress=progress,
    )


def default_metrics(chunk: Chunk) -> tuple[Metric, ...]:
    """Return the metrics used when none is named: those that can say something of these rows."""
    referenced = any(sample.references for sample in chunk.samples)
    return load_all(DEFAULTS_WITH_REFERENCES if referenced else DEFAULTS_WITHOUT_REFERENCES)


def usable_rows(chunk: Chunk, named: Sequence[Metric] | None, faults: Faults) -> Chunk:
    """Set aside the rows that lack what a metric asked for by name needs."""
    if named is None:
        return chunk
    lacking = missing(chunk.samples, named)
    for row, message in lacking.items():
        faults.add(chunk.bad(row, message))
    return chunk.without(lacking)


def with_trees(chunk: Chunk, trees: TreeFile | None) -> Chunk:
    """Return the rows with the trees of their references."""
    if trees is None:
        return chunk
    return replace(chunk, samples=tuple(map(trees.given_to, chunk.samples)))


def score_columns(metrics: Sequence[Metric]) -> list[str]:
    """Return the columns of the scores, then those of their parts."""
    parts = [f"{metric.spec}.{part}" for metric in metrics for part in metric.info.parts]
    # a part of one metric may be a metric of its own, and both asked for
    return list(dict.fromkeys([*(metric.spec for metric in metrics), *parts]))
