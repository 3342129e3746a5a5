"""Other outputs for an ONNX graph: what it computes on the way, in place of what it was saved to give.

ONNX Runtime gives only what a graph names as its outputs, and leaves out whatever these do not need.
"""

from __future__ import annotations

from collections.abc import Sequence

from celadon.models.networks.onnx_wire import GRAPH_OF_MODEL, fields, written

_OUTPUT_OF_GRAPH = 12
_NAME_OF_OUTPUT = 1


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
    for field in fields(view):
        if field.number == GRAPH_OF_MODEL:
            inside = fields(view, field.content, field.end)
            kept = [view[one.begin : one.end] for one in inside if one.number != _OUTPUT_OF_GRAPH]
            named = [written(_OUTPUT_OF_GRAPH, written(_NAME_OF_OUTPUT, name.encode())) for name in names]
            parts.append(written(GRAPH_OF_MODEL, b"".join([*kept, *named])))
        else:
            parts.append(view[field.begin : field.end])
    return b"".join(parts)
