"""Who sees what: balanced over people, in an order that the seed gives.

A person has a place in line, from 0. The cells stand in a circle, and the people of a study walk along it: somebody who
sees n cells takes the next n, and each time the circle has been gone round, every cell shows its next variants. So
every variant is seen as often as any other of its cell, give or take one; nobody sees a cell twice; and because each
cell begins with another variant, a person sees the systems in turn (a Latin square).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from celadon.core import InputError
from celadon.judge.config import Assignment, Config
from celadon.judge.items import Item, by_cell

INSTRUCTIONS, PRACTICE, TRIAL, CHECK, BREAK = "instructions", "practice", "trial", "check", "break"


class Page(NamedTuple):
    """One page of a person's way: its kind, its cell, and the items on it in the order they are shown.

    The items of practice and of checks are named by their number in the config.
    """

    kind: str
    cell: str = ""
    items: tuple[str, ...] = ()


class Cell(NamedTuple):
    """Variants of one thing, and what is shown of them the first time, the second, and so on."""

    name: str
    pages: tuple[tuple[str, ...], ...]
    first: int

    def page(self, visit: int) -> tuple[str, ...]:
        """What is shown when the circle has been gone round ``visit`` times."""
        return self.pages[(visit + self.first) % len(self.pages)]


def make_cells(items: Sequence[Item], config: Config) -> tuple[Cell, ...]:
    """The circle of cells. Raises InputError if a cell has too few variants for the design."""
    many = config.assignment.variants_per_page
    circle: list[tuple[str, tuple[tuple[str, ...], ...]]] = []
    for name, variants in by_cell(items).items():
        keys = [item.key for item in variants]
        if config.design == "pairwise":
            if len(keys) < 2:
                raise InputError(f"cell {name!r}: has one text, {keys[0]!r}; the design pairwise needs two or more")
            pages = _pairs(keys)
        elif config.assignment.one_page_per_cell:
            pages = _windows(keys, many)
        else:
            pages = _parts(keys, many)
        if config.assignment.one_page_per_cell:
            circle.append((name, pages))
        else:
            circle.extend((name, (page,)) for page in pages)
    random.Random(f"{config.seed}:cells").shuffle(circle)
    return tuple(Cell(name, pages, first) for first, (name, pages) in enumerate(circle))


def _windows(keys: Sequence[str], many: int) -> tuple[tuple[str, ...], ...]:
    """Stretches of ``many`` along the circle of variants, one after another until the beginning is met again."""
    if not many or many >= len(keys):
        return (tuple(keys),)
    turns = len(keys) // math.gcd(len(keys), many)
    return tuple(tuple(keys[(turn * many + step) % len(keys)] for step in range(many)) for turn in range(turns))


def _parts(keys: Sequence[str], many: int) -> tuple[tuple[str, ...], ...]:
    """All variants in as few pages as can hold them, of about the same size."""
    count = math.ceil(len(keys) / many) if many else 1
    edges = [round(len(keys) * part / count) for part in range(count + 1)]
    return tuple(tuple(keys[low:high]) for low, high in pairwise(edges))


def _pairs(keys: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """All pairs, in rounds in which no variant plays twice."""
    left = list(combinations(keys, 2))
    order: list[tuple[str, ...]] = []
    while left:
        busy: set[str] = set()
        for pair in tuple(left):
            if busy.isdisjoint(pair):
                busy.update(pair)
                order.append(pair)
                left.remove(pair)
    return tuple(order)


def pages_each(cells: Sequence[Cell], assignment: Assignment) -> int:
    """How many pages of items a person sees."""
    return min(assignment.pages_per_person or len(cells), len(cells))


def people_needed(cells: Sequence[Cell], assignment: Assignment) -> int:
    """How many people it takes until every item has its ratings."""
    visits = max(_visits_needed(cell, assignment.ratings_per_item) for cell in cells)
    return math.ceil(visits * len(cells) / pages_each(cells, assignment))


def _visits_needed(cell: Cell, target: int) -> int:
    counts = Counter(dict.fromkeys((key for page in cell.pages for key in page), 0))
    visits = 0
    while min(counts.values()) < target:
        counts.update(cell.page(visits))
        visits += 1
    return visits


def assigned(cells: Sequence[Cell], assignment: Assignment, place: int) -> list[tuple[str, tuple[str, ...]]]:
    """The cells that the person at this place in line sees, and the variants in each."""
    each = pages_each(cells, assignment)
    pages = []
    for step in range(place * each, (place + 1) * each):
        visit, at = divmod(step, len(cells))
        pages.append((cells[at].name, cells[at].page(visit)))
    return pages


def make_plan(cells: Sequence[Cell], config: Config, place: int) -> tuple[Page, ...]:
    """All pages of the person at this place in line, from the instructions on."""
    draw = random.Random(f"{config.seed}:{place}")
    trials = [
        Page(TRIAL, cell, tuple(draw.sample(keys, len(keys))))
        for cell, keys in assigned(cells, config.assignment, place)
    ]
    draw.shuffle(trials)
    practice = [Page(PRACTICE, items=(str(number),)) for number in range(len(config.practice))]
    return (Page(INSTRUCTIONS), *practice, *_with_checks(trials, config, draw))


def _with_checks(trials: list[Page], config: Config, draw: random.Random) -> list[Page]:
    """The trials, with a check somewhere in each of equal stretches, and breaks."""
    count = config.assignment.checks_per_person if config.checks else 0
    order = draw.sample(range(len(config.checks)), len(config.checks))
    checks: dict[int, list[Page]] = {}
    for number in range(count):
        low, high = (len(trials) * part // count for part in (number, number + 1))
        # never before the first item, where a person is still new to the page
        at = draw.randint(min(low + 1, high), high)
        checks.setdefault(at, []).append(Page(CHECK, items=(str(order[number % len(order)]),)))
    pages: list[Page] = []
    every = config.assignment.break_every
    for number, trial in enumerate(trials, 1):
        pages.extend((trial, *checks.get(number, ())))
        if every and number % every == 0 and number < len(trials):
            pages.append(Page(BREAK))
    return pages
