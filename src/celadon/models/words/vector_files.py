"""Word vectors of others: text files of GloVe, word2vec and fastText, and arrays of numpy with a list of words.

A text file has a word and its numbers on each line, parted by spaces; a first line of two whole numbers, how many
words there are and how long a vector is, may stand before them. Such files are large and few of their words are ever
asked for, so they are gone through once to find where each word is, and its numbers are read when they are needed. An
array is a file ``NAME.npy`` with the words beside it, a word a line in ``NAME.txt``; or a folder with ``vectors.npy``
and ``words.parquet``, which is how GloVe lies in the store. No pickle is ever loaded.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray
from celadon.io.arrow import require_pyarrow
from celadon.models.store.importing import load_array
from celadon.models.store.places import byte_bar, expanded
from celadon.models.words.word_vectors import VECTORS, WordVectors

TEXT_ENDINGS = (".txt", ".vec")
ARRAY_ENDING = ".npy"
WORD_TABLE = "words.parquet"
NORMALISATION = "rouge"
# what is known of the scripts of vectors that the catalog has
_SCRIPTS = {"glove": ("Latin",)}
_BAR_STEP = 1 << 22
_NUMBERS_SHOWN = 60


def is_vector_file(name: str) -> bool:
    """Whether a name is that of a file, not of a folder or of a model in the catalog."""
    try:
        return name.lower().endswith((*TEXT_ENDINGS, ARRAY_ENDING)) or expanded(name).is_file()
    except (OSError, ValueError):
        return False


def is_vector_folder(folder: Path) -> bool:
    """Whether a folder holds an array with its words in a table."""
    return (folder / WORD_TABLE).is_file()


def open_vectors(path: Path, name: str) -> WordVectors:
    """Open a file or folder of vectors; ``name`` is what they are called in signatures and messages."""
    if path.is_dir():
        return _of_array(path / VECTORS, path / WORD_TABLE, name)
    ending = path.suffix.lower()
    if ending == ARRAY_ENDING:
        return _of_array(path, path.with_suffix(".txt"), name)
    if ending in TEXT_ENDINGS:
        return _of_text(path, name)
    raise InputError(
        f"{path}: is no file of word vectors that can be read; these are: text files of GloVe, word2vec or fastText "
        f"({', '.join(TEXT_ENDINGS)}), or an array ({ARRAY_ENDING}) with its words beside it in a .txt"
    )


def _of_array(array: Path, listed: Path, name: str) -> WordVectors:
    _check_there(array)
    _check_there(listed)
    rows = load_array(array)
    words = _words_of_table(listed) if listed.suffix == ".parquet" else _words_of_lines(listed)
    if rows.ndim != 2 or rows.dtype.kind not in "fi" or not rows.size:
        raise InputError(f"{array}: {rows.dtype}{list(rows.shape)} are no vectors: rows of numbers are expected")
    if len(rows) != len(words):
        raise InputError(f"{array}: has {len(rows):,} rows, but {listed.name} has {len(words):,} words")
    digest = hashlib.sha256("\n".join(_sha256(path) for path in (array, listed)).encode()).hexdigest()
    return _vectors(name, digest, words, rows)


def _vectors(name: str, digest: str, words: tuple[str, ...], rows: Any) -> WordVectors:
    cased = any(word != word.lower() for word in words)
    return WordVectors(name, digest, words, rows, NORMALISATION, _SCRIPTS.get(name, ()), None, cased)


def _check_there(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{path}: no such file")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _words_of_table(path: Path) -> tuple[str, ...]:
    """The words of a Parquet file of one column."""
    require_pyarrow(str(path))
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
        words = table.column(0).to_pylist()
    except (pyarrow.ArrowException, OSError, IndexError) as error:
        raise InputError(f"{path}: cannot be read as a table of words: {error}") from None
    if not all(isinstance(word, str) for word in words):
        raise InputError(f"{path}: its first column is not all words")
    return tuple(words)


def _words_of_lines(path: Path) -> tuple[str, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 at byte {error.start:,}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    return tuple(text.removesuffix("\n").split("\n"))


class TextRows:
    """The vectors of a text file, read where they are asked for, from where their numbers begin."""

    def __init__(self, path: Path, data: mmap.mmap, starts: IntArray, lines: IntArray, size: int) -> None:
        self._path, self._data, self._starts, self._lines = path, data, starts, lines
        self._known: dict[int, FloatArray] = {}
        self.shape = (len(starts), size)

    def __getitem__(self, numbers: IntArray) -> npt.NDArray[Any]:
        found = np.empty((len(numbers), self.shape[1]), dtype=np.float64)
        for at, number in enumerate(numbers.tolist()):
            if number not in self._known:
                self._known[number] = self._read(number)
            found[at] = self._known[number]
        return found

    def _read(self, number: int) -> FloatArray:
        start = int(self._starts[number])
        end = self._data.find(b"\n", start)
        written = self._data[start : end if end >= 0 else len(self._data)].split()
        try:
            row = np.array([float(each) for each in written], dtype=np.float64)
        except ValueError:
            row = np.zeros(0)
        if len(row) != self.shape[1] or not np.isfinite(row).all():
            shown = b" ".join(written)[:_NUMBERS_SHOWN].decode("utf-8", "replace")
            raise InputError(f"{self._path}:{self._lines[number]}: {self.shape[1]} numbers are expected, not: {shown}")
        return row


def _of_text(path: Path, name: str) -> WordVectors:
    _check_there(path)
    if not path.stat().st_size:
        raise InputError(f"{path}: is empty")
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    size, words = 0, dict[bytes, None]()
    starts, lines = [], []
    for number, begin, line in _lines(data, path.name):
        fields = line.count(b" ")
        if not size:
            # the first line is that of a word, or tells how many there are and how long
            told = line.split()
            size = int(told[1]) if number == 1 and _is_header(told) else fields
            if number == 1 and _is_header(told):
                continue
        if fields < size or size < 1:
            raise InputError(
                f"{path}:{number}: a word and {max(size, 2)} numbers are expected; there are {fields + 1} fields"
            )
        # GloVe's largest files have words with spaces in them
        word = line.partition(b" ")[0] if fields == size else line.rsplit(b" ", size)[0]
        # of a word that is there twice the first counts, as it is the more frequent
        if word not in words:
            words[word] = None
            starts.append(begin + len(word) + 1)
            lines.append(number)
    if not words:
        raise InputError(f"{path}: there is no word in it")
    rows = TextRows(path, data, np.array(starts, dtype=np.int64), np.array(lines, dtype=np.int64), size)
    return _vectors(
        name, hashlib.sha256(data).hexdigest(), tuple(word.decode("utf-8", "replace") for word in words), rows
    )


def _is_header(fields: list[bytes]) -> bool:
    return len(fields) == 2 and all(field.isdigit() for field in fields)


def _lines(data: mmap.mmap, name: str) -> Iterator[tuple[int, int, bytes]]:
    """Every line that is not empty: its number, where it begins, and its bytes without white space at the end."""
    number, shown, begin = 0, 0, 0
    with byte_bar(f"looking through {name}", len(data)) as bar:
        while line := data.readline():
            number += 1
            if bare := line.rstrip():
                yield number, begin, bare
            begin += len(line)
            if begin - shown >= _BAR_STEP:
                bar.update(begin - shown)
                shown = begin
