"""The form that ``celadon meta load`` writes, read again: the columns of :func:`judgement` as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from celadon.io.judgements.files import json_lines
from celadon.io.judgements.rows import Row, judgement

_SCORES, _RATINGS = "scores.", "ratings."
_NAMED = ("id", "system", "domain", "text", "references", "source")


def is_common(path: str) -> bool:
    """Whether the first row of a file of JSON lines is in this form."""
    if ".jsonl" not in path.lower():
        return False
    first = next(islice(json_lines(path), 1), None)
    return first is not None and "text" in first.content and any(str(key).startswith(_SCORES) for key in first.content)


def read_common(path: str) -> Iterator[Row]:
    """Return the rows as they were written; numbers are checked, further columns kept."""
    for row in json_lines(path):
        names = [str(name) for name in row.content]
        yield judgement(
            id=row.text("id"),
            system=row.optional_text("system"),
            domain=row.optional_text("domain"),
            text=row.optional_text("text"),
            references=row.texts("references"),
            source=row.optional_text("source"),
            scores={
                name.removeprefix(_SCORES): row.number(name) if row.has(name) else None
                for name in names
                if name.startswith(_SCORES)
            },
            ratings={name.removeprefix(_RATINGS): row.numbers(name) for name in names if name.startswith(_RATINGS)},
            **{
                name: row.content[name]
                for name in names
                if name not in _NAMED and not name.startswith((_SCORES, _RATINGS))
            },
        )
