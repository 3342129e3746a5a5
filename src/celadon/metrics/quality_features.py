"""What `sumqe` sees of a text: the features of how it reads, and the vectors of its sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from celadon.core import FloatArray
from celadon.io.weight_files import STATISTICS
from celadon.metrics.reading.features import (
    LIKELIHOODS,
    SENTENCE_FEATURES,
    TEXT_FEATURES,
    ReadingModels,
    reading_features,
)
from celadon.scoring.batch import Batch
from celadon.scoring.batch.units import least, means

_BETTER_HIGH = frozenset({"acceptability", *LIKELIHOODS})
NAMED = (*(f"{name}.{part}" for name in SENTENCE_FEATURES for part in ("mean", "worst")), *TEXT_FEATURES)
"""The features that have a name: of the sentences the mean and the worst, and those of the text."""
_NOTHING_READ = "the language model and the encoder have no sentence of the text in common"


@dataclass(frozen=True, eq=False)
class QualityFeatures:
    """The features of the texts of a batch.

    Attributes
    ----------
    named
        Texts x ``NAMED``; NaN where a text of one sentence has none.
    vectors
        Texts x statistics x width: the mean, the least and the greatest, place by place, of the sentences' meanings.
    reasons
        For each text that cannot be read, why.
    """

    named: FloatArray
    vectors: FloatArray
    reasons: Mapping[int, str]


def quality_features(batch: Batch, models: ReadingModels) -> QualityFeatures:
    """Look at all texts, once for a batch."""
    return batch.view(("quality", models), lambda: _look(batch, models))


def _look(batch: Batch, models: ReadingModels) -> QualityFeatures:
    found, samples = reading_features(batch, models), len(batch)
    columns = []
    for name in SENTENCE_FEATURES:
        values = found.of_sentences[name]
        sign = 1.0 if name in _BETTER_HIGH else -1.0
        columns += [means(found.owner, values, samples), sign * least(found.owner, sign * values, samples)]
    named = np.stack([*columns, *(found.of_texts[name] for name in TEXT_FEATURES)], axis=1)
    reasons = dict(found.reasons)
    for row in np.flatnonzero(np.isnan(columns[0])).tolist():
        reasons.setdefault(row, _NOTHING_READ)
    return QualityFeatures(named, _vectors(batch, models.encoder), dict(sorted(reasons.items())))


def _vectors(batch: Batch, encoder: str) -> FloatArray:
    read = batch.encodings(encoder)
    meaning = read.encoded.meaning.astype(np.float64)
    found = np.full((len(batch), len(STATISTICS), meaning.shape[1]), np.nan)
    rows, begins = np.unique(read.owner, return_index=True)
    for row, sentences in zip(rows, np.split(meaning, begins[1:]), strict=False):
        found[row] = sentences.mean(axis=0), sentences.min(axis=0), sentences.max(axis=0)
    return found
