"""CoNLL-U files, and the dependency trees of references: from a file, paired by id, or as Python users hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from celadon.core import InputError, Sample, Tree, UsageError
from celadon.io.lines import decode, numbered_lines, read_paragraphs
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
    """A sentence with its dependency tree."""

    id: str | None  # its ``sent_id``; None where it has none
    words: tuple[str, ...]
    heads: tuple[int, ...]  # for each word the number, from 0, of the word it depends on; -1 for the root
    # tags, fine_tags, relations: what the file says of each word (UPOS, XPOS, DEPREL); ``_`` where it says nothing
    tags: tuple[str, ...]
    fine_tags: tuple[str, ...]
    relations: tuple[str, ...]
    text: str | None = None  # the sentence as it was written, where a comment holds it
    origin: str = ""  # where it begins: ``file:line``
    fault: str | None = None  # why the words are no tree (the heads are then of no use); None where they are one


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

    Raises InputError if a line is not CoNLL-U, or the file has no sentences.
    """
    count = 0
    for name, lines in _blocks(path):
        sentence = _sentence(name, lines)
        if sentence is not None:
            count += 1
            yield sentence
    if not count:
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
    comments: dict[str, str] = {}
    rows: list[list[str]] = []
    for number, line in lines:
        if line.startswith("#"):
            key, equals, value = line[1:].partition("=")
            if equals:
                comments[key.strip()] = value.strip()
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            raise InputError(f"{name}:{number}: has {len(columns)} columns between tabs; CoNLL-U has {_COLUMNS}")
        if "-" in columns[0] or "." in columns[0]:
            continue
        if columns[0] != str(len(rows) + 1):
            raise InputError(f"{name}:{number}: is word {columns[0]!r}; word {len(rows) + 1} is expected here")
        rows.append(columns)
    if not rows and not {"sent_id", "text"} & comments.keys():
        return None
    heads = tuple(_head(columns[_HEAD]) for columns in rows)
    return TreeSentence(
        id=comments.get("sent_id"),
        words=_column(rows, _FORM),
        heads=heads,
        tags=_column(rows, _TAG),
        fine_tags=_column(rows, _FINE_TAG),
        relations=_column(rows, _RELATION),
        text=comments.get("text"),
        origin=f"{name}:{lines[0][0]}",
        fault=tree_fault(heads),
    )


def _column(rows: list[list[str]], number: int) -> tuple[str, ...]:
    return tuple(columns[number] for columns in rows)


def _head(written: str) -> int:
    return int(written) - 1 if written.isascii() and written.isdigit() else NO_HEAD


def read_conllu_texts(path: str) -> Iterator[str]:
    """Yield the sentences of a file (also .xz, .gz) as they are written, from the comments that hold them.

    Raises InputError if the file has none.
    """
    return (text for document in read_conllu_documents(path) for text in document)


def read_conllu_documents(path: str) -> Iterator[list[str]]:
    """Yield the sentences of each document; a file that does not say where documents begin is one.

    Raises InputError if the file has no sentences.
    """
    count = 0
    document: list[str] = []
    for line in read_paragraphs([path]):
        if line.startswith(_DOCUMENT) and document:
            yield document
            document = []
        elif line.startswith(_TEXT):
            count += 1
            document.append(line.removeprefix(_TEXT).strip())
    if document:
        yield document
    if not count:
        raise InputError(f"{path}: has no line that begins with {_TEXT!r}; is it CoNLL-U with the sentences' texts?")


NOT_GIVEN = "no tree was given for the reference"


