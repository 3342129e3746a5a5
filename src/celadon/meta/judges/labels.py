"""Fewer people: mean ratings from few labels and many scores, how many labels are still needed, and which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray
from celadon.meta.judges.inputs import JudgeTable
from celadon.meta.judges.results import SystemDifference, SystemMean, WidthPoint
from celadon.meta.label_plan import Spread, choose_next, labels_for_width, planned_width, residual_spread
from celadon.meta.prediction_powered import paired_powered_difference, powered_difference, powered_mean

BoolArray: TypeAlias = npt.NDArray[np.bool_]

FEWEST_LABELS = 5
_MOST_DIFFERENCES = 20
_STEPS = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 2000, 5000, 10_000)


class _Items(NamedTuple):
    """The items of one system: the judge's score and the rating of each, NaN where nobody rated it."""

    numbers: IntArray
    scores: FloatArray
    rating: FloatArray

    @property
    def labelled(self) -> BoolArray:
        return np.isfinite(self.rating)


def system_means(
    table: JudgeTable, judge: str, wanted: float | None
) -> tuple[tuple[SystemMean, ...], tuple[SystemDifference, ...], tuple[WidthPoint, ...]]:
    """Return the mean rating of every system, the best against each other, and how widths fall with more labels.

    ``wanted`` is the width of the interval of a mean that is asked for; by default half of the present one.
    """
    groups = {name: items for name, items in _groups(table, judge) if items.labelled.sum() >= FEWEST_LABELS}
    means = {
        name: powered_mean(items.rating[items.labelled], items.scores[items.labelled], items.scores[~items.labelled])
        for name, items in groups.items()
    }
    spreads = {
        name: Spread.of(items.rating[items.labelled], items.scores[items.labelled]) for name, items in groups.items()
    }
    rows = []
    for name, mean in means.items():
        width = wanted if wanted is not None else (mean.high - mean.low) / 2
        texts = len(groups[name].numbers)
        needed = labels_for_width(spreads[name], width, texts) if width > 0 else None
        alone = labels_for_width(spreads[name], width, 0) if width > 0 else None
        rows.append(SystemMean(name, mean, width, needed, alone))
    rows.sort(key=lambda row: -row.mean.value)
    differences = tuple(
        _difference(rows[0].system, row.system, groups[rows[0].system], groups[row.system])
        for row in rows[1 : _MOST_DIFFERENCES + 1]
    )
    return tuple(rows), differences, _widths(spreads, {name: len(items.numbers) for name, items in groups.items()})


def _groups(table: JudgeTable, judge: str) -> Iterator[tuple[str, _Items]]:
    """The items of each system; several texts of one item and system are averaged."""
    scores, rating = table.score(judge), table.rating
    known = np.isfinite(scores)
    if table.systems is None:
        yield "", _by_item(table.item_numbers[known], scores[known], rating[known])
        return
    systems = np.array(table.systems, dtype=object)
    for name in dict.fromkeys(table.systems):
        own = known & (systems == name)
        if own.any():
            yield name, _by_item(table.item_numbers[own], scores[own], rating[own])


def _by_item(items: IntArray, scores: FloatArray, rating: FloatArray) -> _Items:
    numbers, place = np.unique(items, return_inverse=True)
    rated = np.isfinite(rating)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(place[rated], rating[rated], len(numbers)) / np.bincount(
            place[rated], minlength=len(numbers)
        )
    return _Items(numbers, np.bincount(place, scores) / np.bincount(place), mean)


def _difference(first: str, second: str, one: _Items, other: _Items) -> SystemDifference:
    """Item by item where at least half of the labels are of items that both have, else as independent samples."""
    _, here, there = np.intersect1d(one.numbers, other.numbers, return_indices=True)
    both = one.labelled[here] & other.labelled[there]
    fewer = min(int(one.labelled.sum()), int(other.labelled.sum()))
    if both.sum() >= max(FEWEST_LABELS, fewer / 2):
        rating, scores = one.rating[here] - other.rating[there], one.scores[here] - other.scores[there]
        paired = powered_mean(rating[both], scores[both], scores[~both])
        return SystemDifference(first, second, paired_powered_difference(paired))
    means = [
        powered_mean(of.rating[of.labelled], of.scores[of.labelled], of.scores[~of.labelled]) for of in (one, other)
    ]
    return SystemDifference(first, second, powered_difference(*means))


def _widths(spreads: dict[str, Spread], texts: dict[str, int]) -> tuple[WidthPoint, ...]:
    if not spreads:
        return ()
    most = min(texts.values())
    steps = [step for step in _STEPS if step < most] + ([most] if most >= _STEPS[0] else [])
    return tuple(
        WidthPoint(
            labels,
            float(np.mean([planned_width(spread, labels, texts[name]) for name, spread in spreads.items()])),
            float(np.mean([planned_width(spread, labels, 0) for spread in spreads.values()])),
        )
        for labels in steps
    )


def next_rows(table: JudgeTable, judge: str, labels: int, *, seed: int = 0) -> IntArray:
    """Choose the texts that people should rate next, as numbers of rows; raise InputError where all are rated."""
    scores, rating = table.score(judge), table.rating
    candidates = np.isfinite(scores) & ~np.isfinite(rating)
    if not candidates.any():
        raise InputError(f"every text with a score of {judge} is rated already; there are no texts to ask about")
    groups = table.systems or ("",) * table.rows
    names = np.array(groups, dtype=object)
    rated = np.isfinite(scores) & np.isfinite(rating)
    pooled = residual_spread(rating[rated], scores[rated])
    spreads: dict[str, float] = {}
    for name in dict.fromkeys(groups):
        own = rated & (names == name)
        spreads[name] = residual_spread(rating[own], scores[own]) if own.sum() >= FEWEST_LABELS else pooled
    return choose_next(candidates, groups, table.items, spreads, labels, seed=seed)


def next_items(table: JudgeTable, judge: str, labels: int, *, seed: int = 0) -> list[dict[str, Any]]:
    """Return the texts that people should rate next as items that ``celadon judge new`` opens.

    Their names are those by which the answers are read back. Raises InputError where the table has no texts.
    """
    if table.texts is None:
        raise InputError("the table has no texts for people to rate; name their column with --text-field")
    items = []
    for row in next_rows(table, judge, labels, seed=seed).tolist():
        if not table.texts[row].strip():
            raise InputError(f"{table.origins[row]}: the text is empty; nobody can rate it")
        item: dict[str, Any] = {"id": table.names[row], "cell": table.items[row], "text": table.texts[row]}
        if table.systems is not None:
            item["system"] = table.systems[row]
        if table.contexts is not None and table.contexts[row]:
            item["context"] = table.contexts[row]
        items.append(item)
    return items
