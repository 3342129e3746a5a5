"""Tables of the meta-evaluation's page: numbers, heads, rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from celadon.report.columns import NAME_LIMIT, NULL, breakable
from celadon.report.escape import escape, short

_REASON_LIMIT = 60


class Head(NamedTuple):
    """The head of a column; ``sort`` is number, text or empty, ``html`` is already escaped."""

    html: str
    sort: str = "number"
    first: str = ""


def text_of(name: str) -> str:
    """Write a name from the user's table, whatever direction its script has."""
    return f"<bdi>{breakable(name)}</bdi>"


def number(value: float, digits: int = 3) -> str:
    """Write a number, a dash where there is none."""
    if not math.isfinite(value):
        return NULL
    shown = f"{value:.{digits}f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown


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


def name_cell(name: str) -> str:
    """The head of a row."""
    return f'<th scope="row">{text_of(name)}</th>'


def number_cell(value: float, digits: int = 3, small: str = "") -> str:
    """A number with a smaller line below it, which is plain text."""
    below = f" <small>{short(small, _REASON_LIMIT)}</small>" if small else ""
    return f'<td class="n">{number(value, digits)}{below}</td>'


def general_cell(value: float) -> str:
    """A number of unknown size."""
    return f'<td class="n" data-value="{value:.6g}">{general(value)}</td>'


def probability_cell(value: float) -> str:
    """A p-value that sorts by its size."""
    return f'<td class="n" data-value="{value:.6g}">{escape(probability(value))}</td>'


def count_cell(value: float) -> str:
    """A whole number, or a mean of them."""
    shown = NULL if not math.isfinite(value) else f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"
    return f'<td class="n">{shown}</td>'


def text_cell(text: str) -> str:
    """A cell of words."""
    return f"<td>{short(text, NAME_LIMIT)}</td>"


def table(heads: Sequence[Head], rows: Iterable[str], *, label: str) -> str:
    """A table that sorts where scripts run and scrolls by itself where it is wider than the page.

    Parameters
    ----------
    heads
        One per column.
    rows
        The cells of each row.
    label
        What the table holds; not escaped yet.
    """
    above = "".join(_head(head) for head in heads)
    body = "".join(f"<tr>{cells}</tr>" for cells in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<table class="figures" data-sortable><thead><tr>{above}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _head(head: Head) -> str:
    sort = f' data-sort="{head.sort}"' if head.sort else ""
    first = f' data-first="{head.first}"' if head.first else ""
    kind = ' class="n"' if head.sort == "number" else ""
    return f'<th scope="col"{kind}{sort}{first}>{head.html}</th>'


def section(place: str, title: str, intro: str, body: str) -> str:
    """A section of the page; nothing where there is nothing to show. ``intro`` is ours and plain."""
    return f'<section id="{place}"><h2>{title}</h2><p>{intro}</p>{body}</section>' if body else ""


def folded(title_html: str, body: str, *, opened: bool = False, note: str = "") -> str:
    """A part that opens at a click."""
    beside = f' <span class="range">{escape(note)}</span>' if note else ""
    return f'<details class="part"{" open" if opened else ""}><summary>{title_html}{beside}</summary>{body}</details>'
