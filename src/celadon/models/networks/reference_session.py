"""Runs our ONNX graphs in numpy: slow, short, and written independently of ONNX Runtime.

What ONNX Runtime computes is checked against this, and where a processor makes ONNX Runtime compute wrong numbers this
takes its place (see :mod:`celadon.models.networks.self_check`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from celadon.models.networks.onnx_graph import DTYPES, Graph, Node, Value, read_graph

# an array whose type only the graph knows
Array: TypeAlias = Any

_Kernel = Callable[..., Any]


class ReferenceSession:
    """A loaded graph, with those methods of ``onnxruntime.InferenceSession`` that celadon calls.

    What is no saved model, or has an operation without a kernel here, raises ValueError.
    """

    def __init__(self, model: bytes, folder: Path) -> None:
        self._graph = read_graph(model, folder)
        kinds = {node.kind for node in _all_nodes(self._graph)}
        if unknown := sorted(kinds - KERNELS.keys() - {"Scan"}):
            raise ValueError(f"there is no reference kernel for {', '.join(unknown)}")

    def get_inputs(self) -> Sequence[Value]:
        """Return the graph's inputs."""
        return self._graph.inputs

    def get_outputs(self) -> Sequence[Value]:
        """Return the graph's outputs."""
        return self._graph.outputs

    def run(self, names: Sequence[str] | None, feed: Mapping[str, Array]) -> list[Array]:
        """Return what the graph computes: the outputs of these names, or all."""
        values = _run(self._graph, feed)
        return [values[name] for name in names or [value.name for value in self._graph.outputs]]


def _all_nodes(graph: Graph) -> list[Node]:
    inner = [value for node in graph.nodes for value in node.attributes.values() if isinstance(value, Graph)]
    return [*graph.nodes, *(node for body in inner for node in _all_nodes(body))]


def _run(graph: Graph, feed: Mapping[str, Array]) -> dict[str, Array]:
    values: dict[str, Array] = {**graph.weights, **feed}
    for node in graph.nodes:
        inputs = [values[name] if name else None for name in node.inputs]
        kernel = _scan if node.kind == "Scan" else KERNELS[node.kind]
        outputs = kernel(*inputs, **node.attributes)
        if not isinstance(outputs, tuple):
            outputs = (outputs,)
        values.update(zip(node.outputs, outputs, strict=True))
    return values


def _scan(*inputs: Array, body: Graph, num_scan_inputs: int) -> tuple[Array, ...]:
    """Run a graph once per entry along the first axis; what it computes beyond the states is stacked."""
    kept = len(inputs) - num_scan_inputs
    states, rows = list(inputs[:kept]), []
    names = [value.name for value in body.inputs]
    for at in range(len(inputs[-1])):
        given = [*states, *(each[at] for each in inputs[kept:])]
        values = _run(body, dict(zip(names, given, strict=True)))
        outputs = [values[value.name] for value in body.outputs]
        states = outputs[:kept]
        rows.append(outputs[kept:])
    return (*states, *(np.stack(column) for column in zip(*rows, strict=True)))


def _slice(data: Array, starts: Array, ends: Array, axes: Array | None = None) -> Array:
    cuts = [slice(None)] * data.ndim
    for axis, start, end in zip(range(data.ndim) if axes is None else axes, starts, ends, strict=False):
        cuts[int(axis)] = slice(int(start), int(end))
    return data[tuple(cuts)]


def _split(data: Array, sizes: Array, axis: int = 0) -> tuple[Array, ...]:
    return tuple(np.split(data, np.cumsum(sizes)[:-1], axis=axis))


def _reshape(data: Array, shape: Array) -> Array:
    return data.reshape([data.shape[at] if size == 0 else int(size) for at, size in enumerate(shape)])


def _unsqueeze(data: Array, axes: Array) -> Array:
    return np.expand_dims(data, tuple(int(axis) for axis in axes))


def _transpose(data: Array, perm: Sequence[int]) -> Array:
    return np.transpose(data, perm)


def _squeeze(data: Array, axes: Array) -> Array:
    return np.squeeze(data, tuple(int(axis) for axis in axes))


def _quantize(data: Array, scale: Array, zero: Array) -> Array:
    return np.clip(np.rint(data / scale) + zero, 0, 255).astype(np.uint8)


