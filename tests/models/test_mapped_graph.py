"""Graphs whose tables stay in their file."""

from __future__ import annotations

import random
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from celadon.core import InputError
from celadon.models.networks.onnx_graph import graph_without_tables
from celadon.models.store import folder_of
from celadon.models.store.model_files import load_session
from tests.conftest import missing_part

INPUTS, OUTPUTS = {"ids", "lengths"}, {"acceptability", "meaning", "before", "after"}
ENCODER = folder_of("builtin-encoder") / "model.onnx"
FEED = {"ids": np.arange(60).reshape(3, 20) + 1000, "lengths": np.full(3, 20)}


def test_the_tables_are_those_of_the_file() -> None:
    if find_spec("onnx") is None:
        missing_part("onnx", "run: pip install 'celadon-text[train]'")
    import onnx

    whole = {table.name: table for table in onnx.load(str(ENCODER)).graph.initializer}
    made = onnx.ModelProto.FromString(graph_without_tables(ENCODER))
    data = ENCODER.read_bytes()
    outside = 0
    for table in made.graph.initializer:
        there = whole.pop(table.name)
        assert (there.data_type, list(there.dims)) == (table.data_type, list(table.dims))
        if table.data_location == onnx.TensorProto.EXTERNAL:
            place = {entry.key: entry.value for entry in table.external_data}
            begin, length = int(place["offset"]), int(place["length"])
            assert place["location"] == "model.onnx"
            assert data[begin : begin + length] == there.raw_data
            outside += length
        else:
            assert table.raw_data == there.raw_data
    assert not whole
    # all but the small ones
    assert outside > 0.95 * len(data)
    for field in ("node", "input", "output"):
        assert list(getattr(made.graph, field)) == list(getattr(onnx.load(str(ENCODER)).graph, field))


def test_it_computes_what_the_file_computes_and_maps_the_file() -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.use_deterministic_compute = True
    read = onnxruntime.InferenceSession(str(ENCODER), options, providers=["CPUExecutionProvider"])
    mapped = load_session(ENCODER, None, INPUTS, OUTPUTS, "sentence encoder")
    for one, other in zip(read.run(None, FEED), mapped.run(None, FEED), strict=True):
        assert one.tobytes() == other.tobytes()
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert re.search(rf" {re.escape(str(ENCODER.resolve()))}$", maps.read_text(encoding="utf-8"), re.MULTILINE)


def test_through_a_link_the_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").symlink_to(ENCODER)
    assert load_session(tmp_path / "model.onnx", 1, INPUTS, OUTPUTS, "sentence encoder").run(None, FEED)


def test_a_broken_file_is_told_in_a_line(tmp_path: Path) -> None:
    data = ENCODER.read_bytes()
    draw = random.Random(3)
    path = tmp_path / "model.onnx"
    for broken in (b"", b"\x07", data[:1000], data[:-1], b"hello" * 100, draw.randbytes(1000)):
        path.write_bytes(broken)
        with pytest.raises(InputError, match="cannot be loaded; fetch or train the model again"):
            load_session(path, 1, INPUTS, OUTPUTS, "sentence encoder")
