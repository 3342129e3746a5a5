"""CoNLL-U: sentences with their words in a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from celadon.core import InputError
from celadon.io.lines import decode, numbered_lines
from celadon.io.paragraphs import read_paragraphs
from celadon.io.rows import chomp
from celadon.io.sources import find_sources, open_stream

_TEXT = "# text = "
_DOCUMENT = "# newdoc"
_COLUMNS = 10
_FORM, _TAG, _FINE_TAG, _HEAD, _RELATION = 1, 3, 4, 6, 7

NO_HEAD = -2
"""Stands for the head of a word that names none."""


@dataclass(frozen=True, slots=True)
class TreeSentence:
    """A sentence with its dependency tree.

    Attributes
    ----------
    id
        Its ``sent_id``; None where it has none.
    words
        The words as they are written.
    heads
        For each word the number, from 0, of the word it depends on; -1 for the root.
    tags, fine_tags, relations
        What the file says of each word (UPOS, XPOS, DEPREL); ``_`` where it says nothing.
    text
        The sentence as it was written, where a comment holds it.
    origin
        Where it begins: ``file:line``.
    fault
        Why the words are no tree (the heads are then of no use); None where they are one.
    """

    id: str | None
    words: tuple[str, ...]
    heads: tuple[int, ...]
    tags: tuple[str, ...]
    fine_tags: tuple[str, ...]
    relations: tuple[str, ...]
    text: str | None = None
    origin: str = ""
    fault: str | None = None


def tree_fault(heads: Sequence[int]) -> str | None:
    """Say why words with these heads, from 0 and -1 for the root, are no tree; None where they are one."""
    if not heads:
        return "it has no words"
    if min(heads) < -1 or max(heads) >= len(heads):
        word, head = next((word, head) for word, head in enumerate(heads, 1) if not -1 <= head < len(heads))
        return f"word {word} has no head" if head < 0 else f"word {word} depends on word {head + 1}, which is missing"
    if heads.count(-1) > 1:
        roots = [str(word) for word, head in enumerate(heads, 1) if head == -1]
        return f"it has {len(roots)} roots: words {', '.join(roots)}"
    if cycle := _cycle(heads):
        none = "" if -1 in heads else "it has no root: "
        return f"{none}words {', '.join(str(word + 1) for word in cycle)} depend on each other in a circle"
    return None


def _cycle(heads: Sequence[int]) -> list[int]:
    """The words of a circle; where every head is there and nothing is a root, there always is one."""
    passed = [-1] * len(heads)
    for first in range(len(heads)):
        word = first
        while word >= 0 and passed[word] < 0:
            passed[word] = first
            word = heads[word]
        if word >= 0 and passed[word] == first:
            circle = [word]
            while (word := heads[word]) != circle[0]:
                circle.append(word)
            return circle
    return []


def read_conllu(path: str) -> Iterator[TreeSentence]:
    """Yield the sentences of a file (also .xz, .gz, .zst; ``-`` is the standard input) with their trees.

    Lines of multi-word tokens (``3-4``) and of empty nodes (``3.1``) are passed over. A sentence whose words are no
    tree comes with its fault, so that it may be refused and the rest be used.

    Raises
    ------
    InputError
        A line is not CoNLL-U, or the file has no sentences.
    """
    found = 0
    for name, lines in _blocks(path):
        sentence = _sentence(name, lines)
        if sentence is not None:
            found += 1
            yield sentence
    if not found:
        raise InputError(f"{path}: has no sentences; is it CoNLL-U?")


_Lines = list[tuple[int, str]]


def _blocks(path: str) -> Iterator[tuple[str, _Lines]]:
    """The lines between blank lines, numbered."""
    for source in find_sources([path], "txt"):

        def refuse(number: int, what: str, line: bytes, cut: bool, name: str = source.name) -> None:
            raise InputError(f"{name}:{number}: {what}")

        block: _Lines = []
        with open_stream(source) as stream:
            for number, raw, cut in numbered_lines(stream.buffer):
                line = decode(number, chomp(raw), cut, refuse) or ""
                if line.strip():
                    block.append((number, line))
                elif block:
                    yield source.name, block
                    block = []
        if block:
            yield source.name, block


def _sentence(name: str, lines: _Lines) -> TreeSentence | None:
    """The sentence of one block; None where the block is comments about no sentence."""
    told: dict[str, str] = {}
    rows: list[list[str]] = []
    for number, line in lines:
        if line.startswith("#"):
            key, equals, value = line[1:].partition("=")
            if equals:
                told[key.strip()] = value.strip()
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            raise InputError(f"{name}:{number}: has {len(columns)} columns between tabs; CoNLL-U has {_COLUMNS}")
        if "-" in columns[0] or "." in columns[0]:
            continue
        if columns[0] != str(len(rows) + 1):
            raise InputError(f"{name}:{number}: is word {columns[0]!r}; word {len(rows) + 1} is expected here")
        rows.append(columns)
    if not rows and not {"sent_id", "text"} & told.keys():
        return None
    heads = tuple(_head(columns[_HEAD]) for columns in rows)
    return TreeSentence(
        id=told.get("sent_id"),
        words=_column(rows, _FORM),
        heads=heads,
        tags=_column(rows, _TAG),
        fine_tags=_column(rows, _FINE_TAG),
        relations=_column(rows, _RELATION),
        text=told.get("text"),
        origin=f"{name}:{lines[0][0]}",
        fault=tree_fault(heads),
    )


def _column(rows: list[list[str]], number: int) -> tuple[str, ...]:
    return tuple(columns[number] for columns in rows)


def _head(written: str) -> int:
    return int(written) - 1 if written.isascii() and written.isdigit() else NO_HEAD


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
