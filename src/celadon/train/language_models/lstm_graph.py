"""The trained network as an ONNX graph that the core install runs (needs onnx to be made, nothing to be read).

All products are of bytes, summed in integers. Weights have a scale per output. States lie between -1 and 1, so that
their scale is a constant; token vectors keep the scale of their row: nothing depends on what else is in a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from celadon.models.networks.quantization import quantise_rows
from celadon.train.onnx_graph import FLOAT, INT64, MICROSOFT, Graph

if TYPE_CHECKING:
    from celadon.train.language_models.lstm import Shape

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
    """The graph with its weights: ``ids`` and ``where`` in, ``logprobs`` out.

    Parameters
    ----------
    weights
        The network's parameters by their names in torch.
    shape
        Its size.
    """
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
