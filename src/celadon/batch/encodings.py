"""What a sentence encoder makes of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celadon.batch.units import units_of, unreadable
from celadon.core import IntArray
from celadon.models.encoder import Encoded

if TYPE_CHECKING:
    from celadon.batch import Batch


@dataclass(frozen=True, eq=False)
class Encodings:
    """The sentences of a batch, encoded.

    Attributes
    ----------
    owner
        The sample of each sentence; samples in order, sentences in order.
    starts, ends
        The characters of each sentence in its text.
    encoded
        What the encoder says of each sentence.
    reasons
        For each sample without sentences, why.
    """

    owner: IntArray
    starts: IntArray
    ends: IntArray
    encoded: Encoded
    reasons: Mapping[int, str]


def encodings_of(batch: Batch, model: str) -> Encodings:
    """Encode the sentences of all texts, equal ones once."""
    from celadon.models.encoder import sentence_encoder

    encoder = sentence_encoder(model)
    reasons = unreadable(batch, encoder.scripts, encoder.name)
    units = [unit for unit in units_of(batch) if unit.owner not in reasons]
    return Encodings(
        owner=np.array([unit.owner for unit in units], dtype=np.int64),
        starts=np.array([unit.start for unit in units], dtype=np.int64),
        ends=np.array([unit.end for unit in units], dtype=np.int64),
        encoded=encoder.encode([unit.text for unit in units]),
        reasons=reasons,
    )
