"""Tables for the terminal."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Sequence

from celadon.meta.poisson import Interval
from celadon.summary import Summary, SummaryRow


def coloured() -> bool:
    """Whether the standard output wants colours."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


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


def summary_tables(summary: Summary) -> str:
    """A table per system: mean, interval, corpus score and nulls of each metric."""
    blocks = []
    for system in summary.systems:
        rows = [row for row in summary.rows if row.system == system]
        texts = rows[0].count + rows[0].nulls
        title = "all texts" if system is None else printable(system)
        with_corpus = any(row.corpus is not None for row in rows)
        header = ["metric", "mean", "95% interval", *(["corpus", "95% interval"] if with_corpus else []), "nulls"]
        blocks.append(
            f"{title}: {texts:,} text{'s' if texts != 1 else ''}\n"
            + table(header, [_cells(row, with_corpus) for row in rows])
        )
    return "\n\n".join(blocks)


def _cells(row: SummaryRow, with_corpus: bool) -> list[str]:
    digits = 2 if max(abs(value) for value in row.histogram.edges) > 10 else 3
    cells = [row.metric, number(row.mean, digits), interval(row.mean_interval, digits)]
    if with_corpus:
        has = row.corpus is not None
        cells += [number(row.corpus, digits), interval(row.corpus_interval, digits)] if has else ["", ""]
    return [*cells, f"{row.nulls:,}"]


def number(value: float | None, digits: int) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def interval(bounds: Interval | None, digits: int) -> str:
    """An interval, or a dash where there is none."""
    return "-" if bounds is None else f"{bounds.low:.{digits}f} .. {bounds.high:.{digits}f}"
