"""Reads GGUF files: the metadata, and the tensors as float32 arrays, with numpy alone."""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import InputError

Float32Array = npt.NDArray[np.float32]

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
# The struct codes of the metadata's types, by their numbers.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_DEFAULT_ALIGNMENT = 32
# No tensor of a language model has more dimensions than this, nor metadata a deeper list; a damaged file may say so.
_MOST_DIMENSIONS = 4


class _Tensor(NamedTuple):
    shape: tuple[int, ...]
    kind: int
    offset: int


class _Storage(NamedTuple):
    """How one kind of tensor is stored: numbers per block, bytes per block, and the way back to float32."""

    numbers: int
    size: int
    read: Callable[[npt.NDArray[np.uint8]], Float32Array]


def _halves(blocks: npt.NDArray[np.uint8]) -> Float32Array:
    return np.ascontiguousarray(blocks).view("<f2").astype(np.float32)


def _read_f32(blocks: npt.NDArray[np.uint8]) -> Float32Array:
    return blocks.view("<f4").astype(np.float32)


def _read_q4_1(blocks: npt.NDArray[np.uint8]) -> Float32Array:
    """Blocks of a scale, a minimum and 32 numbers of four bits: the low halves of 16 bytes, then the high ones."""
    scale, least, packed = _halves(blocks[:, :2]), _halves(blocks[:, 2:4]), blocks[:, 4:]
    levels = np.concatenate([packed & 0x0F, packed >> 4], axis=1)
    return scale * levels.astype(np.float32) + least


def _read_q8_0(blocks: npt.NDArray[np.uint8]) -> Float32Array:
    """Blocks of a scale and 32 signed bytes."""
    levels = np.ascontiguousarray(blocks[:, 2:]).view(np.int8)
    return _halves(blocks[:, :2]) * levels.astype(np.float32)


_STORAGE = {
    0: _Storage(1, 4, _read_f32),
    1: _Storage(1, 2, _halves),
    3: _Storage(32, 20, _read_q4_1),
    8: _Storage(32, 34, _read_q8_0),
}


class _Cursor:
    """Reads one value after another from the head of a file."""

    def __init__(self, data: mmap.mmap, path: str) -> None:
        self.data, self.path, self.at = data, path, 0

    def _take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) < size:
            raise InputError(f"{self.path}: the file is cut short; fetch it again")
        self.at += size
        return taken

    def numbers(self, code: str, count: int) -> list[Any]:
        return list(struct.unpack(f"<{count}{code}", self._take(count * struct.calcsize(code))))

    def number(self, code: str) -> Any:
        return self.numbers(code, 1)[0]

    def string(self) -> str:
        return self._take(self.number("Q")).decode("utf-8", errors="replace")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _ARRAY:
            inner, count = self.number("I"), self.number("Q")
            if inner in _SCALARS:
                return self.numbers(_SCALARS[inner], count)
            if inner == _STRING:
                return [self.string() for _ in range(count)]
        raise InputError(f"{self.path}: a value of the unknown type {kind}; the file is damaged or too new")


@dataclass(frozen=True)
class Gguf:
    """An open GGUF file, and what its metadata says of the model."""

    path: str
    metadata: Mapping[str, Any]
    _tensors: Mapping[str, _Tensor]
    _data: mmap.mmap

    def get(self, key: str) -> Any:
        """Return a value of the metadata that must be there."""
        if key not in self.metadata:
            raise InputError(f"{self.path}: says nothing of {key}; it is not a language model of the expected kind")
        return self.metadata[key]

    def tensor(self, name: str) -> Float32Array:
        """Return a tensor, its last dimension the one that lies together in memory."""
        if name not in self._tensors:
            raise InputError(f"{self.path}: has no tensor {name}; it is not a language model of the expected kind")
        shape, kind, offset = self._tensors[name]
        if kind not in _STORAGE:
            raise InputError(f"{self.path}: {name} is stored in the way {kind}; F32, F16, Q4_1 and Q8_0 are read")
        numbers, size, read = _STORAGE[kind]
        count = math.prod(shape)
        end = offset + count // numbers * size
        if shape[-1] % numbers or end > len(self._data):
            raise InputError(f"{self.path}: {name} is cut short; fetch the file again")
        blocks = np.frombuffer(self._data, np.uint8, end - offset, offset).reshape(-1, size)
        return read(blocks).reshape(shape)

    def __contains__(self, name: str) -> bool:
        return name in self._tensors


def read_gguf(path: Path) -> Gguf:
    """Read the head of a GGUF file; tensors are read when they are asked for."""
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    cursor = _Cursor(data, str(path))
    if data[:4] != _MAGIC:
        raise InputError(f"{path}: is not a GGUF file")
    cursor.at = 4
    version = cursor.number("I")
    if version not in _VERSIONS:
        raise InputError(f"{path}: is GGUF of version {version}; versions {_VERSIONS[0]} and {_VERSIONS[1]} are read")
    tensor_count, value_count = cursor.numbers("Q", 2)
    metadata = {cursor.string(): cursor.value(cursor.number("I")) for _ in range(value_count)}
    infos = [_tensor_info(cursor) for _ in range(tensor_count)]
    alignment = int(metadata.get("general.alignment", _DEFAULT_ALIGNMENT))
    begin = -(-cursor.at // alignment) * alignment
    tensors = {name: tensor._replace(offset=begin + tensor.offset) for name, tensor in infos}
    return Gguf(str(path), metadata, tensors, data)


def _tensor_info(cursor: _Cursor) -> tuple[str, _Tensor]:
    name, dimensions = cursor.string(), cursor.number("I")
    if dimensions > _MOST_DIMENSIONS:
        raise InputError(f"{cursor.path}: {name} has {dimensions} dimensions; the file is damaged")
    # GGUF writes the dimension that lies together in memory first.
    shape = tuple(reversed(cursor.numbers("Q", dimensions)))
    kind, offset = cursor.number("I"), cursor.number("Q")
    return name, _Tensor(shape, kind, offset)
