"""Whether the sentences of the texts of a batch stand in a natural order: every split of a text into two parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.models.encoders.encoder import order_logits
from celadon.models.store.places import HF_PREFIX
from celadon.scoring.batch.units import Unit, readable_units

if TYPE_CHECKING:
    from celadon.scoring.batch import Batch

LIKELIHOOD = "lm:"
REACH = 4
"""How many sentences apart two sentences may be for the encoder to compare them."""
TEMPERATURE = 6.0
"""How many nats of likelihood one unit of a logit is worth where a language model tells the order. Set by hand."""


@dataclass(frozen=True, eq=False)
class Orders:
    """The splits of each text into the sentences up to one and those after it.

    A text of one sentence has none. ``borders`` are the characters of the sentences before and after each border:
    begin, end, begin, end. ``kept`` and ``swapped`` are the logits that the two parts are in their right order as they
    stand, and swapped.
    """

    owner: IntArray
    borders: IntArray
    kept: FloatArray
    swapped: FloatArray
    reasons: Mapping[int, str]


def orders_of(batch: Batch, model: str) -> Orders:
    """Judge all splits by an encoder of ours, by the likelihoods of ``lm:NAME``, or by an order head ``hf:NAME``."""
    if model.startswith(LIKELIHOOD):
        return _by_likelihood(batch, model.removeprefix(LIKELIHOOD))
    return _by_order_head(batch, model) if model.startswith(HF_PREFIX) else _by_encoder(batch, model)


def _by_encoder(batch: Batch, model: str) -> Orders:
    """Each split by the mean over the pairs of sentences that it parts, at most ``REACH`` apart."""
    read = batch.encodings(model)
    count = len(read.owner)
    sums, many = np.zeros(count), np.zeros(count)
    for apart in range(1, REACH + 1):
        first = np.flatnonzero(read.owner[:-apart] == read.owner[apart:]) if count > apart else np.zeros(0, np.int64)
        logits = order_logits(read.encoded, first, first + apart)
        for parted in range(apart):
            np.add.at(sums, first + parted, logits)
            np.add.at(many, first + parted, 1)
    # the sentence before a split stands for it
    before = np.flatnonzero(many)
    kept = sums[before] / many[before]
    borders = np.stack(
        [read.starts[before], read.ends[before], read.starts[before + 1], read.ends[before + 1]], axis=-1
    )
    return Orders(read.owner[before], borders, kept, -kept, read.reasons)


def _by_likelihood(batch: Batch, model: str) -> Orders:
    """Each split by how much likelier the text is as it stands than with its parts swapped."""
    from celadon.models.language.language_model import language_model

    loaded = language_model(model)
    splits, reasons = _splits(batch, loaded.scripts, loaded.name)
    texts = [" ".join(parts) for split in splits for parts in (split.parts, split.parts[::-1])]
    distinct = list(dict.fromkeys(texts))
    totals = {text: float(each.logprobs.sum()) for text, each in zip(distinct, loaded.score(distinct), strict=True)}
    likelihoods = np.array([totals[text] for text in texts]).reshape(-1, 2)
    kept = (likelihoods[:, 0] - likelihoods[:, 1]) / TEMPERATURE
    return _orders(splits, kept, -kept, reasons)


def _by_order_head(batch: Batch, model: str) -> Orders:
    from celadon.models.encoders.transformers_heads import order_head

    head = order_head(model)
    splits, reasons = _splits(batch, (), model)
    kept = head.logits([split.parts for split in splits])
    return _orders(splits, kept, head.logits([split.parts[::-1] for split in splits]), reasons)


class _Split(NamedTuple):
    """A border between two sentences: all units of the text, and how many of them come before it."""

    units: tuple[Unit, ...]
    before: int

    @property
    def parts(self) -> tuple[str, str]:
        texts = [unit.text for unit in self.units]
        return " ".join(texts[: self.before]), " ".join(texts[self.before :])


def _splits(batch: Batch, scripts: tuple[str, ...], name: str) -> tuple[list[_Split], dict[int, str]]:
    units, reasons = readable_units(batch, scripts, name)
    texts = [tuple(group) for _, group in groupby(units, key=lambda unit: unit.owner)]
    return [_Split(whole, before) for whole in texts for before in range(1, len(whole))], reasons


def _orders(splits: Sequence[_Split], kept: FloatArray, swapped: FloatArray, reasons: Mapping[int, str]) -> Orders:
    owner = np.array([split.units[0].owner for split in splits], dtype=np.int64)
    around = [(split.units[split.before - 1], split.units[split.before]) for split in splits]
    borders = np.array([(a.start, a.end, b.start, b.end) for a, b in around], dtype=np.int64).reshape(-1, 4)
    return Orders(owner, borders, kept, swapped, reasons)
