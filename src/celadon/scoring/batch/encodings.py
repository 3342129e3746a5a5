"""What a sentence encoder makes of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from celadon.core import IntArray
from celadon.models.encoders.encoder import Encoded
from celadon.scoring.batch.units import places_of, units_of, unreadable

if TYPE_CHECKING:
    from celadon.scoring.batch import Batch


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
    from celadon.models.encoders.encoder import sentence_encoder

    encoder = sentence_encoder(model)
    reasons = unreadable(batch, encoder.scripts, encoder.name)
    units = [unit for unit in units_of(batch) if unit.owner not in reasons]
    return Encodings(
        *places_of(units),
        encoded=encoder.encode([unit.text for unit in units]),
        reasons=reasons,
    )
