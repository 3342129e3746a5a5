"""CoNLL-U: sentences with their words in a tree."""

from __future__ import annotations

from collections.abc import Iterator

from celadon.core import InputError
from celadon.io.paragraphs import read_paragraphs

_TEXT = "# text = "
_DOCUMENT = "# newdoc"


def read_conllu_texts(path: str) -> Iterator[str]:
    """Yield the sentences of a file (also .xz, .gz) as they are written, from the comments that hold them.

    Raises
    ------
    InputError
        The file has none.
    """
    return (text for document in read_conllu_documents(path) for text in document)


def read_conllu_documents(path: str) -> Iterator[list[str]]:
    """Yield the sentences of each document; a file that does not say where documents begin is one.

    Raises
    ------
    InputError
        The file has no sentences.
    """
    found = 0
    document: list[str] = []
    for line in read_paragraphs([path]):
        if line.startswith(_DOCUMENT) and document:
            yield document
            document = []
        elif line.startswith(_TEXT):
            found += 1
            document.append(line.removeprefix(_TEXT).strip())
    if document:
        yield document
    if not found:
        raise InputError(f"{path}: has no line that begins with {_TEXT!r}; is it CoNLL-U with the sentences' texts?")
