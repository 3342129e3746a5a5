"""Training the encoder to tell acceptable sentences from others."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from celadon.core import InputError, IntArray
from celadon.train.acceptability_examples import Advance, Examples, Sources, make_examples
from celadon.train.batches import batches_of
from celadon.train.corpus import EncodedSentences
from celadon.train.encoder_network import EncoderNetwork, Heads
from celadon.train.encoder_recipes import AcceptabilityRecipe
from celadon.train.training_run import TrainingRun

_WARM_UP = 0.06
_DECAY = 0.01
# One sound sentence in so many is also read by the encoder as it was, to keep its meaning there.
_MEANT = 4


class Material(NamedTuple):
    """Examples made ready, and what they were made from."""

    tokenizer: Tokenizer
    trained: Examples
    held_out: Examples
    digest: str


def prepare(
    sources: Sources, recipe: AcceptabilityRecipe, base: Path, work: Path, advance: Advance = lambda size: None
) -> Material:
    """Make the examples, or take them from ``work`` if they were made from the same data.

    Parameters
    ----------
    sources, recipe
        What is trained on, and how.
    base
        The folder of the encoder that is trained on, for its tokenizer.
    work
        Where the examples are kept.
    advance
        Told how many more bytes of the corpus have been read.
    """
    tokenizer = _base_tokenizer(base)
    work.mkdir(parents=True, exist_ok=True)
    digest = sources.digest()
    made_from = json.dumps([digest, recipe.amounts, recipe.seed])
    stamp = work / "examples.json"
    if not (stamp.is_file() and stamp.read_text() == made_from):
        for name, part in zip(
            ("train", "held-out"), make_examples(sources, recipe.amounts, tokenizer, recipe.seed, advance), strict=True
        ):
            part.save(work, name)
        stamp.write_text(made_from)
    return Material(tokenizer, Examples.load(work, "train"), Examples.load(work, "held-out"), digest)


def _base_tokenizer(base: Path) -> Tokenizer:
    """The tokenizer of the base, which puts the marks round a text and neither cuts nor pads."""
    from tokenizers.processors import BertProcessing

    from celadon.models.model_files import load_tokenizer

    tokenizer = load_tokenizer(base / "tokenizer.json")
    separator, first = (tokenizer.token_to_id(mark) for mark in ("[SEP]", "[CLS]"))
    if separator is None or first is None:
        raise InputError(f"{base}: its tokenizer has no [CLS] and [SEP]")
    tokenizer.post_processor = BertProcessing(("[SEP]", separator), ("[CLS]", first))
    return tokenizer


class PaddedRows(NamedTuple):
    """Rows of tokens: ``ids`` [rows, length] and the length of each."""

    ids: IntArray
    lengths: IntArray


def padded_rows(sentences: EncodedSentences, rows: IntArray, longest: int) -> PaddedRows:
    """Lay sentences out as the encoder takes them; a longer one keeps its last token, which is a mark."""
    starts = np.asarray(sentences.starts)
    full = starts[rows + 1] - starts[rows]
    lengths = np.minimum(full, longest)
    ids = np.zeros((len(rows), int(lengths.max())), dtype=np.int64)
    for at, (row, length) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
        ids[at, :length] = sentences.ids[starts[row] : starts[row] + length]
        ids[at, length - 1] = sentences.ids[starts[row + 1] - 1]
    return PaddedRows(ids, lengths)


class _Batch(NamedTuple):
    padded: PaddedRows
    targets: torch.Tensor
    neighbours: int
    good: int
    units: int


class AcceptabilityTraining(TrainingRun[_Batch]):
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
        run = {"recipe": recipe.fingerprint, "data": material.digest}
        super().__init__(self.network, optimiser, self.total, recipe.seed, run, checkpoint)

    def batches(self, skip: int) -> Iterator[_Batch]:
        """Yield batches of units of like length."""
        examples = self.material.trained
        lengths = np.minimum(examples.unit_lengths, 4 * self.recipe.longest)
        for units in islice(batches_of(lengths, self.recipe.batch_tokens, self.recipe.seed), skip, None):
            rows = examples.rows(units)
            targets = torch.from_numpy(examples.targets[rows.numbers])
            padded = padded_rows(examples.sentences, rows.numbers, self.recipe.longest)
            yield _Batch(padded, targets, rows.neighbours, rows.good, len(units))

    def loss(self, batch: _Batch) -> tuple[torch.Tensor, int]:
        """Each sentence near its target, above its damaged copy, before its follower, its meaning where it was."""
        heads = self._read(self.network, batch.padded)
        logits, good = heads.acceptability, batch.good
        loss = functional.binary_cross_entropy_with_logits(logits, batch.targets)
        if good:
            apart = logits[:good] - logits[good : 2 * good]
            loss = loss + self.recipe.ranking * functional.softplus(-apart).mean()
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
        """Return the learning rate: up, then down to zero."""
        done = seen / self.total
        falling = 0.5 * (1 + math.cos(math.pi * min(1.0, (done - _WARM_UP) / (1 - _WARM_UP))))
        return self.recipe.learning_rate * (min(1.0, (done + 1e-3) / _WARM_UP) if done < _WARM_UP else falling)

    def _read(self, network: EncoderNetwork, padded: PaddedRows) -> Heads:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.recipe.precision == "bfloat16"):
            heads: Heads = network(torch.from_numpy(padded.ids), torch.from_numpy(padded.lengths))
        return heads
