"""The XTAG grammar of English: the elementary trees of a word, seen from the word.

Seen from its anchor, a tree has places for substitution, each on a side; nodes above the anchor, to which other trees
may be adjoined; and, if it is an auxiliary tree, a foot, which is where what it is adjoined to will stand. The files of
a release are read from a folder or a tar archive, in memory, never unpacked and never run.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from celadon.core import InputError
from celadon.io.sources import Source, endings, open_stream
from celadon.parsing.supertags import Side

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

    ``grammar/*.trees`` are elementary trees; the files whose names begin with T hold a family each. ``syntax/*.flat``
    says which trees and families words have, ``morphology/*.flat`` what inflected words are forms of, and
    ``syntax/syndefaults.dat`` the trees of words that only the morphology knows; the last two may be missing.
    """

    trees: tuple[XtagFile, ...]
    lexicon: tuple[XtagFile, ...]
    morphology: tuple[XtagFile, ...]
    defaults: tuple[XtagFile, ...]


def read_xtag_files(path: str) -> XtagFiles:
    """Read a release: a folder, or a tar archive, also compressed, with the folders of :class:`XtagFiles`."""
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


_TOKEN = re.compile(r'\s+|"((?:[^"\\]|\\.)*)"|([()])|([^\s()"]+)', re.DOTALL)
_DEEPEST = 100
_GREEK = str.maketrans({"\x02": "α", "\x03": "β", "\x06": "ε"})


class XtagNode(NamedTuple):
    """A node of an elementary tree, such as ``NP`` with the number ``0``.

    ``marks`` are ``headp``, ``footp``, ``substp``; to a ``closed`` one nothing may be adjoined.
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
    """Yield the trees of a file, which is a row of pairs.

    The first of a pair is a list that begins with the tree's name, with its equations and what an editor knew of it,
    the second the tree. A node of a tree is a list of the node itself, ``((("NP" . "0")) :substp T)``, and its
    daughters. Of a node is read what it is: an anchor (``:headp``), a foot (``:footp``), a place for substitution
    (``:substp``), and whether nothing may be adjoined to it (``:constraints "NA"``). Names of initial trees begin with
    the byte 2, those of auxiliary trees with 3, where XTAG's font has its alpha and beta; a leaf of the byte 6 is
    empty.
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


# the parts of speech of the morphology that the lexicon calls otherwise
_PARTS = {"PropN": "N", "Pron": "N", "Adv": "Ad", "Prep": "P", "Det": "D", "Part": "PL"}


class Anchor(NamedTuple):
    """A word that anchors a tree, and its part of speech, with a number where there are several of one."""

    word: str
    part: str


class Entry(NamedTuple):
    """What the lexicon says of a word: names of trees, or of families.

    ``anchors`` are the words that the trees have as anchors, the one that it is found by first; nearly always it is
    one.
    """

    anchors: tuple[Anchor, ...]
    names: tuple[str, ...]
    are_families: bool


class Reading(NamedTuple):
    """What an inflected word is a form of: a lemma, and its part of speech in the lexicon."""

    lemma: str
    part: str


def read_lexicon(file: XtagFile) -> dict[str, list[Entry]]:
    """Return the entries of each word.

    A line is ``<<INDEX>>act<<ENTRY>>act<<POS>>V<<ENTRY>>out<<POS>>PL<<FAMILY>>Tnx0Vplnx1``: the word it is found by,
    the anchors with their parts of speech, and the families (or, with ``<<TREES>>``, the trees) that they anchor.
    """
    found: dict[str, list[Entry]] = {}
    for number, line in enumerate(file.text.split("\n"), 1):
        if line.strip():
            index, entry = _entry(line, f"{file.where}:{number}")
            found.setdefault(index, []).append(entry)
    return found


