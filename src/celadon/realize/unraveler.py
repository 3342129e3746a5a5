"""The Unraveler: the lattice of all orders that the supertags of a tree permit.

The mother's supertag is a row of bands, from left to right: before and after each place for an argument, and at each
node of her chain on either side of the head, there is room for modifiers. A daughter's supertag permits some bands: an
argument the places of its label, a modifier the room at nodes of its host's label on its host's side. Several sites
stay as alternatives, and modifiers in one band may come in any order.

Each word has a lattice of its own, over itself and its daughters, whose arcs are words and whole subtrees: shared and
packed. A state is the set of what is placed and the first band that is still free; each order is one path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

from celadon.parsing.supertags import Side, Supertag
from celadon.realize.order_model import TreeletScores

MOST_STATES = 4096
"""A word's lattice is whole up to so many states."""

BEAM = 256
"""Of a larger one, so many states of each length are kept: those with the best beginnings."""

HEAD = 0
"""The number of the head among the items of a treelet."""


class Band(NamedTuple):
    """A stretch of the mother's elementary tree where daughters can stand."""

    side: Side | None  # the side of the head; None for the head itself
    label: str  # the node's label
    slot: str | None = None  # the label of the argument that fills it; None for room for modifiers

    @property
    def holds_one(self) -> bool:
        """Whether there is room for only one word or subtree."""
        return self.side is None or self.slot is not None


class Site(NamedTuple):
    """Where a daughter may be attached: the side of the head, and the label of the node, or None for any node."""

    side: Side
    label: str | None = None


class Sites(Protocol):
    """Another grammar's opinion of where daughters may be attached."""

    def sites(
        self, mother_word: str, mother: Supertag, daughter_word: str, daughter: Supertag
    ) -> Iterable[Site] | None:
        """Return the sites; None where the grammar does not know the words, and the supertags decide."""
        ...


@lru_cache(maxsize=20_000)
def bands_of(supertag: Supertag) -> tuple[Band, ...]:
    """The bands of an elementary tree, from left to right."""
    left: list[Band] = []
    right: list[Band] = []
    for level in supertag.levels or (None,):
        label = level.label if level else supertag.tag
        for side, row, slots in (
            ("left", left, level.left if level else ()),
            ("right", right, level.right if level else ()),
        ):
            where: Side = "left" if side == "left" else "right"
            row.append(Band(where, label))
            for slot in slots:
                row += [Band(where, label, slot), Band(where, label)]
    return (*reversed(left), Band(None, supertag.tag), *right)


@lru_cache(maxsize=200_000)
def bands_for(mother: Supertag, daughter: Supertag) -> frozenset[int]:
    """The numbers of the mother's bands where a daughter's supertag lets it stand.

    Where the two do not fit, there is all the room for modifiers, for a modifier on its host's side.
    """
    bands, host = bands_of(mother), daughter.host
    if host is None:
        found = frozenset(at for at, band in enumerate(bands) if band.slot == daughter.root and band.slot is not None)
        return found or _room(bands)
    on_side = _room(bands, host.side)
    return frozenset(at for at in on_side if bands[at].label == host.label) or on_side


def bands_at(mother: Supertag, sites: Iterable[Site]) -> frozenset[int]:
    """The numbers of the mother's bands that belong to sites."""
    wanted = set(sites)
    return frozenset(
        at
        for at, band in enumerate(bands_of(mother))
        if band.side and (Site(band.side) in wanted or Site(band.side, band.label) in wanted)
    )


def _room(bands: Sequence[Band], side: Side | None = None) -> frozenset[int]:
    """The numbers of the bands with room for modifiers, on one side or on both."""
    return frozenset(at for at, band in enumerate(bands) if not band.holds_one and side in (None, band.side))


class Arc(NamedTuple):
    """A step of a lattice: an item is placed, and the state that this leads to."""

    item: int
    target: int


@dataclass(frozen=True)
class TreeletLattice:
    """The orders of a head (item 0) and its daughters (1 and on)."""

    # for each state what is placed in it, a bit an item; the first state is the beginning, and a state comes after
    # those that lead to it
    masks: tuple[int, ...]
    arcs: tuple[tuple[Arc, ...], ...]  # for each state the steps from it
    exact: bool = True  # whether no state was left out
    relaxed: bool = False  # whether the supertags did not fit together, so that more was permitted than they permit

    @cached_property
    def orders(self) -> int:
        """How many orders there are."""
        ways = [0] * len(self.masks)
        full = max(self.masks)
        for state in range(len(self.masks) - 1, -1, -1):
            ways[state] = int(self.masks[state] == full) + sum(ways[arc.target] for arc in self.arcs[state])
        return ways[0]

    def permits(self, order: Sequence[int]) -> bool:
        """Whether an order of the items is a path."""
        state = 0
        for item in order:
            found = next((arc.target for arc in self.arcs[state] if arc.item == item), None)
            if found is None:
                return False
            state = found
        return self.masks[state] == max(self.masks)


