"""Saved ONNX graphs, read and changed without the library that edits them, which is not part of the core install.

A saved graph is fields one after another, each with its length before it (the wire format of Protocol Buffers), so that
single ones can be replaced.
"""

from __future__ import annotations

import mmap
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# the number of the field in ONNX's model that holds the graph
GRAPH_OF_MODEL = 7
# how a field is written
_VARINT, _EIGHT_BYTES, _WITH_LENGTH, _FOUR_BYTES = 0, 1, 2, 5


class Field(NamedTuple):
    """A field: its number, where it begins, where its content does, and where both end."""

    number: int
    begin: int
    content: int
    end: int


def fields(view: memoryview, begin: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message between two places; ValueError where there is none."""
    at, last = begin, len(view) if end is None else end
    while at < last:
        key, content = varint(view, at)
        kind = key & 7
        if kind == _WITH_LENGTH:
            size, content = varint(view, content)
            after = content + size
        elif kind == _VARINT:
            after = varint(view, content)[1]
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            after = content + (8 if kind == _EIGHT_BYTES else 4)
        else:
            raise ValueError(f"there is no field of kind {kind}")
        if after > last:
            raise ValueError("it ends in the middle of a field")
        yield Field(key >> 3, at, content, after)
        at = after


def written(number: int, content: bytes) -> bytes:
    """A field that holds bytes."""
    return _as_varint(number << 3 | _WITH_LENGTH) + _as_varint(len(content)) + content


def written_number(number: int, value: int) -> bytes:
    """A field that holds a number."""
    return _as_varint(number << 3 | _VARINT) + _as_varint(value)


def varint(view: memoryview, at: int) -> tuple[int, int]:
    """Return a number, seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        if at >= len(view):
            raise ValueError("it ends in the middle of a number")
        value |= (view[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if view[at - 1] < 128:
            return value, at


def _as_varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


_OUTPUT_OF_GRAPH = 12
_NAME_OF_OUTPUT = 1


def with_outputs(model: bytes, names: Sequence[str]) -> bytes:
    """Return a saved model whose outputs are these: what it computes on the way, in place of what it was saved to give.

    ONNX Runtime gives only what a graph names as its outputs, and leaves out whatever these do not need. What is no
    saved model raises ValueError.
    """
    view = memoryview(model)
    parts: list[bytes | memoryview] = []
    for field in fields(view):
        if field.number == GRAPH_OF_MODEL:
            inside = fields(view, field.content, field.end)
            kept = [view[one.begin : one.end] for one in inside if one.number != _OUTPUT_OF_GRAPH]
            named = [written(_OUTPUT_OF_GRAPH, written(_NAME_OF_OUTPUT, name.encode())) for name in names]
            parts.append(written(GRAPH_OF_MODEL, b"".join([*kept, *named])))
        else:
            parts.append(view[field.begin : field.end])
    return b"".join(parts)


_LARGE = 1 << 16
# the numbers of fields in ONNX's messages
_TABLE_OF_GRAPH = 5
_BYTES_OF_TABLE, _PLACE_OF_TABLE, _WHERE_IS_TABLE = 9, 13, 14
_KEY_OF_PLACE, _VALUE_OF_PLACE = 1, 2
_IN_A_FILE = 1


def graph_without_tables(path: Path) -> bytes:
    """Return the graph in a file, with a place in the file for every large table; ValueError if it is no saved model.

    A graph may keep a table in another file, from a place in it on, and ONNX Runtime maps that file into memory, so
    that workers on one machine share it. Here the other file is the very one that the graph was read from: so a model
    stays one file, and needs nothing but this to be mapped.
    """
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        memoryview(data) as view,
    ):
        made = bytearray()
        for field in fields(view):
            if field.number == GRAPH_OF_MODEL:
                made += written(GRAPH_OF_MODEL, _graph_bytes(view, field, path.name))
            else:
                made += view[field.begin : field.end]
        return bytes(made)


def _graph_bytes(view: memoryview, graph: Field, file: str) -> bytes:
    made = bytearray()
    for field in fields(view, graph.content, graph.end):
        if field.number == _TABLE_OF_GRAPH and field.end - field.content >= _LARGE:
            made += written(_TABLE_OF_GRAPH, _table_bytes(view, field, file))
        else:
            made += view[field.begin : field.end]
    return bytes(made)


def _table_bytes(view: memoryview, table: Field, file: str) -> bytes:
    made = bytearray()
    for field in fields(view, table.content, table.end):
        if field.number == _BYTES_OF_TABLE:
            place = {"location": file, "offset": str(field.content), "length": str(field.end - field.content)}
            for key, value in place.items():
                entry = written(_KEY_OF_PLACE, key.encode()) + written(_VALUE_OF_PLACE, value.encode())
                made += written(_PLACE_OF_TABLE, entry)
            made += written_number(_WHERE_IS_TABLE, _IN_A_FILE)
        else:
            made += view[field.begin : field.end]
    return bytes(made)


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
    """Read a saved model into nodes and arrays, for the reference kernels; large tables are in files of ``folder``.

    What is no saved model, or has parts that no graph of ours has, raises ValueError.
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
