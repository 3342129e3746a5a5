"""The token vectors of encoders of transformers (the extra ``hf``).

Weights are taken in safetensors only, and no code of a checkpoint is ever run. BERT and its kin are run over rows of
several lengths without padding: rows lie one behind the other, so that nothing is computed for places where there is no
token; only the attention, which alone looks from one place to another, is done for rows of one length at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, IntArray
from celadon.models.encoders.token_encoder import Float32Array, TokenEncoder
from celadon.models.encoders.transformers_heads import HeadFiles, load_head, load_text_tokenizer, text_marks
from celadon.models.networks.transformers_files import find_folder
from celadon.models.networks.transformers_network import torch_failures, window_of
from celadon.models.networks.windows import plan_batches
from celadon.models.store.places import HF_PREFIX

if TYPE_CHECKING:
    import torch


# their layers are the same but for the embeddings
_KINDS = frozenset({"bert", "roberta", "xlm-roberta", "camembert"})
# how far the last digits may be apart
_ROUNDING = 1e-4


class Padded:
    """Rows of ids, the short ones filled up; ``there`` is where they are not filling."""

    def __init__(self, rows: Sequence[IntArray], pad_id: int) -> None:
        self.lengths = list(map(len, rows))
        self.there: npt.NDArray[np.bool_] = np.arange(max(self.lengths)) < np.array(self.lengths)[:, None]
        self.ids: IntArray = np.full(self.there.shape, pad_id, dtype=np.int64)
        self.ids[self.there] = np.concatenate(rows)


class PackedLayers:
    """A network of transformers whose layers are run without padding; get one with :meth:`of`."""

    def __init__(self, model: Any) -> None:
        self._embeddings, self._layers = model.embeddings, list(model.encoder.layer)

    @classmethod
    def of(cls, model: Any) -> PackedLayers | None:
        """Return a network in this form; None where that would give other states, which is tried out on a few ids."""
        import torch

        config = model.config
        if config.model_type not in _KINDS or getattr(config, "is_decoder", False):
            return None
        ids = np.arange(10, 21) % int(model.get_input_embeddings().weight.shape[0])
        rows = Padded([ids[:3], ids, ids[4:7]], 0)
        there = torch.from_numpy(rows.there)
        try:
            made = cls(model)
            with torch.inference_mode():
                (found,) = made.states(rows, [len(made._layers)])
                expected = model(input_ids=torch.from_numpy(rows.ids), attention_mask=there.long())
        except (RuntimeError, IndexError, ValueError, TypeError, AttributeError):
            return None
        whole = expected.last_hidden_state[there]
        same = found.shape == whole.shape and torch.allclose(found, whole, atol=_ROUNDING, rtol=_ROUNDING)
        return made if same else None

    def states(self, rows: Padded, layers: Sequence[int]) -> list[torch.Tensor]:
        """Return for each layer, 0 for the embeddings, the states of all tokens of all rows, [tokens, width]."""
        import torch

        places = torch.from_numpy(np.flatnonzero(rows.there))
        states = self._embeddings(input_ids=torch.from_numpy(rows.ids)).flatten(0, 1).index_select(0, places)
        groups = [(length, len(list(same))) for length, same in groupby(rows.lengths)]
        found = {0: states}
        for number, layer in enumerate(self._layers[: max(layers)], 1):
            attended = layer.attention.output(_attended(layer.attention.self, states, groups), states)
            states = layer.output(layer.intermediate(attended), attended)
            if number in layers:
                found[number] = states
        return [found[layer] for layer in layers]


def _attended(attention: Any, states: torch.Tensor, groups: Sequence[tuple[int, int]]) -> torch.Tensor:
    """What each token takes from those of its row; a group is the length of its rows, and how many there are."""
    import torch

    heads, width = attention.num_attention_heads, attention.attention_head_size
    sizes = [length * rows for length, rows in groups]
    sides = [made(states).split(sizes) for made in (attention.query, attention.key, attention.value)]
    found = []
    for (length, rows), *parts in zip(groups, *sides, strict=True):
        of_heads = (part.view(rows, length, heads, width).transpose(1, 2) for part in parts)
        mixed = torch.nn.functional.scaled_dot_product_attention(*of_heads)
        found.append(mixed.transpose(1, 2).reshape(rows * length, heads * width))
    return torch.cat(found)


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
        """Load an encoder from a folder, or by its name ``hf:NAME``."""
        # the pooler of BERT is not used, and many copies come without it
        found = folder or find_folder(name.removeprefix(HF_PREFIX))
        files = HeadFiles(name, found, "AutoModel", "encoder", idle="pooler.")
        model = load_head(files)
        tokenizer, pad_id = load_text_tokenizer(files)
        if getattr(model.config, "is_encoder_decoder", False):
            model = model.get_encoder()
        marks = text_marks(tokenizer)
        window = window_of(model)
        if window - len(marks[0]) - len(marks[1]) < 2:
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
