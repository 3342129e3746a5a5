"""How well a trained encoder tells sound sentences from others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from celadon.core import FloatArray
from celadon.train.acceptability import AcceptabilityTraining, padded_rows
from celadon.train.corpus import EncodedSentences, number_texts
from celadon.train.encoder_network import EncoderNetwork, Heads
from celadon.train.ratings import read_ratings
from celadon.train.two_labels import matthews

_ROWS = 64


class PairAccuracy(NamedTuple):
    """How often a sentence is above its damaged copy, by the kind of damage (empty: all); ``pairs`` of them."""

    kind: str
    accuracy: float
    pairs: int


def pairs_told(training: AcceptabilityTraining) -> list[PairAccuracy]:
    """Compare the held-out sentences with their copies: first all, then by kind, hardest first."""
    examples = training.material.held_out
    logits = _logits(training.network, examples.sentences, training.recipe.longest)
    above = logits[0::2] > logits[1::2]
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for kind, better in zip(examples.kinds[1::2], above.tolist(), strict=True):
        by_kind[kind].append(better)
    found = [PairAccuracy(kind, float(np.mean(of)), len(of)) for kind, of in by_kind.items()]
    every = PairAccuracy("", float(above.mean()) if len(above) else float("nan"), len(above))
    return [every, *sorted(found, key=lambda one: (one.accuracy, one.kind))]


def labels_told(training: AcceptabilityTraining, path: str) -> tuple[float, int]:
    """Matthews' correlation of a logit above 0 with the labels of a file, and the number of its sentences."""
    table = read_ratings(path, None)
    there = np.flatnonzero(~np.isnan(table.values))
    texts: Sequence[str] = [sample.text for sample in table.samples(there)]
    encoded = number_texts(texts, training.material.tokenizer)
    logits = _logits(training.network, encoded, training.recipe.longest)
    return matthews(logits > 0, table.values[there] > 0.5), len(texts)


@torch.no_grad()
def _logits(network: EncoderNetwork, sentences: EncodedSentences, longest: int) -> FloatArray:
    network.eval()
    found = np.zeros(len(sentences))
    order = np.argsort(sentences.lengths, kind="stable")
    for at in range(0, len(order), _ROWS):
        rows = order[at : at + _ROWS]
        padded = padded_rows(sentences, rows, longest)
        heads: Heads = network(torch.from_numpy(padded.ids), torch.from_numpy(padded.lengths))
        found[rows] = heads.acceptability.numpy()
    return found
