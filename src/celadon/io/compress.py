"""Compression on the way out."""

from __future__ import annotations

import gzip
import io
import lzma
from typing import Any, BinaryIO, Protocol

_GZIP_LEVEL = 6


class Sink(Protocol):
    """Takes bytes; closing completes the compressed data and leaves the file beneath open."""

    def write(self, data: bytes, /) -> int | None:
        """Take some bytes."""

    def close(self) -> None:
        """Complete the data."""


class _Open(io.RawIOBase):
    """A file that whoever writes to it cannot close: it must still be synced to the disk."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def flush(self) -> None:
        # Flushing is for the owner of the file; a failing one must not come up out of a destructor.
        pass


def compressed(file: BinaryIO, compression: str | None) -> Sink:
    """What is written here arrives in the file, compressed."""
    if compression == "gzip":
        # No name and no time, so that the same rows give the same bytes.
        return gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0)
    if compression == "xz":
        return lzma.LZMAFile(file, "wb")
    if compression == "zstd":
        from celadon.io.zstandard import compressor

        return compressor(file)
    return _Open(file)
