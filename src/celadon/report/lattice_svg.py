"""The lattice of a tree as a picture: a row for each word with daughters, a path for each order they may come in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from celadon.report.html import render

_STEP, _LINE, _MARGIN, _TITLE, _RADIUS = 130, 34, 24, 30, 5
_MOST_STATES = 120


class DrawnArc(NamedTuple):
    """A step from one state to another, with what is placed, and whether the best sentence takes it."""

    source: int
    target: int
    label: str
    chosen: bool


class DrawnLattice(NamedTuple):
    """The lattice of a word and its daughters; ``lengths`` is how much is placed in each state."""

    title: str
    lengths: Sequence[int]
    arcs: Sequence[DrawnArc]


def lattice_svg(title: str, lattices: Sequence[DrawnLattice]) -> str:
    """Draw lattices below each other; of a very large one only the chosen path and its size are shown."""
    drawn, top, wide = [], _MARGIN + _TITLE, 40 + 8 * len(title)
    for lattice in lattices:
        name, arcs, states = lattice.title, lattice.arcs, set(range(len(lattice.lengths)))
        if len(states) > _MOST_STATES:
            arcs = [arc for arc in arcs if arc.chosen]
            states = {state for arc in arcs for state in (arc.source, arc.target)}
            name += " (only the best path is drawn)"
        places = _places(lattice.lengths, states, top + _TITLE)
        drawn.append(
            {
                "title": name,
                "y": top + 14,
                "arcs": [
                    (places[arc.source], places[arc.target], arc.label, arc.chosen)
                    for arc in sorted(arcs, key=lambda arc: arc.chosen)
                ],
                "states": list(places.values()),
            }
        )
        top = max(y for _, y in places.values()) + _LINE
        wide = max(wide, max(x for x, _ in places.values()) + 2 * _MARGIN)
    return render("lattice.svg", title=title, lattices=drawn, width=wide, height=top, margin=_MARGIN, radius=_RADIUS)


def _places(lengths: Sequence[int], drawn: set[int], top: int) -> dict[int, tuple[int, int]]:
    columns: defaultdict[int, list[int]] = defaultdict(list)
    for state in sorted(drawn):
        columns[lengths[state]].append(state)
    most = max(map(len, columns.values()))
    return {
        state: (_MARGIN + _STEP * length, top + int(_LINE * (at + (most - len(states)) / 2)) + _LINE // 2)
        for length, states in columns.items()
        for at, state in enumerate(states)
    }
