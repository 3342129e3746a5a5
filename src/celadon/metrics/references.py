"""What metrics with references share: rows without a score, the best reference, precision and recall."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from celadon.core import NO_WORDS, FloatArray, IntArray, MetricScores, Span
from celadon.scoring.batch import Words
from celadon.text.alignment import MAX_CELLS
from celadon.text.words import Word

NO_REFERENCE = "no reference has words"
TOO_LONG = f"too long to align: more than {MAX_CELLS:,} pairs of words"

F_PARTS = ("precision", "recall")
READING = "1 when every {unit} of text and reference is shared, 0 when none is; compare systems, not data sets"


class Best(NamedTuple):
    """The best reference of each sample: the pair's number, -1 where the sample has none."""

    pair: IntArray

    def take(self, pair_values: FloatArray | IntArray) -> FloatArray:
        """The values of the best pairs, one per sample; NaN where there is none."""
        values = np.full(len(self.pair), np.nan)
        has = self.pair >= 0
        values[has] = pair_values[self.pair[has]]
        return values


def null_reasons(words: Words) -> dict[int, str]:
    """Why samples without words, or without a reference that has any, get no score."""
    reasons = dict.fromkeys(words.without_words, NO_WORDS)
    reasons.update(dict.fromkeys(words.without_reference, NO_REFERENCE))
    return reasons


def best_reference(pair_sample: IntArray, pair_values: FloatArray, samples: int) -> Best:
    """Choose for each sample the pair of highest value, the first of equals; pairs with NaN are never chosen."""
    if len(pair_sample) == samples and (pair_sample == np.arange(samples)).all():
        return Best(np.where(np.isfinite(pair_values), pair_sample, -1))
    usable = np.flatnonzero(np.isfinite(pair_values))
    order = usable[np.lexsort((usable, -pair_values[usable], pair_sample[usable]))]
    owner = pair_sample[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    best = np.full(samples, -1, dtype=np.int64)
    best[owner[first]] = order[first]
    return Best(best)


def ratio(part: FloatArray | IntArray, whole: FloatArray | IntArray) -> FloatArray:
    """Part of whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def f_measure(precision: FloatArray, recall: FloatArray) -> FloatArray:
    """The harmonic mean, 0 where both are."""
    return ratio(2 * precision * recall, precision + recall)


def f_scores(
    spec: str, words: Words, precision: FloatArray, recall: FloatArray, unusable: dict[int, str] | None = None
) -> MetricScores:
    """F with the best reference from the precision and recall of each pair.

    NaN marks a pair that cannot be judged; ``unusable`` says why of the samples whose pairs are all like that.
    """
    f = f_measure(precision, recall)
    f[np.isnan(precision) | np.isnan(recall)] = np.nan
    best = best_reference(words.pair_sample, f, len(words.text))
    reasons = null_reasons(words)
    for row in np.flatnonzero(best.pair < 0).tolist():
        reasons.setdefault(row, (unusable or {}).get(row, NO_REFERENCE))
    parts = {"precision": best.take(precision), "recall": best.take(recall)}
    return MetricScores(spec, best.take(f), parts, reasons)


def matched_spans(found: list[Word], matched: set[int]) -> tuple[Span, ...]:
    """Mark which words a metric found in the other text."""
    return tuple(
        Span(word.start, word.end, "match" if number in matched else "other") for number, word in enumerate(found)
    )
