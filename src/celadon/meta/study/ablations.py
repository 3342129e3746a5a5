"""What each part of a metric is worth: its correlation with people, with parts left out (GRUEN, Figure 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, UsageError
from celadon.meta.correlation import FEWEST, Kind, check_kind, coefficient
from celadon.meta.study.rows import AblationRow
from celadon.meta.table import Table

Combination: TypeAlias = Callable[[FloatArray], FloatArray]


class Ablation(NamedTuple):
    """The correlation of a combination of some parts; ``change`` is against that of all parts."""

    parts: tuple[str, ...]
    left_out: tuple[str, ...]
    correlation: float
    change: float
    rows: int


def clipped_sum(low: float = 0.0, high: float = 1.0) -> Combination:
    """Return the sum of the parts, held between two bounds, as GRUEN combines its four."""

    def combine(parts: FloatArray) -> FloatArray:
        return np.asarray(np.clip(parts.sum(axis=1), low, high))

    return combine


def plain_sum(parts: FloatArray) -> FloatArray:
    """Return the sum of the parts, rows x parts."""
    total: FloatArray = parts.sum(axis=1)
    return total


def ablate(
    parts: Mapping[str, npt.ArrayLike],
    ratings: npt.ArrayLike,
    *,
    combine: Combination = plain_sum,
    subsets: Sequence[Sequence[str]] | None = None,
    correlation: str = "pearson",
) -> tuple[Ablation, ...]:
    """Correlate the combination of all parts with ratings, then with each part left out, then each part alone.

    Rows with a gap anywhere are left out of every figure. ``combine`` goes from a matrix, rows x parts, to one value
    per row. ``subsets`` are the combinations to try in place of the usual, beside the full one. NaN where a combination
    is constant.
    """
    kind = check_kind(correlation)
    names = tuple(parts)
    if len(names) < 2:
        raise UsageError("an ablation needs at least two parts")
    target = np.asarray(ratings, dtype=np.float64)
    columns = [np.asarray(parts[name], dtype=np.float64) for name in names]
    if any(column.shape != target.shape for column in columns) or target.ndim != 1:
        raise InputError("the parts and the ratings must be lists of the same length")
    matrix = np.column_stack(columns)
    complete = np.isfinite(matrix).all(axis=1) & np.isfinite(target)
    matrix, target = matrix[complete], target[complete]
    chosen = [names, *(_usual(names) if subsets is None else map(tuple, subsets))]
    ablations: list[Ablation] = []
    for some in chosen:
        if not some or (unknown := [name for name in some if name not in parts]):
            raise UsageError(f"unknown part {unknown[0]!r}; known: {', '.join(names)}" if some else "an empty subset")
        value = coefficient(combine(matrix[:, [names.index(name) for name in some]]), target, kind)
        change = value - (ablations[0].correlation if ablations else value)
        left = tuple(name for name in names if name not in some)
        ablations.append(Ablation(tuple(some), left, value, change, len(target)))
    return tuple(ablations)


def _usual(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    without = [tuple(name for name in names if name != left) for left in names]
    alone = [(name,) for name in names]
    return list(dict.fromkeys([*without, *alone]))


FIT = "best fit"
_SAME = 1e-6


def _mean(parts: FloatArray) -> FloatArray:
    return np.asarray(parts.mean(axis=1))


_COMBINATIONS: dict[str, Combination] = {"sum": plain_sum, "sum within 0 and 1": clipped_sum(), "mean": _mean}


def ablation_rows(table: Table, kind: Kind) -> tuple[AblationRow, ...]:
    """Leave out each part of every metric that has at least two, in columns ``metric.part``, and take each alone."""
    rows: list[AblationRow] = []
    for metric in table.metrics:
        parts = usable_parts(table, metric)
        if len(parts) >= 2:
            for human in table.humans:
                rows += ablation(table, metric, human, parts, kind)
    return tuple(rows)


def usable_parts(table: Table, metric: str) -> dict[str, FloatArray]:
    """Return the parts of a metric by their own names, without constant ones and those with gaps everywhere."""
    parts: dict[str, FloatArray] = {}
    for name in table.parts(metric):
        column = table.columns[name]
        known = column[np.isfinite(column)]
        if len(known) >= FEWEST and np.ptp(known) > 0:
            parts[name.removeprefix(f"{metric}.")] = column
    return parts


def ablation(
    table: Table, metric: str, human: str, parts: dict[str, FloatArray], kind: Kind
) -> tuple[AblationRow, ...]:
    """Return the correlations of one metric with one rating, parts left out one by one.

    The parts are put together as they make the metric: by their sum, their sum held within 0 and 1, their mean, such a
    sum with weights, or the product of their powers; where none of these gives the metric's own values, by the linear
    combination that fits the ratings best. Fewer than two parts raise UsageError.
    """
    if len(parts) < 2:
        raise UsageError(
            f"an ablation needs at least two parts of {metric}, in columns named {metric}.PART; there are "
            f"{', '.join(parts) or 'none'}"
        )
    people = table.good(human)
    matrix = np.column_stack(list(parts.values()))
    name = _combination(matrix, table.columns[metric]) if metric in table.columns else "sum"
    there = np.isfinite(matrix).all(axis=1) & np.isfinite(people)
    if there.sum() < FEWEST:
        return ()
    turn = -1.0 if metric in table.lower_is_better else 1.0
    weighted = _weighted(parts, table.columns[metric]) if name == FIT else None
    if weighted is not None:
        name, parts = weighted.name, weighted.parts
    if name == FIT:
        combine = _fitted(people[there])
    else:
        chosen = weighted.combine if weighted else _COMBINATIONS[name]

        def combine(some: FloatArray) -> FloatArray:
            return turn * chosen(some)

    return tuple(
        AblationRow(metric, human, _without(one.parts, one.left_out), one.correlation, one.change, name)
        for one in ablate(parts, people, combine=combine, correlation=kind)
    )


def _without(parts: tuple[str, ...], left_out: tuple[str, ...]) -> str:
    if not left_out:
        return ""
    return left_out[0] if len(left_out) == 1 else f"all but {', '.join(parts)}"


def _combination(matrix: FloatArray, metric: FloatArray) -> str:
    """Return the way in which the parts make the metric."""
    there = np.isfinite(matrix).all(axis=1) & np.isfinite(metric)
    if there.any():
        scale = _SAME * max(1.0, float(np.abs(metric[there]).max()))
        for name, combine in _COMBINATIONS.items():
            if np.abs(combine(matrix[there]) - metric[there]).max() <= scale:
                return name
    return FIT


class _Weighted(NamedTuple):
    """A way in which weighted parts make a metric: its name, the parts with their weights, and what adds them up."""

    name: str
    parts: dict[str, FloatArray]
    combine: Combination


def _weighted(parts: dict[str, FloatArray], metric: FloatArray) -> _Weighted | None:
    """Find the weights by which the parts make the metric; None where there are none."""
    known = np.isfinite([*parts.values(), metric]).all(axis=0)
    for name, logs in (("weighted sum within 0 and 1", False), ("product of powers", True)):
        with np.errstate(divide="ignore", invalid="ignore"):
            columns = {part: np.log(values) if logs else values for part, values in parts.items()}
            aim = np.log(metric) if logs else metric
        matrix = np.column_stack(list(columns.values()))
        there = np.isfinite(matrix).all(axis=1) & np.isfinite(aim)
        if (there != known).any():
            continue
        # a sum that was held at a bound does not tell its weights
        free = there if logs else there & (metric > 0) & (metric < 1)
        # fewer rows than this could be met by chance
        if free.sum() < 2 * (len(parts) + 1):
            continue
        # the last is what parts add that are the same everywhere
        design = np.column_stack([matrix[free], np.ones(free.sum())])
        *weights, rest = np.linalg.lstsq(design, aim[free], rcond=None)[0].tolist()
        combine = _totalled(rest, logs=logs)
        if np.abs(combine(matrix[there] * weights) - metric[there]).max() <= _SAME:
            scaled = {part: weight * columns[part] for part, weight in zip(columns, weights, strict=True)}
            return _Weighted(name, scaled, combine)
    return None


def _totalled(rest: float, *, logs: bool) -> Combination:
    def combine(parts: FloatArray) -> FloatArray:
        total = parts.sum(axis=1) + rest
        if logs:
            return np.asarray(np.exp(total))
        # penalties alone are all below 0: held within the bounds they would tell nothing
        held = np.clip(total, 0.0, 1.0)
        return np.asarray(held if np.ptp(held) > _SAME else total)

    return combine


def _fitted(people: FloatArray) -> Combination:
    def combine(parts: FloatArray) -> FloatArray:
        off = parts - parts.mean(axis=0)
        spread = np.abs(off).max(axis=0)
        off = off / np.where(spread > 0, spread, 1.0)
        weights = np.linalg.lstsq(off, people - people.mean(), rcond=None)[0]
        return np.asarray(off @ weights)

    return combine
