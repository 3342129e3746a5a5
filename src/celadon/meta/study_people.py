"""What people say: how far they agree, where metrics disagree with them, and how metrics spread over their levels."""

from __future__ import annotations

import numpy as np

from celadon.core import FloatArray, InputError
from celadon.meta.agreement import Pairwise, pairwise_correlation
from celadon.meta.alpha import krippendorff_alpha
from celadon.meta.correlation import FEWEST, Kind
from celadon.meta.disagreement import disagreements
from celadon.meta.kappa import pairwise_kappa
from celadon.meta.reliability import Reliability, human_ceiling, reliability_of_mean
from celadon.meta.study_rows import AgreementRow, DisagreementRow, LevelRow
from celadon.meta.table import Table

MOST_LEVELS = 7
_BINS = 5


def agreement_rows(table: Table, kind: Kind) -> tuple[AgreementRow, ...]:
    """How far the raters of every rating agree, where single ratings are known.

    Parameters
    ----------
    table
        With ``ratings``.
    kind
        Of the correlation between raters.
    """
    return tuple(agreement(human, table.ratings[human], kind) for human in table.humans if human in table.ratings)


def agreement(human: str, ratings: FloatArray, kind: Kind) -> AgreementRow:
    """How far the raters of one rating agree; NaN with a reason where a figure cannot be had."""
    counts = np.isfinite(ratings).sum(axis=1)
    shared = int((counts >= 2).sum())
    raters = float(counts[counts > 0].mean()) if (counts > 0).any() else np.nan
    try:
        pairs = pairwise_correlation(ratings, correlation=kind)
        kappa = pairwise_kappa(ratings).mean
        interval, ordinal = (krippendorff_alpha(ratings, level=level).alpha for level in ("interval", "ordinal"))
        reliability = reliability_of_mean(ratings)
        ceiling = human_ceiling(ratings).ceiling
    except InputError as error:
        nothing = float("nan")
        pairs = Pairwise(nothing, nothing, nothing, nothing, 0, 0)
        kappa = interval = ordinal = ceiling = nothing
        reliability = Reliability(nothing, nothing, nothing, 0, 0)
        reason = str(error)
    else:
        reason = "no two ratings differ" if np.isnan(ceiling) else ""
        reason = "the raters agree no better than chance" if ceiling == 0 else reason
    return AgreementRow(
        human, raters, shared, pairs.mean, pairs.minimum, pairs.maximum, pairs.sd, kappa, interval, ordinal,
        reliability.single, reliability.mean, ceiling, reason,
    )  # fmt: skip


def disagreement_rows(table: Table, most: int) -> tuple[DisagreementRow, ...]:
    """The rows on which each metric and people differ most, the worst first; none for constant columns."""
    found: list[DisagreementRow] = []
    for human in table.humans:
        people = table.good(human)
        for metric in table.metrics:
            scores = table.good(metric)
            both = np.isfinite(scores) & np.isfinite(people)
            if both.sum() < FEWEST or np.ptp(scores[both]) == 0 or np.ptp(people[both]) == 0:
                continue
            found += [
                DisagreementRow(
                    metric,
                    human,
                    one.row,
                    one.metric_rank,
                    one.rating_rank,
                    float(table.columns[metric][one.row]),
                    float(table.columns[human][one.row]),
                )
                for one in disagreements(scores, people, most=most)
                if one.difference != 0
            ]
    return tuple(found)


def level_rows(table: Table) -> tuple[LevelRow, ...]:
    """The distribution of every metric at every level of every rating."""
    found: list[LevelRow] = []
    for human in table.humans:
        levels = rating_levels(table.columns[human])
        for metric in table.metrics:
            column = table.columns[metric]
            for label, members in levels:
                values = column[members]
                values = values[np.isfinite(values)]
                if len(values):
                    low, first, middle, third, high = (float(q) for q in np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))
                    quartiles = (low, first, middle, third, high)
                    found.append(LevelRow(metric, human, label, len(values), float(values.mean()), quartiles))
    return tuple(found)


def rating_levels(ratings: FloatArray) -> list[tuple[str, FloatArray]]:
    """The rows of each level of a rating, at most seven.

    A rating with few values has them for levels; one that is a mean over people is rounded to whole numbers; any other
    is cut into five equal stretches.
    """
    known = ratings[np.isfinite(ratings)]
    if not len(known):
        return []
    values = np.unique(known)
    if len(values) <= MOST_LEVELS:
        return [(f"{value:g}", ratings == value) for value in values]
    # half up, so that 2.5 and 3.5 both go up
    whole = np.floor(ratings + 0.5)
    steps = np.unique(whole[np.isfinite(whole)])
    if FEWEST <= len(steps) <= MOST_LEVELS:
        return [(f"{step:g}", whole == step) for step in steps]
    edges = np.linspace(values[0], values[-1], _BINS + 1)
    place = np.clip(np.searchsorted(edges, ratings, side="right") - 1, 0, _BINS - 1)
    return [(f"{edges[at]:.3g} .. {edges[at + 1]:.3g}", (place == at) & np.isfinite(ratings)) for at in range(_BINS)]
