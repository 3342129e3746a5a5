"""Sentence encoders of transformers: the mean of the last layer over all tokens, of length 1.

That is how all-MiniLM-L6-v2 and most encoders of sentence-transformers make a vector of a sentence. They need the extra
``hf``; weights are taken in safetensors only, and no code of a checkpoint is ever run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, UsageError
from celadon.io.values import mend_surrogates
from celadon.models.encoders.transformers_heads import HeadFiles, load_head, load_text_tokenizer, text_marks
from celadon.models.networks.transformers_files import find_folder
from celadon.models.networks.transformers_network import torch_failures, window_of
from celadon.models.networks.windows import Window, plan_windows, same_length_batches
from celadon.models.store import folder_of
from celadon.models.store.places import HF_PREFIX

MINILM = "minilm"
_POSITIONS = 4096


class _Row(NamedTuple):
    text: int
    window: Window


class MeanPooledEncoder:
    """A loaded encoder; get one with :func:`mean_pooled_encoder`."""

    def __init__(self, name: str, files: HeadFiles, scripts: tuple[str, ...]) -> None:
        self.name, self.scripts = name, scripts
        self._files = files
        self._model = load_head(files)
        self._tokenizer, _ = load_text_tokenizer(files)
        self._window = window_of(self._model)
        self._before, self._after = text_marks(self._tokenizer)
        if self._room < 2:
            raise InputError(f"{name}: its window of {self._window} tokens is too short to read a text")

    @property
    def _room(self) -> int:
        return self._window - len(self._before) - len(self._after)

    @cached_property
    def digest(self) -> str:
        """The sha256 over the configuration, the weights and the tokenizer."""
        return self._files.digest()

    @property
    def facts(self) -> Mapping[str, str]:
        """What a signature must say: the most tokens that are read at once."""
        return {"window": str(self._window)}

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return a vector of length 1 for each text.

        A text longer than the window is read in overlapping windows, whose means count by the tokens that no window
        before has read. What is encoded along with a text changes nothing.
        """
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        tokens = [self._ids(text) for text in numbers]
        rows = [
            _Row(at, window)
            for at, ids in enumerate(tokens)
            for window in plan_windows(len(ids), self._room) or [Window(0, 0, 0)]
        ]
        size = int(self._model.config.hidden_size)
        means = np.zeros((len(rows), size))
        with torch_failures(self.name):
            for batch in same_length_batches([row.window.end - row.window.start for row in rows], _POSITIONS):
                read = ((rows[at].text, rows[at].window) for at in batch)
                means[batch] = self._run([tokens[text][window.start : window.end] for text, window in read])
        found = np.zeros((len(numbers), size))
        own = np.array([max(1, row.window.end - row.window.first) for row in rows], dtype=np.float64)
        np.add.at(found, [row.text for row in rows], means * own[:, None])
        found /= np.maximum(np.sqrt((found * found).sum(axis=1, keepdims=True)), np.finfo(np.float64).tiny)
        return found[[numbers[text] for text in texts]]

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(mend_surrogates(text), add_special_tokens=False).ids)

    def _run(self, rows: Sequence[list[int]]) -> FloatArray:
        import torch

        ids = torch.tensor([[*self._before, *row, *self._after] for row in rows])
        with torch.inference_mode():
            states: Any = self._model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
        return np.asarray(states.double().mean(dim=1).numpy(), dtype=np.float64)


_lock = RLock()
_loaded: dict[str, MeanPooledEncoder] = {}


def mean_pooled_encoder(name: str) -> MeanPooledEncoder:
    """Return the encoder that the whole process shares: ``minilm``, or ``hf:NAME``, a name on the hub or a folder."""
    with _lock:
        if name not in _loaded:
            _loaded[name] = _open(name)
        return _loaded[name]


def _open(name: str) -> MeanPooledEncoder:
    scripts: tuple[str, ...] = ()
    if name == MINILM:
        folder, scripts = folder_of(MINILM), ("Latin",)
    elif name.startswith(HF_PREFIX):
        folder = find_folder(name.removeprefix(HF_PREFIX))
    else:
        raise UsageError(f"{name}: no encoder of transformers is called so; {MINILM} and {HF_PREFIX}NAME are known")
    # the pooler of BERT is not used, and many copies come without it
    return MeanPooledEncoder(name, HeadFiles(name, folder, "AutoModel", "encoder", idle="pooler."), scripts)


def forget_mean_pooled() -> None:
    """Let go of all such encoders that the process holds."""
    with _lock:
        _loaded.clear()
