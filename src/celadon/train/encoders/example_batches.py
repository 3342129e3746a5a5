"""Examples in batches, and how far a judge's logits are from what is known of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from celadon.core import FloatArray, IntArray
from celadon.train.batches import batches_of
from celadon.train.corpus import EncodedSentences
from celadon.train.encoders.acceptability_examples import Examples
from celadon.train.encoders.encoder_recipes import ExamplesRecipe

_ROWS = 64
# how a logit counts that is off by more: a teacher that is very sure is not to be copied to the last digit
_OFF_BY_MUCH = 1.0


class PaddedRows(NamedTuple):
    """Rows of tokens: ``ids`` [rows, length] and the length of each."""

    ids: IntArray
    lengths: IntArray

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Both as a network takes them."""
        return torch.from_numpy(self.ids), torch.from_numpy(self.lengths)


def padded_rows(sentences: EncodedSentences, rows: IntArray, longest: int) -> PaddedRows:
    """Lay sentences out as a network takes them; a longer one keeps its last token, which is a mark."""
    starts = np.asarray(sentences.starts)
    full = starts[rows + 1] - starts[rows]
    lengths = np.minimum(full, longest)
    ids = np.zeros((len(rows), int(lengths.max())), dtype=np.int64)
    for at, (row, length) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
        ids[at, :length] = sentences.ids[starts[row] : starts[row] + length]
        ids[at, length - 1] = sentences.ids[starts[row + 1] - 1]
    return PaddedRows(ids, lengths)


class ExampleBatch(NamedTuple):
    """Rows with what is known of each: ``good`` sentences, their copies, others; see ``Rows``.

    Attributes
    ----------
    padded
        The rows.
    targets, taught
        How acceptable each is; a teacher's logit, NaN where there is none.
    neighbours, good
        How many of the rows are such.
    units
        How many units of the examples these are.
    """

    padded: PaddedRows
    targets: torch.Tensor
    taught: torch.Tensor
    neighbours: int
    good: int
    units: int


def example_batches(examples: Examples, recipe: ExamplesRecipe, skip: int) -> Iterator[ExampleBatch]:
    """Yield batches of units of like length without end, from the batch numbered ``skip`` on."""
    lengths = np.minimum(examples.unit_lengths, 4 * recipe.longest)
    for units in islice(batches_of(lengths, recipe.batch_tokens, recipe.seed), skip, None):
        rows = examples.rows(units)
        targets, taught = (torch.from_numpy(of[rows.numbers]) for of in (examples.targets, examples.taught))
        padded = padded_rows(examples.sentences, rows.numbers, recipe.longest)
        yield ExampleBatch(padded, targets, taught, rows.neighbours, rows.good, len(units))


def example_loss(logits: torch.Tensor, batch: ExampleBatch, ranking: float) -> torch.Tensor:
    """Each row near what the teacher says or, where none was asked, near its target; each above its damaged copy."""
    asked = ~torch.isnan(batch.taught)
    loss = functional.binary_cross_entropy_with_logits(logits, batch.targets, reduction="none")
    near = functional.smooth_l1_loss(logits, torch.where(asked, batch.taught, 0.0), reduction="none", beta=_OFF_BY_MUCH)
    found = torch.where(asked, near, loss).mean()
    if batch.good:
        apart = logits[: batch.good] - logits[batch.good : 2 * batch.good]
        found = found + ranking * functional.softplus(-apart).mean()
    return found


@torch.no_grad()
def logits_of(judge: torch.nn.Module, sentences: EncodedSentences, longest: int) -> FloatArray:
    """A logit for each sentence by a network whose output, or the first of whose outputs, that is."""
    judge.eval()
    found = np.zeros(len(sentences))
    order = np.argsort(sentences.lengths, kind="stable")
    for at in range(0, len(order), _ROWS):
        rows = order[at : at + _ROWS]
        said = judge(*padded_rows(sentences, rows, longest).tensors())
        found[rows] = (said if isinstance(said, torch.Tensor) else said[0]).numpy()
    return found
