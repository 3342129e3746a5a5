"""Supertags: the elementary trees of a lexicalized tree-adjoining grammar, taken out of Penn trees and put back.

Each word of a tree heads a chain of nodes, found by head percolation (the rules of Magerman and Collins). The chain
with the places of its arguments is the word's elementary tree. An argument's own tree is put in by substitution. A
modifier's is put in by adjunction: as a further daughter of a node of the chain, on one side of the head, at a position
among the arguments of that side. A modifier's supertag names the side and the label of the node that it joins; the
position is part of the derivation only, so that the supertag leaves open what English leaves open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from celadon.core import InputError
from celadon.parsing.brackets import Tree, base_label, plain

_NOMINAL = frozenset({"NN", "NNP", "NNPS", "NNS", "NX", "POS", "JJR"})
_NOUN_PHRASES = frozenset({"NP", "NX", "NML"})
_MARKS = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-"})

# a label's side to look from, and the children to look for, the better before the worse
_RULES: dict[str, tuple[str, str]] = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "FRAG": ("right", ""),
    "INTJ": ("left", ""),
    "LST": ("right", "LS :"),
    "NAC": ("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": ("right", "IN TO VBG VBN RP FW"),
    "PRN": ("left", ""),
    "PRT": ("right", "RP"),
    "QP": ("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("right", "VP NP ADVP ADJP PP"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": ("left", "SQ S SINV SBARQ FRAG"),
    "SINV": ("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("left", "VBZ VBD VBP VB MD VP SQ"),
    "UCP": ("right", ""),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": ("left", "CC WRB JJ ADJP"),
    "WHADVP": ("right", "CC WRB"),
    "WHNP": ("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("right", "IN TO FW"),
}


def head_child(label: str, children: Sequence[str]) -> int:
    """Return which child is the head; labels are without function tags."""
    found = _noun_head(children) if label in _NOUN_PHRASES else _ruled_head(label, children)
    # of what is coordinated the first is the head
    if label not in _NOUN_PHRASES and found > 1 and children[found - 1] == "CC" and not is_mark(children[found - 2]):
        found -= 2
    return found


def is_mark(label: str) -> bool:
    """Return whether a label is a punctuation mark's."""
    return label in _MARKS


def _ruled_head(label: str, children: Sequence[str]) -> int:
    side, wanted = _RULES.get(label, ("right", ""))
    order = range(len(children)) if side == "left" else range(len(children) - 1, -1, -1)
    for each in wanted.split():
        for at in order:
            if children[at] == each:
                return at
    return next((at for at in order if not is_mark(children[at])), order[0])


def _noun_head(children: Sequence[str]) -> int:
    backwards = range(len(children) - 1, -1, -1)
    if children[-1] == "POS":
        return len(children) - 1
    for order, wanted in (
        (backwards, _NOMINAL),
        (range(len(children)), _NOUN_PHRASES),
        (backwards, {"$", "ADJP", "PRN"}),
        (backwards, {"CD"}),
        (backwards, {"JJ", "JJS", "RB", "QP"}),
    ):
        for at in order:
            if children[at] in wanted:
                return at
    return next((at for at in backwards if not is_mark(children[at])), len(children) - 1)


Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")

_ADJUNCT_ROLES = frozenset({"ADV", "VOC", "BNF", "DIR", "EXT", "LOC", "MNR", "TMP", "CLR", "PRP"})
_ARGUMENT_ROLES = frozenset({"SBJ", "PRD", "DTV", "PUT"})
_CLAUSES = frozenset({"S", "SINV", "SQ", "SBARQ"})
_ARGUMENTS_OF = {
    **dict.fromkeys(_CLAUSES, frozenset({"NP", "SBAR", "S", "SINV", "VP", "SQ"})),
    "VP": frozenset({"NP", "SBAR", "S", "SINV", "SQ", "VP", "PRT"}),
    "SBAR": frozenset({"S", "SINV", "SQ"}),
}
_PREPOSITIONAL = frozenset({"PP", "WHPP"})


class Level(NamedTuple):
    """A node of the chain above the word, and the labels of the arguments on either side, those nearest to the head
    first.
    """

    label: str
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()

    def slots(self, side: Side) -> tuple[str, ...]:
        """Return the arguments of one side."""
        return self.left if side == "left" else self.right


class Host(NamedTuple):
    """What a modifier joins: the side of the head it stands on, and the label of the node whose daughter it becomes."""

    side: Side
    label: str


@dataclass(frozen=True)
class Supertag:
    """An elementary tree: the part of speech of the word that anchors it, and the nodes above the word, from below.

    ``host`` is what it joins, if it is a modifier's; None for a tree that fills an argument's place or is the whole
    sentence.
    """

    tag: str
    levels: tuple[Level, ...] = ()
    host: Host | None = None

    @property
    def root(self) -> str:
        """The label of the topmost node."""
        return self.levels[-1].label if self.levels else self.tag

    def __str__(self) -> str:
        """A name from which :func:`parse_supertag` makes the tree again: ``right:VP (PP <IN> NP)``."""
        inside = f"<{self.tag}>"
        for level in self.levels:
            inside = f"({' '.join([level.label, *reversed(level.left), inside, *level.right])})"
        return f"{self.host.side}:{self.host.label} {inside}" if self.host else inside


