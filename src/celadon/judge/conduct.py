"""How people went about it, and how a study stands: checks, time, and whether they agree with the others."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from celadon.core import InputError
from celadon.judge.answers import passes_check
from celadon.judge.assignment import CHECK, TRIAL, pages_each
from celadon.judge.experiment import Experiment, pair_of
from celadon.judge.judged import Judged, judged, trial_ratings
from celadon.judge.store import Answer, KeptPage, Participant, Rating, Store
from celadon.meta.agreement import krippendorff_alpha, leave_one_out, pairwise_correlation

_FEWEST_FOR_SAME = 6
_FEWEST_FOR_AGREEMENT = 5


class Conduct(NamedTuple):
    """One person: how far they are, and ``flags``, the reasons to look at their answers before they are used."""

    participant: str
    pages: int
    of: int
    completed: bool
    checks_failed: int
    checks: int
    seconds: float
    agreement: float
    flags: tuple[str, ...]


class Collected(NamedTuple):
    """Everything that was collected, read once."""

    people: tuple[Participant, ...]
    ways: Mapping[str, tuple[KeptPage, ...]]
    ratings: tuple[Rating, ...]
    trials: list[Rating]
    matrices: Mapping[str, Judged]
    conduct: tuple[Conduct, ...]

    @property
    def flagged(self) -> frozenset[str]:
        """The people with a flag."""
        return frozenset(person.participant for person in self.conduct if person.flags)


def collect(experiment: Experiment, store: Store) -> Collected:
    """Read what was collected and see how people went about it."""
    people, ways, ratings = store.people(), store.all_pages(), store.all_ratings()
    trials = trial_ratings(ratings, ways)
    matrices = judged(experiment, trials)
    agreements = _agreements(matrices)
    answers: dict[str, dict[int, dict[tuple[str, str], Answer]]] = {}
    for rating in ratings:
        page = answers.setdefault(rating.participant, {}).setdefault(rating.position, {})
        page[rating.unit, rating.question] = rating.answer
    conduct = tuple(
        _conduct(
            experiment,
            person,
            ways.get(person.id, ()),
            answers.get(person.id, {}),
            agreements.get(person.id, math.nan),
            _constant(person.id, matrices),
        )
        for person in people
    )
    return Collected(people, ways, ratings, trials, matrices, conduct)


def _conduct(
    experiment: Experiment,
    person: Participant,
    way: Sequence[KeptPage],
    answers: Mapping[int, Mapping[tuple[str, str], Answer]],
    agreement: float,
    constant: bool,
) -> Conduct:
    checks = [kept for kept in way if kept.page.kind == CHECK and kept.answered is not None]
    failed = sum(not passes_check(experiment, kept.page, answers.get(kept.position, {})) for kept in checks)
    times = [kept.seconds for kept in way if kept.page.kind == TRIAL and kept.seconds is not None]
    seconds = median(times) if times else math.nan
    limits, flags = experiment.config.flags, []
    if failed:
        flags.append(f"failed {failed} of {len(checks)} checks")
    if seconds < limits.seconds_per_page:
        flags.append(f"median of {seconds:.1f} s a page")
    if agreement < limits.agreement:
        flags.append(f"correlation of {agreement:.2f} with the others")
    if constant:
        flags.append("the same answer throughout")
    done = sum(kept.answered is not None for kept in way)
    return Conduct(
        person.id,
        done,
        len(way),
        person.completed is not None,
        failed,
        len(checks),
        seconds,
        agreement,
        tuple(flags),
    )


def _agreements(matrices: Mapping[str, Judged]) -> dict[str, float]:
    """Each person's correlation with the mean of the others, over the answers to all questions."""
    people = next((matrix.people for matrix in matrices.values()), ())
    if len(people) < 2:
        return {}
    stacked = np.vstack([matrix.normalised for matrix in matrices.values()])
    correlations = leave_one_out(stacked, minimum_items=_FEWEST_FOR_AGREEMENT).correlations
    return dict(zip(people, correlations.tolist(), strict=True))


def _constant(person: str, matrices: Mapping[str, Judged]) -> bool:
    """Whether somebody gave one and the same answer to everything, often enough to be no accident."""
    values = [matrix.ratings[:, matrix.people.index(person)] for matrix in matrices.values() if person in matrix.people]
    ratings = np.concatenate(values) if values else np.empty(0)
    ratings = ratings[np.isfinite(ratings)]
    return len(ratings) >= _FEWEST_FOR_SAME and bool(np.all(ratings == ratings[0]))


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
    seconds: dict[str, list[float]] = defaultdict(list)
    for way in collected.ways.values():
        for kept in way:
            if kept.page.kind == TRIAL and kept.seconds is not None:
                for key in kept.page.items:
                    seconds[key].append(kept.seconds / len(kept.page.items))
    return seconds


def _counts(experiment: Experiment, collected: Collected) -> Counter[str]:
    question = experiment.config.questions[0].name
    units = [rating.unit for rating in collected.trials if rating.question == question]
    if experiment.config.design == "pairwise":
        return Counter(key for unit in units for key in pair_of(unit))
    return Counter(units)


def _agreement(experiment: Experiment, collected: Collected) -> tuple[Agreement, ...]:
    level = "nominal" if experiment.config.design == "pairwise" else "interval"
    values = []
    for name, matrix in collected.matrices.items():
        people = len(matrix.people)
        try:
            alpha = krippendorff_alpha(matrix.normalised, level=level).alpha
            correlation = pairwise_correlation(matrix.normalised).mean
        except InputError:
            alpha = correlation = math.nan
        values.append(Agreement(name, alpha, correlation, people))
    return tuple(values)
