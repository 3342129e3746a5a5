"""From answers to the table that ``celadon meta report`` reads: one row for each item, ratings beside scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, Sample
from celadon.judge.conduct import Collected
from celadon.judge.experiment import Experiment, pair_of
from celadon.judge.items import Item
from celadon.judge.judged import Judged, judged
from celadon.scoring import Scorer
from celadon.scoring.scores import nullable

# what rows of the table have by these names is ours
_OWN = ("id", "item", "system", "cell", "text", "references")
# what else may be a number and is no metric
_NO_METRICS = ("group", "lang", "domain", "context", "source")


class RatedTable(NamedTuple):
    """The rows, the names of the ratings, and the names of the metrics, which may be none."""

    rows: list[dict[str, Any]]
    humans: tuple[str, ...]
    metrics: tuple[str, ...]
    people: int


def rated_table(
    experiment: Experiment, collected: Collected, *, metrics: Sequence[str] = (), without: Collection[str] = ()
) -> RatedTable:
    """Put ratings, made comparable over people, beside the items and their scores.

    ``metrics``: score the items with these as well; else the numeric columns that the items came with are the metrics.
    ``without``: people who are left out.
    Returns a table with ``scores.NAME``, the mean, and ``ratings.NAME``, a list with a place for every person, in each
    row.
    """
    matrices = judged(experiment, collected.trials, without=without)
    if not any(matrix.people for matrix in matrices.values()):
        raise InputError(f"{experiment.folder}: there are no answers yet{' of people without a flag' * bool(without)}")
    by_item = {name: _of_items(experiment, matrix) for name, matrix in matrices.items()}
    scored = _scores(experiment, metrics)
    numeric = _numeric(experiment.items)
    rows = []
    for at, item in enumerate(experiment.items):
        own = {key: value for key, value in item.row.items() if key not in _OWN}
        row: dict[str, Any] = {
            "id": item.cell,
            "system": item.system or item.key,
            "text": item.text,
            "references": list(item.references),
            "item": item.key,
            **own,
            **{name: values[at] for name, values in scored.items()},
        }
        for name, matrix in by_item.items():
            ratings = [None if np.isnan(value) else float(value) for value in matrix[at]]
            known = [value for value in ratings if value is not None]
            row[f"scores.{name}"] = float(np.mean(known)) if known else None
            row[f"ratings.{name}"] = ratings
        rows.append(row)
    people = max(len(matrix.people) for matrix in matrices.values())
    return RatedTable(rows, tuple(by_item), tuple(scored) or numeric, people)


def _of_items(experiment: Experiment, matrix: Judged) -> FloatArray:
    """A row for each item, of pairs the share that the item won; a column for each person."""
    rows = {item.key: at for at, item in enumerate(experiment.items)}
    shape = (len(rows), len(matrix.people))
    total, count = np.zeros(shape), np.zeros(shape)
    for unit, values in zip(matrix.units, matrix.normalised, strict=True):
        sides: Mapping[str, FloatArray] = {unit: values}
        if experiment.config.design == "pairwise":
            first, second = pair_of(unit)
            sides = {first: values, second: 1.0 - values}
        for key, side in sides.items():
            known = np.isfinite(side)
            total[rows[key]] += np.where(known, side, 0.0)
            count[rows[key]] += known
    shares: FloatArray = np.full(shape, np.nan)
    np.divide(total, count, out=shares, where=count > 0)
    return shares


def _scores(experiment: Experiment, metrics: Sequence[str]) -> dict[str, list[float | None]]:
    if not metrics:
        return {}
    samples = [
        Sample(item.text, item.references, item.context or None, item.cell, item.system, origin=f"item {item.key}")
        for item in experiment.items
    ]
    return {spec: nullable(scores.values) for spec, scores in Scorer(metrics).score(samples).columns.items()}


def _numeric(items: Sequence[Item]) -> tuple[str, ...]:
    """The columns that the items came with and that hold numbers."""
    names = dict.fromkeys(name for item in items for name in item.row if name not in (*_OWN, *_NO_METRICS))
    return tuple(name for name in names if all(_is_number(item.row.get(name)) for item in items))


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)
