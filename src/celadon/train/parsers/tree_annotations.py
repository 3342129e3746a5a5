"""What a grammar's states tell beyond the treebank's labels, and how trees become rules of at most two children.

The annotations are those of unlexicalised parsing: the label of the parent, and splits of labels that the treebank
does not make but that matter to what stands around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from celadon.parsing.brackets import Tree, base_label
from celadon.parsing.head_rules import head_child

ROOT = "TOP"
GAP, TIME = "GAP", "TMP"
"""Marks behind labels: a clause whose subject is a trace; a noun phrase of time."""

JOINING = "@"
"""What the names of states begin with that only join parts of a larger constituent."""

SPLITS: Mapping[str, str] = {
    "tags": "tags by the label of their parent",
    "unary": "constituents with one child only, and determiners and adverbs that are one",
    "aux": "forms of be and of have",
    "in": "prepositions by what is two levels up",
    "cc": "but, & and the other conjunctions",
    "percent": "the per cent sign",
    "tmp": "noun phrases of time",
    "gap": "clauses without a subject of their own",
    "possessive": "noun phrases that end in 's",
    "verb": "verb phrases by the form of their verb",
    "base": "noun phrases without phrases in them",
    "has_verb": "constituents with a verb in them",
    "right": "noun phrases that end in a noun phrase",
}

_BE = frozenset("be is am are was were been being 's 're 'm ai".split())
_HAVE = frozenset("have has had having 've 'd".split())
_FINITE = frozenset("VBD VBP VBZ MD".split())


class Node(NamedTuple):
    """A node with the treebank's label and the grammar's state."""

    base: str
    state: str
    children: tuple[Node, ...]
    word: str

    def all_nodes(self) -> Iterator[Node]:
        """Yield this node and all below it, each before its children, from left to right."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))


@dataclass(frozen=True)
class Annotation:
    """What states tell.

    Attributes
    ----------
    vertical
        1: a label by itself; 2: with its parent's.
    splits
        Names from :data:`SPLITS`.
    """

    vertical: int = 2
    splits: frozenset[str] = frozenset()

    def annotate(self, tree: Tree, above: tuple[str, ...] = (ROOT,)) -> Node:
        """Give each node of a tree its state.

        Parameters
        ----------
        tree
            A tree without traces; ``S`` without a subject is told by the label ``S-GAP``, time by ``NP-TMP``.
        above
            The treebank's labels from the root down to the parent.
        """
        base, *marks = base_label(tree.label), *tree.label.split("-")[1:]
        if tree.is_tag:
            return Node(tree.label, self._tag(tree, above, False), (), tree.word)
        children = tuple(self.annotate(child, (*above, base)) for child in tree.children)
        if len(children) == 1 and tree.children[0].is_tag:
            child = children[0]
            children = (child._replace(state=self._tag(tree.children[0], (*above, base), True)),)
        return Node(base, self._phrase(base, marks, children, above), children, "")

    def _tag(self, tree: Tree, above: tuple[str, ...], alone: bool) -> str:
        state, word = tree.label, tree.word.lower()
        if "tags" in self.splits:
            state += f"^{above[-1]}"
        if "unary" in self.splits and alone and tree.label in ("DT", "RB"):
            state += "-U"
        if "aux" in self.splits and tree.label.startswith("VB") and word in _BE | _HAVE:
            state += "-BE" if word in _BE else "-HAVE"
        if "in" in self.splits and tree.label == "IN" and len(above) > 1:
            state += f"^{above[-2]}" if above[-1] in ("PP", "SBAR") else ""
        if "cc" in self.splits and tree.label == "CC":
            state += "-BUT" if word == "but" else "-AND" if word == "&" else ""
        if "percent" in self.splits and word == "%":
            state += "-%"
        return state

    def _phrase(self, base: str, marks: Sequence[str], children: Sequence[Node], above: tuple[str, ...]) -> str:
        state = base
        if self.vertical > 1:
            state += f"^{above[-1]}"
        if self.vertical > 2 and len(above) > 1:
            state += f"^{above[-2]}"
        told = {
            "tmp": TIME if TIME in marks else "",
            "gap": GAP if GAP in marks else "",
            "unary": "U" if len(children) == 1 and children[0].children and above != (ROOT,) else "",
            "possessive": "POS" if base == "NP" and children[-1].base == "POS" else "",
            "verb": _verb_form(children) if base == "VP" else "",
            "base": "B" if base == "NP" and not any(child.children for child in children) else "",
            "has_verb": "v" if any(map(_has_verb, children)) else "",
            "right": "R" if base == "NP" and _ends_in_noun_phrase(children[-1]) else "",
        }
        return "-".join([state, *(mark for split, mark in told.items() if mark and split in self.splits)])


def _verb_form(children: Sequence[Node]) -> str:
    labels = [child.base for child in children]
    head = children[head_child("VP", labels)]
    if head.base == "VP":
        return _verb_form(head.children)
    return "VBF" if head.base in _FINITE else head.base if head.base.startswith(("VB", "TO")) else ""


def _has_verb(node: Node) -> bool:
    if not node.children:
        return node.base.startswith("VB") or node.base == "MD"
    return any(map(_has_verb, node.children))


def _ends_in_noun_phrase(node: Node) -> bool:
    while node.children:
        if node.base == "NP":
            return True
        node = node.children[-1]
    return False


class Production(NamedTuple):
    """A rule: a state, and the one or two states below it."""

    parent: str
    children: tuple[str, ...]


def productions(node: Node, horizontal: int) -> Iterator[Production]:
    """Yield the rules of a tree, each constituent built outward from its head: first to the right, then to the left.

    Parameters
    ----------
    node
        An annotated tree.
    horizontal
        How many of the children that were joined last a joining state tells.
    """
    yield Production(ROOT, (node.state,))
    for each in node.all_nodes():
        if each.children:
            yield from _joined(each, horizontal)


def _joined(node: Node, horizontal: int) -> Iterator[Production]:
    children = node.children
    head = head_child(node.base, [child.base for child in children])
    outward = [*range(head + 1, len(children)), *range(head - 1, -1, -1)]
    if not outward:
        yield Production(node.state, (children[0].state,))
    state, joined = children[head].state, [""] * horizontal
    for at in outward:
        joined.append(f"{'>' if at > head else '<'}{children[at].base}")
        told = "".join(joined[len(joined) - horizontal :])
        above = node.state if at == outward[-1] else f"{JOINING}{node.state}|{told}"
        yield Production(above, (state, children[at].state) if at > head else (children[at].state, state))
        state = above
