"""Text for a terminal: columns that line up in any script, and nothing that a terminal would take for a command."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def width(text: str) -> int:
    """How many columns a text takes on a terminal: wide characters two, marks none."""
    return sum(
        0
        if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )


def printable(text: str) -> str:
    """A text that a terminal can show as it is: no control characters, no lone surrogates."""
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)


def shortened(text: str, most: int = 60) -> str:
    """The beginning of a text that is too long to be shown beside others."""
    return text if len(text) <= most else f"{text[:most].rstrip()} ..."


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Lay out rows in columns, the first ``left`` of them to the left, the others to the right."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(width(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        padded = [
            cell + " " * (wide - width(cell)) if number < left else " " * (wide - width(cell)) + cell
            for number, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(padded).rstrip())
    lines.insert(1, "  " + "  ".join("-" * wide for wide in widths))
    return "\n".join(lines)
