"""Linear heads by ridge regression, in closed form: each for itself, or of low rank together.

A single task has its own penalty and its own share of the vectors beside the named features. Several tasks share both,
and a projection: their weights W are those of ridge regression, projected onto the r directions among the tasks in
which the fitted values, ridge counted, are largest: W V V'. Where every text has every rating that is the exact minimum
of the penalised squared error among weights of rank r (Mukherjee and Zhu 2011); a rating that a text lacks is left out
of its own task's sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve

from celadon.core import FloatArray, IntArray
from celadon.meta.correlation import pearson

BOTH, READING, ENCODER = "both", "reading", "encoder"
SHARES = {BOTH: (0.0, 0.3, 1.0, 3.0), READING: (0.0,), ENCODER: (np.inf,)}
"""How much the vectors count beside the named features, whose total variance is 1."""
PENALTIES = tuple(float(f"{10**power:.3g}") for power in (-5, -4, -3, -2.5, -2, -1.5, -1))
"""Relative to the number of texts."""
FOLDS = 5


class Setting(NamedTuple):
    """How strongly vectors count, the penalty, and the rank of the tasks together; 0 for a task on its own."""

    share: float
    penalty: float
    rank: int = 0


@dataclass(frozen=True, eq=False)
class Problem:
    """What heads are fitted to."""

    features: FloatArray  # texts x features, standardised; 0 where a text lacks one
    named: int  # how many of the features, the first ones, have a name; the others are vectors
    ratings: FloatArray  # texts x tasks, standardised; NaN where a text has no rating
    sets: IntArray  # the set of each text
    folds: IntArray  # the fold of each text; texts of one item have the same


class Linear(NamedTuple):
    """Weights, features x tasks, and what each task adds."""

    weights: FloatArray
    bias: FloatArray


@dataclass(frozen=True, eq=False)
class _Sums:
    """The sums over some texts that ridge regression needs; those of two parts add up."""

    count: int
    features: FloatArray
    products: FloatArray
    ratings: float
    moments: FloatArray

    @classmethod
    def of(cls, features: FloatArray, ratings: FloatArray) -> _Sums:
        return cls(
            len(features), features.sum(axis=0), features.T @ features, float(ratings.sum()), features.T @ ratings
        )

    def without(self, part: _Sums) -> _Sums:
        return _Sums(
            self.count - part.count,
            self.features - part.features,
            self.products - part.products,
            self.ratings - part.ratings,
            self.moments - part.moments,
        )

    @property
    def gram(self) -> FloatArray:
        """The features' products about their means."""
        return self.products - np.outer(self.features, self.features) / self.count

    def solved(self, scale: FloatArray, penalties: Sequence[float]) -> FloatArray:
        """The weights for each penalty, penalties x features; ``scale`` says how strongly each feature may count."""
        used = scale > 0
        found = np.zeros((len(penalties), len(scale)))
        gram = self.gram[np.ix_(used, used)] * np.outer(scale[used], scale[used])
        about = (self.moments - self.features * (self.ratings / self.count))[used] * scale[used]
        at = np.arange(len(gram))
        for number, penalty in enumerate(penalties):
            ridged = gram.copy()
            ridged[at, at] += penalty * self.count
            found[number, used] = scale[used] * solve(ridged, about, assume_a="pos", check_finite=False)
        return found

    def bias(self, weights: FloatArray) -> float:
        """What makes the mean of the predictions that of the ratings."""
        return float(self.ratings - self.features @ weights) / self.count


def scale_of(problem: Problem, share: float) -> FloatArray:
    """How strongly each feature may count: both kinds with the same total variance, times the share for vectors."""
    vectors = problem.features.shape[1] - problem.named
    weights = (0.0, 1.0) if np.isinf(share) else (1.0, share)
    return np.concatenate(
        [
            np.full(many, weight / np.sqrt(max(many, 1)))
            for many, weight in zip((problem.named, vectors), weights, strict=True)
        ]
    )


