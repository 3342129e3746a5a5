"""A corpus of plain text, a paragraph a line: read as it comes, also compressed, and refused where it is malformed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from celadon.core import InputError
from celadon.io.lines import decode, numbered_lines
from celadon.io.rows import chomp
from celadon.io.sources import find_sources, open_stream


def corpus_size(paths: Sequence[str]) -> int | None:
    """The size of the files as they lie on disk; None where there is no telling.

    Raises
    ------
    InputError
        There is no such file.
    """
    sizes = [source.size for source in find_sources(paths, "txt")]
    return None if None in sizes else sum(size or 0 for size in sizes)


def read_paragraphs(paths: Sequence[str], advance: Callable[[int], None] = lambda size: None) -> Iterator[str]:
    """Yield the lines of text files (also .xz, .gz, .zst), an empty one for a blank line and after every file.

    Parameters
    ----------
    paths
        The files.
    advance
        Told how many more bytes of the files, as they lie on disk, have been read.
    """
    for source in find_sources(paths, "txt"):

        def refuse(number: int, what: str, line: bytes, cut: bool, name: str = source.name) -> None:
            raise InputError(f"{name}:{number}: {what}")

        told = 0
        with open_stream(source) as stream:
            for number, line, cut in numbered_lines(stream.buffer):
                yield (decode(number, chomp(line), cut, refuse) or "").strip()
                if (at := stream.consumed()) != told:
                    advance(at - told)
                    told = at
        yield ""
