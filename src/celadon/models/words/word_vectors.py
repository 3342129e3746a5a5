"""Static word vectors: folders that this project trains (``celadon-vectors/1``), and files of others.

A folder has ``model.json``, ``words.txt`` (a word a line, as the normalisation named in ``model.json`` makes them) and
``vectors.npy``: a row of 8-bit numbers for each word. Only the directions of vectors are kept; they come back with
length 1. Vectors of others, as GloVe's, are read by :mod:`celadon.models.words.vector_files`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray
from celadon.models.store import folder_of
from celadon.models.store.places import expanded, is_path
from celadon.text.words import NORMALISATIONS

FORMAT = "celadon-vectors/1"
DESCRIPTION, WORDS, VECTORS = "model.json", "words.txt", "vectors.npy"
BUILTIN = "builtin"


Rows = npt.NDArray[np.float32]


class StoredRows(Protocol):
    """Where vectors lie: an array, or a file that is read where it is asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of vectors and their length."""
        ...

    def __getitem__(self, numbers: IntArray) -> npt.NDArray[Any]:
        """Return the vectors of these numbers, whole numbers or not."""
        ...


class FoundVectors(NamedTuple):
    """The vectors of words, row by row, and which words have one; the rows of the others are zeros."""

    vectors: Rows
    known: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Word vectors, most frequent first; get them with :func:`word_vectors`.

    ``digest`` is the sha256 over all that scores depend on. ``rows`` are 8-bit numbers that are only directions,
    memory-mapped, or any others. ``normalisation`` is how texts are split into these words
    (:mod:`celadon.text.words`). ``threshold`` is the Word Mover's similarity below which two adjacent sentences hardly
    belong together, fitted when these vectors were trained. Where some words are ``cased``, a word is looked for as it
    is written before it is looked for in lower case.
    """

    name: str
    digest: str
    words: tuple[str, ...]
    rows: StoredRows
    normalisation: str
    scripts: tuple[str, ...]
    threshold: float | None
    cased: bool = False

    @classmethod
    def open(cls, folder: Path, name: str) -> WordVectors:
        """Open the vectors in a folder."""
        described = _described(folder / DESCRIPTION)
        words = tuple(_read(folder / WORDS).decode("utf-8", "replace").removesuffix("\n").split("\n"))
        rows = _load_rows(folder / VECTORS, len(words))
        lines = [f"{file}:{hashlib.sha256(_read(folder / file)).hexdigest()}" for file in (DESCRIPTION, VECTORS, WORDS)]
        return cls(name, hashlib.sha256("\n".join(lines).encode()).hexdigest(), words, rows, **described)

    @property
    def size(self) -> int:
        """The length of a vector."""
        return int(self.rows.shape[1])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def __contains__(self, word: str) -> bool:
        return word in self._numbers

    def numbers(self, words: Sequence[str]) -> IntArray:
        """Return the number of each word's row, -1 of a word without."""
        return np.fromiter(map(self._numbers.get, words, repeat(-1)), np.int64, len(words))

    def take(self, numbers: IntArray, *, unit: bool = True) -> FloatArray:
        """Return the vectors at these numbers: each of length 1, or as it lies there."""
        rows = self.rows[numbers]
        return unit_rows(rows) if unit else np.asarray(rows, dtype=np.float64)

    def lookup(self, words: Sequence[str]) -> FoundVectors:
        """Return the vectors of words, each of length 1."""
        numbers = self.numbers(words)
        known = numbers >= 0
        vectors = np.zeros((len(words), self.size), dtype=np.float32)
        vectors[known] = self.take(numbers[known])
        return FoundVectors(vectors, known)


def unit_rows(rows: npt.NDArray[Any]) -> FloatArray:
    """Return rows as vectors of length 1; a row of zeros stays one."""
    # a sum of whole numbers is the same in any order, so that a vector does not depend on what is looked up with it
    whole: npt.NDArray[Any] = rows.astype(np.int32 if rows.dtype == np.int8 else np.float64)
    lengths = np.sqrt((whole * whole).sum(axis=1, keepdims=True))
    return np.asarray(whole / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)


_lock = RLock()
_opened: dict[str, WordVectors] = {}


def word_vectors(name: str = BUILTIN) -> WordVectors:
    """Return the word vectors that the whole process shares, opened on first use.

    ``name`` is ``builtin``, those that come with the package; ``glove``; the folder of others, made by ``celadon train
    vectors``; or a file of vectors as :func:`celadon.models.words.vector_files.open_vectors` takes it.
    """
    key = str(expanded(name).resolve()) if is_path(name) else name
    with _lock:
        if key not in _opened:
            _opened[key] = _open(name)
        return _opened[key]


def _open(name: str) -> WordVectors:
    from celadon.models.words.vector_files import is_vector_file, is_vector_folder, open_vectors

    if is_vector_file(name):
        return open_vectors(expanded(name).absolute(), name)
    folder = folder_of(f"{BUILTIN}-vectors" if name == BUILTIN else name).absolute()
    return open_vectors(folder, name) if is_vector_folder(folder) else WordVectors.open(folder, name)


def forget() -> None:
    """Let go of all vectors that the process holds."""
    with _lock:
        _opened.clear()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _described(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"{path.parent}: there are no word vectors in it, for it has no {path.name}")
    try:
        described = json.loads(_read(path))
        if described["format"] != FORMAT:
            raise InputError(f"{path}: its format is {described['format']!r}, not that of word vectors, {FORMAT}")
        normalisation = described["normalisation"]
        scripts = tuple(str(script) for script in described["scripts"])
        threshold = None if described.get("threshold") is None else float(described["threshold"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read as a description of word vectors: {error!r}") from None
    if normalisation not in NORMALISATIONS:
        raise InputError(f"{path}: its normalisation is {normalisation!r}; known: {', '.join(NORMALISATIONS)}")
    if threshold is not None and not math.isfinite(threshold):
        raise InputError(f"{path}: its threshold is {threshold}, which is no number")
    return {"normalisation": normalisation, "scripts": scripts, "threshold": threshold}


def _load_rows(path: Path, words: int) -> npt.NDArray[np.int8]:
    try:
        rows: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: cannot be read as an array: {error}") from None
    if rows.ndim != 2 or rows.dtype != np.int8 or len(rows) != words or not rows.shape[1]:
        raise InputError(f"{path}: {rows.dtype}{list(rows.shape)} does not fit {words:,} words in {WORDS}")
    return rows
