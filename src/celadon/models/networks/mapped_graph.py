"""ONNX files whose large tables are mapped into memory instead of read: workers on one machine share them.

A graph may keep a table in another file, from a place in it on, and ONNX Runtime maps that file. Here the other file is
the very one that the graph was read from: what is loaded is a copy of the graph without its large tables, each of
which says where in the file it lies. So a model stays one file, and needs nothing but this to be mapped.
"""

from __future__ import annotations

import mmap
from pathlib import Path

from celadon.models.networks.onnx_wire import GRAPH_OF_MODEL, Field, fields, written, written_number

_LARGE = 1 << 16
# the numbers of fields in ONNX's messages
_TABLE_OF_GRAPH = 5
_BYTES_OF_TABLE, _PLACE_OF_TABLE, _WHERE_IS_TABLE = 9, 13, 14
_KEY_OF_PLACE, _VALUE_OF_PLACE = 1, 2
_IN_A_FILE = 1


def graph_without_tables(path: Path) -> bytes:
    """The graph in a file, with a place in the file for every large table.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ValueError
        It is no saved model.
    """
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        memoryview(data) as view,
    ):
        made = bytearray()
        for field in fields(view):
            if field.number == GRAPH_OF_MODEL:
                made += written(GRAPH_OF_MODEL, _graph(view, field, path.name))
            else:
                made += view[field.begin : field.end]
        return bytes(made)


def _graph(view: memoryview, graph: Field, file: str) -> bytes:
    made = bytearray()
    for field in fields(view, graph.content, graph.end):
        if field.number == _TABLE_OF_GRAPH and field.end - field.content >= _LARGE:
            made += written(_TABLE_OF_GRAPH, _table(view, field, file))
        else:
            made += view[field.begin : field.end]
    return bytes(made)


def _table(view: memoryview, table: Field, file: str) -> bytes:
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
