"""The network: LSTM layers under an adaptive softmax that shares its vectors with the input (needs torch).

The softmax is in two steps. The most frequent tokens and one mark per further cluster compete in the head; a token of
a cluster then competes within its cluster. It is exact, and costs what the frequent tokens cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from celadon.models.networks.quantization import quantise_rows
from celadon.train.onnx_graph import FLOAT, INT64, MICROSOFT, Graph

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
        """Return the negative log-probability of each target, [length, rows]; zero where a target is below zero.

        Inputs begin with the begin mark.
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


Weights = Mapping[str, npt.NDArray[np.float32]]

_OPSET, _IR = 17, 9
_STEP = 1 / 127
_FAR = 2**62


class _Graph(Graph):
    """With products of bytes."""

    def quantised(self, states: str, name: str, step: float = _STEP) -> str:
        """Numbers as bytes: ``step`` apart, 128 for zero."""
        return self.add("QuantizeLinear", [states, self.number(step), self.zero_point()], name)

    def product(self, levels: str, matrix: str, scales: str, name: str, step: float = _STEP) -> str:
        """Bytes times a matrix of bytes, inputs by outputs, with the outputs' scales."""
        inputs = [levels, matrix, self.number(step), scales, self.zero_point()]
        return self.add("MatMulIntegerToFloat", inputs, name, domain=MICROSOFT)


def lstm_graph(weights: Weights, shape: Shape) -> bytes:
    """Return the graph with its weights, named as in torch: ``ids`` and ``where`` in, ``logprobs`` out."""
    graph = _Graph()
    one = graph.integers(1)
    context = graph.add("Slice", ["ids", graph.integers(0), graph.integers(-1), one], "context")
    following = graph.add("Slice", ["ids", one, graph.integers(_FAR), one], "following")
    every = graph.add("Reshape", [following, graph.integers(-1)], "every_target")
    targets = graph.add("Gather", [every, "where"], "targets")

    levels, scales = quantise_rows(weights["embedding.weight"])
    graph.constant("vectors", levels)
    graph.constant("vector_scales", scales)
    by_time = graph.add("Transpose", [context], "by_time", perm=[1, 0])
    states = _layers(graph, weights, shape, by_time)
    by_row = graph.add("Transpose", [states], "by_row", perm=[1, 0, 2])
    flat = graph.add("Reshape", [by_row, graph.integers(-1, shape.hidden)], "flat")
    _softmax(graph, weights, shape, graph.add("Gather", [flat, "where"], "wanted"), targets)

    value = graph.helper.make_tensor_value_info
    inputs = [value("ids", INT64, ["rows", "tokens"]), value("where", INT64, ["wanted_positions"])]
    made = graph.made("celadon_lstm", inputs, [value("logprobs", FLOAT, ["wanted_positions"])])
    return graph.serialised(made, _OPSET, _IR)


def _layers(graph: _Graph, weights: Weights, shape: Shape, by_time: str) -> str:
    """The states of the last layer as bytes, [length, rows, hidden]."""
    rows = graph.add("Cast", [graph.add("Gather", ["vectors", by_time], "embedded")], "embedded_numbers", to=FLOAT)
    states = graph.quantised(rows, "embedded_levels", step=1.0)
    size = graph.add("Gather", [graph.add("Shape", [by_time], "size"), graph.integers(1)], "batch")
    empty_size = graph.add("Concat", [size, graph.integers(shape.hidden)], "empty_size", axis=0)
    empty = graph.add("ConstantOfShape", [empty_size], "empty")
    for layer in range(shape.layers):
        # the scale of the inputs costs nothing as a part of the first layer's weights
        scale = 1.0 if layer else shape.input_scale
        matrix, scales = quantise_rows(_gates(weights, "weight_ih", layer) * np.float32(scale))
        names = graph.constant(f"inputs_{layer}", matrix.T), graph.constant(f"input_scales_{layer}", scales)
        given = graph.product(states, *names, f"given_{layer}", step=_STEP if layer else 1.0)
        if not layer:
            of_rows = graph.add("Gather", ["vector_scales", by_time], "embedded_scales")
            given = graph.add(
                "Mul", [given, graph.add("Unsqueeze", [of_rows, graph.integers(-1)], "row_scales")], "scaled"
            )
        bias = _gates(weights, "bias_ih", layer) + _gates(weights, "bias_hh", layer)
        given = graph.add("Add", [given, graph.constant(f"bias_{layer}", bias)], f"biased_{layer}")
        cell = _cell(weights, layer, shape.hidden)
        names_out = [f"last_state_{layer}", f"last_memory_{layer}", f"states_{layer}"]
        outputs = graph.several("Scan", [empty, empty, given], names_out, body=cell, num_scan_inputs=1)
        states = graph.quantised(outputs[2], f"state_levels_{layer}")
    return states


def _gates(weights: Weights, name: str, layer: int) -> npt.NDArray[np.float32]:
    """The gates in the order in which they share an operation: torch has input, forget, cell, output."""
    enter, forget, cell, leave = np.split(weights[f"lstm.{name}_l{layer}"], 4)
    return np.concatenate([enter, forget, leave, cell])


