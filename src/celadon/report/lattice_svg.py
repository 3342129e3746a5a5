"""The lattice of a tree as a picture: a row for each word with daughters, a path for each order they may come in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from celadon.report.escape import escape

_STEP, _LINE, _MARGIN, _TITLE, _RADIUS = 130, 34, 24, 30, 5
_MOST_STATES = 120
_PLAIN, _CHOSEN, _GROUND, _INK = "#9aa5a0", "#1f7a5a", "#ffffff", "#22302b"


class DrawnArc(NamedTuple):
    """A step from one state to another, with what is placed, and whether the best sentence takes it."""

    source: int
    target: int
    label: str
    chosen: bool


class DrawnLattice(NamedTuple):
    """The lattice of a word and its daughters.

    Attributes
    ----------
    title
        What stands above it.
    lengths
        For each state how much is placed in it.
    arcs
        The steps.
    """

    title: str
    lengths: Sequence[int]
    arcs: Sequence[DrawnArc]


def lattice_svg(title: str, lattices: Sequence[DrawnLattice]) -> str:
    """Draw lattices below each other; of a very large one only the chosen path and its size are shown."""
    drawn, top, wide = [], _MARGIN + _TITLE, 40 + 8 * len(title)
    for lattice in lattices:
        body, width, height = _one(lattice, top)
        drawn.append(body)
        top += height
        wide = max(wide, width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{top}" viewBox="0 0 {wide} {top}" '
        f'font-family="sans-serif" font-size="12" role="img"><title>{escape(title)}</title>'
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{_PLAIN}"/></marker></defs>'
        f'<rect width="{wide}" height="{top}" fill="{_GROUND}"/>'
        f'<text x="{_MARGIN}" y="{_MARGIN}" font-size="15" fill="{_INK}">{escape(title)}</text>{"".join(drawn)}</svg>\n'
    )


def _one(lattice: DrawnLattice, top: int) -> tuple[str, int, int]:
    arcs = lattice.arcs
    shown = set(range(len(lattice.lengths)))
    note = ""
    if len(shown) > _MOST_STATES:
        arcs = [arc for arc in arcs if arc.chosen]
        shown = {state for arc in arcs for state in (arc.source, arc.target)}
        note = " (only the best path is drawn)"
    places = _places(lattice.lengths, shown, top + _TITLE)
    lines = [_arc(arc, places) for arc in sorted(arcs, key=lambda each: each.chosen)]
    dots = [f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="{_INK}"/>' for x, y in places.values()]
    title = f'<text x="{_MARGIN}" y="{top + 14}" fill="{_INK}">{escape(lattice.title + note)}</text>'
    tallest = max(y for _, y in places.values())
    widest = max(x for x, _ in places.values())
    return title + "".join(lines) + "".join(dots), widest + 2 * _MARGIN, tallest - top + _LINE


def _places(lengths: Sequence[int], shown: set[int], top: int) -> dict[int, tuple[int, int]]:
    columns: defaultdict[int, list[int]] = defaultdict(list)
    for state in sorted(shown):
        columns[lengths[state]].append(state)
    most = max(map(len, columns.values()))
    return {
        state: (_MARGIN + _STEP * length, top + int(_LINE * (at + (most - len(states)) / 2)) + _LINE // 2)
        for length, states in columns.items()
        for at, state in enumerate(states)
    }


def _arc(arc: DrawnArc, places: dict[int, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = places[arc.source], places[arc.target]
    colour, width = (_CHOSEN, 2.5) if arc.chosen else (_PLAIN, 1)
    line = (
        f'<line x1="{x1}" y1="{y1}" x2="{x2 - _RADIUS}" y2="{y2}" stroke="{colour}" stroke-width="{width}" '
        f'marker-end="url(#tip)"/>'
    )
    # a third of the way, where arcs to one state have not yet come together
    x, y = x1 + (x2 - x1) // 3, y1 + (y2 - y1) // 3 - 4
    return (
        f'{line}<text x="{x}" y="{y}" font-size="11" fill="{colour if arc.chosen else _INK}">{escape(arc.label)}</text>'
    )
