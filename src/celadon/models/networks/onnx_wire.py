"""The bytes of a saved ONNX graph, for those who change little in it.

The library that edits graphs is not part of the core install; but a saved graph is fields one after another, each with
its length before it (the wire format of Protocol Buffers), so that single ones can be replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

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
