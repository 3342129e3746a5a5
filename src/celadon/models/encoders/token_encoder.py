"""Encoders of tokens: texts in; a vector for each token, in its context, out.

Vectors are those of one layer, of length 1; or, of several layers, their power means: the least, the mean and the
greatest of each channel, one behind the other (Rücklé et al. 2018, with the powers -inf, 1 and +inf). Those of the
sentence encoders that this project trains are what their graphs compute on the way.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, count, pairwise, takewhile
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, IntArray, UsageError
from celadon.io.values import mend_surrogates
from celadon.models.encoders.encoder import BUILTIN, CHECK, HEADS, encoder_digest, read_encoder
from celadon.models.networks.onnx_graph import graph_without_tables, with_outputs
from celadon.models.networks.self_check import check_session
from celadon.models.networks.windows import plan_windows, same_length_batches
from celadon.models.store import folder_of
from celadon.models.store.model_files import load_session, load_tokenizer, loading
from celadon.models.store.places import HF_PREFIX, is_path

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


# characters of the words that are kept: some 20 MB
_MOST_CHARACTERS = 1 << 19
_STOPS = frozenset(".,;:!?")


class WordPieces:
    """Cuts texts in which words come again and again: each word is cut once.

    A tokenizer of BERT's kin cuts a text at its spaces before all else, and looks at no word beside the one it cuts; so
    a text's tokens are those of its words, one after the other. A word of plain letters that is in the vocabulary is a
    token itself.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known = _Words(tokenizer) if cuts_at_spaces(tokenizer) else None

    def of(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the numbers of the tokens of all texts, one text behind the other, and how many each has."""
        if self._known is None:
            read = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
            return _joined([one.ids for one in read])
        if self._known.characters > _MOST_CHARACTERS:
            # another thread may still read the old ones
            self._known = _Words(self._tokenizer)
        # at this one character only: what else is a space is for the tokenizer to say
        words = [text.split(" ") for text in texts]
        tokens, of_words = _joined(list(map(self._known.__getitem__, chain.from_iterable(words))))
        ends = np.cumsum(of_words)[np.cumsum(list(map(len, words)), dtype=np.int64) - 1]
        return tokens, np.diff(ends, prepend=0)


class _Words(dict[str, list[int]]):
    """The tokens of words, found out where a word is asked for the first time."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.characters = 0
        self._tokenizer, self._numbers = tokenizer, tokenizer.get_vocab(with_added_tokens=False)
        self._longest = int(getattr(tokenizer.model, "max_input_chars_per_word", 0))
        self._small = bool(getattr(tokenizer.normalizer, "lowercase", False))

    def __missing__(self, word: str) -> list[int]:
        found = self._in_vocabulary(word) or self._tokenizer.encode(word, add_special_tokens=False).ids
        self[word] = found
        self.characters += len(word)
        return found

    def _in_vocabulary(self, word: str) -> list[int] | None:
        """The tokens of a plain word, with what stands behind it; None where that is for the tokenizer to say."""
        stop = word[-1:] if word[-1:] in _STOPS else ""
        letters = word.removesuffix(stop)
        if not (letters.isalnum() and letters.isascii()) or len(letters) > self._longest:
            return None
        first = self._numbers.get(letters.lower() if self._small else letters)
        if first is None or not stop:
            return None if first is None else [first]
        last = self._numbers.get(stop)
        return None if last is None else [first, last]


def _joined(parts: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Numbers one part behind the other, and how many each part has."""
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    return np.fromiter(chain.from_iterable(parts), np.int64, int(lengths.sum())), lengths


def cuts_at_spaces(tokenizer: Tokenizer) -> bool:
    """Tell whether the tokens of a text are surely those of its words, one after the other."""
    from tokenizers import models, normalizers, pre_tokenizers

    added: list[Any] = list(tokenizer.get_added_tokens_decoder().values())
    return (
        isinstance(tokenizer.model, models.WordPiece)
        and isinstance(tokenizer.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
        and isinstance(tokenizer.normalizer, normalizers.BertNormalizer | None)
        # one that was added by a user may be any part of a text
        and all(re.fullmatch(r"\[\S+\]", token.content) for token in added)
    )


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

    ``marks`` are what stands before and behind every text, ``window`` the most tokens that are read at once, the marks
    included; ``layers`` does not count the embeddings.
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

        Layer 0 is the embeddings; power means are taken of more than one layer.
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

    ``name`` is ``builtin``; ``minilm``, from the store; ``hf:NAME``, a name on the Hugging Face hub or a folder; or the
    path of a folder: an encoder of ours or one of transformers.
    """
    key = str(Path(name).expanduser().resolve()) if is_path(name) else name
    with _lock:
        if key not in _loaded:
            _loaded[key] = _open(name)
        return _loaded[key]


def _open(name: str) -> TokenEncoder:
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
        described = read_encoder(folder)
        tokenizer = load_tokenizer(folder / "tokenizer.json")
        with loading(folder / _FILE):
            graph = (folder / _FILE).read_bytes()
        layers = sum(1 for _ in takewhile(lambda layer: _state_name(layer).encode() in graph, count(1)))
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
        return same_length_batches(lengths, self._positions)

    def _run(self, rows: Sequence[IntArray], layers: Sequence[int]) -> Float32Array:
        ids = np.stack(rows)
        feed = {"ids": ids, "lengths": np.full(len(ids), ids.shape[1], dtype=np.int64)}
        found = self._session(tuple(layers)).run([_state_name(layer) for layer in layers], feed)
        return np.stack([states.reshape(ids.size, -1) for states in found], axis=1)

    def _session(self, layers: tuple[int, ...]) -> InferenceSession:
        _, reference = self._checked
        if reference is not None:
            return reference
        if layers not in self._sessions:
            path, names = self._folder / _FILE, [_state_name(layer) for layer in layers]
            with loading(path):
                graph = with_outputs(graph_without_tables(path.resolve()), names)
            self._sessions[layers] = load_session(
                path, None, {"ids", "lengths"}, set(names), "sentence encoder", graph=graph
            )
        return self._sessions[layers]


def _state_name(layer: int) -> str:
    """What the graph calls the states of a layer."""
    return f"layers.{layer - 1}.outer.normal" if layer else "embedded_normal"
