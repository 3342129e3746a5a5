"""How a study stands: for the researcher's page and the terminal."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from statistics import median
from typing import NamedTuple

from celadon.core import InputError
from celadon.judge.assignment import TRIAL, pages_each
from celadon.judge.conduct import Collected, Conduct
from celadon.judge.experiment import Experiment, pair_of
from celadon.meta.agreement import krippendorff_alpha, pairwise_correlation


class Agreement(NamedTuple):
    """How well people agree on one question; NaN where it cannot be told yet."""

    question: str
    alpha: float
    correlation: float
    people: int


class ItemState(NamedTuple):
    """One item: how many people judged it, and the median of the seconds they took."""

    key: str
    system: str
    ratings: int
    seconds: float


class Overview(NamedTuple):
    """How a study stands."""

    begun: int
    completed: int
    needed: int
    target: int
    pages_each: int
    items: tuple[ItemState, ...]
    agreement: tuple[Agreement, ...]
    conduct: tuple[Conduct, ...]
    seconds: float

    @property
    def enough(self) -> int:
        """How many items have all the ratings that were wanted."""
        return sum(item.ratings >= self.target for item in self.items)


def overview(experiment: Experiment, collected: Collected) -> Overview:
    """Sum up what was collected."""
    times = _times(collected)
    counts = _counts(experiment, collected)
    items = tuple(
        ItemState(item.key, item.system, counts[item.key], median(times[item.key]) if times[item.key] else math.nan)
        for item in experiment.items
    )
    every = [seconds for some in times.values() for seconds in some]
    return Overview(
        begun=len(collected.people),
        completed=sum(person.completed is not None for person in collected.people),
        needed=experiment.people_needed,
        target=experiment.config.assignment.ratings_per_item,
        pages_each=pages_each(experiment.cells, experiment.config.assignment),
        items=items,
        agreement=_agreement(experiment, collected),
        conduct=collected.conduct,
        seconds=median(every) if every else math.nan,
    )


def _times(collected: Collected) -> dict[str, list[float]]:
    """The seconds that people took for each item; those of a page with several are shared out among them."""
    found: dict[str, list[float]] = defaultdict(list)
    for way in collected.ways.values():
        for kept in way:
            if kept.page.kind == TRIAL and kept.seconds is not None:
                for key in kept.page.items:
                    found[key].append(kept.seconds / len(kept.page.items))
    return found


def _counts(experiment: Experiment, collected: Collected) -> Counter[str]:
    question = experiment.config.questions[0].name
    units = [rating.unit for rating in collected.trials if rating.question == question]
    if experiment.config.design == "pairwise":
        return Counter(key for unit in units for key in pair_of(unit))
    return Counter(units)


def _agreement(experiment: Experiment, collected: Collected) -> tuple[Agreement, ...]:
    level = "nominal" if experiment.config.design == "pairwise" else "interval"
    found = []
    for name, matrix in collected.matrices.items():
        people = len(matrix.people)
        try:
            alpha = krippendorff_alpha(matrix.normalised, level=level).alpha
            correlation = pairwise_correlation(matrix.normalised).mean
        except InputError:
            alpha = correlation = math.nan
        found.append(Agreement(name, alpha, correlation, people))
    return tuple(found)
