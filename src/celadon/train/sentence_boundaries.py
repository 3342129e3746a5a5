"""Passages of treebanks with the places where their sentences end."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from celadon.parsing.brackets import TRACE, Tree, TreebankFile, read_treebank
from celadon.train.parsers.trees import by_document

_BRACKETS = re.compile("-(L|R)(R|S|C)B-")
_WRITTEN = {"LR": "(", "RR": ")", "LS": "[", "RS": "]", "LC": "{", "RC": "}"}
_EMAIL = re.compile(r"\S+@\S+\.\w+")
_FARTHEST = 500  # characters that may be left out between two sentences
_EMAIL_WRITTEN = "name@example.com"


class Passage(NamedTuple):
    """A paragraph of a document.

    Attributes
    ----------
    document
        The document's name.
    text
        One line.
    ends
        Where each of its sentences ends; the last is the length of the text.
    """

    document: str
    text: str
    ends: tuple[int, ...]


def is_development(document: str) -> bool:
    """Return whether a document is of the half by which settings are chosen."""
    digest = hashlib.blake2b(document.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 2 == 0


def read_universal_passages(path: Path) -> list[Passage]:
    """Return the paragraphs of a CoNLL-U file (.xz) with ``newdoc`` and ``newpar`` comments."""
    passages: list[Passage] = []
    document = ""
    sentences: list[str] = []
    spaces: list[str] = []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(("# newdoc", "# newpar")):
                passages.extend(_join(document, sentences, spaces))
                sentences, spaces = [], []
                if line.startswith("# newdoc id = "):
                    document = line.removeprefix("# newdoc id = ").strip()
            elif line.startswith("# text = "):
                sentences.append(line.removeprefix("# text = ").strip())
                spaces.append(" ")
            elif sentences and not line.startswith("#") and line.strip():
                spaces[-1] = "" if "SpaceAfter=No" in line.rsplit("\t", 1)[-1] else " "
    passages.extend(_join(document, sentences, spaces))
    return passages


def read_tree_passages(documents: Path, trees: Path) -> list[Passage]:
    """Return the lines of the documents (.jsonl.xz with ``id`` and ``text``) that trees in brackets cover.

    A line that the trees do not divide into whole sentences is left out.
    """
    with lzma.open(documents, "rt", encoding="utf-8") as rows:
        texts = {row["id"]: row["text"] for row in map(json.loads, rows)}
    files = by_document(read_treebank(trees), str(documents))
    return [passage for file in files for passage in _tree_passages(file, texts[file.name])]


def _join(document: str, sentences: Sequence[str], spaces: Sequence[str]) -> Iterator[Passage]:
    text, ends = "", []
    for sentence, space in zip(sentences, spaces, strict=True):
        ends.append(len(text) + len(sentence))
        text += sentence + space
    if ends:
        yield Passage(document, text.rstrip(" "), tuple(ends))


def _tree_passages(file: TreebankFile, text: str) -> Iterator[Passage]:
    """Walk over the lines and the trees side by side; both are compared without white space."""
    sentences = ["".join(map(_as_written, _leaves(tree))) for tree in file.trees]
    visible = "".join(text.split())
    starts: set[int] = set()
    ends: set[int] = set()
    at = 0
    for sentence in sentences:
        begin = visible.find(sentence, at)
        if begin >= 0 and begin - at < _FARTHEST:
            starts.add(begin)
            at = begin + len(sentence)
            ends.add(at)
    passed = 0
    for line in filter(str.strip, text.split("\n")):
        visible_line = "".join(line.split())
        last = passed + len(visible_line)
        inside = [end - passed for end in sorted(ends) if passed < end <= last]
        if inside and inside[-1] == len(visible_line) and {passed, *(end + passed for end in inside[:-1])} <= starts:
            yield Passage(file.name, line.strip(), tuple(_with_spaces(line.strip(), inside)))
        passed = last


def _leaves(tree: Tree) -> Iterator[str]:
    return (leaf.word for leaf in tree.leaves() if leaf.label != TRACE)


def _as_written(word: str) -> str:
    return _EMAIL.sub(_EMAIL_WRITTEN, _BRACKETS.sub(lambda bracket: _WRITTEN[bracket[1] + bracket[2]], word))


def _with_spaces(line: str, ends: Sequence[int]) -> Iterator[int]:
    visible = [at for at, character in enumerate(line) if not character.isspace()]
    return (visible[end - 1] + 1 for end in ends)
