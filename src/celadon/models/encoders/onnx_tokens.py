"""The token vectors of the sentence encoders that this project trains: what their graphs compute on the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from celadon.core import InputError, IntArray
from celadon.models.encoders.onnx_encoder import CHECK, HEADS, encoder_digest, read_description
from celadon.models.encoders.token_encoder import Float32Array, TokenEncoder
from celadon.models.networks.mapped_graph import graph_without_tables
from celadon.models.networks.onnx_outputs import with_outputs
from celadon.models.networks.self_check import check_session
from celadon.models.store.model_files import load_session, load_tokenizer, loading

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_FILE = "model.onnx"


class OnnxTokenEncoder(TokenEncoder):
    """A folder of the format ``celadon-encoder/1``, read for the states of its layers."""

    def __init__(self, folder: Path, batch_positions: int, *parts: Any) -> None:
        super().__init__(*parts)
        self._folder, self._positions = folder, batch_positions
        self._sessions: dict[tuple[int, ...], InferenceSession] = {}

    @classmethod
    def open(cls, name: str, folder: Path) -> OnnxTokenEncoder:
        """Open an encoder; its graph is loaded when the states of a layer are asked for."""
        described = read_description(folder)
        tokenizer = load_tokenizer(folder / "tokenizer.json")
        with loading(folder / _FILE):
            graph = (folder / _FILE).read_bytes()
        layers = sum(1 for _ in takewhile(lambda layer: _states(layer).encode() in graph, count(1)))
        if not layers:
            raise InputError(f"{folder / _FILE}: the states of its layers have no names; train the encoder again")
        marks = ((described.cls_id,), (described.sep_id,))
        parts = (name, tokenizer, marks, described.window, described.scripts, layers)
        return cls(folder, described.batch_positions, *parts)

    @cached_property
    def digest(self) -> str:
        """The sha256 over the names and hashes of the weights and the tokenizer."""
        return encoder_digest(self._folder)

    @property
    def runtime(self) -> str:
        """What a signature must say of the runtime; empty where scores count as equal."""
        return self._checked[0]

    @cached_property
    def _checked(self) -> tuple[str, InferenceSession | None]:
        """What the check of the graph says of the runtime, and the reference kernels where they are to be used."""
        path = self._folder / _FILE
        session = load_session(path, None, {"ids", "lengths"}, set(HEADS), "sentence encoder")
        checked = check_session(path, session, CHECK)
        return checked.runtime, None if checked.session is session else checked.session

    def _batches(self, lengths: Sequence[int]) -> Iterator[Sequence[int]]:
        # of one length only: nothing is wasted on padding, and a row's sums do not depend on its neighbors
        by_length: dict[int, list[int]] = defaultdict(list)
        for at, length in enumerate(lengths):
            by_length[length].append(at)
        for length in sorted(by_length, reverse=True):
            size = max(1, self._positions // length)
            yield from (by_length[length][at : at + size] for at in range(0, len(by_length[length]), size))

    def _run(self, rows: Sequence[IntArray], layers: Sequence[int]) -> Float32Array:
        ids = np.stack(rows)
        feed = {"ids": ids, "lengths": np.full(len(ids), ids.shape[1], dtype=np.int64)}
        found = self._session(tuple(layers)).run([_states(layer) for layer in layers], feed)
        return np.stack([states.reshape(ids.size, -1) for states in found], axis=1)

    def _session(self, layers: tuple[int, ...]) -> InferenceSession:
        _, reference = self._checked
        if reference is not None:
            return reference
        if layers not in self._sessions:
            path, names = self._folder / _FILE, [_states(layer) for layer in layers]
            with loading(path):
                graph = with_outputs(graph_without_tables(path.resolve()), names)
            self._sessions[layers] = load_session(
                path, None, {"ids", "lengths"}, set(names), "sentence encoder", graph=graph
            )
        return self._sessions[layers]


def _states(layer: int) -> str:
    """What the graph calls the states of a layer."""
    return f"layers.{layer - 1}.outer.normal" if layer else "embedded_normal"
