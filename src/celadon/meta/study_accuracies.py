"""How often metrics order pairs as people do."""

from __future__ import annotations

import numpy as np

from celadon.meta.pairwise_accuracy import calibrate_ties, system_pairwise_accuracy
from celadon.meta.soft_pairwise_accuracy import soft_pairwise_accuracy
from celadon.meta.study_grid import Grid, make_grid
from celadon.meta.study_rows import AccuracyRow
from celadon.meta.table import Table

_MOST_PAIRS = 20_000_000


def accuracy_rows(table: Table, *, resamples: int, seed: int) -> tuple[AccuracyRow, ...]:
    """Pairwise accuracy of texts of one item (ties calibrated), of systems, and soft.

    Parameters
    ----------
    table
        Scores and ratings; with neither systems nor items that share several texts there is nothing to order.
    resamples, seed
        Of the permutations behind the soft accuracy.
    """
    if table.systems is None and table.items is None:
        return ()
    grid = make_grid(table)
    if grid is None or grid.shape[0] < 2:
        return ()
    return tuple(
        _row(table, grid, metric, human, resamples, seed) for human in table.humans for metric in table.metrics
    )


def _row(table: Table, grid: Grid, metric: str, human: str, resamples: int, seed: int) -> AccuracyRow:
    x, y = grid.lay(table.good(metric)), grid.lay(table.good(human))
    systems, items = grid.shape
    pairwise = threshold = of_systems = soft = np.nan
    reasons = []
    if systems * (systems - 1) // 2 * items > _MOST_PAIRS:
        reasons.append("too many pairs of texts")
    else:
        ties = calibrate_ties(x, y)
        pairwise, threshold = ties.value, ties.epsilon
        reasons += [ties.reason] if ties.reason else []
    if table.systems is None:
        reasons.append("the systems are not known")
    else:
        hard = system_pairwise_accuracy(x, y)
        surely = soft_pairwise_accuracy(x, y, resamples=max(resamples, 1), seed=seed)
        of_systems, soft = hard.value, surely.value
        reasons += [result.reason for result in (hard, surely) if result.reason]
    return AccuracyRow(metric, human, pairwise, threshold, of_systems, soft, "; ".join(dict.fromkeys(reasons)))
