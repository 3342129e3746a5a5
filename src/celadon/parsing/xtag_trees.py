r"""XTAG's elementary trees, as its tree files have them.

A file is a row of pairs: a list that begins with the tree's name, with its equations and what an editor knew of it, and
the tree. A node of a tree is a list of the node itself, ``((("NP" . "0")) :substp T)``, and its daughters. Of a node is
read what it is: an anchor (``:headp``), a foot (``:footp``), a place for substitution (``:substp``), and whether
nothing may be adjoined to it (``:constraints "NA"``). Names of initial trees begin with the byte 2, those of auxiliary
trees with 3, where XTAG's font has its alpha and beta; a leaf of the byte 6 is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from celadon.core import InputError
from celadon.parsing.xtag_files import XtagFile

_TOKEN = re.compile(r'\s+|"((?:[^"\\]|\\.)*)"|([()])|([^\s()"]+)', re.DOTALL)
_DEEPEST = 100
_GREEK = str.maketrans({"\x02": "α", "\x03": "β", "\x06": "ε"})


class XtagNode(NamedTuple):
    """A node of an elementary tree.

    Attributes
    ----------
    label, number
        ``NP`` and ``0``.
    marks
        What it is: ``headp``, ``footp``, ``substp``.
    closed
        Whether nothing may be adjoined to it.
    children
        The nodes below, from left to right.
    """

    label: str
    number: str
    marks: frozenset[str]
    closed: bool
    children: tuple[XtagNode, ...]


class XtagTree(NamedTuple):
    """An elementary tree: its name, the file that it is in, which is its family, and its topmost node."""

    name: str
    family: str
    root: XtagNode


class _Atom(str):
    """What stands in a list without quotation marks."""

    __slots__ = ()


class _List(list["_Value"]):
    """A list of a file, and where it begins."""

    at: int = 0


_Value: TypeAlias = str | _List


def tree_name(written: str) -> str:
    """A tree's name with its Greek letter."""
    return written.translate(_GREEK)


def read_trees(file: XtagFile) -> Iterator[XtagTree]:
    """Yield the trees of a file.

    Raises
    ------
    InputError
        The file is damaged; the message says where.
    """
    lists = list(_lists(file))
    if len(lists) % 2:
        raise _bad(file, lists[-1].at, "the last tree's name is there, but not the tree")
    for header, tree in zip(lists[::2], lists[1::2], strict=True):
        name = header[0] if header else None
        if not isinstance(name, str) or isinstance(name, _Atom) or not name:
            raise _bad(file, header.at, "a tree's name should stand here, in quotation marks")
        yield XtagTree(tree_name(name), file.stem, _node(file, tree))


def _lists(file: XtagFile) -> Iterator[_List]:
    """The lists that stand in no other."""
    text, at = file.text, 0
    open_lists: list[_List] = []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _bad(file, at, "a text in quotation marks does not end")
        quoted, bracket, atom = match.groups()
        if bracket == "(":
            if len(open_lists) == _DEEPEST:
                raise _bad(file, at, f"brackets stand in each other over {_DEEPEST} deep")
            open_lists.append(_List())
            open_lists[-1].at = at
        elif bracket and not open_lists:
            raise _bad(file, at, "a bracket closes that was not opened")
        elif bracket:
            done = open_lists.pop()
            if open_lists:
                open_lists[-1].append(done)
            else:
                yield done
        elif (value := quoted if quoted is not None else atom and _Atom(atom)) is not None:
            if not open_lists:
                raise _bad(file, at, f"{value[:20]!r} stands outside of brackets")
            open_lists[-1].append(value)
        at = match.end()
    if open_lists:
        raise _bad(file, open_lists[-1].at, "a bracket opens that is not closed")


def _node(file: XtagFile, value: _List) -> XtagNode:
    # ((("NP" . "0")) :substp T ...) and the daughters
    match value:
        case [[[[label, _Atom("."), index]], *facts], *children] if isinstance(label, str) and isinstance(index, str):
            pass
        case _:
            raise _bad(file, value.at, "a node should stand here, with its label")
    words = [each for each in facts if isinstance(each, str)]
    if len(words) < len(facts) or len(facts) % 2:
        raise _bad(file, value.at, "what is told of a node are not pairs of a key and a value")
    told = dict(zip(words[::2], words[1::2], strict=True))
    marks = frozenset(key[1:] for key, fact in told.items() if fact == "T" and key.endswith("p"))
    below = []
    for child in children:
        if not isinstance(child, _List):
            raise _bad(file, value.at, f"{child[:20]!r} stands where a node below {label!r} should")
        below.append(_node(file, child))
    return XtagNode(tree_name(label), index, marks, told.get(":constraints") == "NA", tuple(below))


def _bad(file: XtagFile, at: int, what: str) -> InputError:
    return InputError(f"{file.where}:{file.text.count(chr(10), 0, at) + 1}: {what}")
