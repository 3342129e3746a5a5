"""The token vectors of encoders of transformers (the extra ``hf``).

Weights are taken in safetensors only, and no code of a checkpoint is ever run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from celadon.core import InputError, IntArray
from celadon.models.encoders.packed_layers import PackedLayers, Padded
from celadon.models.encoders.token_encoder import Float32Array, TokenEncoder
from celadon.models.encoders.transformers_heads_files import HeadFiles, load_head, load_text_tokenizer
from celadon.models.networks.transformers_files import find_folder
from celadon.models.networks.transformers_network import torch_failures, window_of
from celadon.models.networks.windows import plan_batches
from celadon.models.store.places import HF_PREFIX

if TYPE_CHECKING:
    import torch

# Numbers in the states of one run: more do not stay in the processor's caches.
_NUMBERS = 1 << 19
_LEAST_POSITIONS, _MOST_POSITIONS = 1024, 4096


class TransformersTokenEncoder(TokenEncoder):
    """An encoder of transformers, read for the states of its layers."""

    def __init__(self, files: HeadFiles, model: Any, pad_id: int, *parts: Any) -> None:
        super().__init__(*parts)
        self._files, self._model = files, model
        self._pad_id = pad_id if pad_id < int(model.get_input_embeddings().weight.shape[0]) else 0
        width = int(model.config.get_text_config().hidden_size)
        self._positions = min(max(_NUMBERS // width, _LEAST_POSITIONS), _MOST_POSITIONS)
        self._packed, self._lock = PackedLayers.of(model), RLock()

    @classmethod
    def open(cls, name: str, folder: Path | None = None, scripts: tuple[str, ...] = ()) -> TransformersTokenEncoder:
        """Load an encoder.

        Parameters
        ----------
        name
            The name it is asked for by: ``hf:NAME`` where no folder is given.
        folder
            Where its files are.
        scripts
            The Unicode scripts it knows.
        """
        # the pooler of BERT is not used, and many copies come without it
        found = folder or find_folder(name.removeprefix(HF_PREFIX))
        files = HeadFiles(name, found, "AutoModel", "encoder", idle="pooler.")
        model = load_head(files)
        tokenizer, pad_id = load_text_tokenizer(files)
        if getattr(model.config, "is_encoder_decoder", False):
            model = model.get_encoder()
        whole, bare = tokenizer.encode("a").ids, tokenizer.encode("a", add_special_tokens=False).ids
        inside = next((at for at in range(len(whole)) if whole[at : at + len(bare)] == bare), 0)
        marks = (whole[:inside], whole[inside + len(bare) :])
        window = window_of(model)
        if window - len(whole) + len(bare) < 2:
            raise InputError(f"{name}: its window of {window} tokens is too short to read a text")
        layers = int(model.config.get_text_config().num_hidden_layers)
        return cls(files, model, pad_id, name, tokenizer, marks, window, scripts, layers)

    @cached_property
    def digest(self) -> str:
        """The sha256 over the configuration, the weights and the tokenizer."""
        return self._files.digest()

    def _batches(self, lengths: Sequence[int]) -> Iterator[Sequence[int]]:
        yield from (batch.tolist() for batch in plan_batches(lengths, self._positions))

    def _run(self, rows: Sequence[IntArray], layers: Sequence[int]) -> Float32Array:
        import torch

        padded = Padded(rows, self._pad_id)
        with torch_failures(self.name), torch.inference_mode():
            every = self._packed.states(padded, layers) if self._packed else self._padded_states(padded, layers)
            return np.asarray(torch.stack(every, dim=1).float().numpy(), dtype=np.float32)

    def _padded_states(self, rows: Padded, layers: Sequence[int]) -> list[torch.Tensor]:
        """For each layer the states of all tokens, from the network as it is."""
        import torch

        there, last = torch.from_numpy(rows.there), max(layers)
        with self._cut_after(last) as cut:
            made = self._model(
                input_ids=torch.from_numpy(rows.ids),
                attention_mask=there.long(),
                output_hidden_states=not cut or len(layers) > 1,
            )
        # a network that is cut ends with the layer, and with what is done to the last of its layers
        every = (made.last_hidden_state if cut and layer == last else made.hidden_states[layer] for layer in layers)
        return [states[there] for states in every]

    @contextmanager
    def _cut_after(self, last: int) -> Iterator[bool]:
        """Leave out the layers that nobody asks for, for as long as a run lasts; False where that cannot be."""
        import torch

        lists = (module for module in self._model.modules() if isinstance(module, torch.nn.ModuleList))
        found = next((each for each in lists if len(each) == self.layers), None)
        if found is None:
            yield False
            return
        with self._lock:
            left_out = list(found)[last:]
            del found[last:]
            try:
                yield True
            finally:
                found.extend(left_out)