def unravel_treelet(
    bands: Sequence[Band],
    permitted: Sequence[frozenset[int]],
    kinds: Sequence[int],
    scores: TreeletScores | None = None,
    most_states: int = MOST_STATES,
    beam: int = BEAM,
) -> TreeletLattice:
    """Make the lattice of a treelet, given the mother's bands and those where each daughter may stand.

    A daughter without any may stand anywhere. Of daughters of the same kind only one order is made. The lattice is
    whole up to ``most_states``; of a larger one a beam goes by the scores and keeps so many states of each length.
    """
    head = frozenset(at for at, band in enumerate(bands) if band.side is None)
    free = _room(bands)
    places = [head, *(each or free for each in permitted)]
    relaxed = not all(permitted)
    single = [band.holds_one for band in bands]
    twins = _twins(kinds)
    for attempt in (places, [head, *(each | free for each in places[1:])]):
        found = _Builder(attempt, single, twins, None, most_states).build()
        if found is None:
            found = _Builder(attempt, single, twins, scores, most_states, beam).build()
        if found is not None and len(found.masks) > 1:
            return TreeletLattice(found.masks, found.arcs, found.exact, relaxed or attempt is not places)
    raise AssertionError("with room for modifiers on both sides there is always an order")


def _twins(kinds: Sequence[int]) -> list[int]:
    """For each item the items that are the same and come before it, as bits."""
    same = [0]
    for at, kind in enumerate(kinds):
        same.append(sum(1 << (other + 1) for other in range(at) if kinds[other] == kind))
    return same


class _Builder:
    """Builds a lattice length by length, then takes away what leads nowhere."""

    def __init__(
        self,
        places: Sequence[frozenset[int]],
        single: Sequence[bool],
        twins: Sequence[int],
        scores: TreeletScores | None,
        most_states: int,
        beam: int | None = None,
    ) -> None:
        self._places = [sorted(each) for each in places]
        self._last = [max(each) for each in places]
        self._single = single
        self._twins = twins
        self._scores = scores
        self._most = most_states
        self._beam = beam
        self._full = (1 << len(places)) - 1
        self._nothing = [0.0] * len(places)
        self._cut = False

    def build(self) -> TreeletLattice | None:
        """The lattice; None where it has too many states and there is no beam; of one state where nothing fits."""
        layers: list[dict[tuple[int, int], list[tuple[int, tuple[int, int]]]]] = []
        values: dict[tuple[int, int], tuple[float, int]] = {(0, 0): (0.0, -1)}
        total = 0
        for _ in range(len(self._places) + 1):
            if self._beam is not None and len(values) > self._beam:
                values = self._best(values)
            layers.append({state: self._steps(state) for state in values})
            total += len(values)
            if self._beam is None and total > self._most:
                return None
            values = self._values(layers[-1], values)
        return self._trimmed(layers)

    def _steps(self, state: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
        mask, floor = state
        left = [item for item in range(len(self._places)) if not mask >> item & 1]
        # nothing that is left may be shut out: the floor must not rise above the last band of any other
        ends = sorted(self._last[item] for item in left)[:2]
        steps = []
        for item in left:
            if self._twins[item] & ~mask:
                continue
            band = next((each for each in self._places[item] if each >= floor), None)
            if band is None:
                continue
            rises = band + 1 if self._single[band] else band
            others = ends[1:] if self._last[item] == ends[0] else ends
            if not others or others[0] >= rises:
                steps.append((item, (mask | 1 << item, rises)))
        return steps

    def _values(
        self,
        layer: dict[tuple[int, int], list[tuple[int, tuple[int, int]]]],
        values: dict[tuple[int, int], tuple[float, int]],
    ) -> dict[tuple[int, int], tuple[float, int]]:
        """The states that the layer leads to, with the score of the best way to each and the item placed last."""
        found: dict[tuple[int, int], tuple[float, int]] = {}
        for state, steps in layer.items():
            value, last = values[state]
            gains = self._gains(state[0], last)
            for item, target in steps:
                reached = value + gains[item]
                if target not in found or reached > found[target][0]:
                    found[target] = (reached, item)
        return found

    def _gains(self, mask: int, last: int) -> Sequence[float]:
        """What placing each item next adds to the score; nothing where no beam goes by it."""
        if self._beam is None or self._scores is None:
            return self._nothing
        placed = [item for item in range(len(self._places)) if mask >> item & 1]
        gains: list[float] = (self._scores.before[placed].sum(axis=0) + self._scores.beside[last, :-1]).tolist()
        return gains

    def _best(self, values: dict[tuple[int, int], tuple[float, int]]) -> dict[tuple[int, int], tuple[float, int]]:
        self._cut = True
        ranked = sorted(values.items(), key=lambda each: (-each[1][0], each[0]))
        return dict(ranked[: self._beam])

    def _trimmed(self, layers: list[dict[tuple[int, int], list[tuple[int, tuple[int, int]]]]]) -> TreeletLattice:
        useful: set[tuple[int, int]] = {state for state in layers[-1] if state[0] == self._full}
        for layer in reversed(layers[:-1]):
            useful |= {state for state, steps in layer.items() if any(target in useful for _, target in steps)}
        kept = [state for layer in layers for state in sorted(layer) if state in useful]
        if not kept:
            return TreeletLattice((0,), ((),), not self._cut)
        # what is full needs no floor: one end is enough
        number: dict[tuple[int, int], int] = {}
        for state in kept:
            number.setdefault(self._name(state), len(number))
        arcs: list[tuple[Arc, ...]] = [()] * len(number)
        for layer in layers[:-1]:
            for state, steps in layer.items():
                if state in useful:
                    arcs[number[self._name(state)]] = tuple(
                        Arc(item, number[self._name(target)]) for item, target in steps if target in useful
                    )
        return TreeletLattice(tuple(mask for mask, _ in number), tuple(arcs), not self._cut)

    def _name(self, state: tuple[int, int]) -> tuple[int, int]:
        return (state[0], -1) if state[0] == self._full else state
