"""How an ONNX graph is put together, node by node (needs onnx, which comes with the extra ``train``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from celadon.core import MissingExtraError

FLOAT, INT32, INT64 = 1, 6, 7
MICROSOFT = "com.microsoft"


class Graph:
    """Collects nodes and weights; every method returns the name of its result."""

    def __init__(self) -> None:
        try:
            from onnx import helper, numpy_helper
        except ImportError:
            raise MissingExtraError("onnx", "train") from None
        self.helper = helper
        self.numpy_helper = numpy_helper
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}

    def constant(self, name: str, value: Any) -> str:
        """A weight; one of the same name is replaced."""
        self.weights[name] = self.numpy_helper.from_array(np.require(value, requirements="C"), name)
        return name

    def integers(self, *values: int) -> str:
        """A list of whole numbers."""
        return self.constant(f"integers{list(values)}", np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        """A single number."""
        return self.constant(f"number {value:g}", np.array(value, dtype=np.float32))

    def zero_point(self) -> str:
        """The byte that stands for zero in activations: unsigned ones have the fastest instructions."""
        return self.constant("zero", np.array(128, dtype=np.uint8))

    def add(self, kind: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """A node with one result."""
        return self.several(kind, inputs, [name], **attributes)[0]

    def several(self, kind: str, inputs: Sequence[str], names: list[str], **attributes: Any) -> list[str]:
        """A node with the results named."""
        self.nodes.append(self.helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names

    def made(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """The graph, for another one to hold."""
        return self.helper.make_graph(self.nodes, name, inputs, outputs, list(self.weights.values()))

    def serialised(self, made: Any, opset: int, ir: int) -> bytes:
        """The file of a finished graph: the same bytes each time."""
        opsets = [self.helper.make_opsetid("", opset), self.helper.make_opsetid(MICROSOFT, 1)]
        model = self.helper.make_model(made, opset_imports=opsets, ir_version=ir, producer_name="celadon")
        return bytes(model.SerializeToString(deterministic=True))
