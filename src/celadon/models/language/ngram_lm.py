"""N-gram models: tables of ours, searched for many tokens at once, and ARPA files and binary files of kenlm.

A table is sorted arrays, read from disk as they are needed. An n-gram is one number: the ids of its tokens, a fixed
count of bits each, the first token in the highest bits. Numbers in order thus stand together by their context. The
tables are those of an ARPA file: where an n-gram is there, its probability; where not, the backoff of its context and
the probability of the n-gram without its first token.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray, MissingExtraError, MissingPartError, UsageError
from celadon.io.values import mend_surrogates
from celadon.models.language.language_model import LanguageModel, TokenScores
from celadon.models.store.model_files import load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer


KeyArray: TypeAlias = npt.NDArray[np.uint64]
# 64 bits while a model is estimated, 32 on disk
LogArray: TypeAlias = npt.NDArray[np.floating[Any]]

_KEY_BITS = 64


class MarkedStream(NamedTuple):
    """Sentences one after another, each with its marks; ``opens`` is true at the begin marks."""

    ids: npt.NDArray[np.uint32]
    opens: npt.NDArray[np.bool_]

    def complete(self, order: int) -> npt.NDArray[np.bool_]:
        """Of the n-grams that end at position ``order - 1`` and after it, which lie within one sentence."""
        length = max(0, len(self.ids) - order + 1)
        whole = np.ones(length, dtype=np.bool_)
        for step in range(1, order):
            whole &= ~self.opens[step : step + length]
        return whole

    def keys(self, order: int, bits: int) -> KeyArray:
        """The n-grams that end at position ``order - 1`` and after it, whether they lie within a sentence or not."""
        length = max(0, len(self.ids) - order + 1)
        keys = self.ids[:length].astype(np.uint64)
        for step in range(1, order):
            keys <<= np.uint64(bits)
            keys |= self.ids[step : step + length]
        return keys


def marked(ids: npt.NDArray[Any], starts: npt.NDArray[Any], begin: int, end: int) -> MarkedStream:
    """Put marks round every sentence; ``starts`` says where each begins, with one more entry at the end."""
    bounds = np.asarray(starts, dtype=np.int64)
    marks = 2 * np.arange(len(bounds) - 1, dtype=np.int64)
    first = bounds[:-1] - bounds[0] + marks
    last = bounds[1:] - bounds[0] + marks + 1
    stream = np.empty(int(bounds[-1] - bounds[0]) + 2 * len(marks), dtype=np.uint32)
    inner = np.ones(len(stream), dtype=np.bool_)
    inner[first] = inner[last] = False
    stream[inner] = ids[bounds[0] : bounds[-1]]
    stream[first], stream[last] = begin, end
    opens = np.zeros(len(stream), dtype=np.bool_)
    opens[first] = True
    return MarkedStream(stream, opens)


def bits_of(vocabulary: int, order: int) -> int:
    """Return the bits of a token in a key; UsageError where so many tokens of such a vocabulary do not fit into one."""
    bits = max(1, (vocabulary - 1).bit_length())
    if order < 1:
        raise UsageError(f"the order of an n-gram model must be at least 1, not {order}")
    if order * bits > _KEY_BITS:
        most = _KEY_BITS // order
        raise UsageError(
            f"order {order} does not go with a vocabulary of {vocabulary:,}: take at most {1 << most:,} tokens, "
            f"or order {_KEY_BITS // bits}"
        )
    return bits


def find(keys: KeyArray, wanted: KeyArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Where each wanted key stands among sorted ones, and whether it is there at all."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places, np.asarray(keys[places] == wanted)


@dataclass(frozen=True, eq=False)
class NgramTables:
    """An n-gram model by numbers; all logarithms are natural.

    ``begin`` and ``end`` are the ids of the marks round a sentence. ``keys`` are the n-grams of order 2, of order 3 and
    so on, each array sorted; ``logprobs`` their probabilities, those of the single tokens (by id, all of them) before
    them; ``backoffs`` what is added where a longer n-gram is missing, none for the highest order.
    """

    begin: int
    end: int
    keys: tuple[KeyArray, ...]
    logprobs: tuple[LogArray, ...]
    backoffs: tuple[LogArray, ...]

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.logprobs)

    @property
    def vocabulary(self) -> int:
        """The number of tokens, the marks included."""
        return len(self.logprobs[0])

    @property
    def bits(self) -> int:
        """The bits of a token in a key."""
        return bits_of(self.vocabulary, self.order)

    def score(self, ids: npt.NDArray[Any], starts: npt.NDArray[Any]) -> FloatArray:
        """The log-probability of every token, and after those of each sentence that of its end."""
        stream = marked(ids, starts, self.begin, self.end)
        result = self.logprobs[0][stream.ids].astype(np.float64)
        if self.order > 1:
            # of the n-gram that ends at each position, were it the context of the next token
            backoff = self.backoffs[0][stream.ids].astype(np.float64)
        for order in range(2, self.order + 1):
            ends = np.flatnonzero(stream.complete(order)) + order - 1
            places, there = find(self.keys[order - 2], stream.keys(order, self.bits)[ends - order + 1])
            shorter = backoff[ends - 1] + result[ends]
            result[ends] = shorter
            result[ends[there]] = self.logprobs[order - 1][places[there]]
            if order < self.order:
                backoff = np.zeros(len(stream.ids))
                backoff[ends[there]] = self.backoffs[order - 1][places[there]]
        return np.asarray(result[~stream.opens])

    def save(self, folder: Path) -> None:
        """Write the arrays, the logarithms in 32 bits; :func:`load_tables` reads them."""
        for order, logprobs in enumerate(self.logprobs, 1):
            np.save(folder / f"order{order}.logprobs.npy", np.asarray(logprobs, dtype=np.float32))
            if order > 1:
                np.save(folder / f"order{order}.keys.npy", self.keys[order - 2])
            if order < self.order:
                np.save(folder / f"order{order}.backoffs.npy", np.asarray(self.backoffs[order - 1], dtype=np.float32))


def load_tables(folder: Path, order: int, begin: int, end: int) -> NgramTables:
    """Open the tables in a folder, memory-mapped."""
    orders = range(1, order + 1)
    logprobs = tuple(load_array(folder / f"order{n}.logprobs.npy", np.float32) for n in orders)
    keys = tuple(load_array(folder / f"order{n}.keys.npy", np.uint64, len(logprobs[n - 1])) for n in orders[1:])
    backoffs = tuple(
        load_array(folder / f"order{n}.backoffs.npy", np.float32, len(logprobs[n - 1])) for n in orders[:-1]
    )
    if not (0 <= begin < len(logprobs[0]) and 0 <= end < len(logprobs[0])):
        raise InputError(f"{folder}: its marks {begin} and {end} are not among its {len(logprobs[0])} tokens")
    return NgramTables(begin, end, keys, logprobs, backoffs)


def load_array(path: Path, kind: type[np.generic], length: int | None = None) -> npt.NDArray[Any]:
    """Open an array of one dimension, memory-mapped; InputError if it is missing, damaged, or of another type or
    length.
    """
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"{path}: is missing; train the model again") from None
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: cannot be read as an array ({error}); train the model again") from None
    fits = length is None or len(array) == length
    if array.ndim != 1 or array.dtype != kind or not fits:
        raise InputError(f"{path}: {array.dtype}{list(array.shape)} is not what belongs there; train the model again")
    return array


FORMAT = "celadon-lm/1"
KIND = "ngram"
DESCRIPTION = "model.json"
TOKENIZER = "tokenizer.json"
UNIGRAMS = "unigrams.npy"

ARPA_BEGIN, ARPA_END, ARPA_UNKNOWN = "<s>", "</s>", "<unk>"

_WORD = re.compile(r"\S+")
_LN10 = math.log(10.0)
# kenlm puts the place in its own source before what went wrong
_KENLM_PLACE = re.compile(r"^\S+:\d+ in .*? threw \w+(?: because `.*?')?\. ", re.DOTALL)


def open_ngram(path: Path | str, threads: int | None = None) -> LanguageModel:
    """Open an n-gram model: a folder of ``celadon train ngram``, or an ARPA file (also .gz) or a binary file of kenlm.

    ``threads`` is not used: looking up n-grams is not what scoring waits for.
    """
    place = Path(path)
    if place.is_dir():
        return NgramLanguageModel.open(place)
    if not place.is_file():
        raise InputError(f"{place}: there is no such folder or file")
    return ArpaLanguageModel.open(place)


class NgramLanguageModel:
    """An n-gram model trained by us; open one with :meth:`open`.

    The end of a text is a token that counts. The probability of a token given nothing is its share of the training
    corpus (``unigrams.npy``), not the lowest order of the model, which smoothing bends.
    """

    def __init__(
        self,
        folder: Path,
        description: Mapping[str, Any],
        tokenizer: Tokenizer,
        tables: NgramTables,
        unigrams: npt.NDArray[np.float32],
    ) -> None:
        self._folder = folder
        self._description = description
        self._tokenizer = tokenizer
        self._tables = tables
        self._unigrams = unigrams

    @classmethod
    def open(cls, folder: Path) -> NgramLanguageModel:
        """Open the model in a folder; its tables stay on disk until they are needed."""
        description = _described(folder / DESCRIPTION)
        tokenizer = load_tokenizer(folder / TOKENIZER)
        marks = (description["begin_id"], description["end_id"])
        tables = load_tables(folder, description["order"], *marks)
        if tokenizer.get_vocab_size() > tables.vocabulary:
            raise InputError(
                f"{folder / TOKENIZER}: has {tokenizer.get_vocab_size()} tokens, but the model only {tables.vocabulary}"
            )
        unigrams = load_array(folder / UNIGRAMS, np.float32, tables.vocabulary)
        return cls(folder, description, tokenizer, tables, unigrams)

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        return f"ngram:{self._folder}"

    @cached_property
    def digest(self) -> str:
        """The sha256 over the names and contents of its files."""
        total = hashlib.sha256()
        for path in sorted([*self._folder.glob("*.npy"), self._folder / DESCRIPTION, self._folder / TOKENIZER]):
            total.update(f"{path.name}\0{_file_digest(path)}\n".encode())
        return total.hexdigest()

    @property
    def facts(self) -> Mapping[str, str]:
        """What stands before the first token, and that the end is counted."""
        return {"begin": str(self._description["begin"]), "end": "counted"}

    @property
    def scripts(self) -> tuple[str, ...]:
        """The scripts of the corpus it was trained on."""
        return tuple(self._description.get("scripts", ()))

    def score(self, texts: Sequence[str]) -> list[TokenScores]:
        """Score texts, all their tokens at once."""
        encoded = self._tokenizer.encode_batch([mend_surrogates(text) for text in texts], add_special_tokens=False)
        filled = [number for number, encoding in enumerate(encoded) if len(encoding)]
        starts = np.cumsum([0, *(len(encoded[number]) for number in filled)])
        ids = np.fromiter((one for number in filled for one in encoded[number].ids), np.int64, int(starts[-1]))
        logprobs = self._tables.score(ids, starts)
        end_unigram = float(self._unigrams[self._tables.end])
        known = ids != self._unknown
        scored = [_NOTHING] * len(texts)
        for place, number in enumerate(filled):
            begin, end = int(starts[place]), int(starts[place + 1])
            spans = [*encoded[number].offsets, (len(texts[number]), len(texts[number]))]
            offsets = np.array(spans, dtype=np.int64)
            scored[number] = TokenScores(
                # one more for each end that came before
                logprobs[begin + place : end + place + 1],
                np.append(self._unigrams[ids[begin:end]].astype(np.float64), end_unigram),
                offsets[:, 0],
                offsets[:, 1],
                np.append(known[begin:end], True),
            )
        return scored

    @property
    def _unknown(self) -> int:
        unknown = self._description.get("unknown_id")
        return -1 if unknown is None else int(unknown)


_NOTHING = TokenScores(
    np.empty(0), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, dtype=np.bool_)
)


@dataclass(frozen=True)
class _Entry:
    """A word as kenlm is asked for it."""

    asked: str
    unigram: float
    known: bool


class ArpaLanguageModel:
    """An ARPA file, or a binary file of kenlm; open one with :meth:`open`.

    The tokens of a text are its words between white space, and then its end, which counts.
    """

    def __init__(self, path: Path, model: Any) -> None:
        self._path = path
        self._model = model

    @classmethod
    def open(cls, path: Path) -> ArpaLanguageModel:
        """Load a file."""
        try:
            import kenlm
        except ImportError:
            if sys.version_info >= (3, 13):
                raise MissingPartError(
                    f"{path}: kenlm, which reads it, does not compile on Python 3.13 and later; use 3.11 or 3.12"
                ) from None
            raise MissingExtraError("kenlm", "ngram") from None
        config = kenlm.Config()
        config.show_progress = False
        config.arpa_complain = kenlm.ARPALoadComplain.NONE
        try:
            return cls(path, kenlm.Model(str(path), config))
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(f"{path}: is no ARPA file or binary file of kenlm: {_kenlm_reason(error)}") from None

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        return f"ngram:{self._path}"

    @cached_property
    def digest(self) -> str:
        """The sha256 of the file."""
        return _file_digest(self._path)

    @property
    def facts(self) -> Mapping[str, str]:
        """What stands before the first word, and that the end is counted."""
        return {"begin": ARPA_BEGIN, "end": "counted"}

    @property
    def scripts(self) -> tuple[str, ...]:
        """The scripts it knows, which the file does not tell."""
        return ()

    def score(self, texts: Sequence[str]) -> list[TokenScores]:
        """Score texts, word by word."""
        entries: dict[str, _Entry] = {}
        end = self._entry(ARPA_END)
        return [self._scored(mend_surrogates(text), entries, end) for text in texts]

    def _scored(self, text: str, entries: dict[str, _Entry], end: _Entry) -> TokenScores:
        import kenlm

        found = list(_WORD.finditer(text))
        if not found:
            return _NOTHING
        words = []
        for match in found:
            word = match.group()
            if word not in entries:
                # a mark that stands in the text is no mark; and kenlm would not read on after a NUL
                strange = word in {ARPA_BEGIN, ARPA_END} or "\0" in word
                entries[word] = self._entry(ARPA_UNKNOWN if strange else word)
            words.append(entries[word])
        words.append(end)
        before, after = kenlm.State(), kenlm.State()
        self._model.BeginSentenceWrite(before)
        logprobs = np.empty(len(words))
        for number, entry in enumerate(words):
            logprobs[number] = self._model.BaseScore(before, entry.asked, after)
            before, after = after, before
        return TokenScores(
            logprobs * _LN10,
            np.array([entry.unigram for entry in words]),
            np.array([*(match.start() for match in found), len(text)], dtype=np.int64),
            np.array([*(match.end() for match in found), len(text)], dtype=np.int64),
            np.array([entry.known for entry in words]),
        )

    def _entry(self, word: str) -> _Entry:
        import kenlm

        nothing, after = kenlm.State(), kenlm.State()
        self._model.NullContextWrite(nothing)
        scored = self._model.BaseFullScore(nothing, word, after)
        return _Entry(word, scored.log_prob * _LN10, not scored.oov)


def _described(path: Path) -> dict[str, Any]:
    try:
        description = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path.parent}: is no n-gram model: there is no {path.name} in it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as the description of a model: {error}") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT or description.get("kind") != KIND:
        raise InputError(f"{path}: does not describe an n-gram model ({FORMAT}, kind {KIND})")
    for key in ("order", "begin_id", "end_id"):
        if type(description.get(key)) is not int or description[key] < (key == "order"):
            raise InputError(f"{path}: {key!r} is {description.get(key)!r}, not a number that can be")
    return description


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _kenlm_reason(error: Exception) -> str:
    told = str(error)
    inner = told[told.find("(") + 1 : told.rfind(")")] if "(" in told else told
    return " ".join(_KENLM_PLACE.sub("", inner).split())
