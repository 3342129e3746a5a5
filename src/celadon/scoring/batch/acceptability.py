"""How acceptable the sentences of a batch are as sentences of the language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.models.store.places import HF_PREFIX
from celadon.scoring.batch.units import places_of, units_of, unreadable

if TYPE_CHECKING:
    from celadon.scoring.batch import Batch


@dataclass(frozen=True, eq=False)
class Acceptabilities:
    """How acceptable each sentence is.

    Attributes
    ----------
    owner
        The sample of each sentence; samples in order, sentences in order.
    starts, ends
        The characters of each sentence in its text.
    values
        From 0 to 1.
    reasons
        For each sample without sentences, why.
    """

    owner: IntArray
    starts: IntArray
    ends: IntArray
    values: FloatArray
    reasons: Mapping[int, str]


def acceptabilities_of(batch: Batch, model: str) -> Acceptabilities:
    """Judge the sentences of all texts by an encoder of ours, or by ``hf:`` a classifier trained on CoLA."""
    if not model.startswith(HF_PREFIX):
        read = batch.encodings(model)
        values = 1 / (1 + np.exp(-read.encoded.acceptability))
        return Acceptabilities(read.owner, read.starts, read.ends, values, read.reasons)
    from celadon.models.encoders.transformers_heads import acceptability_classifier

    classifier = acceptability_classifier(model)
    reasons = unreadable(batch, (), model)
    units = [unit for unit in units_of(batch) if unit.owner not in reasons]
    return Acceptabilities(
        *places_of(units),
        values=classifier.probabilities([unit.text for unit in units]),
        reasons=reasons,
    )
