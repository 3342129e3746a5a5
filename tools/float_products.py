"""Rewrite an encoder whose graph multiplies bytes so that it multiplies in float32, with the very same weights.

python tools/float_products.py OLD/model.onnx NEW/model.onnx

Encoders trained before 0.2.0 round activations to 8 bits, which makes scores depend on the last bits, in which
processors and versions of ONNX Runtime differ. The bytes and scales of the weights stay as they are. Needs the
extra `train`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from celadon.train.onnx_graph import FLOAT

# what a product of bytes adds to the graph for the rounding of its rows
_ROUNDING = ("even", "sizes", "largest", "positive", "factor", "scaled", "taken", "step", "integers")


def with_float_products(model: Any) -> Any:
    """Return the model with each product of bytes replaced."""
    from onnx import helper, numpy_helper

    graph = model.graph
    weights = {weight.name: weight for weight in graph.initializer}
    producers = {name: node for node in graph.node for name in node.output}
    nodes = []
    for node in graph.node:
        name, _, part = node.name.rpartition(".")
        if f"{name}.integers" not in producers or part not in (*_ROUNDING, "product"):
            nodes.append(node)
        if part != "integers":
            continue
        rows = producers[f"{name}.sizes"].input[0]
        nodes.append(helper.make_node("Cast", [f"{name}.levels"], [f"{name}.numbers"], f"{name}.numbers", to=FLOAT))
        matrix = [f"{name}.numbers", f"{name}.scales"]
        if rows == f"{name}.even":
            rows = producers[rows].input[0]
            even = numpy_helper.to_array(weights[f"{name}.evening"])
            weights[f"{name}.evening"] = numpy_helper.from_array(np.require(even[:, None]), f"{name}.evening")
            nodes.append(helper.make_node("Mul", matrix, [f"{name}.uneven"], f"{name}.uneven"))
            matrix = [f"{name}.uneven", f"{name}.evening"]
        nodes.append(helper.make_node("Mul", matrix, [f"{name}.weight"], f"{name}.weight"))
        nodes.append(helper.make_node("MatMul", [rows, f"{name}.weight"], [f"{name}.product"], f"{name}.product"))
    read = {name for node in nodes for name in node.input}
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weight for name, weight in weights.items() if name in read)
    return model


def main() -> None:
    """Read one graph and write the other."""
    import onnx

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    arguments = parser.parse_args()
    model = with_float_products(onnx.load(arguments.old))
    arguments.new.write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
