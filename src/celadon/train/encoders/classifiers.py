"""What the acceptability classifiers share, the encoder and its teacher: batches, loss, logits, measures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import torch
from torch.nn import functional

from celadon.core import FloatArray, IntArray
from celadon.train.combinations.ratings import matthews, read_ratings
from celadon.train.corpus import EncodedSentences, batches_of, number_texts
from celadon.train.encoders.examples import NO_LABEL, Examples
from celadon.train.encoders.recipes import ExamplesRecipe

if TYPE_CHECKING:
    from celadon.train.encoders.acceptability import AcceptabilityTraining
    from celadon.train.encoders.teacher import TeacherTraining

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
    """Rows with what is known of each: ``good`` sentences, their copies, others; see ``Rows``."""

    padded: PaddedRows  # the rows
    labels: torch.Tensor  # the class of each token, [rows, length], NO_LABEL where there is none
    meant: torch.Tensor  # what each means, [rows, width], NaN where that is not known
    # targets, taught: how acceptable each is; a teacher's logit, NaN where there is none
    targets: torch.Tensor
    taught: torch.Tensor
    # neighbours, good: how many of the rows are such
    neighbours: int
    good: int
    units: int  # how many units of the examples these are


def example_batches(examples: Examples, recipe: ExamplesRecipe, skip: int) -> Iterator[ExampleBatch]:
    """Yield batches of units of like length without end, from the batch numbered ``skip`` on."""
    lengths = np.minimum(examples.unit_lengths, 4 * recipe.longest)
    for units in islice(batches_of(lengths, recipe.batch_tokens, recipe.seed), skip, None):
        rows = examples.rows(units)
        targets, taught = (torch.from_numpy(of[rows.numbers]) for of in (examples.targets, examples.taught))
        padded = padded_rows(examples.sentences, rows.numbers, recipe.longest)
        labels = torch.from_numpy(_padded_labels(examples, rows.numbers, padded))
        meant = torch.from_numpy(examples.meant[rows.numbers].astype(np.float32))
        yield ExampleBatch(padded, labels, meant, targets, taught, rows.neighbours, rows.good, len(units))


def _padded_labels(examples: Examples, rows: IntArray, padded: PaddedRows) -> IntArray:
    labels = np.full(padded.ids.shape, NO_LABEL, dtype=np.int64)
    starts = np.asarray(examples.sentences.starts)
    for at, (row, length) in enumerate(zip(rows.tolist(), padded.lengths.tolist(), strict=True)):
        # the last token is a mark, also of a row that was cut
        labels[at, : length - 1] = examples.labels[starts[row] : starts[row] + length - 1]
    return labels


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


def findings_loss(logits: torch.Tensor, labels: torch.Tensor, sound_words: float) -> torch.Tensor:
    """Return the cross entropy of the classes of words; a sound word counts ``sound_words`` times."""
    weights = torch.ones(logits.shape[-1])
    weights[0] = sound_words
    known = labels != NO_LABEL
    if not known.any():
        return logits.sum() * 0.0
    return functional.cross_entropy(logits[known], labels[known], weight=weights)


@torch.no_grad()
def logits_of(network: torch.nn.Module, sentences: EncodedSentences, longest: int) -> FloatArray:
    """A logit for each sentence by a network whose output, or the first of whose outputs, that is."""
    network.eval()
    found = np.zeros(len(sentences))
    order = np.argsort(sentences.lengths, kind="stable")
    for at in range(0, len(order), _ROWS):
        rows = order[at : at + _ROWS]
        said = network(*padded_rows(sentences, rows, longest).tensors())
        found[rows] = (said if isinstance(said, torch.Tensor) else said[0]).numpy()
    return found


Classifier: TypeAlias = "AcceptabilityTraining | TeacherTraining"


class PairAccuracy(NamedTuple):
    """How often a sentence is above its damaged copy, by the kind of damage (empty: all); ``pairs`` of them."""

    kind: str
    accuracy: float
    pairs: int


def pair_accuracies(training: Classifier) -> list[PairAccuracy]:
    """Compare the held-out sentences with their copies: first all, then by kind, hardest first."""
    examples = training.material.held_out
    logits = logits_of(training.network, examples.sentences, training.recipe.longest)
    above = logits[0::2] > logits[1::2]
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for kind, better in zip(examples.kinds[1::2], above.tolist(), strict=True):
        by_kind[kind].append(better)
    found = [PairAccuracy(kind, float(np.mean(of)), len(of)) for kind, of in by_kind.items()]
    every = PairAccuracy("", float(above.mean()) if len(above) else float("nan"), len(above))
    return [every, *sorted(found, key=lambda one: (one.accuracy, one.kind))]


def label_correlation(training: Classifier, path: str) -> tuple[float, int]:
    """Matthews' correlation of a logit above 0 with the labels of a file, and the number of its sentences."""
    table = read_ratings(path, None)
    there = np.flatnonzero(~np.isnan(table.values))
    texts: Sequence[str] = [sample.text for sample in table.samples(there)]
    encoded = number_texts(texts, training.material.tokenizer)
    logits = logits_of(training.network, encoded, training.recipe.longest)
    return matthews(logits > 0, table.values[there] > 0.5), len(texts)
