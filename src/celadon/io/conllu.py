"""CoNLL-U: sentences with their words in a tree."""

from __future__ import annotations

from collections.abc import Iterator

from celadon.core import InputError
from celadon.io.paragraphs import read_paragraphs

_TEXT = "# text = "


def read_conllu_texts(path: str) -> Iterator[str]:
    """Yield the sentences of a file (also .xz, .gz) as they are written, from the comments that hold them.

    Raises
    ------
    InputError
        The file has none.
    """
    found = 0
    for line in read_paragraphs([path]):
        if line.startswith(_TEXT):
            found += 1
            yield line.removeprefix(_TEXT).strip()
    if not found:
        raise InputError(f"{path}: has no line that begins with {_TEXT!r}; is it CoNLL-U with the sentences' texts?")
