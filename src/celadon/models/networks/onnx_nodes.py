"""Reads a saved ONNX graph into nodes and arrays, for the reference kernels; the core install has no other reader."""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from celadon.models.networks.onnx_wire import GRAPH_OF_MODEL, fields, varint

Array = npt.NDArray[Any]

# ONNX's numbers for the types of numbers that our graphs have
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_}
# the kinds of attributes that our graphs have
_FLOAT, _INT, _TENSOR, _GRAPH, _INTS = 1, 2, 4, 5, 7


@dataclass(frozen=True)
class Node:
    """One operation: its kind, the names of what it reads and of what it computes, and its attributes."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Value:
    """An input or output of a graph: its name, and its sizes where they are fixed (else None)."""

    name: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class Graph:
    """A graph: nodes in the order of execution, weights by name, inputs and outputs."""

    nodes: tuple[Node, ...]
    weights: dict[str, Array]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]


class _Message:
    """The fields of one Protocol Buffers message by number: places in the file."""

    def __init__(self, view: memoryview, begin: int = 0, end: int | None = None) -> None:
        self._view = view
        self._fields: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for field in fields(view, begin, end):
            self._fields[field.number].append((field.content, field.end))

    def messages(self, number: int) -> list[_Message]:
        return [_Message(self._view, begin, end) for begin, end in self._fields[number]]

    def all_bytes(self, number: int) -> list[bytes]:
        return [bytes(self._view[begin:end]) for begin, end in self._fields[number]]

    def text(self, number: int) -> str:
        return self.all_bytes(number)[0].decode() if self._fields[number] else ""

    def texts(self, number: int) -> tuple[str, ...]:
        return tuple(text.decode() for text in self.all_bytes(number))

    def number(self, number: int) -> int:
        return self.numbers(number)[0] if self._fields[number] else 0

    def numbers(self, number: int) -> list[int]:
        found = []
        for begin, end in self._fields[number]:
            at = begin
            while at < end:
                value, at = varint(self._view, at)
                found.append(value - (1 << 64) if value >> 63 else value)
        return found


def read_graph(model: bytes, folder: Path) -> Graph:
    """Read a saved model.

    Parameters
    ----------
    model
        What is in the file.
    folder
        Where the files are that hold its large tables.

    Raises
    ------
    ValueError
        It is no saved model, or has parts that no graph of ours has.
    """
    graphs = _Message(memoryview(model)).messages(GRAPH_OF_MODEL)
    if not graphs:
        raise ValueError("it holds no graph")
    return _graph(graphs[0], folder)


def _graph(message: _Message, folder: Path) -> Graph:
    weights = {tensor.text(8): _tensor(tensor, folder) for tensor in message.messages(5)}
    return Graph(
        nodes=tuple(_node(node, folder) for node in message.messages(1)),
        weights=weights,
        inputs=tuple(_value(value) for value in message.messages(11)),
        outputs=tuple(_value(value) for value in message.messages(12)),
    )


def _node(message: _Message, folder: Path) -> Node:
    attributes = {attribute.text(1): _attribute(attribute, folder) for attribute in message.messages(5)}
    return Node(message.text(4), message.texts(1), message.texts(2), attributes)


def _attribute(message: _Message, folder: Path) -> Any:
    kind = message.number(20)
    if kind == _FLOAT:
        return struct.unpack("<f", message.all_bytes(2)[0])[0]
    if kind == _INT:
        return message.number(3)
    if kind == _TENSOR:
        return _tensor(message.messages(5)[0], folder)
    if kind == _GRAPH:
        return _graph(message.messages(6)[0], folder)
    if kind == _INTS:
        return message.numbers(8)
    # the only texts are names that no kernel reads, as the reduction of a ScatterND that adds
    return message.text(4)


def _tensor(message: _Message, folder: Path) -> Array:
    dtype = np.dtype(DTYPES[message.number(2)])
    shape = tuple(message.numbers(1))
    places = {entry.text(1): entry.text(2) for entry in message.messages(13)}
    if places:
        count = int(places["length"]) // dtype.itemsize
        path, offset = folder / places["location"], int(places.get("offset", 0))
        return np.fromfile(path, dtype=dtype, count=count, offset=offset).reshape(shape)
    return np.frombuffer(message.all_bytes(9)[0] if message.all_bytes(9) else b"", dtype=dtype).reshape(shape)


def _value(message: _Message) -> Value:
    kinds = [kind for wrapper in message.messages(2) for kind in wrapper.messages(1)]
    sizes = [size for kind in kinds for shape in kind.messages(2) for size in shape.messages(1)]
    return Value(message.text(1), tuple(size.number(1) or None for size in sizes))