class Search:
    """Tries all settings by cross-validation over items, and tells the best ones.

    ``features`` are ``both``, ``reading`` or ``encoder``; ``step`` is called after each fit of all tasks and penalties.
    """

    def __init__(self, problem: Problem, features: str = BOTH, step: Callable[[], None] = lambda: None) -> None:
        self.problem = problem
        self.shares = SHARES[features]
        self._step = step
        self._whole = self._sums(np.ones(len(problem.folds), dtype=bool))
        # predictions by share: penalties x ranks, those of single tasks first, x texts x tasks
        shape = (len(PENALTIES), problem.ratings.shape[1] + 1, *problem.ratings.shape)
        self._predicted = {share: np.full(shape, np.nan) for share in self.shares}
        for fold in np.unique(problem.folds).tolist():
            self._leave_out(problem.folds == fold)

    def single(self) -> list[Setting]:
        """The best setting of each task for itself."""
        tasks = self.problem.ratings.shape[1]
        return [
            max(self._settings(rank=False), key=lambda each: self._agreement(each, [task])) for task in range(tasks)
        ]

    def multi(self) -> Setting:
        """The best setting of all tasks together."""
        tasks = list(range(self.problem.ratings.shape[1]))
        return max(self._settings(rank=True), key=lambda each: self._agreement(each, tasks))

    def fit_single(self, settings: Sequence[Setting]) -> Linear:
        """Fit each task to all texts."""
        columns = [
            self._whole[task].solved(scale_of(self.problem, each.share), [each.penalty])[0]
            for task, each in enumerate(settings)
        ]
        return self._linear(np.stack(columns, axis=1), self._whole)

    def fit_multi(self, setting: Setting) -> Linear:
        """Fit all tasks together to all texts."""
        scale = scale_of(self.problem, setting.share)
        weights = np.stack([sums.solved(scale, [setting.penalty])[0] for sums in self._whole[:-1]], axis=1)
        kept = directions(weights, self._whole[-1].gram, scale, setting.penalty * self._whole[-1].count)
        return self._linear(weights @ kept[:, : setting.rank] @ kept[:, : setting.rank].T, self._whole)

    def _settings(self, *, rank: bool) -> Iterator[Setting]:
        ranks = range(1, self.problem.ratings.shape[1] + 1) if rank else (0,)
        return (Setting(share, penalty, r) for share in self.shares for penalty in PENALTIES for r in ranks)

    def _sums(self, rows: npt.NDArray[np.bool_]) -> list[_Sums]:
        """The sums of each task over the rows that have its rating; and, last, of all rows."""
        features, ratings = self.problem.features, self.problem.ratings
        found = []
        for column in ratings.T:
            known = rows & np.isfinite(column)
            found.append(_Sums.of(features[known], column[known]))
        return [*found, _Sums.of(features[rows], np.zeros(int(rows.sum())))]

    @staticmethod
    def _linear(weights: FloatArray, sums: Sequence[_Sums]) -> Linear:
        return Linear(weights, np.array([each.bias(column) for each, column in zip(sums, weights.T, strict=False)]))

    def _leave_out(self, rows: npt.NDArray[np.bool_]) -> None:
        """Predict a fold from fits to the others, for all settings."""
        problem = self.problem
        sums = [whole.without(part) for whole, part in zip(self._whole, self._sums(rows), strict=True)]
        for share in self.shares:
            scale = scale_of(problem, share)
            if all(each.count > 1 for each in sums):
                solved = np.stack([each.solved(scale, PENALTIES) for each in sums[:-1]], axis=2)
                for number, (weights, penalty) in enumerate(zip(solved, PENALTIES, strict=True)):
                    kept = directions(weights, sums[-1].gram, scale, penalty * sums[-1].count)
                    for rank in range(problem.ratings.shape[1] + 1):
                        made = self._linear(weights @ kept[:, :rank] @ kept[:, :rank].T if rank else weights, sums)
                        self._predicted[share][number, rank, rows] = problem.features[rows] @ made.weights + made.bias
            self._step()

    def _agreement(self, setting: Setting, tasks: Sequence[int]) -> float:
        """The mean correlation over tasks and sets."""
        predicted = self._predicted[setting.share][PENALTIES.index(setting.penalty), setting.rank]
        found = []
        for task in tasks:
            ratings = self.problem.ratings[:, task]
            for one in np.unique(self.problem.sets).tolist():
                rows = (self.problem.sets == one) & np.isfinite(ratings) & np.isfinite(predicted[:, task])
                if rows.sum() > 2:
                    found.append(np.nan_to_num(pearson(predicted[rows, task], ratings[rows]).value))
        return float(np.mean(found)) if found else 0.0


def directions(weights: FloatArray, gram: FloatArray, scale: FloatArray, ridge: float) -> FloatArray:
    """The directions among tasks, in columns, by how large the fitted values are along them, ridge counted."""
    used = scale > 0
    scaled = weights[used] / scale[used, None]
    fitted = weights.T @ gram @ weights + ridge * scaled.T @ scaled
    return np.asarray(np.linalg.eigh(fitted)[1][:, ::-1])
