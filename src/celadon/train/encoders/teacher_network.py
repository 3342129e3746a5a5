"""A language model of Llama's kind as a judge of sentences (needs torch): better than the encoder, too large to ship.

The lower layers stay what they were; the upper ones and a head are trained. Weights are read from the file that the
model store keeps for celadon's own graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from celadon.core import InputError, UsageError
from celadon.models.language.smollm2.layout import LlamaShape, Precision, linear_shapes, plan_weights

_STD = 0.02


class TeacherLayer(nn.Module):
    """Attention to what came before, then a gated feed-forward net."""

    def __init__(self, shape: LlamaShape) -> None:
        super().__init__()
        self.shape = shape
        sizes = linear_shapes(shape)
        self.qkv, self.out, self.gate_up, self.down = (
            nn.Linear(*sizes[name], bias=False) for name in ("qkv", "out", "gate_up", "down")
        )
        self.attention_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.mlp_norm = nn.RMSNorm(shape.width, shape.epsilon)

    def forward(self, states: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return the next states; ``turns`` are cosines and sines by place, [length, half a head]."""
        states = states + self._attended(self.attention_norm(states), turns)
        gate, up = self.gate_up(self.mlp_norm(states)).chunk(2, dim=-1)
        following: torch.Tensor = states + self.down(functional.silu(gate) * up)
        return following

    def _attended(self, states: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        rows, length, _ = states.shape
        shape, keys = self.shape, self.shape.key_heads * self.shape.head_width
        parts = self.qkv(states).split([shape.heads * shape.head_width, keys, keys], dim=-1)
        # [rows, heads that answer, heads that ask each of them, places, numbers]
        query, key, value = (part.view(rows, length, shape.key_heads, -1, shape.head_width) for part in parts)
        query, key, value = (part.permute(0, 2, 3, 1, 4) for part in (query, key, value))
        weights = (_turned(query, *turns) @ _turned(key, *turns).transpose(-1, -2)) * shape.head_width**-0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = weights.masked_fill(later, float("-inf")).softmax(-1)
        mixed: torch.Tensor = self.out((weights @ value).permute(0, 3, 1, 2, 4).reshape(rows, length, -1))
        return mixed


def _turned(heads: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    first, second = heads.chunk(2, dim=-1)
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)


class TeacherNetwork(nn.Module):
    """The layers of a language model, and a head that reads its last state and the mean of all.

    Parameters
    ----------
    shape
        The size of the language model.
    trained
        How many of the layers that are used are trained, counted from the last.
    depth
        How many of its layers are used, counted from the first; by default all.
    dropout
        The share of numbers that training leaves out of what the head reads.
    seed
        For the head's weights.
    """

    cosines: torch.Tensor
    sines: torch.Tensor

    def __init__(
        self, shape: LlamaShape, trained: int, dropout: float = 0.1, seed: int = 0, depth: int | None = None
    ) -> None:
        super().__init__()
        depth = depth or shape.layers
        if not 0 <= trained <= depth <= shape.layers:
            raise UsageError(f"of {shape.layers} layers, {depth} cannot be used and {trained} of these trained")
        self.shape, self.trained = shape, trained
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(TeacherLayer(shape) for _ in range(depth))
        self.last_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.head = nn.Linear(2 * shape.width, 1)
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.head.weight, std=_STD, generator=torch.Generator().manual_seed(seed))
        nn.init.zeros_(self.head.bias)
        frequencies = shape.theta ** -(torch.arange(0, shape.head_width, 2).double() / shape.head_width)
        angles = torch.arange(shape.positions).double()[:, None] * frequencies
        self.register_buffer("cosines", angles.cos().float(), persistent=False)
        self.register_buffer("sines", angles.sin().float(), persistent=False)
        for part in (self.embedding, *self.layers[: depth - trained]):
            part.requires_grad_(False)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return a logit for each row of tokens.

        Parameters
        ----------
        ids
            [rows, length]; what comes after a row's end is not looked at.
        lengths
            The tokens of each row, [rows], none of them zero.
        """
        states = self.states(ids)
        there = torch.arange(ids.shape[1]) < lengths[:, None]
        mean = states.masked_fill(~there[:, :, None], 0.0).sum(1) / lengths[:, None]
        last = states[torch.arange(len(ids)), lengths - 1]
        logits: torch.Tensor = self.head(self.dropout(torch.cat([last, mean], dim=1))).squeeze(-1)
        return logits

    def states(self, ids: torch.Tensor) -> torch.Tensor:
        """Return what the language model makes of each token and those before it, [rows, length, width]."""
        turns = (self.cosines[: ids.shape[1]], self.sines[: ids.shape[1]])
        states = self.embedding(ids)
        for layer in self.layers:
            states = layer(states, turns)
        found: torch.Tensor = self.last_norm(states)
        return found

    def read_language_model(self, path: Path) -> None:
        """Take the layers' weights from a file as ``celadon models fetch`` leaves it."""
        plan = plan_weights(self.shape, Precision.FP32)
        try:
            file = np.memmap(path, dtype=np.uint8, mode="r")
            weights = {
                name: torch.from_numpy(
                    np.array(file[place.offset : place.offset + place.size].view(place.kind).reshape(place.shape))
                )
                for name, place in plan.items()
            }
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: does not hold the weights of such a language model: {error}") from error
        self.load_state_dict(_named(weights, self.shape, len(self.layers)), strict=False)

    def learnt(self) -> dict[str, torch.Tensor]:
        """The weights that training changes."""
        return {name: weight.detach() for name, weight in self.named_parameters() if weight.requires_grad}


def _named(weights: Mapping[str, torch.Tensor], shape: LlamaShape, depth: int) -> dict[str, torch.Tensor]:
    """The file's weights of the first layers under the network's names; the file has matrices inputs by outputs."""
    found = {"embedding.weight": weights["embedding"], "last_norm.weight": weights["last_norm"]}
    for layer in range(depth):
        for name in linear_shapes(shape):
            found[f"layers.{layer}.{name}.weight"] = weights[f"{name}.{layer}"].T.contiguous()
        for name in ("attention_norm", "mlp_norm"):
            found[f"layers.{layer}.{name}.weight"] = weights[f"{name}.{layer}"]
    return found
