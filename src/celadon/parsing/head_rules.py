"""Heads of Penn trees: which child of a node gives it its head word, by the rules of Magerman and Collins."""

from __future__ import annotations

from collections.abc import Sequence

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
    """Return which child is the head.

    Parameters
    ----------
    label
        The node's label without function tags.
    children
        The labels of its children, without function tags; at least one.
    """
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