def _integer_product(levels: Array, matrix: Array, step: Array, scales: Array, zero: Array) -> Array:
    # float32 adds whole numbers below 2 ** 24 exactly, float64 larger ones
    exact = np.float32 if len(matrix) * 255 * 127 < 1 << 24 else np.float64
    total = (levels.astype(exact) - exact(np.ravel(zero)[0])) @ matrix.astype(exact)
    return total.astype(np.float32) * (np.ravel(step)[0] * scales).astype(np.float32)


def _sigmoid(data: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(data), dtype=np.float32)


def _log_softmax(data: Array, axis: int = -1) -> Array:
    shifted = data - data.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _layer_norm(data: Array, weight: Array, bias: Array, axis: int = -1, epsilon: float = 1e-5) -> Array:
    centered = data - data.mean(axis=axis, keepdims=True)
    spread = np.sqrt((centered**2).mean(axis=axis, keepdims=True) + np.float32(epsilon))
    return centered / spread * weight + bias


def _bias_gelu(data: Array, bias: Array) -> Array:
    from scipy.special import erf

    total = data + bias
    return (0.5 * total * (1 + erf(total / np.sqrt(np.float32(2))))).astype(np.float32)


def _attention(query: Array, key: Array, value: Array, bias: Array, lengths: Array, num_heads: int) -> Array:
    """Attend over rows of [rows, length, hidden]; positions from a row's length on are not looked at."""
    rows, length, hidden = query.shape
    parts = [part + cut for part, cut in zip((query, key, value), np.split(bias, 3), strict=True)]
    queries, keys, values = (part.reshape(rows, length, num_heads, -1).transpose(0, 2, 1, 3) for part in parts)
    logits = queries @ keys.swapaxes(-1, -2) / np.sqrt(np.float32(hidden // num_heads))
    hidden_from = np.arange(length) >= lengths[:, None]
    logits = np.where(hidden_from[:, None, None, :], np.float32(-np.inf), logits)
    return (np.exp(_log_softmax(logits)) @ values).transpose(0, 2, 1, 3).reshape(rows, length, hidden)


def _scatter_add(data: Array, places: Array, updates: Array, **_: Any) -> Array:
    total = data.copy()
    np.add.at(total, tuple(places.T), updates)
    return total


def _gemm(rows: Array, matrix: Array, bias: Array, transB: int = 0) -> Array:  # noqa: N803 - ONNX's name
    return rows @ (matrix.T if transB else matrix) + bias


def _reduce(of: Callable[..., Array]) -> _Kernel:
    def kernel(data: Array, axes: Array, keepdims: int = 1) -> Array:
        return of(data, axis=tuple(int(axis) for axis in axes), keepdims=bool(keepdims))

    return kernel


KERNELS: Mapping[str, _Kernel] = {
    "Add": np.add,
    "And": np.logical_and,
    "BiasGelu": _bias_gelu,
    "Cast": lambda data, to: data.astype(DTYPES[to]),
    "Concat": lambda *parts, axis: np.concatenate(parts, axis=axis),
    "ConstantOfShape": lambda shape: np.zeros(shape, dtype=np.float32),
    "Div": np.divide,
    "Gather": lambda data, at, axis=0: np.take(data, at, axis=axis),
    "GatherElements": lambda data, at, axis=0: np.take_along_axis(data, at, axis=axis),
    "Gemm": _gemm,
    "GreaterOrEqual": np.greater_equal,
    "Identity": lambda data: data,
    "LayerNormalization": _layer_norm,
    "Less": np.less,
    "LogSoftmax": _log_softmax,
    "MatMul": np.matmul,
    "MatMulIntegerToFloat": _integer_product,
    "Max": np.maximum,
    "Mul": np.multiply,
    "MultiHeadAttention": _attention,
    "NonZero": lambda data: np.stack(np.nonzero(data)),
    "QuantizeLinear": _quantize,
    "Range": np.arange,
    "ReduceL2": _reduce(lambda data, **how: np.sqrt((data**2).sum(**how))),
    "ReduceSum": _reduce(np.sum),
    "Reshape": _reshape,
    "ScatterND": _scatter_add,
    "Shape": lambda data: np.array(data.shape, dtype=np.int64),
    "Sigmoid": _sigmoid,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Sub": np.subtract,
    "Tanh": np.tanh,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": np.where,
}
