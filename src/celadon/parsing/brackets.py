"""Penn bracketings: read from files, folders and archives, written back, freed of traces and function tags."""

from __future__ import annotations

import gzip
import lzma
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from celadon.core import InputError

TRACE = "-NONE-"
"""The tag of what stands in a tree but not in the sentence."""

SUFFIX = ".mrg"

_ROOTS = frozenset({"", "ROOT", "TOP"})
"""Labels of a node that only stands around a tree."""

_TOKEN = re.compile(r"[()]|[^\s()]+")
# -NONE-, -LRB- and the like begin with the mark that function tags are joined by
_BASE = re.compile(r"(-[A-Z]+-|[^-=|]+)")


class Tree(NamedTuple):
    """A node of a tree: over other nodes, or over one word."""

    label: str
    children: tuple[Tree, ...] = ()
    word: str = ""

    @property
    def is_tag(self) -> bool:
        """Whether this node stands over a word."""
        return not self.children

    def leaves(self) -> Iterator[Tree]:
        """Yield the nodes over words, from left to right."""
        todo = [self]
        while todo:
            node = todo.pop()
            if node.children:
                todo.extend(reversed(node.children))
            else:
                yield node

    def words(self) -> list[str]:
        """Return the words, from left to right."""
        return [leaf.word for leaf in self.leaves()]

    def __str__(self) -> str:
        inside = self.word if self.is_tag else " ".join(map(str, self.children))
        return f"({self.label} {inside})"


def parse_trees(text: str, where: str = "tree") -> Iterator[Tree]:
    """Yield the trees of a text in brackets; ``where`` is the text's name, for messages.

    The empty bracket that the Penn Treebank puts around a tree is taken off.
    """
    open_nodes: list[tuple[str, list[Tree], list[str]]] = []
    last = ""
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "(":
            open_nodes.append(("", [], []))
        elif token == ")":
            if not open_nodes:
                raise _bad(text, match.start(), where, "a bracket closes that was not opened")
            node = _closed(*open_nodes.pop(), text, match.start(), where)
            if open_nodes:
                open_nodes[-1][1].append(node)
            else:
                yield node.children[0] if not node.label and len(node.children) == 1 else node
        elif not open_nodes:
            raise _bad(text, match.start(), where, f"{token!r} stands outside of brackets")
        elif last == "(":
            open_nodes[-1] = (token, *open_nodes[-1][1:])
        else:
            open_nodes[-1][2].append(token)
        last = token
    if open_nodes:
        raise _bad(text, len(text), where, "the text ends within a tree")


def _closed(label: str, children: list[Tree], words: list[str], text: str, at: int, where: str) -> Tree:
    if len(words) > 1 or bool(words) == bool(children):
        raise _bad(text, at, where, f"the node {label!r} has neither just one word nor nodes alone below it")
    return Tree(label, (), words[0].replace("\\/", "/").replace("\\*", "*")) if words else Tree(label, tuple(children))


def _bad(text: str, at: int, where: str, what: str) -> InputError:
    line = text.count("\n", 0, at) + 1
    return InputError(f"{where}:{line}: {what}")


class TreebankFile(NamedTuple):
    """One file of a treebank."""

    name: str
    trees: tuple[Tree, ...]


def read_treebank(path: Path | str) -> list[TreebankFile]:
    """Read bracketed trees as they stand, with traces and function tags.

    ``path`` is a file of trees, plain or compressed with xz or gzip; or a folder or a zip archive, of which all files
    are read whose names end in ``.mrg``, in the order of their names. A root that only stands around a tree is taken
    off.
    """
    place = Path(path)
    found = [TreebankFile(name, tuple(map(_without_root, parse_trees(text, name)))) for name, text in _texts(place)]
    if not any(file.trees for file in found):
        raise InputError(f"{place}: there are no trees in it")
    return found


def _without_root(tree: Tree) -> Tree:
    return tree.children[0] if tree.label in _ROOTS and len(tree.children) == 1 else tree


def _texts(place: Path) -> Iterator[tuple[str, str]]:
    try:
        if place.is_dir():
            for file in sorted(place.rglob(f"*{SUFFIX}")):
                yield file.relative_to(place).as_posix(), _decoded(file.read_bytes(), str(file))
        elif zipfile.is_zipfile(place):
            with zipfile.ZipFile(place) as archive:
                for name in sorted(name for name in archive.namelist() if name.endswith(SUFFIX)):
                    yield name, _decoded(archive.read(name), f"{place}: {name}")
        else:
            yield place.name, _decoded(_unpacked(place), str(place))
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror or error}") from None
    except (EOFError, lzma.LZMAError) as error:
        raise InputError(f"{place}: cannot be unpacked: {error}") from None
    # RuntimeError: the archive asks for a password; NotImplementedError: for a way of packing that is not known
    except (zipfile.BadZipFile, RuntimeError) as error:
        raise InputError(f"{place}: cannot be read as an archive: {error}") from None


def _unpacked(file: Path) -> bytes:
    raw = file.read_bytes()
    unpack = {".xz": lzma.decompress, ".gz": gzip.decompress}.get(file.suffix)
    return unpack(raw) if unpack else raw


def _decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 text: {error}") from None


def base_label(label: str) -> str:
    """A label without function tags and indices: ``NP-SBJ-1`` is ``NP``."""
    match = _BASE.match(label)
    return match.group() if match else label


def plain(tree: Tree, keep: frozenset[str] = frozenset()) -> Tree | None:
    """Return a tree without traces, nodes left empty by them, function tags, and nodes that repeat their only child.

    The function tags ``keep``, such as ``TMP``, stay. None where nothing is left.
    """
    if tree.is_tag:
        return None if tree.label == TRACE else tree
    children = tuple(child for child in (plain(each, keep) for each in tree.children) if child is not None)
    if not children:
        return None
    base = base_label(tree.label)
    kept = [tag for tag in tree.label[len(base) :].replace("=", "-").split("-") if tag in keep]
    label = "-".join([base, *kept])
    if len(children) == 1 and children[0].label == label and not children[0].is_tag:
        return children[0]
    return Tree(label, children)