def _cell(weights: Weights, layer: int, hidden: int) -> Any:
    """One step in time: state and memory before, what is given from below; state and memory after."""
    cell = _Graph()
    matrix, scales = quantise_rows(_gates(weights, "weight_hh", layer))
    before = cell.quantised("state", "state_levels")
    recalled = cell.product(before, cell.constant("recurrent", matrix.T), cell.constant("scales", scales), "recalled")
    total = cell.add("Add", [recalled, "given"], "total")
    gates, written = cell.several("Split", [total, cell.integers(3 * hidden, hidden)], ["gates", "written"], axis=1)
    opened = cell.add("Sigmoid", [gates], "opened")
    split = [opened, cell.integers(hidden, hidden, hidden)]
    enter, forget, leave = cell.several("Split", split, ["enter", "forget", "leave"], axis=1)
    kept = cell.add("Mul", [forget, "memory"], "kept")
    new = cell.add("Mul", [enter, cell.add("Tanh", [written], "candidate")], "new")
    memory = cell.add("Add", [kept, new], "memory_after")
    cell.add("Mul", [leave, cell.add("Tanh", [memory], "squashed")], "state_after")
    cell.add("Identity", ["state_after"], "shown")
    value = cell.helper.make_tensor_value_info
    inputs = [value(name, FLOAT, ["batch", hidden]) for name in ("state", "memory")]
    inputs.append(value("given", FLOAT, ["batch", 4 * hidden]))
    outputs = [value(name, FLOAT, ["batch", hidden]) for name in ("state_after", "memory_after", "shown")]
    return cell.made(f"cell_{layer}", inputs, outputs)


def _softmax(graph: _Graph, weights: Weights, shape: Shape, states: str, targets: str) -> None:
    """The two steps of the adaptive softmax, the second only for the rows whose target is in the cluster."""
    place, members = targets, []
    for at, (first, last) in enumerate(shape.clusters):
        least = graph.add("GreaterOrEqual", [targets, graph.integers(first)], f"least_{at}")
        below = graph.add("Less", [targets, graph.integers(last)], f"below_{at}")
        members.append(graph.add("And", [least, below], f"member_{at}"))
        place = graph.add("Where", [members[at], graph.integers(shape.head + at), place], f"place_{at}")
    vectors, scales = _slice(graph, 0, shape.head, "head")
    bias = weights["bias"][: shape.head]
    if shape.clusters:
        marks, mark_scales = quantise_rows(weights["marks"])
        vectors = graph.add("Concat", [vectors, graph.constant("marks", marks)], "head_vectors", axis=0)
        scales = graph.add("Concat", [scales, graph.constant("mark_scales", mark_scales)], "head_scales", axis=0)
        bias = np.concatenate([bias, weights["mark_bias"]])
    total = _log_probability(graph, "head", states, (vectors, scales, graph.constant("head_bias", bias)), place)
    for at, (first, last) in enumerate(shape.clusters):
        found = graph.add("NonZero", [members[at]], f"found_{at}")
        rows = graph.add("Squeeze", [found, graph.integers(0)], f"rows_{at}")
        own = graph.add("Gather", [targets, rows], f"own_targets_{at}")
        inner_targets = graph.add("Sub", [own, graph.integers(first)], f"inner_targets_{at}")
        inner_states = graph.add("Gather", [states, rows], f"inner_states_{at}")
        inner_bias = graph.constant(f"cluster_bias_{at}", weights["bias"][first:last])
        matrix = (*_slice(graph, first, last, f"cluster_{at}"), inner_bias)
        inner = _log_probability(graph, f"cluster_{at}", inner_states, matrix, inner_targets)
        places = graph.add("Unsqueeze", [rows, graph.integers(1)], f"places_{at}")
        total = graph.add("ScatterND", [total, places, inner], f"total_{at}", reduction="add")
    graph.add("Identity", [total], "logprobs")


def _slice(graph: _Graph, first: int, last: int, name: str) -> tuple[str, str]:
    """The vectors of a range of tokens, and their scales; cut when the graph is loaded."""
    edges = [graph.integers(first), graph.integers(last), graph.integers(0)]
    return (
        graph.add("Slice", ["vectors", *edges], f"{name}.vectors"),
        graph.add("Slice", ["vector_scales", *edges], f"{name}.scales"),
    )


def _log_probability(graph: _Graph, name: str, states: str, matrix: tuple[str, str, str], targets: str) -> str:
    vectors, scales, bias = matrix
    turned = graph.add("Transpose", [vectors], f"{name}.turned", perm=[1, 0])
    logits = graph.add("Add", [graph.product(states, turned, scales, f"{name}.product"), bias], f"{name}.logits")
    normalised = graph.add("LogSoftmax", [logits], f"{name}.normalised", axis=-1)
    column = graph.add("Unsqueeze", [targets, graph.integers(1)], f"{name}.column")
    chosen = graph.add("GatherElements", [normalised, column], f"{name}.chosen", axis=1)
    return graph.add("Squeeze", [chosen, graph.integers(1)], f"{name}.logprob")
