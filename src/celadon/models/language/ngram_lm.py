"""N-gram language models: trigrams and the like trained by us, and ARPA files through kenlm (extra ``ngram``)."""

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
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, MissingExtraError, MissingPartError
from celadon.io.values import mend_surrogates
from celadon.models.language.language_model import LanguageModel, TokenScores
from celadon.models.language.ngram_tables import NgramTables, load_array, load_tables
from celadon.models.store.model_files import load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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
    """Open an n-gram model.

    Parameters
    ----------
    path
        A folder that ``celadon train ngram`` wrote; or an ARPA file (also .gz) or a binary file of kenlm.
    threads
        Not used: looking up n-grams is not what scoring waits for.

    Raises
    ------
    InputError
        There is no such model, or it is damaged.
    MissingExtraError
        It is a file, and kenlm is not installed.
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

    Parameters
    ----------
    folder
        Where its files are.
    description
        Its ``model.json``.
    tokenizer
        What cuts texts into its tokens.
    tables
        Its n-grams.
    unigrams
        For each token the logarithm of its probability by itself.
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

    Parameters
    ----------
    path
        The file.
    model
        What kenlm made of it.
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
