"""Our own layout: JSON lines with ``output``, ``scores`` and perhaps ``ratings`` (an object of lists)."""

from __future__ import annotations

from typing import Any

from celadon.io.judgements.rows import Fields, Number, Row, judgement


def is_plain(row: Fields) -> bool:
    """Whether a row is in this layout."""
    return row.has("output") and isinstance(row.content.get("scores"), dict)


def plain_row(row: Fields, domain: str | None = None, *, prefix: str = "", **more: Any) -> Row:
    """Read a row: id, system, output, reference or references, source or mr, scores, ratings."""
    scores = row.inner("scores")
    found: dict[str, Number] = {
        name: scores.number(name) if scores.has(name) else None for name in map(str, scores.content)
    }
    # where some rows have ratings and others null, all get the column
    ratings: dict[str, list[float]] = {name: [] for name in found} if "ratings" in row.content else {}
    if row.has("ratings"):
        given = row.inner("ratings")
        ratings |= {name: given.numbers(name) for name in map(str, given.content)}
    return judgement(
        id=prefix + row.text("id"),
        system=row.optional_text("system"),
        domain=row.optional_text("domain") or domain,
        text=row.text("output"),
        references=row.texts("references") or row.texts("reference"),
        source=row.optional_text("source", "mr"),
        scores=found,
        ratings=ratings,
        **more,
    )
