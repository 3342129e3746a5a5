"""Training the encoder to tell acceptable sentences from others."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch.nn import functional

from celadon.core import InputError
from celadon.train.encoders.encoder_network import EncoderNetwork, Heads
from celadon.train.encoders.encoder_recipes import AcceptabilityRecipe
from celadon.train.encoders.example_batches import ExampleBatch, PaddedRows, example_batches, example_loss
from celadon.train.encoders.material import Material
from celadon.train.precision import autocast
from celadon.train.training_run import TrainingRun

_DECAY = 0.01
# One sound sentence in so many is also read by the encoder as it was, to keep its meaning there.
_MEANT = 4


def encoder_tokenizer(base: Path) -> Tokenizer:
    """The tokenizer of an encoder, which puts the marks round a text and neither cuts nor pads."""
    from tokenizers.processors import BertProcessing

    from celadon.models.store.model_files import load_tokenizer

    tokenizer = load_tokenizer(base / "tokenizer.json")
    separator, first = (tokenizer.token_to_id(mark) for mark in ("[SEP]", "[CLS]"))
    if separator is None or first is None:
        raise InputError(f"{base}: its tokenizer has no [CLS] and [SEP]")
    tokenizer.post_processor = BertProcessing(("[SEP]", separator), ("[CLS]", first))
    return tokenizer


class AcceptabilityTraining(TrainingRun[ExampleBatch]):
    """A run that trains the encoder and its acceptability head.

    Parameters
    ----------
    recipe, material
        How, and on what.
    base
        The folder of the encoder to begin with.
    checkpoint
        Where the run is kept.
    """

    def __init__(self, recipe: AcceptabilityRecipe, material: Material, base: Path, checkpoint: Path) -> None:
        self.recipe = recipe
        self.material = material
        self.network = EncoderNetwork.from_minilm(base, recipe.dropout, recipe.seed)
        self._before = copy.deepcopy(self.network).eval().requires_grad_(False)
        weights = self.network.parameters()
        optimiser = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=_DECAY, fused=True)
        self.total = max(1, int(len(material.trained.unit_lengths) * recipe.passes))
        run = {"recipe": recipe.fingerprint, "data": material.digest, "teacher": material.teacher}
        super().__init__(self.network, optimiser, self.total, recipe.seed, run, checkpoint)

    def batches(self, skip: int) -> Iterator[ExampleBatch]:
        """Yield batches of units of like length."""
        return example_batches(self.material.trained, self.recipe, skip)

    def loss(self, batch: ExampleBatch) -> tuple[torch.Tensor, int]:
        """Each sentence near its target, above its damaged copy, before its follower, its meaning where it was."""
        heads, good = self._read(self.network, batch.padded), batch.good
        loss = example_loss(heads.acceptability, batch, self.recipe.ranking)
        if good and self.recipe.meaning:
            some = math.ceil(good / _MEANT)
            whole = PaddedRows(batch.padded.ids[:some], batch.padded.lengths[:some])
            with torch.no_grad():
                meant = self._read(self._before, whole).meaning
            loss = loss + self.recipe.meaning * (1 - (heads.meaning[:some] * meant).sum(-1)).mean()
        if batch.neighbours and self.recipe.order:
            parts = (slice(0, batch.neighbours), slice(batch.neighbours, 2 * batch.neighbours))
            first, second = (Heads(*(head[part] for head in heads)) for part in parts)
            ordered = self.network.order_logits(first, second)
            loss = loss + self.recipe.order * functional.softplus(-ordered).mean()
        return loss, batch.units

    def rate(self, seen: int) -> float:
        """Return the learning rate."""
        return self.recipe.rate(seen / self.total)

    def _read(self, network: EncoderNetwork, padded: PaddedRows) -> Heads:
        with autocast(self.recipe.precision):
            heads: Heads = network(*padded.tensors())
        return heads
