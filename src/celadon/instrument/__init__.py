"""How good an instrument a metric is: false alarms on sound text, dependence on length, hits on damaged copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from celadon.core import Direction, FloatArray, Sample
from celadon.instrument.cells import in_dialect, pooled
from celadon.instrument.figures import Instrument
from celadon.instrument.halves import Half
from celadon.instrument.measure import measure, of_half
from celadon.instrument.passages import Passage, drawn, passages
from celadon.io import read_table_rows
from celadon.scoring import Scorer

__all__ = ["Half", "Instrument", "measure_metric"]


def measure_metric(
    metric: str,
    sound: Sequence[str],
    edits: str | None = None,
    *,
    halves: frozenset[Half] = frozenset({Half.TEST}),
    gate: float | None = None,
    false_alarms: float = 0.03,
    per_cell: int = 60,
    seed: int = 0,
    advance: Callable[[int], None] = lambda count: None,
) -> Instrument:
    """Measure a metric without references on files of sound text and of corrections.

    Parameters
    ----------
    metric
        The metric with its options.
    sound, edits
        Files of sound texts, and one of corrections.
    halves
        The documents to measure on.
    gate, false_alarms
        The score below which a text fails; without it, the one below which this share of the sound passages lies.
    per_cell
        The most passages of a cell and size.
    seed
        Of what is drawn.
    advance
        Called with the number of texts scored since the last call.
    """
    scorer = Scorer(metric)
    (loaded,) = scorer.metrics
    sign = -1.0 if loaded.info.direction is Direction.LOWER else 1.0

    def score(texts: Sequence[Passage]) -> FloatArray:
        scores = scorer.score([Sample(each.text) for each in texts])
        advance(len(texts))
        return sign * scores[loaded.spec]

    random = np.random.default_rng(seed)
    cells = [each for path in sound for each in pooled(_passages(path, halves))]
    corrections = [] if edits is None else of_half(read_table_rows(edits), halves)
    chosen = drawn(cells, per_cell, random)
    return measure(loaded.spec, score, chosen, corrections, gate=gate, false_alarms=false_alarms, seed=seed)


def _passages(path: str, halves: frozenset[Half]) -> Iterator[Passage]:
    rows = (row for row in read_table_rows(path) if not in_dialect(row))
    return passages(rows, halves, Path(path).name.split(".")[0])
