"""What sentences mean to MiniLM, and an encoder's projection to it.

An encoder whose base has no meaning of its own learns MiniLM's. Its projection is linear, so that it can be fitted to
many sentences at once: before training, which then has something to go on from, and after it, to the layers as they
have become.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch

from celadon.core import FloatArray, IntArray
from celadon.models.encoders.mean_pooled import MINILM
from celadon.models.store import folder_of
from celadon.train.corpus import number_texts
from celadon.train.encoders.bases import base_network, encoder_tokenizer
from celadon.train.encoders.classifiers import padded_rows
from celadon.train.encoders.examples import Examples, Meanings
from celadon.train.encoders.network import EncoderNetwork

_ROWS = 64
_LONGEST = 256
# how strongly large weights are held back, for each sentence that is fitted to
_HELD_BACK = 1 / 3
_SMALLEST_SPREAD = 1e-6


def minilm_meanings(advance: Callable[[int], None] = lambda texts: None, name: str = MINILM) -> Meanings:
    """Return what MiniLM says of texts; ``advance`` is called with how many more are done."""

    def meanings(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        base = folder_of(name)
        network, encoded = base_network(base).eval(), number_texts(texts, encoder_tokenizer(base))
        vectors = np.zeros((len(texts), network.shape.hidden), dtype=np.float32)
        order = np.argsort(encoded.lengths, kind="stable")
        for at in range(0, len(order), _ROWS):
            rows = order[at : at + _ROWS]
            with torch.no_grad():
                vectors[rows] = network(*padded_rows(encoded, rows, _LONGEST).tensors()).meaning.numpy()
            advance(len(rows))
        return vectors

    return meanings


def fit_meaning(network: EncoderNetwork, examples: Examples, most: int, longest: int) -> None:
    """Fit the projection to meaning by ridge regression, in place, to at most so many sentences at even distances."""
    if network.meaning is None:
        return
    known = np.flatnonzero(~np.isnan(examples.meant[:, 0]))
    if not len(known):
        return
    rows = known[np.unique(np.linspace(0, len(known) - 1, min(most, len(known))).astype(np.int64))]
    features = _features(network, examples, rows, longest)
    weights, offsets = _ridge(features, examples.meant[rows].astype(np.float64))
    with torch.no_grad():
        network.meaning.weight.copy_(torch.from_numpy(weights))
        network.meaning.bias.copy_(torch.from_numpy(offsets))


def _features(network: EncoderNetwork, examples: Examples, rows: IntArray, longest: int) -> FloatArray:
    was_training = network.training
    network.eval()
    features = np.zeros((len(rows), 2 * network.shape.hidden))
    order = np.argsort(examples.sentences.lengths[rows], kind="stable")
    with torch.no_grad():
        for at in range(0, len(order), _ROWS):
            some = order[at : at + _ROWS]
            padded = padded_rows(examples.sentences, rows[some], longest)
            features[some] = network.meaning_features(*padded.tensors()).numpy()
    network.train(was_training)
    return features


def _ridge(features: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights, [targets, features], and offsets that predict targets from features."""
    center, spread = features.mean(axis=0), features.std(axis=0) + _SMALLEST_SPREAD
    scaled, mean = (features - center) / spread, targets.mean(axis=0)
    square = scaled.T @ scaled + _HELD_BACK * len(features) * np.eye(features.shape[1])
    weights = np.linalg.solve(square, scaled.T @ (targets - mean)) / spread[:, None]
    return weights.T, mean - center @ weights
