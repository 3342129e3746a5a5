"""A judge as a gate: does it pass and fail the texts that people pass and fail?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray
from celadon.meta.correlation import codes
from celadon.meta.jackknife import Estimate, Statistic, cluster_sums, jackknife, no_estimate
from celadon.meta.raters import means, ratings_matrix


class GateAgreement(NamedTuple):
    """How the judge's verdicts agree with people's.

    ``passed`` and ``judge_passed`` are the shares that people and the judge pass. ``constant`` is the accuracy of the
    better constant answer, ``coin`` that of a coin that passes as many as people do; ``gain`` is the accuracy less
    ``constant``, and ``rater`` and ``rater_kappa`` are what one person reaches against the others. Precision and recall
    are of texts that pass.
    """

    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    kappa: Estimate
    gain: Estimate
    passed: float
    judge_passed: float
    constant: float
    coin: float
    rater: float
    rater_kappa: float
    texts: int


def gate_agreement(
    judge: npt.ArrayLike,
    ratings: npt.ArrayLike,
    *,
    gate: float,
    judge_gate: float | None = None,
    clusters: Sequence[Any] | npt.NDArray[Any] | None = None,
) -> GateAgreement:
    """Compare the verdicts of a judge with those of the mean rating; a text at the gate passes.

    ``ratings`` are rows x raters, NaN for a gap; ``judge_gate`` is for a judge with a scale of its own.
    """
    scores, matrix = np.asarray(judge, dtype=np.float64), ratings_matrix(ratings)
    people = means(matrix)
    known = np.isfinite(scores) & np.isfinite(people)
    says = scores[known] >= (gate if judge_gate is None else judge_gate)
    true = people[known] >= gate
    count = int(known.sum())
    kept = None if clusters is None else codes(clusters, len(known))[known]
    cells = np.column_stack([says & true, says & ~true, ~says & true, ~says & ~true]).astype(np.float64)
    sums = cluster_sums(cells, kept)
    base = float(true.mean()) if count else np.nan
    more = base >= 0.5
    rater, rater_kappa = _one_rater(matrix, gate)
    return GateAgreement(
        accuracy=share_estimate(sums[:, 0] + sums[:, 3], sums.sum(axis=1)),
        precision=share_estimate(sums[:, 0], sums[:, 0] + sums[:, 1]),
        recall=share_estimate(sums[:, 0], sums[:, 0] + sums[:, 2]),
        kappa=_bounded(jackknife(sums, kappa_of_cells)),
        gain=jackknife(sums, _gain(bool(more))),
        passed=base,
        judge_passed=float(says.mean()) if count else np.nan,
        constant=max(base, 1 - base),
        coin=base**2 + (1 - base) ** 2,
        rater=rater,
        rater_kappa=rater_kappa,
        texts=count,
    )


def share_estimate(hits: FloatArray, trials: FloatArray, confidence: float = 0.95) -> Estimate:
    """Return a share with Wilson's interval, from the hits and trials of each cluster.

    Where trials of one cluster are alike they count for fewer: for as many as would give the same variance.
    """
    some = trials > 0
    hits, trials = hits[some], trials[some]
    clusters, total = len(trials), float(trials.sum())
    if not clusters:
        return no_estimate("there is none")
    share = float(hits.sum()) / total
    plain = share * (1 - share) / total
    spread = float(np.sum((hits - share * trials) ** 2)) / total**2 * clusters / max(clusters - 1, 1)
    effective = total * min(1.0, plain / spread) if spread > 0 else float(clusters)
    z = float(stats.norm.isf((1 - confidence) / 2))
    below = 1 + z * z / effective
    center = (share + z * z / (2 * effective)) / below
    reach = z / below * float(np.sqrt(share * (1 - share) / effective + z * z / (4 * effective**2)))
    error = float(np.sqrt(share * (1 - share) / effective))
    return Estimate(share, error, max(center - reach, 0.0), min(center + reach, 1.0), float("nan"), clusters)


def kappa_of_cells(sums: FloatArray) -> FloatArray:
    """Return Cohen's kappa from counts: both pass, only the first, only the second, neither."""
    both, first, second, neither = sums.T
    total = sums.sum(axis=1)
    observed = (both + neither) / total
    chance = ((both + first) * (both + second) + (second + neither) * (first + neither)) / total**2
    return np.where(chance < 1, (observed - chance) / np.where(chance < 1, 1 - chance, 1.0), np.nan)


def _gain(passing: bool) -> Statistic:
    def gain(sums: FloatArray) -> FloatArray:
        both, first, second, neither = sums.T
        constant = both + second if passing else first + neither
        return np.asarray((both + neither - constant) / sums.sum(axis=1))

    return gain


def _bounded(one: Estimate) -> Estimate:
    return one._replace(low=max(one.low, -1.0), high=min(one.high, 1.0)) if np.isfinite(one.low) else one


def _one_rater(matrix: FloatArray, gate: float) -> tuple[float, float]:
    """The mean accuracy and kappa of each rater's verdicts against those of the others' mean."""
    if matrix.shape[1] < 2:
        return np.nan, np.nan
    accuracies, kappas, weights = [], [], []
    for rater in range(matrix.shape[1]):
        others = means(np.delete(matrix, rater, axis=1))
        both = np.isfinite(matrix[:, rater]) & np.isfinite(others)
        if both.any():
            own, rest = matrix[both, rater] >= gate, others[both] >= gate
            cells = [own & rest, own & ~rest, ~own & rest, ~own & ~rest]
            accuracies.append(float((own == rest).mean()))
            kappas.append(float(kappa_of_cells(np.array([[cell.sum() for cell in cells]], dtype=np.float64))[0]))
            weights.append(float(both.sum()))
    if not accuracies:
        return np.nan, np.nan
    defined = np.isfinite(kappas)
    kappa = (
        float(np.average(np.array(kappas)[defined], weights=np.array(weights)[defined])) if defined.any() else np.nan
    )
    return float(np.average(accuracies, weights=weights)), kappa
