"""The XTAG grammar of English, opened: the elementary trees of a word, seen from the word.

Seen from its anchor, a tree has places for substitution, each on a side; nodes above the anchor, to which other trees
may be adjoined; and, if it is an auxiliary tree, a foot, which is where what it is adjoined to will stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from celadon.parsing.supertags import Side
from celadon.parsing.xtag_files import read_xtag_files
from celadon.parsing.xtag_lexicon import Anchor, Entry, Reading, read_lexicon, read_morphology
from celadon.parsing.xtag_trees import XtagNode, XtagTree, read_trees


class Place(NamedTuple):
    """A leaf of a tree, seen from the anchor.

    Attributes
    ----------
    label
        The leaf's label.
    side
        The side of the anchor.
    node
        The label of the node above the anchor that it hangs from.
    """

    label: str
    side: Side
    node: str


class AnchoredTree(NamedTuple):
    """An elementary tree of a word.

    Attributes
    ----------
    name
        Its name: ``βARBvx``.
    part
        The word's part of speech.
    root
        The label of the topmost node.
    rooms
        The labels of the nodes from the anchor to the root to which something may be adjoined.
    places
        Where something is substituted.
    foot
        The foot of an auxiliary tree.
    companions
        Further anchors, each a word and its place.
    """

    name: str
    part: str
    root: str
    rooms: frozenset[str]
    places: tuple[Place, ...]
    foot: Place | None = None
    companions: tuple[tuple[str, Place], ...] = ()


class Xtag:
    """An open grammar.

    Parameters
    ----------
    trees
        Elementary trees.
    lexicon
        The entries of each word.
    morphology
        The readings of each inflected word.
    defaults
        Entries for the parts of speech that words have in the morphology alone.
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
            for entry in self._entries(reading) or self._default_entries(reading):
                found.update(dict.fromkeys(self._of_entry(entry)))
        return tuple(found)

    def _entries(self, reading: Reading) -> list[Entry]:
        return [entry for entry in self._lexicon.get(reading.lemma, ()) if reading.part in ("", _own_part(entry))]

    def _default_entries(self, reading: Reading) -> list[Entry]:
        return [entry for entry in self._defaults if reading.part == _own_part(entry)]

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
    """Open a release of XTAG.

    Parameters
    ----------
    path
        A folder or a tar archive with the folders ``grammar``, ``syntax`` and ``morphology``.

    Raises
    ------
    InputError
        There is none, or it is damaged; the message says where.
    """
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
