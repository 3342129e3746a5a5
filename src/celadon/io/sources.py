"""Where rows come from: files, patterns, the standard input; compressed or not."""

from __future__ import annotations

import glob
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from celadon.core import InputError, UsageError
from celadon.io.remote import expand_url, is_url, local_path, open_url, shown_name, status_of

STDIN = "-"
STDIN_NAME = "<stdin>"
FORMATS = ("jsonl", "csv", "tsv", "parquet", "txt")
ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".txt": "txt",
}
COMPRESSIONS = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}

_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_BUFFER_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive rows of a source: bytes from ``start`` to ``end``; of Parquet, rows, counted from 0.

    ``first_line`` is the number of the line at ``start``; ``header`` the text of the header, where the format has one.
    """

    start: int
    end: int
    first_line: int
    header: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """One input: a file, or the standard input when ``path`` is None.

    ``format`` is empty when it is to be found out from the first bytes; ``size`` is None where there is no telling;
    ``part`` is None where all of the source is meant.
    """

    name: str
    path: str | None
    format: str
    compression: str | None
    size: int | None
    part: Part | None = None

    @property
    def first_line(self) -> int:
        """The number of the first line."""
        return 1 if self.part is None else self.part.first_line


@dataclass(frozen=True, slots=True)
class Stream:
    """An open text source: decompressed bytes, and how much of the (compressed) input has been consumed."""

    source: Source
    buffer: io.BufferedReader
    consumed: Callable[[], int]


def endings(path: str) -> tuple[str, str | None]:
    """The ending that names the format and the compression; both in lower case."""
    name = Path(shown_name(path).lower())
    compression = COMPRESSIONS.get(name.suffix)
    return (name if compression is None else name.with_suffix("")).suffix, compression


def expand_paths(inputs: Sequence[str]) -> list[str]:
    """The files meant by paths, patterns and addresses, in order; ``-`` stays as it is.

    Raises InputError if a file does not exist or a pattern matches no file.
    """
    paths: list[str] = []
    for name in map(local_path, inputs):
        if is_url(name):
            paths.extend(expand_url(name))
        # A file whose name looks like a pattern is still a file.
        elif name == STDIN or _exists(name):
            paths.append(name)
        elif glob.has_magic(name):
            matches = sorted(path for path in glob.glob(name, recursive=True) if not Path(path).is_dir())  # noqa: PTH207
            if not matches:
                raise InputError(f"{name}: no file matches this pattern")
            paths.extend(matches)
        else:
            raise InputError(f"{name}: no such file")
    return paths


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        # In a folder one may not look into; opening it will say so.
        return True


def find_sources(inputs: Sequence[str | Source], format: str | None) -> list[Source]:  # noqa: A002
    """The sources meant by the user's inputs, each checked as far as can be without reading it.

    A source among the inputs stands for itself.
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; the formats are {', '.join(FORMATS)}")
    if not inputs:
        raise UsageError("no input given; name files, patterns, or - for the standard input")
    if list(inputs).count(STDIN) > 1:
        raise UsageError("- (the standard input) can be given only once")
    sources: list[Source] = []
    for pattern in inputs:
        if isinstance(pattern, Source):
            sources.append(pattern)
        else:
            sources.extend(_source(path, format) for path in expand_paths([pattern]))
    return sources


def _source(path: str, format: str | None) -> Source:  # noqa: A002
    if path == STDIN:
        if format == "parquet":
            raise UsageError(f"{STDIN_NAME}: Parquet cannot be read from the standard input; give a file")
        return Source(STDIN_NAME, None, format or "", None, None)
    ending, compression = endings(path)
    kind = format or ENDINGS.get(ending)
    name = shown_name(path)
    size = _size(path)
    if kind is None:
        known = ", ".join(ENDINGS)
        raise InputError(
            f"{name}: cannot tell the format; known endings are {known}, also with {', '.join(COMPRESSIONS)}; "
            f"else give --format ({', '.join(FORMATS)})"
        )
    if kind == "parquet" and compression is not None:
        raise InputError(f"{name}: Parquet is compressed inside; decompress the file first")
    if size == 0:
        raise InputError(f"{name}: is empty")
    return Source(name, path, kind, compression, size)


def _size(path: str) -> int | None:
    """The size of a file that can be read; None where there is no telling."""
    if is_url(path):
        remote = status_of(path)
        if remote.is_folder:
            raise _is_directory(shown_name(path))
        return remote.size
    try:
        status = Path(path).stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise _is_directory(path)
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: no permission to read it")
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _is_directory(name: str) -> InputError:
    return InputError(f"{name}: is a directory; give its files, for example {name.rstrip('/')}/*.jsonl")


