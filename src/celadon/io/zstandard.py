"""Zstandard streams, by Python's own module from 3.14 on and by its backport before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO, BinaryIO

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError, ZstdFile
else:
    from backports.zstd import ZstdError, ZstdFile


def decompressor(file: IO[bytes]) -> Callable[[int], bytes]:
    """Return a function that reads at most so many decompressed bytes.

    It raises EOFError for a truncated stream and ValueError for a damaged one.
    """
    read1 = ZstdFile(file, "rb").read1

    def read(size: int) -> bytes:
        try:
            return read1(size)
        except ZstdError as error:
            raise ValueError(str(error)) from error

    return read


def compressor(file: BinaryIO) -> ZstdFile:
    """Return a file whose content arrives compressed in another, which stays open when this one is closed."""
    return ZstdFile(file, "wb")
