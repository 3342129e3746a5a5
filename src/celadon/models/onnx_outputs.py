"""Other outputs for an ONNX graph: what it computes on the way, in place of what it was saved to give.

ONNX Runtime gives only what a graph names as its outputs, and leaves out whatever these do not need. The library that
edits graphs is not part of the core install; but a saved graph is fields one after another, each with its length
before it (the wire format of Protocol Buffers), so that those that name outputs can be replaced by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

# the numbers of fields in ONNX's messages
_GRAPH_OF_MODEL = 7
_OUTPUT_OF_GRAPH = 12
_NAME_OF_OUTPUT = 1
# how a field is written
_VARINT, _EIGHT_BYTES, _WITH_LENGTH, _FOUR_BYTES = 0, 1, 2, 5


class _Field(NamedTuple):
    """A field: its number, where it begins, where its content does, and where both end."""

    number: int
    begin: int
    content: int
    end: int


def with_outputs(model: bytes, names: Sequence[str]) -> bytes:
    """Return a saved model whose outputs are these.

    Parameters
    ----------
    model
        What is in the file.
    names
        What the graph computes and is to give.

    Raises
    ------
    ValueError
        It is no saved model.
    """
    view = memoryview(model)
    parts: list[bytes | memoryview] = []
    for field in _fields(view):
        if field.number == _GRAPH_OF_MODEL:
            graph = view[field.content : field.end]
            kept = [graph[one.begin : one.end] for one in _fields(graph) if one.number != _OUTPUT_OF_GRAPH]
            named = [_written(_OUTPUT_OF_GRAPH, _written(_NAME_OF_OUTPUT, name.encode())) for name in names]
            parts.append(_written(_GRAPH_OF_MODEL, b"".join([*kept, *named])))
        else:
            parts.append(view[field.begin : field.end])
    return b"".join(parts)


def _fields(view: memoryview) -> Iterator[_Field]:
    at = 0
    while at < len(view):
        key, content = _varint(view, at)
        kind = key & 7
        if kind == _WITH_LENGTH:
            size, content = _varint(view, content)
            end = content + size
        elif kind == _VARINT:
            end = _varint(view, content)[1]
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            end = content + (8 if kind == _EIGHT_BYTES else 4)
        else:
            raise ValueError(f"there is no field of kind {kind}")
        if end > len(view):
            raise ValueError("it ends in the middle of a field")
        yield _Field(key >> 3, at, content, end)
        at = end


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    """A number, seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        if at >= len(view):
            raise ValueError("it ends in the middle of a number")
        value |= (view[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if view[at - 1] < 128:
            return value, at


def _written(number: int, content: bytes) -> bytes:
    return _as_varint(number << 3 | _WITH_LENGTH) + _as_varint(len(content)) + content


def _as_varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