def _entry(line: str, where: str) -> tuple[str, Entry]:
    fields = []
    for field in line.split("<<")[1:]:
        key, _, value = field.partition(">>")
        fields.append((key, value.strip()))
    words = [value for key, value in fields if key == "ENTRY"]
    parts = [value for key, value in fields if key == "POS"]
    named = [(key, value) for key, value in fields if key in ("TREES", "FAMILY")]
    if not fields or not line.startswith("<<") or fields[0][0] != "INDEX" or not fields[0][1]:
        raise InputError(f"{where}: an entry of the lexicon begins with <<INDEX>> and a word")
    if not words or len(words) != len(parts) or not all((*words, *parts)):
        raise InputError(f"{where}: an entry of the lexicon has <<ENTRY>> and <<POS>> for each of its words")
    if len(named) != 1 or not named[0][1]:
        raise InputError(f"{where}: an entry of the lexicon has <<TREES>> or <<FAMILY>>, and names after it")
    kind, names = named[0]
    index = fields[0][1]
    anchors = [Anchor(tree_name(word), part) for word, part in zip(words, parts, strict=True)]
    anchors.sort(key=lambda anchor: anchor.word != index)
    return index, Entry(tuple(anchors), tuple(map(tree_name, names.split())), kind == "FAMILY")


def read_morphology(file: XtagFile) -> dict[str, tuple[Reading, ...]]:
    """Return the readings of each word.

    A line is a word, two tabs, and its readings with ``#`` between: a lemma, a tab, a part of speech and features.
    """
    found: dict[str, tuple[Reading, ...]] = {}
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.strip():
            continue
        word, _, told = line.partition("\t\t")
        readings = []
        for each in told.split("#"):
            lemma, _, features = each.strip().partition("\t")
            if not word.strip() or not lemma or not features.split():
                raise InputError(f"{file.where}:{number}: is not a word, two tabs, and lemmas with parts of speech")
            part = features.split()[0]
            readings.append(Reading(lemma.strip(), _PARTS.get(part, part)))
        found[word.strip()] = (*found.get(word.strip(), ()), *readings)
    return found


class Place(NamedTuple):
    """A leaf of a tree, seen from the anchor: its side, and the node above the anchor that it hangs from."""

    label: str
    side: Side
    node: str


class AnchoredTree(NamedTuple):
    """An elementary tree of a word, such as ``βARBvx``.

    ``part`` is the word's part of speech, ``root`` the label of the topmost node, ``rooms`` the labels of the nodes
    from the anchor to the root to which something may be adjoined, ``places`` where something is substituted, ``foot``
    the foot of an auxiliary tree, ``companions`` further anchors, each a word and its place.
    """

    name: str
    part: str
    root: str
    rooms: frozenset[str]
    places: tuple[Place, ...]
    foot: Place | None = None
    companions: tuple[tuple[str, Place], ...] = ()


class Xtag:
    """An open grammar: elementary trees, entries of each word, readings of each inflected word.

    ``defaults`` are entries for the parts of speech that words have in the morphology alone.
    """

    def __init__(
        self,
        trees: Iterable[XtagTree],
        lexicon: dict[str, list[Entry]],
        morphology: dict[str, tuple[Reading, ...]],
        defaults: Sequence[Entry] = (),
    ) -> None:
        self._trees: dict[str, XtagTree] = {}
        self._families: dict[str, list[XtagTree]] = {}
        for tree in trees:
            self._trees[tree.name] = tree
            self._families.setdefault(tree.family, []).append(tree)
        self._lexicon = lexicon
        self._morphology = morphology
        self._defaults = defaults
        self._seen: dict[tuple[str, tuple[Anchor, ...]], AnchoredTree | None] = {}

    def lemmas(self, word: str) -> frozenset[str]:
        """What a word may be a form of, itself included."""
        return frozenset(reading.lemma for reading in self._readings(word))

    def has_entry(self, word: str) -> bool:
        """Whether the lexicon has a word, or what it is a form of."""
        return any(self._entries(reading) for reading in self._readings(word))

    def trees_of(self, word: str) -> tuple[AnchoredTree, ...]:
        """The elementary trees of a word, whatever its part of speech; none where the grammar does not know it.

        A tree that the lexicon names and no file has is passed over, and so is one that lacks an anchor of the entry.
        """
        found: dict[AnchoredTree, None] = {}
        for reading in self._readings(word):
            defaults = (entry for entry in self._defaults if reading.part == _own_part(entry))
            for entry in self._entries(reading) or defaults:
                found.update(dict.fromkeys(self._of_entry(entry)))
        return tuple(found)

    def _entries(self, reading: Reading) -> list[Entry]:
        return [entry for entry in self._lexicon.get(reading.lemma, ()) if reading.part in ("", _own_part(entry))]

    def _readings(self, word: str) -> Sequence[Reading]:
        """The readings of a word, also as it is written, whose part of speech is open."""
        forms = dict.fromkeys((word, word.lower()))
        known = [reading for each in forms for reading in self._morphology.get(each, ())]
        return [*known, *(Reading(each, "") for each in forms)]

    def _of_entry(self, entry: Entry) -> Iterator[AnchoredTree]:
        for name in entry.names:
            if entry.are_families:
                trees = self._families.get(name, [])
            else:
                trees = [self._trees[name]] if name in self._trees else []
            for tree in trees:
                # of a word that is alone only the part of speech matters
                anchors = entry.anchors if len(entry.anchors) > 1 else (Anchor("", entry.anchors[0].part),)
                key = (tree.name, anchors)
                if key not in self._seen:
                    self._seen[key] = anchored(tree, anchors)
                if (seen := self._seen[key]) is not None:
                    yield seen


