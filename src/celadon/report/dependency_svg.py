"""A dependency tree with the treelets that went wrong, as SVG that needs nothing else.

Above, the reference's words under the arcs of its tree; below, the words of the text in their order, each joined to its
partner. Arcs of wrong treelets are red and dashed, and words that moved in their treelet are red; words that the text
lacks are struck through, words that only the text has are underlined. The rest takes the colour of what stands around,
so that it can be read on dark ground too.
"""

from __future__ import annotations

from collections.abc import Sequence

from celadon.metrics.tree_evidence import ROOTS, TreeEvidence
from celadon.report.escape import clean, escape
from celadon.text.layout import width

_LETTER, _GAP, _MARGIN = 8, 20, 12
_LEVEL, _LINE, _DROP = 20, 22, 56
_WORD_LIMIT = 40
WRONG = "#d0402b"
_QUIET = "#888"

_Arc = tuple[int, int]


def dependency_svg(evidence: TreeEvidence) -> str:
    """Draw the tree of the best reference, and where its words stand in the text."""
    words, text_words = ([_shown(word) for word in row] for row in (evidence.words, evidence.text_words))
    above, below = _centres(words), _centres(text_words)
    wide = max(_width(words), _width(text_words))
    levels = _levels(evidence.heads)
    top = _MARGIN + _LEVEL * (1 + max(levels.values(), default=0))
    first, second = top + _LINE, top + _LINE + _DROP + _LINE
    wrong = {treelet.head for treelet in evidence.treelets}
    moved = {word for treelet in evidence.treelets for word in treelet.moved}
    paired = set(evidence.place)
    marks = [_root(above[word], top, bad=ROOTS in wrong) for word, head in enumerate(evidence.heads) if head < 0]
    for (head, word), level in levels.items():
        marks.append(_arc(above[head], above[word], top, level, bad=head in wrong))
    for word, place in enumerate(evidence.place):
        if place >= 0:
            marks.append(_link(above[word], first, below[place], second - 18, bad=word in moved))
    marks += [
        _word(
            above[at],
            first,
            word,
            "line-through" if evidence.place[at] < 0 else "",
            bad=at in moved or evidence.place[at] < 0,
        )
        for at, word in enumerate(words)
    ]
    marks += [
        _word(below[at], second, word, "" if at in paired else "underline", bad=at not in paired)
        for at, word in enumerate(text_words)
    ]
    label = escape(f"Dependency tree of the reference above the text. {evidence.summary}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{second + _MARGIN}" '
        f'viewBox="0 0 {wide} {second + _MARGIN}" role="img" aria-label="{label}" font-family="sans-serif" '
        f'font-size="14" text-anchor="middle" fill="currentColor"><title>{label}</title>{"".join(marks)}</svg>'
    )


def _shown(word: str) -> str:
    whole = clean(word)
    return whole if len(whole) <= _WORD_LIMIT else f"{whole[: _WORD_LIMIT - 1]}…"


def _centres(words: Sequence[str]) -> list[int]:
    """The middle of each word."""
    places, at = [], _MARGIN
    for word in words:
        wide = max(_LETTER * width(word), _LETTER)
        places.append(at + wide // 2)
        at += wide + _GAP
    return places


def _width(words: Sequence[str]) -> int:
    return 2 * _MARGIN - _GAP + sum(max(_LETTER * width(word), _LETTER) + _GAP for word in words)


def _levels(heads: Sequence[int]) -> dict[_Arc, int]:
    """How high each arc, head and daughter, must be to pass over those beneath it."""
    arcs = sorted(((h, w) for w, h in enumerate(heads) if h >= 0), key=lambda arc: (abs(arc[0] - arc[1]), min(arc)))
    # the highest level so far over each gap between neighbours
    over = [0] * len(heads)
    levels: dict[_Arc, int] = {}
    for head, word in arcs:
        left, right = min(head, word), max(head, word)
        levels[head, word] = 1 + max(over[left:right])
        over[left:right] = [levels[head, word]] * (right - left)
    return levels


def _pen(*, bad: bool) -> str:
    if bad:
        return f'fill="none" stroke="{WRONG}" stroke-width="1.8" stroke-dasharray="5 3"'
    return f'fill="none" stroke="{_QUIET}"'


def _arrow(x: int, y: int, *, bad: bool) -> str:
    return f'<path d="M{x - 3} {y - 6}h6l-3 6z" fill="{WRONG if bad else _QUIET}"/>'


def _arc(head: int, word: int, y: int, level: int, *, bad: bool) -> str:
    # daughters leave their head a little to their own side, so that arcs do not meet there
    begin = head + (4 if word > head else -4)
    bend = 6 if word > begin else -6
    high = y - _LEVEL * level
    path = f"M{begin} {y}V{high + 6}q0 -6 {bend} -6H{word - bend}q{bend} 0 {bend} 6V{y - 5}"
    return f'<path d="{path}" {_pen(bad=bad)}/>{_arrow(word, y, bad=bad)}'


def _root(x: int, y: int, *, bad: bool) -> str:
    return f'<path d="M{x} {_MARGIN}V{y - 5}" {_pen(bad=bad)}/>{_arrow(x, y, bad=bad)}'


def _link(x: int, y: int, to_x: int, to_y: int, *, bad: bool) -> str:
    pen = f'stroke="{WRONG}" stroke-width="1.2"' if bad else f'stroke="{_QUIET}" stroke-opacity="0.6"'
    return f'<path d="M{x} {y}L{to_x} {to_y}" fill="none" {pen}/>'


def _word(x: int, y: int, word: str, line: str, *, bad: bool) -> str:
    colour = f' fill="{WRONG}"' if bad else ""
    drawn = f' text-decoration="{line}"' if line else ""
    return f'<text x="{x}" y="{y - 6}"{colour}{drawn}>{escape(word)}</text>'
