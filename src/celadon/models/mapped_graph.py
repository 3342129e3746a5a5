"""ONNX files whose large tables are mapped into memory instead of read: workers on one machine share them.

A graph may keep a table in another file, from a place in it on, and ONNX Runtime maps that file. Here the other file is
the very one that the graph was read from: what is loaded is a copy of the graph without its large tables, each of
which says where in the file it lies. So a model stays one file, and needs nothing but this to be mapped.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_LARGE = 1 << 16
# numbers of fields in onnx.proto
_GRAPH = 7
_INITIALIZER = 5
_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 9, 13, 14
_EXTERNAL = 1
_KEY, _VALUE = 1, 2
# kinds of fields: a number, 8 bytes, so many bytes, 4 bytes
_NUMBER, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


class _Field(NamedTuple):
    """A field of a message: its number, where it begins, where what it holds begins and ends."""

    number: int
    start: int
    inside: int
    end: int


def graph_without_tables(path: Path) -> bytes:
    """The graph in a file, with a place in the file for every large table.

    Parameters
    ----------
    path
        The file; :class:`ValueError` or :class:`IndexError` where it holds no such messages.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        made = bytearray()
        for field in _fields(data, 0, len(data)):
            if field.number == _GRAPH:
                made += _message(_GRAPH, _graph(data, field, path.name))
            else:
                made += data[field.start : field.end]
        return bytes(made)


def _graph(data: mmap.mmap, graph: _Field, file: str) -> bytes:
    made = bytearray()
    for field in _fields(data, graph.inside, graph.end):
        if field.number == _INITIALIZER and field.end - field.inside >= _LARGE:
            made += _message(_INITIALIZER, _table(data, field, file))
        else:
            made += data[field.start : field.end]
    return bytes(made)


def _table(data: mmap.mmap, table: _Field, file: str) -> bytes:
    made = bytearray()
    for field in _fields(data, table.inside, table.end):
        if field.number == _RAW_DATA:
            place = {"location": file, "offset": str(field.inside), "length": str(field.end - field.inside)}
            for key, value in place.items():
                entry = _message(_KEY, key.encode()) + _message(_VALUE, value.encode())
                made += _message(_EXTERNAL_DATA, entry)
            made += _number(_DATA_LOCATION << 3 | _NUMBER) + _number(_EXTERNAL)
        else:
            made += data[field.start : field.end]
    return bytes(made)


def _fields(data: mmap.mmap, at: int, end: int) -> Iterator[_Field]:
    """The fields of the message between two places."""
    while at < end:
        start = at
        key, at = _read_number(data, at)
        kind, inside = key & 7, at
        if kind == _NUMBER:
            _, at = _read_number(data, at)
        elif kind == _BYTES:
            length, inside = _read_number(data, at)
            at = inside + length
        elif kind in {_FOUR, _EIGHT}:
            at += 4 if kind == _FOUR else 8
        else:
            raise ValueError(f"no field begins at byte {start}")
        if at > end:
            raise ValueError(f"the field at byte {start} does not end")
        yield _Field(key >> 3, start, inside, at)


def _read_number(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A number and where it ends: seven bits a byte, the lowest first, the eighth where more follow."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _number(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes((*made, value))


def _message(number: int, inside: bytes) -> bytes:
    return _number(number << 3 | _BYTES) + _number(len(inside)) + inside