def open_xtag(path: str) -> Xtag:
    """Open a release of XTAG: a folder or a tar archive with the folders ``grammar``, ``syntax`` and ``morphology``."""
    files = read_xtag_files(path)
    trees = [tree for file in files.trees for tree in read_trees(file)]
    defaults = [entry for file in files.defaults for entries in read_lexicon(file).values() for entry in entries]
    lexicon: dict[str, list[Entry]] = {}
    for file in files.lexicon:
        for word, entries in read_lexicon(file).items():
            lexicon.setdefault(word, []).extend(entries)
    morphology: dict[str, tuple[Reading, ...]] = {}
    for file in files.morphology:
        for word, readings in read_morphology(file).items():
            morphology[word] = (*morphology.get(word, ()), *readings)
    return Xtag(trees, lexicon, morphology, defaults)


def plain_part(part: str) -> str:
    """A part of speech without the number that tells several of one tree apart: ``P`` of ``P2``."""
    return part.rstrip("0123456789")


def _own_part(entry: Entry) -> str:
    return plain_part(entry.anchors[0].part)


class _Leaf(NamedTuple):
    node: XtagNode
    above: tuple[XtagNode, ...]


def anchored(tree: XtagTree, anchors: Sequence[Anchor]) -> AnchoredTree | None:
    """See a tree from the first of its anchors; None where the tree has not all of them."""
    leaves = list(_leaves(tree.root, ()))
    heads = _heads(leaves, anchors)
    if heads is None:
        return None
    own = leaves[heads[0]]
    spine = [*own.above, own.node]

    def place(at: int) -> Place:
        # nodes are compared by identity: those of one label may be equal
        shared = [node for node, other in zip(spine, leaves[at].above, strict=False) if node is other]
        return Place(leaves[at].node.label, "left" if at < heads[0] else "right", shared[-1].label)

    marked = {mark: [at for at, leaf in enumerate(leaves) if mark in leaf.node.marks] for mark in ("substp", "footp")}
    return AnchoredTree(
        tree.name,
        plain_part(anchors[0].part),
        tree.root.label,
        frozenset(node.label for node in spine if not node.closed),
        tuple(map(place, marked["substp"])),
        place(marked["footp"][0]) if marked["footp"] else None,
        tuple((anchor.word, place(at)) for anchor, at in zip(anchors[1:], heads[1:], strict=True)),
    )


def _leaves(node: XtagNode, above: tuple[XtagNode, ...]) -> Iterator[_Leaf]:
    if not node.children:
        yield _Leaf(node, above)
    for child in node.children:
        yield from _leaves(child, (*above, node))


def _heads(leaves: Sequence[_Leaf], anchors: Sequence[Anchor]) -> list[int] | None:
    """For each anchor its leaf: one of its part of speech, the one of its number if there is such."""
    found: list[int] = []
    for anchor in anchors:
        part = plain_part(anchor.part)
        number = anchor.part.removeprefix(part)
        fitting = [
            at
            for at, leaf in enumerate(leaves)
            if "headp" in leaf.node.marks and leaf.node.label == part and at not in found
        ]
        if not fitting:
            return None
        found.append(next((at for at in fitting if leaves[at].node.number == number), fitting[0]))
    return found
