"""The answers as matrices: for each question what every person said of every unit, as given and made comparable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, Sample
from celadon.judge.assignment import TRIAL
from celadon.judge.experiment import Experiment
from celadon.judge.store import KeptPage, Rating
from celadon.meta.raters import normalise, z_scores
from celadon.scoring import Scorer

HTER = "hter"
"""What the answers of the design postedit are turned into: edits per word of the repaired text."""

_NORMALISED = {"likert": "z", "duc": "z", "magnitude": "magnitude", "pairwise": "none", "postedit": "none"}


class Judged(NamedTuple):
    """One question's answers, units x people, NaN where a person was not asked.

    ``normalised`` is what is compared with metrics: z per person for scales, 0..1 for magnitudes, else as given.
    """

    units: tuple[str, ...]
    people: tuple[str, ...]
    ratings: FloatArray
    normalised: FloatArray
    z: FloatArray


class Repair(NamedTuple):
    """How much of a text a person changed."""

    hter: float
    edits: float


def trial_ratings(ratings: Sequence[Rating], ways: Mapping[str, Sequence[KeptPage]]) -> list[Rating]:
    """The answers about items, without those of practice and of checks."""
    trials = {(person, kept.position) for person, way in ways.items() for kept in way if kept.page.kind == TRIAL}
    return [rating for rating in ratings if (rating.participant, rating.position) in trials]


def judged(experiment: Experiment, ratings: Sequence[Rating], *, without: Collection[str] = ()) -> dict[str, Judged]:
    """The matrices of all questions, from answers about items.

    ``without``: people who are left out.
    """
    kept = [rating for rating in ratings if rating.participant not in without]
    people = tuple(dict.fromkeys(rating.participant for rating in kept))
    units = tuple(dict.fromkeys(rating.unit for rating in kept))
    rows, columns = ({name: at for at, name in enumerate(names)} for names in (units, people))
    matrices = {}
    for question in experiment.config.questions:
        matrix = np.full((len(units), len(people)), np.nan)
        for rating in kept:
            if rating.question == question.name:
                matrix[rows[rating.unit], columns[rating.participant]] = value_of(experiment, rating)
        name = HTER if question.kind == "text" else question.name
        comparable = normalise(matrix, _NORMALISED[experiment.config.design])
        matrices[name] = Judged(units, people, matrix, comparable, z_scores(matrix))
    return matrices


def value_of(experiment: Experiment, rating: Rating) -> float:
    """An answer as a number."""
    if rating.answer.number is not None:
        return rating.answer.number
    return repair(experiment.by_key[rating.unit].text, rating.answer.text or "").hter


@lru_cache(maxsize=10_000)
def repair(before: str, after: str) -> Repair:
    """The translation edit rate of a text against its own repair (HTER), as a share, and the number of edits."""
    metric = "ter[case_sensitive=true]"
    scores = Scorer(metric).score([Sample(before, references=(after,))]).columns[metric]
    return Repair(float(scores.values[0]) / 100.0, float(scores.parts["edits"][0]))