@dataclass(frozen=True)
class TreeFile:
    """The trees of a file."""

    name: str
    trees: Mapping[str, Tree | str]  # by its ``sent_id`` each tree, or why it is none
    digest: str  # a hash of the trees, however the file is written or compressed

    def attach_to(self, sample: Sample) -> Sample:
        """Return the sample with the trees of its references.

        The first reference of a row has the tree whose ``sent_id`` is the row's id, the second ``id#2`` and so on;
        ``id#1`` is the first as well.
        """
        count = len(sample.references)
        return replace(sample, trees=tuple(self._tree(sample.id, number) for number in range(1, count + 1)))

    def _tree(self, name: str | None, number: int) -> Tree | str:
        if name is None:
            return f"the row has no id, by which a tree of {self.name} could be found"
        wanted = f"{name}#{number}"
        if number == 1 and wanted not in self.trees:
            wanted = name
        return self.trees.get(wanted, f"{self.name} has no tree with the sent_id {wanted!r}")


def read_trees(path: str) -> TreeFile:
    """Read the trees of a CoNLL-U file (also .xz, .gz, .zst).

    Raises InputError if the file is not CoNLL-U, or a sentence in it has no ``sent_id`` or that of another.
    """
    trees: dict[str, Tree | str] = {}
    origins: dict[str, str] = {}
    for sentence in read_conllu(path):
        if sentence.id is None:
            raise InputError(f"{sentence.origin}: the sentence has no sent_id, by which its row could be found")
        if sentence.id in trees:
            raise InputError(f"{sentence.origin}: sent_id {sentence.id!r} stands at {origins[sentence.id]} already")
        trees[sentence.id] = _tree_of(sentence)
        origins[sentence.id] = sentence.origin
    return TreeFile(path, trees, digest_of(trees.items()))


def trees_in_order(path: str) -> tuple[Tree | str, ...]:
    """Return the trees of a CoNLL-U file, whatever their ids, or why a sentence is none."""
    return tuple(map(_tree_of, read_conllu(path)))


def _tree_of(sentence: TreeSentence) -> Tree | str:
    if sentence.fault is None:
        return Tree(sentence.words, sentence.heads)
    return f"the tree {sentence.id or ''!r} at {sentence.origin} is none: {sentence.fault}"


def digest_of(trees: Iterable[tuple[str, Tree | str]]) -> str:
    """Return a hash of trees with their names, in their order."""
    digest = hashlib.sha256()
    for name, tree in trees:
        # why there is none may say where the file is
        written = () if isinstance(tree, str) else (*tree.words, *map(str, tree.heads))
        digest.update("\t".join([name, *written, "\n"]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def with_trees(samples: Sequence[Sample], trees: Sequence[Any]) -> tuple[Sample, ...]:
    """Return the samples with trees from a list: for each a tree, or a list of them, one for each reference, or None.

    Raises UsageError if there are more trees or fewer than texts.
    Raises InputError if a row's trees are not as many as its references, or something is no tree.
    """
    if len(trees) != len(samples):
        raise UsageError(f"there are {len(samples)} texts but {len(trees)} trees")
    return tuple(_with(sample, own) for sample, own in zip(samples, trees, strict=True))


def _with(sample: Sample, trees: Any) -> Sample:
    if trees is None:
        trees = [NOT_GIVEN] * len(sample.references)
    # a tree is a tuple too, of words and heads
    elif isinstance(trees, Tree) or not isinstance(trees, list | tuple):
        trees = [trees]
    with_own = replace(sample, trees=tuple(NOT_GIVEN if tree is None else tree for tree in trees))
    check_trees(with_own)
    return with_own


def check_trees(sample: Sample) -> None:
    """Refuse a sample whose trees cannot be used.

    Raises InputError if they are not as many as its references, or one is no tree.
    """
    if len(sample.trees) != len(sample.references):
        raise InputError(f"{sample.origin}: has {len(sample.references)} references but {len(sample.trees)} trees")
    for number, tree in enumerate(sample.trees, 1):
        if isinstance(tree, str):
            continue
        if not isinstance(tree, Tree) or len(tree.words) != len(tree.heads):
            raise InputError(f"{sample.origin}: tree {number} must be a celadon.Tree with a head for each word")
        if (fault := tree_fault(tree.heads)) is not None:
            raise InputError(f"{sample.origin}: tree {number} is no tree: {fault}")
