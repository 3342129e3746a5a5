"""The sentence encoder with its heads, as it is trained (needs torch).

The body is a BERT (:mod:`celadon.train.encoders.bases` reads its weights): embeddings, then layers of attention and a
feed-forward net, each normalised after its sum. Every head reads the same pass over a sentence. What stands behind a
sentence's length changes nothing.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from celadon.train.training_run import is_not, read_tensors, write_tensors

_STD = 0.02


@dataclass(frozen=True)
class EncoderShape:
    """The size of an encoder."""

    # vocabulary, hidden, layers, heads, inner, positions: the body: tokens, width, layers, attention heads, width of
    # the feed-forward net, longest row
    vocabulary: int
    hidden: int = 384
    layers: int = 6
    heads: int = 12
    inner: int = 1536
    positions: int = 512
    # the layer whose mean the order projections also see: order shows in words (pronouns, articles, names) that later
    # layers have blended into the meaning
    early: int = 2
    classifier: int = 192  # the width of the acceptability head
    projection: int = 64  # the width of the order projections
    findings: int = 0  # the classes of the head per token; 0 for none
    meaning: int = 0  # the width of the projection to meaning; 0 where meaning is the mean of the last layer itself
    epsilon: float = 1e-12  # what the normalisation adds to a variance


class Heads(NamedTuple):
    """What the encoder says of each row, always in float32."""

    acceptability: torch.Tensor  # a logit, [rows]
    meaning: torch.Tensor  # of length 1, [rows, hidden or the width of its projection]
    # before, after: the row as the first and as the second of two sentences, [rows, projection]
    before: torch.Tensor
    after: torch.Tensor
    # a logit per token and class, [rows, length, classes]; no class where there is no such head
    findings: torch.Tensor = torch.empty(0)

    def rows(self, rows: slice) -> Heads:
        """Return some of the rows."""
        return Heads(*(head[rows] for head in self))


class EncoderLayer(nn.Module):
    """Attention and a feed-forward net."""

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        self.heads = shape.heads
        # queries, keys and values, one below the other
        self.attention = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.attended = nn.Linear(shape.hidden, shape.hidden)
        self.attended_norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.inner = nn.Linear(shape.hidden, shape.inner)
        self.outer = nn.Linear(shape.inner, shape.hidden)
        self.outer_norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the next states; ``mask`` [rows, 1, 1, length] is true where there is a token."""
        rows, length, hidden = states.shape
        split = self.attention(states).view(rows, length, 3, self.heads, hidden // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        # written out: for short rows it is twice as fast on a processor as torch's fused attention backwards
        weights = (query @ key.transpose(-1, -2)) * (hidden // self.heads) ** -0.5
        weights = weights.masked_fill(~mask, float("-inf")).softmax(-1).to(value.dtype)
        mixed = self.attended((weights @ value).transpose(1, 2).reshape(rows, length, hidden))
        states = self.attended_norm(states + mixed)
        following: torch.Tensor = self.outer_norm(states + self.outer(functional.gelu(self.inner(states))))
        return following


class EncoderNetwork(nn.Module):
    """A sentence encoder: one pass gives acceptability, meaning, order and what is wrong with each token.

    Dropout is of what the heads read; the seed is for the weights that are not loaded from elsewhere.
    """

    def __init__(self, shape: EncoderShape, dropout: float = 0.1, seed: int = 0) -> None:
        super().__init__()
        self.shape = shape
        self.tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.places = nn.Embedding(shape.positions, shape.hidden)
        self.embedded_norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(shape.layers))
        self.classifier = nn.Linear(2 * shape.hidden, shape.classifier)
        self.acceptability = nn.Linear(shape.classifier, 1)
        self.before = nn.Linear(3 * shape.hidden, shape.projection)
        self.after = nn.Linear(3 * shape.hidden, shape.projection)
        self.order_weight = nn.Parameter(torch.empty(shape.projection))
        self.order_offset = nn.Parameter(torch.zeros(shape.projection))
        self.findings = nn.Linear(shape.hidden, shape.findings) if shape.findings else None
        self.meaning = nn.Linear(2 * shape.hidden, shape.meaning) if shape.meaning else None
        self.dropout = nn.Dropout(dropout)
        self._initialise(seed)

    def freeze(self, lowest: int) -> None:
        """Exclude the lowest parts from training: 1 the embeddings, 2 the first layer too, and so on."""
        embeddings = nn.ModuleList([self.tokens, self.places, self.embedded_norm])
        for part in [embeddings, *self.layers][:lowest]:
            part.requires_grad_(requires_grad=False)

    def body_parameters(self) -> list[nn.Parameter]:
        """Return what a base gives: the weights of the embeddings and of the layers."""
        parts = (self.tokens, self.places, self.embedded_norm, self.layers)
        return [weight for part in parts for weight in part.parameters()]

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> Heads:
        """Encode rows of tokens, [rows, length], each from [CLS] to [SEP]; what comes after its length is ignored."""
        states, early, there = self._states(ids, lengths)
        return self._heads(states, early, there)

    def order_features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """What the order projections read of each row: its first state, the means of the last and an early layer."""
        states, early, there = self._states(ids, lengths)
        return torch.cat([states[:, 0], _mean(states, there), _mean(early, there)], dim=-1)

    def meaning_features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """What the projection to meaning reads of each row: the means of an early and of the last layer."""
        states, early, there = self._states(ids, lengths)
        return torch.cat([_mean(early, there), _mean(states, there)], dim=-1)

    def _states(self, ids: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The states after the last and after the early layer, and where there are tokens."""
        length = ids.shape[1]
        there = torch.arange(length, device=ids.device) < lengths[:, None]
        states = self.tokens(ids) + self.places.weight[:length]
        states = self.embedded_norm(states)
        early = states
        for number, layer in enumerate(self.layers, start=1):
            states = layer(states, there[:, None, None, :])
            if number == self.shape.early:
                early = states
        return states.float(), early.float(), there

    def order_logits(self, first: Heads, second: Heads) -> torch.Tensor:
        """The logit that each row of ``first`` stands before that of ``second``, [rows]."""
        forward = self._order(first.before + second.after)
        return forward - self._order(second.before + first.after)

    def _order(self, summed: torch.Tensor) -> torch.Tensor:
        # no matrix product: autocast would round it
        return (functional.relu(summed + self.order_offset) * self.order_weight).sum(-1)

    def _heads(self, states: torch.Tensor, early: torch.Tensor, there: torch.Tensor) -> Heads:
        mean = _mean(states, there)
        both = torch.cat([states[:, 0], mean], dim=-1)
        hidden = torch.tanh(self.classifier(self.dropout(both)))
        early_mean = _mean(early, there)
        ordered = self.dropout(torch.cat([both, early_mean], dim=-1))
        # words tell the topic, and an early layer still has them
        meaning = mean if self.meaning is None else self.meaning(torch.cat([early_mean, mean], dim=-1)).float()
        findings = states[:, :, :0] if self.findings is None else self.findings(self.dropout(states)).float()
        return Heads(
            acceptability=self.acceptability(self.dropout(hidden)).squeeze(-1).float(),
            meaning=functional.normalize(meaning, dim=-1),
            before=self.before(ordered).float(),
            after=self.after(ordered).float(),
            findings=findings,
        )

    def _initialise(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=_STD, generator=generator)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.order_weight, std=self.shape.projection**-0.5, generator=generator)


def _mean(states: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """The mean over a row's own tokens."""
    kept = states.masked_fill(~there[:, :, None], 0.0)
    return kept.sum(1) / there.sum(1, keepdim=True)


_WHAT = "a network that celadon train acceptability kept"


class KeptNetwork(NamedTuple):
    """A network, its tokenizer as JSON, and what its card says so far."""

    network: EncoderNetwork
    tokenizer: str
    card: str


def save_network(path: Path, kept: KeptNetwork) -> None:
    """Write a network; the file appears whole or not at all."""
    facts = {
        "shape": json.dumps(dataclasses.asdict(kept.network.shape)),
        "tokenizer": kept.tokenizer,
        "card": kept.card,
    }
    write_tensors(path, dict(kept.network.named_parameters()), facts)


def load_network(path: Path) -> KeptNetwork:
    """Read what :func:`save_network` wrote; raise InputError where it is something else."""
    weights, facts = read_tensors(path, _WHAT)
    try:
        network = EncoderNetwork(EncoderShape(**json.loads(facts["shape"])))
        network.load_state_dict(weights)
        return KeptNetwork(network, facts["tokenizer"], facts["card"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise is_not(path, _WHAT, error) from error
