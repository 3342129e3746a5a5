"""What an encoder of tokens is to the rest of the package: texts in; a vector for each token, in its context, out.

Vectors are those of one layer, of length 1; or, of several layers, their power means: the least, the mean and the
greatest of each channel, one behind the other (Rücklé et al. 2018, with the powers -inf, 1 and +inf).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray, UsageError
from celadon.io.values import mend_surrogates
from celadon.models.encoder import BUILTIN
from celadon.models.store import folder_of
from celadon.models.store.places import HF_PREFIX, is_path
from celadon.models.windows import Window, plan_windows

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Float32Array = npt.NDArray[np.float32]
MINILM = "minilm"
# of BERT's kin, the pieces of a word but its first
_CONTINUES = "##"
# of the kin of GPT-2 and of T5, the first pieces
_BEGINS = ("Ġ", "▁")
_CATALOGED = {BUILTIN: "builtin-encoder"}


class _Row(NamedTuple):
    """One window of the text numbered ``text``."""

    text: int
    window: Window


class TokenEncoder(ABC):
    """A loaded encoder; get one with :func:`token_encoder`.

    What is encoded along with a text changes nothing (to 1e-5). A text longer than the encoder's window is read in
    overlapping windows, never cut; each token has the vector of the window that reads it first.

    Parameters
    ----------
    name
        The name it is asked for by.
    tokenizer
        What cuts texts; it neither cuts them short nor pads.
    marks
        What stands before and behind every text.
    window
        The most tokens that are read at once, the marks included.
    scripts
        The Unicode scripts it knows; empty where that is not known.
    layers
        How many there are, the embeddings not counted.
    """

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        marks: tuple[Sequence[int], Sequence[int]],
        window: int,
        scripts: tuple[str, ...],
        layers: int,
    ) -> None:
        from tokenizers import models, pre_tokenizers

        self.name, self.window, self.scripts, self.layers = name, window, scripts, layers
        self._tokenizer = tokenizer
        self._before, self._after = (np.array(side, dtype=np.int64) for side in marks)
        # tokenizers of bytes take the first word for another than the same word later on, unless a space stands before
        self._lead = " " if isinstance(tokenizer.pre_tokenizer, pre_tokenizers.ByteLevel) else ""
        self._tells_continuing = isinstance(tokenizer.model, models.WordPiece)

    @property
    @abstractmethod
    def digest(self) -> str:
        """The sha256 of its weights, in hexadecimal."""

    @abstractmethod
    def _batches(self, lengths: Sequence[int]) -> Iterator[Sequence[int]]:
        """Which rows are run together."""

    @abstractmethod
    def _run(self, rows: Sequence[IntArray], layers: Sequence[int]) -> Float32Array:
        """The states of rows of ids, [rows, longest row, layers, width]."""

    def best_layer(self) -> int:
        """The layer that is taken where none is asked for."""
        name = self.name.removeprefix(HF_PREFIX).rpartition("/")[2]
        return min(_BEST_LAYERS.get(name, math.ceil(0.75 * self.layers)), self.layers)

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """What each token is called in the vocabulary, by its number."""
        known = self._tokenizer.get_vocab(with_added_tokens=True)
        found = [""] * (max(known.values()) + 1)
        for piece, number in known.items():
            found[number] = piece
        return tuple(found)

    @cached_property
    def continues(self) -> npt.NDArray[np.bool_]:
        """Whether each token, by its number, goes on with a word that has begun before it."""
        if self._tells_continuing:
            return np.array([piece.startswith(_CONTINUES) for piece in self.pieces], dtype=np.bool_)
        wordy = (any(map(str.isalnum, piece)) and not piece.startswith(_BEGINS) for piece in self.pieces)
        return np.fromiter(wordy, np.bool_, len(self.pieces))

    def tokens(self, texts: Iterable[str]) -> list[IntArray]:
        """Return the numbers of the tokens of each text, with the marks around it."""
        read = self._tokenizer.encode_batch_fast([self._given(text) for text in texts], add_special_tokens=False)
        return [np.concatenate([self._before, np.array(one.ids, dtype=np.int64), self._after]) for one in read]

    def _given(self, text: str) -> str:
        return self._lead + mend_surrogates(text.strip())

    def is_mark(self, tokens: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which tokens of a text are marks around it, such as [CLS]."""
        found = np.zeros(len(tokens), dtype=np.bool_)
        found[: len(self._before)] = True
        found[len(tokens) - len(self._after) :] = True
        return found

    def places(self, text: str) -> IntArray:
        """Return where each token of a text begins and ends, in characters; both 0 of a mark."""
        read = self._tokenizer.encode(self._given(text), add_special_tokens=False)
        shift = len(text) - len(text.lstrip()) - len(self._lead)
        found = np.maximum(np.array(read.offsets, dtype=np.int64).reshape(-1, 2) + shift, 0)
        return np.pad(found, ((len(self._before), len(self._after)), (0, 0)))

    def states(self, texts: Sequence[IntArray], layers: Sequence[int]) -> list[Float32Array]:
        """Return the vectors of the tokens of each text, a row each, the marks' as well.

        Parameters
        ----------
        texts
            Their tokens.
        layers
            The layers, 0 for the embeddings; power means are taken of more than one.
        """
        self._check(layers)
        before, after = len(self._before), len(self._after)
        room = self.window - before - after
        inner = [tokens[before : len(tokens) - after] for tokens in texts]
        rows = [
            _Row(at, window)
            for at, ids in enumerate(inner)
            for window in plan_windows(len(ids), room) or [Window(0, 0, 0)]
        ]
        parts: list[list[tuple[int, Float32Array]]] = [[] for _ in texts]
        lengths = [row.window.end - row.window.start + before + after for row in rows]
        for batch in self._batches(lengths):
            chosen = [rows[at] for at in batch]
            ids = [np.concatenate([self._before, inner[at][each.start : each.end], self._after]) for at, each in chosen]
            for (at, window), length, states in zip(
                chosen, (lengths[at] for at in batch), _pooled(self._run(ids, layers)), strict=True
            ):
                # the first window has the marks before the text, the last those behind it
                skip = before + window.first - window.start if window.first else 0
                keep = length if window.end == len(inner[at]) else length - after
                parts[at].append((window.first, states[skip:keep]))
        joined = ([states for _, states in sorted(part, key=lambda one: one[0])] for part in parts)
        return [part[0].copy() if len(part) == 1 else np.concatenate(part) for part in joined]

    def _check(self, layers: Sequence[int]) -> None:
        for layer in layers:
            if not 0 <= layer <= self.layers:
                raise UsageError(f"{self.name} has the layers 0, its embeddings, to {self.layers}; {layer} is none")


