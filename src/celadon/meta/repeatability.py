"""How far repetitions of a judge agree: over runs, repeatability; over prompts, how much the wording matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError
from celadon.meta.agreement import krippendorff_alpha, raters_at_least
from celadon.meta.gate_agreement import share_estimate
from celadon.meta.jackknife import Estimate, cluster_sums, jackknife, no_estimate
from celadon.meta.reliability import intraclass_correlations, reliability_of_mean, spearman_brown

SUITES = (50, 200, 1000)
RUNS = (1, 2, 3, 5, 10)


class Repeatability(NamedTuple):
    """Agreement of repetitions: ICC(2,1) and (3,1) with intervals where every text has them all, and Krippendorff's
    alpha (interval).

    ``single`` is the one-way reliability of one repetition, ``spread`` the standard deviation between repetitions of
    one text, ``shift`` the greatest difference of two repetitions' means.
    """

    repetitions: int
    texts: int
    single: float
    agreement: Estimate
    consistency: Estimate
    alpha: float
    spread: float
    shift: float


class Suite(NamedTuple):
    """How many verdicts of a suite of checks change from one run to the next; the bounds hold in 95% of runs."""

    checks: int
    flips: float
    low: int
    high: int


class Flips(NamedTuple):
    """Verdicts that differ between repetitions.

    ``any`` is the share of texts on which not all repetitions agree, ``rate`` the chance that two repetitions disagree
    on a text. ``expected`` says for suites of several sizes how many verdicts change from one run to the next.
    """

    any: Estimate
    rate: Estimate
    expected: tuple[Suite, ...]


class Averaging(NamedTuple):
    """What the mean of so many repetitions is worth: its reliability and its chance of a flip."""

    repetitions: int
    reliability: float
    flips: float


def repeatability(scores: npt.ArrayLike) -> Repeatability:
    """Return how far repetitions agree, rows x repetitions, NaN for a gap."""
    matrix = raters_at_least(scores, 2)
    several = matrix[np.count_nonzero(np.isfinite(matrix), axis=1) >= 2]
    try:
        reliability = reliability_of_mean(matrix)
    except InputError as error:
        raise InputError(f"repetitions of a judge cannot be compared: {error}") from None
    random, fixed = _intraclass(matrix, "ICC(2,1)", "ICC(3,1)")
    centers = np.nanmean(several, axis=1)
    free = int(np.isfinite(several).sum()) - len(several)
    columns = [column[np.isfinite(column)] for column in several.T]
    averages = [float(column.mean()) for column in columns if len(column)]
    return Repeatability(
        matrix.shape[1],
        len(several),
        reliability.single,
        random,
        fixed,
        krippendorff_alpha(matrix).alpha,
        float(np.sqrt(np.nansum((several - centers[:, None]) ** 2) / free)),
        max(averages) - min(averages),
    )


def _intraclass(matrix: FloatArray, *kinds: str) -> list[Estimate]:
    try:
        all_six = intraclass_correlations(matrix)
    except InputError as error:
        return [no_estimate(str(error)) for _ in kinds]
    rows = [all_six.of(kind) for kind in kinds]
    return [Estimate(row.value, float("nan"), row.low, row.high, row.p, all_six.items) for row in rows]


def flips(scores: npt.ArrayLike, gate: float, *, clusters: Sequence[Any] | npt.NDArray[Any] | None = None) -> Flips:
    """Return how often verdicts at a gate differ between repetitions; texts with one score are left out."""
    matrix = raters_at_least(scores, 2)
    counts = np.count_nonzero(np.isfinite(matrix), axis=1).astype(np.float64)
    passes = np.count_nonzero(matrix >= gate, axis=1).astype(np.float64)
    several = counts >= 2
    counts, passes = counts[several], passes[several]
    if not len(counts):
        nothing = no_estimate("no text has two scores")
        return Flips(nothing, nothing, ())
    kept = None if clusters is None else [clusters[row] for row in np.flatnonzero(several).tolist()]
    mixed = ((passes > 0) & (passes < counts)).astype(np.float64)
    # of all pairs of repetitions of a text, the share that disagrees
    pairs = 2 * passes * (counts - passes) / (counts * (counts - 1))
    sums = cluster_sums(np.column_stack([mixed, pairs, np.ones(len(counts))]), kept)
    rate = jackknife(sums, lambda some: some[:, 1] / some[:, 2])
    rate = rate._replace(low=max(rate.low, 0.0), high=min(rate.high, 1.0)) if np.isfinite(rate.low) else rate
    chance = float(pairs.mean())
    tails = {size: [int(stats.binom.ppf(tail, size, chance)) for tail in (0.025, 0.975)] for size in SUITES}
    expected = tuple(Suite(size, size * chance, low, high) for size, (low, high) in tails.items())
    return Flips(share_estimate(sums[:, 0], sums[:, 2]), rate, expected)


def averaging(scores: npt.ArrayLike, gate: float | None = None) -> tuple[Averaging, ...]:
    """Return what the mean of 1, 2, 3, 5 and 10 repetitions is worth.

    Reliability grows as Spearman and Brown say. Flips fall from the observed rate as they would for normal scores with
    that reliability.
    """
    matrix = raters_at_least(scores, 2)
    single = reliability_of_mean(matrix).single
    observed = flips(matrix, gate).rate.value if gate is not None else float("nan")
    whole = matrix[np.isfinite(matrix)]
    spread = float(whole.std())
    distance = (gate - float(whole.mean())) / spread if gate is not None and spread > 0 else float("nan")
    first = _normal_flips(single, 1, distance)
    rows = []
    for runs in RUNS:
        ratio = _normal_flips(single, runs, distance) / first if first > 0 else float("nan")
        rows.append(Averaging(runs, spearman_brown(single, runs), observed * ratio))
    return tuple(rows)


def _normal_flips(single: float, runs: int, distance: float) -> float:
    """The chance that two means of so many normal scores lie on different sides of a gate.

    ``distance`` is that of the gate from the mean, in standard deviations of a single score.
    """
    if not (np.isfinite(distance) and np.isfinite(single)):
        return float("nan")
    true = min(max(single, 0.0), 1.0)
    variance = true + (1 - true) / runs
    if variance <= 0 or true >= 1:
        return 0.0
    t, r = distance / np.sqrt(variance), true / variance
    below = stats.multivariate_normal.cdf([t, t], mean=[0, 0], cov=[[1, r], [r, 1]])
    return float(max(2 * (stats.norm.cdf(t) - below), 0.0))
