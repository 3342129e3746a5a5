"""Windows and batches: every token is scored once, with context, and nothing is left out."""

from __future__ import annotations

import random
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import InputError, UsageError
from celadon.models.networks.onnx_graph import graph_without_tables
from celadon.models.networks.transformers_network import VARIABLE, device_facts, device_name, moved
from celadon.models.networks.windows import plan_batches, plan_windows
from celadon.models.store import folder_of
from celadon.models.store.model_files import load_session
from tests.conftest import missing_part

LENGTHS = st.integers(min_value=0, max_value=300)
ROOMS = st.integers(min_value=2, max_value=40)


@given(LENGTHS, ROOMS)
def test_every_token_is_scored_once_and_in_order(length: int, room: int) -> None:
    scored = [token for window in plan_windows(length, room) for token in range(window.first, window.end)]
    assert scored == list(range(length))


@given(LENGTHS, ROOMS)
def test_windows_fit_and_hold_half_a_window_of_context(length: int, room: int) -> None:
    for start, first, end in plan_windows(length, room):
        assert 0 <= start <= first < end <= length
        assert end - start <= room
        for token in range(first, end):
            assert token - start >= min(token, (room + 1) // 2)


def test_a_text_that_fits_is_read_at_once() -> None:
    assert plan_windows(8, 8) == [(0, 0, 8)]
    assert plan_windows(1, 8) == [(0, 0, 1)]


def test_a_text_that_does_not_fit_is_read_in_overlapping_windows() -> None:
    assert plan_windows(15, 8) == [(0, 0, 8), (4, 8, 12), (7, 12, 15)]


@given(st.lists(st.integers(min_value=1, max_value=50), max_size=60), st.integers(min_value=1, max_value=200))
def test_batches_hold_every_row_once_within_the_bound(lengths: list[int], positions: int) -> None:
    batches = list(plan_batches(lengths, positions))
    assert sorted(int(row) for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[row] for row in batch)
        assert len(batch) == 1 or longest * len(batch) <= positions


@given(st.lists(st.integers(min_value=1, max_value=50), min_size=1, max_size=60))
def test_rows_of_a_batch_are_neighbours_in_length(lengths: list[int]) -> None:
    in_order = np.concatenate(list(plan_batches(lengths, 64)))
    assert [lengths[row] for row in in_order] == sorted(lengths, reverse=True)


try:
    import torch
except ImportError:
    missing_part("torch", "run: pip install 'celadon-text[hf]'")


def test_nothing_but_the_processor_is_used_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert device_name() == "cpu"
    assert device_facts() == {}
    model = torch.nn.Linear(2, 2)
    assert moved(model) is model


def test_a_signature_names_another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "cuda:1")
    assert device_facts() == {"device": "cuda"}


def test_what_cannot_be_had_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "gpu")
    with pytest.raises(UsageError, match="'gpu' is no device; choose cpu, cuda"):
        device_name()
    if not torch.cuda.is_available():
        monkeypatch.setenv(VARIABLE, "cuda")
        with pytest.raises(UsageError, match=r"cuda cannot be used here .*; leave it out to use the processor"):
            moved(torch.nn.Linear(2, 2))


def test_what_is_given_goes_where_the_network_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Network(torch.nn.Module):
        device = torch.device("meta")

        def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> tuple[str, str]:
            assert mask is not None
            return ids.device.type, mask.device.type

        def to(self, *_: object) -> Network:
            return self

    # the one device beside the processor that every torch has, which holds shapes alone
    monkeypatch.setenv(VARIABLE, "cuda")
    network = moved(Network())
    assert network(torch.zeros(2), mask=torch.zeros(2)) == ("meta", "meta")


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
