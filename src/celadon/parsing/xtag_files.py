"""The files of an XTAG release: from a folder or a tar archive, in memory, never unpacked and never run."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from celadon.core import InputError
from celadon.io.sources import Source, endings, open_stream

MOST_BYTES = 64 << 20
"""A release may have so many bytes, unpacked; the English one has an eighth of that."""

_MOST_MEMBERS = 10_000
_TREES = "trees"
_LEXICON = "lexicon"
_MORPHOLOGY = "morphology"
_DEFAULTS = "defaults"
_WANTED = (
    (_TREES, re.compile(r"(?:.*/)?grammar/([^/]+)\.trees", re.DOTALL)),
    (_LEXICON, re.compile(r"(?:.*/)?syntax/([^/]+)\.flat", re.DOTALL)),
    (_MORPHOLOGY, re.compile(r"(?:.*/)?morphology/([^/]+)\.flat", re.DOTALL)),
    (_DEFAULTS, re.compile(r"(?:.*/)?syntax/(syndefaults)\.dat", re.DOTALL)),
)


class XtagFile(NamedTuple):
    """One file: the stem of its name, where it is, for messages, and its text."""

    stem: str
    where: str
    text: str


class XtagFiles(NamedTuple):
    """The files that are read, each kind in the order of their names.

    Attributes
    ----------
    trees
        ``grammar/*.trees``: elementary trees; the files whose names begin with T hold a family each.
    lexicon
        ``syntax/*.flat``: which trees and families words have.
    morphology
        ``morphology/*.flat``: what inflected words are forms of; there may be none.
    defaults
        ``syntax/syndefaults.dat``: the trees of words that only the morphology knows; there may be none.
    """

    trees: tuple[XtagFile, ...]
    lexicon: tuple[XtagFile, ...]
    morphology: tuple[XtagFile, ...]
    defaults: tuple[XtagFile, ...]


def read_xtag_files(path: str) -> XtagFiles:
    """Read a release.

    Parameters
    ----------
    path
        A folder, or a tar archive, also compressed, with the folders ``grammar``, ``syntax`` and ``morphology``.

    Raises
    ------
    InputError
        There is no such thing, it is damaged or too large, or it is no release of XTAG.
    """
    place = Path(path)
    found: dict[str, list[XtagFile]] = {kind: [] for kind, _ in _WANTED}
    for name, raw in sorted(_of_folder(place) if place.is_dir() else _of_archive(path)):
        kind, stem = _kind(name)
        # names of trees begin with control characters, and all bytes mean something in Latin-1
        found[kind].append(XtagFile(stem, f"{path}: {name}", raw.decode("latin-1")))
    for kind, example in ((_TREES, "grammar/*.trees"), (_LEXICON, "syntax/*.flat")):
        if not found[kind]:
            raise InputError(f"{path}: is no XTAG release, for it has no {example}")
    return XtagFiles(*(tuple(found[kind]) for kind, _ in _WANTED))


def _kind(name: str) -> tuple[str, str]:
    for kind, pattern in _WANTED:
        if match := pattern.fullmatch(name):
            return kind, match[1]
    return "", ""


def _of_folder(place: Path) -> Iterator[tuple[str, bytes]]:
    total = 0
    try:
        for file in (*place.glob("*/*"), *place.glob("*/*/*")):
            name = file.relative_to(place).as_posix()
            if _kind(name)[0] and file.is_file():
                total += file.stat().st_size
                if total > MOST_BYTES:
                    raise _too_large(str(place))
                yield name, file.read_bytes()
    except OSError as error:
        raise InputError(f"{error.filename or place}: cannot be read: {error.strerror or error}") from None


def _of_archive(path: str) -> Iterator[tuple[str, bytes]]:
    with open_stream(Source(path, path, "tar", endings(path)[1], None)) as stream:
        try:
            # as a stream: nothing is looked for in the file beyond the limit, whatever its headers say
            with tarfile.open(fileobj=_Limited(stream.buffer, path), mode="r|") as archive:  # type: ignore[call-overload]
                for number, member in enumerate(archive):
                    if number >= _MOST_MEMBERS:
                        raise InputError(f"{path}: has over {_MOST_MEMBERS:,} members; an XTAG release has about 100")
                    if member.isreg() and _kind(member.name)[0]:
                        file: IO[bytes] = archive.extractfile(member)
                        raw = file.read()
                        if len(raw) != member.size:
                            raise InputError(f"{path}: {member.name}: the archive ends within it")
                        yield member.name, raw
        except (tarfile.TarError, EOFError) as error:
            raise InputError(f"{path}: cannot be read as a tar archive: {error}") from None


class _Limited:
    """A stream that no archive can make endless."""

    def __init__(self, stream: IO[bytes], path: str) -> None:
        self._stream = stream
        self._path = path
        self._count = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._count += len(data)
        if self._count > MOST_BYTES:
            raise _too_large(self._path)
        return data


def _too_large(path: str) -> InputError:
    return InputError(f"{path}: has over {MOST_BYTES >> 20} MB; an XTAG release has about 8")
