"""What pages of tables are made of, as data: cells, tables, and parts that open at a click."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from celadon.report.html import NAME_LIMIT, NULL, breakable, markup, short

if TYPE_CHECKING:
    from markupsafe import Markup

_REASON_LIMIT = 60


class Head(NamedTuple):
    """The head of a column; ``sort`` is number, text or empty, ``small`` is written below it."""

    name: str
    sort: str = "number"
    first: str = ""
    small: str = ""


class Cell(NamedTuple):
    """A cell: ``kind`` is n (a number), name (of the row), user (a name of the user's) or text."""

    text: str
    kind: str = "n"
    small: str = ""
    value: str = ""


class Table(NamedTuple):
    """A table that sorts where scripts run and scrolls by itself where it is wider than the page."""

    label: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    kind: str = "table"


class Folded(NamedTuple):
    """A part that opens at a click; its name is the user's, what follows it is ours."""

    name: str
    blocks: Sequence[Any]
    after: str = ""
    note: str = ""
    opened: bool = False
    kind: str = "folded"


class Block(NamedTuple):
    """Anything else, by the name of its macro."""

    kind: str
    content: Any


class PageSection(NamedTuple):
    """A section of a page, which is left out where it has no blocks."""

    place: str
    name: str
    title: str
    intro: str | Markup
    blocks: Sequence[Any]


def text_of(name: str) -> Markup:
    """Write a name from the user's table, whatever direction its script has."""
    return markup("<bdi>{}</bdi>").format(breakable(name))


def number(value: float, digits: int = 3) -> str:
    """Write a number, a dash where there is none."""
    if not math.isfinite(value):
        return NULL
    written = f"{value:.{digits}f}"
    return written.removeprefix("-") if float(written) == 0 else written


def general(value: float) -> str:
    """Write a number of unknown size with four digits."""
    return f"{value:.4g}" if math.isfinite(value) else NULL


def probability(value: float) -> str:
    """Write a p-value."""
    if not math.isfinite(value):
        return NULL
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def interval(low: float, high: float) -> str:
    """Write an interval; nothing where there is none."""
    return f"{number(low)} to {number(high)}" if math.isfinite(low) and math.isfinite(high) else ""


def name_cell(name: str) -> Cell:
    """The head of a row."""
    return Cell(name, "name")


def number_cell(value: float, digits: int = 3, small: str = "") -> Cell:
    """A number with a smaller line below it."""
    return Cell(number(value, digits), small=short(small, _REASON_LIMIT))


def general_cell(value: float) -> Cell:
    """A number of unknown size."""
    return Cell(general(value), value=f"{value:.6g}")


def probability_cell(value: float) -> Cell:
    """A p-value that sorts by its size."""
    return Cell(probability(value), value=f"{value:.6g}")


def count_cell(value: float) -> Cell:
    """A whole number, or a mean of them."""
    return Cell(NULL if not math.isfinite(value) else f"{value:,.0f}" if value == round(value) else f"{value:,.2f}")


def text_cell(text: str) -> Cell:
    """A cell of words."""
    return Cell(short(text, NAME_LIMIT), "text")
