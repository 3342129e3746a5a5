"""What an encoder of tokens is to the rest of the package: texts in; a vector for each token, in its context, out.

Vectors are those of one layer, of length 1; or, of several layers, their power means: the least, the mean and the
greatest of each channel, one behind the other (Rücklé et al. 2018, with the powers -inf, 1 and +inf).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray, UsageError
from celadon.io.values import mend_surrogates
from celadon.models.encoders.encoder import BUILTIN
from celadon.models.encoders.word_pieces import WordPieces
from celadon.models.networks.windows import plan_windows
from celadon.models.store import folder_of
from celadon.models.store.places import HF_PREFIX, is_path

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
    """What is read at once of a long text, and which of these tokens, ``first`` to ``last``, no row before it has."""

    ids: IntArray
    first: int
    last: int


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
        self._tokenizer, self._pieces = tokenizer, WordPieces(tokenizer)
        self._named: dict[frozenset[str], npt.NDArray[np.bool_]] = {}
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
        """The states of the tokens of rows of ids, one row behind the other: [tokens of all rows, layers, width]."""

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
    def numbers(self) -> Mapping[str, int]:
        """The number of each token, by what it is called."""
        return {piece: number for number, piece in enumerate(self.pieces)}

    @cached_property
    def continues(self) -> npt.NDArray[np.bool_]:
        """Whether each token, by its number, goes on with a word that has begun before it."""
        if self._tells_continuing:
            return np.array([piece.startswith(_CONTINUES) for piece in self.pieces], dtype=np.bool_)
        wordy = (any(map(str.isalnum, piece)) and not piece.startswith(_BEGINS) for piece in self.pieces)
        return np.fromiter(wordy, np.bool_, len(self.pieces))

    def tokens(self, texts: Iterable[str]) -> list[IntArray]:
        """Return the numbers of the tokens of each text, with the marks around it."""
        inner, lengths = self._pieces.of([self._given(text) for text in texts])
        lengths += len(self._before) + len(self._after)
        marks = self.is_mark(lengths)
        found = np.empty(len(marks), dtype=np.int64)
        found[~marks] = inner
        found[marks] = np.tile(np.concatenate([self._before, self._after]), len(lengths))
        return [found[begin:end] for begin, end in pairwise([0, *np.cumsum(lengths).tolist()])]

    def _given(self, text: str) -> str:
        return self._lead + mend_surrogates(text.strip())

    def is_mark(self, lengths: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which tokens are marks around a text, such as [CLS]; of texts one behind the other, by their lengths."""
        ends = np.cumsum(lengths)
        found = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.bool_)
        found[((ends - lengths)[:, None] + np.arange(len(self._before))).ravel()] = True
        found[(ends[:, None] - 1 - np.arange(len(self._after))).ravel()] = True
        return found

    def is_one_of(self, words: frozenset[str]) -> npt.NDArray[np.bool_]:
        """Tell of each token, by its number, whether it is one of these words, which are small."""
        if words not in self._named:
            told = (piece.lstrip("".join(_BEGINS)).lower() in words for piece in self.pieces)
            self._named[words] = np.fromiter(told, np.bool_, len(self.pieces))
        return self._named[words]

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
        cut = {at: list(self._rows(tokens)) for at, tokens in enumerate(texts) if len(tokens) > self.window}
        of_texts = ([row.ids for row in cut[at]] if at in cut else [tokens] for at, tokens in enumerate(texts))
        read = iter(self._read(list(chain.from_iterable(of_texts)), layers))
        return [
            np.concatenate([next(read)[row.first : row.last] for row in cut[at]]) if at in cut else next(read)
            for at in range(len(texts))
        ]

    def _rows(self, tokens: IntArray) -> Iterator[_Row]:
        """The windows over a long text, in order."""
        before, after = len(self._before), len(self._after)
        inner = tokens[before : len(tokens) - after]
        for window in plan_windows(len(inner), self.window - before - after):
            ids = np.concatenate([self._before, inner[window.start : window.end], self._after])
            # the first window has the marks before the text, the last those behind it
            first = before + window.first - window.start if window.first else 0
            yield _Row(ids, first, len(ids) if window.end == len(inner) else len(ids) - after)

    def _read(self, rows: Sequence[IntArray], layers: Sequence[int]) -> list[Float32Array]:
        """The vectors of each row's tokens."""
        found: dict[int, Float32Array] = {}
        for batch in self._batches(list(map(len, rows))):
            chosen = [rows[at] for at in batch]
            vectors = _pooled(self._run(chosen, layers))
            ends = accumulate(map(len, chosen), initial=0)
            found |= {at: vectors[begin:end] for at, (begin, end) in zip(batch, pairwise(ends), strict=True)}
        return [found[at] for at in range(len(rows))]

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
    """From [tokens, layers, width] to a vector for each token."""
    lengths = np.sqrt(np.einsum("tld,tld->tl", states, states, optimize=False))[..., None]
    unit = states / np.maximum(lengths, np.finfo(np.float32).tiny)
    if unit.shape[1] == 1:
        return np.asarray(unit[:, 0])
    means: Float32Array = np.concatenate([unit.min(axis=1), unit.mean(axis=1), unit.max(axis=1)], axis=-1)
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
    from celadon.models.encoders.onnx_tokens import OnnxTokenEncoder
    from celadon.models.encoders.transformers_tokens import TransformersTokenEncoder

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