class Attachment(NamedTuple):
    """A tree that is put into another, with all that is put into it.

    ``level`` is the node of the other's chain, counted from below. ``position`` is for an argument its place among the
    arguments of that side of the head, from the head outwards; for a modifier how many of these stand between it and
    the head. Modifiers at one position come in their order from the head outwards.
    """

    derivation: Derivation
    level: int
    side: Side
    position: int


@dataclass(frozen=True)
class Derivation:
    """A word with its supertag, and what is put into that."""

    word: str
    supertag: Supertag
    attachments: tuple[Attachment, ...] = ()

    def outwards(self, level: int, side: Side) -> list[Derivation]:
        """Return what stands on one side of the head below one node, from the head outwards."""
        here = [each for each in self.attachments if each.level == level and each.side == side]
        # a modifier at position p stands nearer to the head than argument p; sorting keeps the order of the rest
        here.sort(key=lambda each: (each.position, each.derivation.supertag.host is None))
        return [each.derivation for each in here]

    def in_order(self) -> Iterator[Derivation]:
        """Yield the derivations of all words in the order of the sentence."""
        levels = range(len(self.supertag.levels))
        for level in reversed(levels):
            for each in reversed(self.outwards(level, "left")):
                yield from each.in_order()
        yield self
        for level in levels:
            for each in self.outwards(level, "right"):
                yield from each.in_order()


def derive(tree: Tree) -> Derivation | None:
    """Take a tree as it was read apart into supertags: function tags tell arguments from modifiers.

    :func:`compose` makes the plain tree of the result, without traces and function tags. None where nothing is left.
    """
    cleaned = plain(tree, _ADJUNCT_ROLES | _ARGUMENT_ROLES)
    return None if cleaned is None else _derived(_without_doubles(cleaned), None)


def compose(derivation: Derivation) -> Tree:
    """Put supertags together into a tree."""
    supertag = derivation.supertag
    made = Tree(supertag.tag, (), derivation.word)
    for number, level in enumerate(supertag.levels):
        left = [compose(each) for each in reversed(derivation.outwards(number, "left"))]
        right = [compose(each) for each in derivation.outwards(number, "right")]
        made = Tree(level.label, (*left, made, *right))
    return made


_NAME = re.compile(r"(?:(left|right):(\S+) )?(.+)", re.DOTALL)


def parse_supertag(name: str) -> Supertag:
    """Return the supertag of a name; raise InputError for what is no such name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(f"{name!r} is not the name of a supertag")
    side: Side = "left" if match[1] == "left" else "right"
    outer: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
    inside = match[3]
    while found := re.fullmatch(r"\(([^\s()]+)((?: [^\s()<]+)*) (\(.*\)|<[^\s()]+>)((?: [^\s()<]+)*)\)", inside):
        outer.append((found[1], tuple(reversed(found[2].split())), tuple(found[4].split())))
        inside = found[3]
    anchor = re.fullmatch(r"<([^\s()]+)>", inside)
    if anchor is None:
        raise InputError(f"{name!r} is not the name of a supertag")
    levels = tuple(Level(*level) for level in reversed(outer))
    return Supertag(anchor[1], levels, Host(side, match[2]) if match[1] else None)


def _without_doubles(tree: Tree) -> Tree:
    """Only one of two nodes of one label above each other, as in the plain tree, where the roles are not seen."""
    if tree.is_tag:
        return tree
    only = tree.children[0]
    if len(tree.children) == 1 and not only.is_tag and base_label(only.label) == base_label(tree.label):
        return _without_doubles(Tree(tree.label, only.children))
    return Tree(tree.label, tuple(map(_without_doubles, tree.children)))


def _derived(tree: Tree, host: Host | None) -> Derivation:
    levels: list[Level] = []
    attachments: list[tuple[int, Side, int, Derivation]] = []
    node = tree
    while not node.is_tag:
        depth = len(levels)
        label = base_label(node.label)
        head = head_child(label, [base_label(child.label) for child in node.children])
        slots: dict[Side, tuple[str, ...]] = {}
        for side, children in zip(SIDES, (node.children[:head][::-1], node.children[head + 1 :]), strict=True):
            arguments: list[str] = []
            for child in children:
                filled = _is_argument(node, child, head)
                below = _derived(child, None if filled else Host(side, label))
                attachments.append((depth, side, len(arguments), below))
                if filled:
                    arguments.append(base_label(child.label))
            slots[side] = tuple(arguments)
        levels.append(Level(label, slots["left"], slots["right"]))
        node = node.children[head]
    put_in = tuple(
        Attachment(below, len(levels) - 1 - depth, side, position) for depth, side, position, below in attachments
    )
    return Derivation(node.word, Supertag(node.label, tuple(reversed(levels)), host), put_in)


def _is_argument(parent: Tree, child: Tree, head: int) -> bool:
    """Whether a child is an argument of its parent's head: by its role, else as Collins tells complements."""
    label, *roles = child.label.split("-") if not child.label.startswith("-") else [child.label]
    above = base_label(parent.label)
    if child.is_tag or _ADJUNCT_ROLES.intersection(roles):
        return False
    if _ARGUMENT_ROLES.intersection(roles):
        return True
    head_label = base_label(parent.children[head].label)
    if label == head_label and any(base_label(each.label) in ("CC", "CONJP") for each in parent.children):
        return False
    if above in _PREPOSITIONAL:
        following = parent.children[head + 1 :]
        return child is next((each for each in following if not is_mark(each.label)), None)
    return label in _ARGUMENTS_OF.get(above, ())
