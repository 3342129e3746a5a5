"""Words of many documents as numbers, equal where the words are, without making a string of every word.

ASCII documents, which most are, are split as arrays of bytes; the others are split one by one first. A word is then
known by its bytes: up to fifteen of them, with its length, fit into two machine words, which are looked up in a table;
the few words that are longer, or whose place in the table is taken, are numbered one by one. All of it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray
from celadon.text.words import form_of, splitter

_Mask = npt.NDArray[np.bool_]
_Bytes = npt.NDArray[np.uint8]
_Keys = npt.NDArray[np.uint64]

_PACKED = 15
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93], dtype=np.uint64)
# of the first, and of the second, eight bytes, those that belong to a word of each length
_FIRST = np.array([(1 << 8 * min(length, 8)) - 1 for length in range(_PACKED + 1)], dtype=np.uint64)
_SECOND = np.array([(1 << 8 * max(length - 8, 0)) - 1 for length in range(_PACKED + 1)], dtype=np.uint64)

_CODES = np.arange(256)
_ALNUM = np.array([code < 128 and chr(code).isalnum() for code in _CODES])
_SPACE = np.array([code < 128 and chr(code).isspace() for code in _CODES])
_MARK = (_CODES > 32) & (_CODES < 127) & ~_ALNUM
_APOSTROPHE = ord("'")


class NumberedWords(NamedTuple):
    """The words of all documents as numbers below ``vocabulary``; those of ``d`` begin at ``starts[d]``."""

    ids: IntArray
    starts: IntArray
    vocabulary: int


class _Stretches(dict[str, str]):
    """The words of each stretch without white space, with spaces between; no word goes beyond one."""

    def __init__(self, split: Callable[[str], list[str]], form: Callable[[str], str]) -> None:
        super().__init__()
        self._split, self._form = split, form

    def __missing__(self, stretch: str) -> str:
        one_word = stretch.isalnum() and stretch.isascii()
        spaced = self[stretch] = self._form(stretch) if one_word else " ".join(self._split(stretch))
        return spaced

    def spaced(self, document: str) -> str:
        """Return the words of a document with spaces between."""
        return " ".join([self[stretch] for stretch in document.split()])


class _Places(NamedTuple):
    """Where words are in a buffer, and how many each document has."""

    buffer: _Bytes
    begin: IntArray
    length: IntArray
    counts: IntArray


def number_words(documents: Sequence[str], normalisation: str) -> NumberedWords:
    """Split documents into the same words as :func:`celadon.text.words.words` and number them."""
    split = splitter(normalisation)
    as_bytes = normalisation in _EDGES
    ascii_at = np.array([as_bytes and document.isascii() for document in documents], dtype=np.bool_)
    plain = [document for document in documents if as_bytes and document.isascii()]
    if normalisation == "rouge":
        plain = [document.lower() for document in plain]
    stretches = _Stretches(split, form_of(normalisation))
    others = [stretches.spaced(document) for document in documents if not (as_bytes and document.isascii())]
    parts = [_places(plain, _EDGES.get(normalisation, _spaced)), _places(others, _spaced)]
    ids, vocabulary = _number(parts)

    counts = np.zeros(len(documents), dtype=np.int64)
    counts[ascii_at], counts[~ascii_at] = parts[0].counts, parts[1].counts
    starts = np.concatenate([[0], np.cumsum(counts)])
    if others:
        # the numbers are those of the ASCII documents, then those of the others: put them in the documents' order
        owner = np.concatenate(
            [
                np.repeat(np.flatnonzero(ascii_at), parts[0].counts),
                np.repeat(np.flatnonzero(~ascii_at), parts[1].counts),
            ]
        )
        ids = ids[np.argsort(owner, kind="stable")]
    return NumberedWords(ids, starts, vocabulary)


def _places(documents: Sequence[str], edges: Callable[[_Bytes], tuple[_Mask, _Mask]]) -> _Places:
    """Find the words of documents that are joined by line breaks."""
    encoded = [document.encode("utf-8", "surrogatepass") for document in documents]
    # room at the end, so that the last words can be read in steps of eight bytes
    buffer = np.frombuffer(b"\n".join([b"", *encoded, bytes(2 * _PACKED)]), dtype=np.uint8)
    first, last = edges(buffer[: len(buffer) - 2 * _PACKED])
    begin, end = np.flatnonzero(first), np.flatnonzero(last)
    bounds = np.cumsum([1, *(len(document) + 1 for document in encoded)])
    counts = np.diff(np.searchsorted(begin, bounds))
    return _Places(buffer, begin, end - begin + 1, counts)


def _runs(inside: _Mask) -> tuple[_Mask, _Mask]:
    """The first and the last places of runs; the buffer begins and ends outside of any."""
    first, last = np.zeros_like(inside), np.zeros_like(inside)
    np.greater(inside[1:], inside[:-1], out=first[1:])
    np.greater(inside[:-1], inside[1:], out=last[:-1])
    return first, last


def _alphanumeric(buffer: _Bytes) -> tuple[_Mask, _Mask]:
    return _runs(_ALNUM[buffer])


def _spaced(buffer: _Bytes) -> tuple[_Mask, _Mask]:
    return _runs(~_SPACE[buffer])


def _surface(buffer: _Bytes) -> tuple[_Mask, _Mask]:
    inside = _ALNUM[buffer]
    mark = _MARK[buffer]
    apostrophe = np.flatnonzero(buffer == _APOSTROPHE)
    inner = apostrophe[inside[apostrophe - 1] & inside[apostrophe + 1]]
    inside[inner] = True
    mark[inner] = False
    first, last = _runs(inside)
    return first | mark, last | mark


_EDGES = {"rouge": _alphanumeric, "surface": _surface, "whitespace": _spaced}


def _number(parts: Sequence[_Places]) -> tuple[IntArray, int]:
    lengths = np.concatenate([part.length for part in parts])
    first = np.concatenate([_eight_bytes(part.buffer, part.begin) for part in parts])
    second = np.concatenate([_eight_bytes(part.buffer, part.begin + 8) for part in parts])
    packed = np.minimum(lengths, _PACKED)
    first &= _FIRST[packed]
    second &= _SECOND[packed]
    second |= lengths.astype(np.uint64) << np.uint64(56)

    bits = max(2 * len(lengths), 2).bit_length()
    place = ((first * _MIX[0] ^ second * _MIX[1]) * _MIX[2]) >> np.uint64(64 - bits)
    ids = place.astype(np.int64)
    size = 1 << bits
    first_there, second_there = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.uint64)
    # of words that want the same place the last one has it
    first_there[ids], second_there[ids] = first, second
    odd = np.flatnonzero((first_there[ids] != first) | (second_there[ids] != second) | (lengths > _PACKED))
    if not len(odd):
        return ids, size
    numbers: dict[bytes, int] = {}
    begins = np.concatenate([part.begin for part in parts])
    own = len(parts[0].begin)
    buffers = [part.buffer.tobytes() for part in parts]
    for at in odd.tolist():
        buffer = buffers[at >= own]
        word = buffer[begins[at] : begins[at] + lengths[at]]
        ids[at] = size + numbers.setdefault(word, len(numbers))
    return ids, size + len(numbers)


def _eight_bytes(buffer: _Bytes, begin: IntArray) -> _Keys:
    """The eight bytes that begin at each place, as one number each."""
    windows: _Keys = np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))
    return windows[begin]
