"""The order in which sentences are trained on: shuffled by the seed, then in batches of like length.

The order is a function of the seed and the number of the batch alone, so that a run that was killed goes on exactly
where its last checkpoint was taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

import numpy as np

from celadon.core import IntArray
from celadon.train.corpus import EncodedSentences

# Sentences that are sorted by length together: enough for batches of one length, few enough to keep the order random.
_POOL = 50_000


@dataclass(frozen=True)
class Padded:
    """One batch: ``inputs`` and ``targets``, [length, rows]; a target is -1 where there is none."""

    inputs: IntArray
    targets: IntArray

    @property
    def tokens(self) -> int:
        """The number of targets."""
        return int((self.targets >= 0).sum())


@dataclass(frozen=True)
class Plan:
    """How sentences become batches.

    Attributes
    ----------
    sentences
        All that may be trained on.
    tokens
        At most this many positions, padding included, in a batch.
    longest
        A longer sentence is trained on to its first ``longest`` tokens.
    begin, end
        The marks put round every sentence.
    """

    sentences: EncodedSentences
    tokens: int
    longest: int
    begin: int
    end: int
    seed: int = 0

    def batches(self, skip: int = 0) -> Iterator[Padded]:
        """Yield batches without end, epoch after epoch, from the batch numbered ``skip`` on."""
        lengths = np.minimum(self.sentences.lengths, self.longest) + 1
        return (self.padded(rows) for rows in islice(batches_of(lengths, self.tokens, self.seed), skip, None))

    def in_order(self) -> Iterator[Padded]:
        """Yield every sentence once, by length: for measuring."""
        lengths = np.minimum(self.sentences.lengths, self.longest) + 1
        return (self.padded(rows) for rows in _grouped(np.argsort(lengths, kind="stable"), lengths, self.tokens))

    def padded(self, rows: IntArray) -> Padded:
        """The batch of these sentences."""
        starts = np.asarray(self.sentences.starts)
        lengths = np.minimum(starts[rows + 1] - starts[rows], self.longest)
        shape = (int(lengths.max()) + 1, len(rows))
        inputs = np.full(shape, self.end, dtype=np.int64)
        targets = np.full(shape, -1, dtype=np.int64)
        inputs[0] = self.begin
        for column, (row, length) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
            ids = self.sentences.ids[starts[row] : starts[row] + length]
            inputs[1 : length + 1, column] = ids
            targets[:length, column] = ids
            # the end is no token of a sentence that was cut
            if starts[row + 1] - starts[row] == length:
                targets[length, column] = self.end
        return Padded(inputs, targets)


def batches_of(lengths: IntArray, tokens: int, seed: int) -> Iterator[IntArray]:
    """Yield batches of row numbers without end: each epoch shuffled, rows of like length together.

    Parameters
    ----------
    lengths
        The positions that each row takes.
    tokens
        At most this many positions, padding included, in a batch.
    seed
        Of the order.
    """
    for epoch in count():
        random = np.random.default_rng([seed, epoch])
        order = random.permutation(len(lengths))
        for at in range(0, len(order), _POOL):
            pool = order[at : at + _POOL]
            groups = list(_grouped(pool[np.argsort(lengths[pool], kind="stable")], lengths, tokens))
            yield from (groups[number] for number in random.permutation(len(groups)))


def _grouped(ordered: IntArray, lengths: IntArray, tokens: int) -> Iterator[IntArray]:
    """Runs of rows, shortest first, as long as they fit into the tokens of a batch."""
    sizes = lengths[ordered]
    begin = 0
    while begin < len(ordered):
        # sizes grow, so the number of rows that fit is found by the size of the last of them
        window = sizes[begin : begin + tokens]
        rows = max(1, int(np.searchsorted(window * np.arange(1, len(window) + 1), tokens, side="right")))
        yield ordered[begin : begin + rows]
        begin += rows