def _unreadable(name: str, error: OSError) -> InputError:
    if isinstance(error, PermissionError):
        return InputError(f"{name}: no permission to read it")
    if isinstance(error, FileNotFoundError):
        return InputError(f"{name}: no such file")
    return InputError(f"{name}: cannot be read: {error.strerror or error}")


class _Guarded(io.RawIOBase):
    """Bytes of a source; turns every way in which reading can fail into one clear error."""

    def __init__(
        self,
        read: Callable[[int], Any],
        name: str,
        compression: str | None,
        watch: Callable[[bytes], None] | None = None,
    ) -> None:
        self._read = read
        self._name = name
        self._compression = compression
        self._watch = watch
        self.count = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.count

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._read(len(buffer))
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise self._corrupt(error) from error
        except OSError as error:
            # a damaged stream may be an OSError without an errno
            raise (_unreadable(self._name, error) if error.errno else self._corrupt(error)) from error
        except ValueError as error:
            raise self._corrupt(error) from error
        buffer[: len(data)] = data
        self.count += len(data)
        if self._watch is not None:
            self._watch(data)
        return len(data)

    def _corrupt(self, error: Exception) -> InputError:
        reason = (str(error).splitlines() or [""])[0]
        return InputError(f"{self._name}: the {self._compression or 'file'} data are truncated or corrupt: {reason}")


@contextmanager
def open_stream(source: Source, watch: Callable[[bytes], None] | None = None) -> Iterator[Stream]:
    """Open a text source, past its byte order mark and decompressed, its format known.

    ``watch`` is told all bytes as they are on disk. Of a part of a source exactly its bytes are there.
    """
    if source.path is None:
        raw: IO[bytes] = sys.stdin.buffer
        counted = _Guarded(raw.read1 if isinstance(raw, io.BufferedReader) else raw.read, source.name, None)
        buffered: io.BufferedReader = io.BufferedReader(counted, _BUFFER_BYTES)
        compression = _magic(buffered)
        stream = _decompressed(buffered, source.name, compression) if compression else buffered
        yield _started(Stream(source, stream, lambda: counted.count))
        return
    with _open_raw(source) as file:
        consumed = file.tell if source.size is not None else lambda: 0
        if source.part is not None:
            yield Stream(source, _part_of(file, source.name, source.part), consumed)
            return
        watched: Any = file if watch is None else _Guarded(file.read, source.name, None, watch)
        stream = _decompressed(watched, source.name, source.compression)
        if source.compression is None and (packed := _magic(stream)):
            raise InputError(f"{source.name}: is {packed}-compressed; give its name the ending of that")
        yield _started(Stream(source, stream, consumed))


def raw_blocks(source: Source) -> Iterator[bytes]:
    """The bytes of a file as they are."""
    with _open_raw(source) as file:
        guarded = _Guarded(file.read, source.name, None)
        while data := guarded.read(4 * _BUFFER_BYTES):
            yield data


def _open_raw(source: Source) -> io.RawIOBase:
    assert source.path is not None
    if is_url(source.path):
        return open_url(source.path)
    try:
        return Path(source.path).open("rb", buffering=0)
    except OSError as error:
        raise _unreadable(source.name, error) from error


def _part_of(file: io.RawIOBase, name: str, part: Part) -> io.BufferedReader:
    file.seek(part.start)
    left = part.end - part.start

    def read(size: int) -> bytes:
        nonlocal left
        data = file.read(min(size, left)) or b""
        left -= len(data)
        return data

    return io.BufferedReader(_Guarded(read, name, None), _BUFFER_BYTES)


def _decompressed(file: IO[bytes], name: str, compression: str | None) -> io.BufferedReader:
    read: Callable[[int], Any]
    if compression == "gzip":
        read = gzip.GzipFile(fileobj=file, mode="rb").read1
    elif compression == "xz":
        read = lzma.LZMAFile(file, "rb").read1  # noqa: SIM115
    elif compression == "zstd":
        from celadon.io.zstandard import decompressor

        read = decompressor(file)
    else:
        read = file.read
    return io.BufferedReader(_Guarded(read, name, compression), _BUFFER_BYTES)


def _magic(buffer: io.BufferedReader) -> str | None:
    start = buffer.peek(8)
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def _started(stream: Stream) -> Stream:
    """Past the byte order mark, and with a format."""
    start = stream.buffer.peek(4)
    if start.startswith(_UTF16_BOMS):
        raise InputError(
            f"{stream.source.name}: is UTF-16, UTF-8 is expected; convert it with: iconv -f UTF-16 -t UTF-8"
        )
    if start.startswith(_UTF8_BOM):
        stream.buffer.read(len(_UTF8_BOM))
    if stream.source.format:
        return stream
    kind = "jsonl" if stream.buffer.peek(1).lstrip().startswith(b"{") else "txt"
    return replace(stream, source=replace(stream.source, format=kind))
