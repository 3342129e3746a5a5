"""The network: LSTM layers under an adaptive softmax that shares its vectors with the input (needs torch).

The softmax is in two steps. The most frequent tokens and one mark per further cluster compete in the head; a token of
a cluster then competes within its cluster. It is exact, and costs what the frequent tokens cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

_CUTOFFS = (2_000, 6_000, 20_000, 60_000)


def default_cutoffs(vocabulary: int) -> tuple[int, ...]:
    """Where the clusters begin; each further cluster is rarer and larger."""
    return tuple(cutoff for cutoff in _CUTOFFS if cutoff < vocabulary)


@dataclass(frozen=True)
class Shape:
    """The size of a network."""

    vocabulary: int
    hidden: int
    layers: int
    cutoffs: tuple[int, ...]

    @property
    def clusters(self) -> tuple[tuple[int, int], ...]:
        """First token and the one after the last, of each cluster after the head."""
        return tuple(pairwise((*self.cutoffs, self.vocabulary)))

    @property
    def input_scale(self) -> float:
        """What a token's vector is multiplied by on its way in: as an output weight it must be small, there not."""
        return math.sqrt(self.hidden)

    @property
    def head(self) -> int:
        """The number of tokens in the head."""
        return self.cutoffs[0] if self.cutoffs else self.vocabulary


class LstmLanguageModel(nn.Module):
    """Predicts each token from those before it."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden)
        self.lstm = nn.LSTM(shape.hidden, shape.hidden, shape.layers, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.marks = nn.Parameter(torch.empty(len(shape.clusters), shape.hidden))
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.mark_bias = nn.Parameter(torch.zeros(len(shape.clusters)))

    def initialise(self, log_unigrams: torch.Tensor, seed: int) -> None:
        """Set the weights; the biases begin at the unigram distribution, which need not be learned then."""
        generator = torch.Generator().manual_seed(seed)
        deviation = self.shape.hidden**-0.5
        nn.init.normal_(self.embedding.weight, std=deviation, generator=generator)
        nn.init.normal_(self.marks, std=deviation, generator=generator)
        for name, weight in self.lstm.named_parameters():
            if name.startswith("bias"):
                nn.init.zeros_(weight)
                if name.startswith("bias_ih"):
                    # the second quarter is the forget gate: open at first, so that gradients reach far back
                    weight.data[self.shape.hidden : 2 * self.shape.hidden] = 1.0
            else:
                bound = math.sqrt(3 / self.shape.hidden)
                nn.init.uniform_(weight, -bound, bound, generator=generator)
        self.bias.data.copy_(log_unigrams)
        for at, (first, last) in enumerate(self.shape.clusters):
            self.mark_bias.data[at] = torch.logsumexp(log_unigrams[first:last], 0)

    def forward(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The negative log-probability of each target.

        Parameters
        ----------
        inputs
            Tokens, [length, rows], the begin mark first.
        targets
            The token after each, [length, rows]; below zero where there is none, and then the loss is zero.
        """
        states, _ = self.lstm(self.dropout(self.embedding(inputs) * self.shape.input_scale))
        states = self.dropout(states).flatten(0, 1)
        wanted = targets.flatten()
        kept = (wanted >= 0).nonzero()[:, 0]
        losses = states.new_zeros(len(wanted), dtype=torch.float32)
        scattered: torch.Tensor = losses.index_copy(0, kept, self._losses(states[kept], wanted[kept]))
        return scattered.view_as(targets)

    def _losses(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        head, clusters = self.shape.head, self.shape.clusters
        vectors = torch.cat([self.embedding.weight[:head], self.marks])
        logits = functional.linear(states, vectors, torch.cat([self.bias[:head], self.mark_bias]))
        place = targets
        for at, (first, last) in enumerate(clusters):
            place = torch.where((targets >= first) & (targets < last), head + at, place)
        losses = functional.cross_entropy(logits.float(), place, reduction="none")
        for first, last in clusters:
            rows = ((targets >= first) & (targets < last)).nonzero()[:, 0]
            inner = functional.linear(states[rows], self.embedding.weight[first:last], self.bias[first:last])
            loss = functional.cross_entropy(inner.float(), targets[rows] - first, reduction="none")
            losses = losses.index_add(0, rows, loss)
        return losses


def parameter_count(model: nn.Module, parts: Sequence[str] = ("",)) -> int:
    """The number of weights whose names begin with one of ``parts``."""
    return sum(p.numel() for name, p in model.named_parameters() if name.startswith(tuple(parts)))