_BEST_LAYERS = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "roberta-base": 10,
    "roberta-large": 17,
    "distilbert-base-uncased": 5,
}
"""The layers that agree best with people on WMT16, as the authors of BERTScore found; three quarters of the way up are
a good guess for others."""


def _pooled(states: Float32Array) -> Float32Array:
    """From [rows, tokens, layers, width] to a vector for each token."""
    lengths = np.sqrt(np.einsum("rtld,rtld->rtl", states, states, optimize=False))[..., None]
    unit = states / np.maximum(lengths, np.finfo(np.float32).tiny)
    if unit.shape[2] == 1:
        return np.asarray(unit[:, :, 0])
    means: Float32Array = np.concatenate([unit.min(axis=2), unit.mean(axis=2), unit.max(axis=2)], axis=-1)
    return means


_lock = RLock()
_loaded: dict[str, TokenEncoder] = {}


def token_encoder(name: str) -> TokenEncoder:
    """Return the encoder that the whole process shares, loading it on first use.

    Parameters
    ----------
    name
        ``builtin``; ``minilm``, from the store; ``hf:NAME``, a name on the Hugging Face hub or a folder; or the path
        of a folder: an encoder of ours or one of transformers.
    """
    key = str(Path(name).expanduser().resolve()) if is_path(name) else name
    with _lock:
        if key not in _loaded:
            _loaded[key] = _open(name)
        return _loaded[key]


def _open(name: str) -> TokenEncoder:
    from celadon.models.onnx_tokens import OnnxTokenEncoder
    from celadon.models.transformers_tokens import TransformersTokenEncoder

    if not name:
        raise UsageError("no encoder was named; the default is builtin")
    if name.startswith(HF_PREFIX):
        return TransformersTokenEncoder.open(name)
    folder = folder_of(_CATALOGED.get(name, name)).absolute()
    if name == MINILM or (folder / "config.json").is_file():
        return TransformersTokenEncoder.open(name, folder, ("Latin",) if name == MINILM else ())
    return OnnxTokenEncoder.open(name, folder)


def forget_token_encoders() -> None:
    """Let go of all such encoders that the process holds."""
    with _lock:
        _loaded.clear()
