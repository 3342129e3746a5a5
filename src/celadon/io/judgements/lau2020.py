"""Lau et al. 2020: acceptability 1 to 4 of sentences by themselves, after a random and after their own context.

``context-none-ratings.csv`` has the columns ID, translated, source-language, sentence, full-ratings (a list) and
mean-ratings; ``context-random-ratings.csv`` and ``context-real-ratings.csv`` have context too, its sentences with tabs
between them. The three are joined by ID. Ours is JSON lines, with the number of ratings in the place of the ratings.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from celadon.io.judgements.files import json_lines, table
from celadon.io.judgements.rows import Fields, Row, judgement

_CONTEXTS = ("none", "random", "real")
DIMENSIONS = tuple(f"acceptability_{context}" for context in _CONTEXTS)
PATTERN = "lau2020*.jsonl* context-none-ratings.csv* human-ratings/context-none-ratings.csv*"


def read(path: str) -> Iterator[Row]:
    """Rows of one file; ``context-none-ratings.csv`` is joined with the other two of its folder."""
    if ".csv" not in path.lower():
        yield from map(_ours, json_lines(path))
        return
    others = {context: _by_id(path, context) for context in _CONTEXTS[1:]}
    for row in table(path, "ID", "source-language", "sentence", "full-ratings", "mean-ratings"):
        rows = {_CONTEXTS[0]: row}
        rows |= {context: known[row.text("ID")] for context, known in others.items() if row.text("ID") in known}
        yield judgement(
            id=row.text("ID"),
            system=_system(row.text("source-language")),
            domain=row.text("source-language"),
            text=row.text("sentence"),
            scores={
                f"acceptability_{context}": rows[context].number("mean-ratings") if context in rows else None
                for context in _CONTEXTS
            },
            ratings={
                f"acceptability_{context}": _ratings(rows[context]) if context in rows else [] for context in _CONTEXTS
            },
            contexts={name: of.text("context").replace("\t", " ") for name, of in rows.items() if of.has("context")},
        )


def _ours(row: Fields) -> Row:
    scores, language = row.inner("scores"), row.text("language")
    return judgement(
        id=row.text("id"),
        system=row.text("system"),
        domain=language,
        text=row.text("output"),
        scores={name: scores.number(name) if scores.has(name) else None for name in DIMENSIONS},
        contexts=dict(row.inner("contexts").content),
    )


def _by_id(path: str, context: str) -> dict[str, Fields]:
    name = Path(path).name.replace(f"-{_CONTEXTS[0]}-", f"-{context}-")
    beside = Path(path).with_name(name)
    if name == Path(path).name or not beside.is_file():
        return {}
    return {row.text("ID"): row for row in table(str(beside), "ID", "context", "full-ratings", "mean-ratings")}


def _system(language: str) -> str:
    return "original" if language == "en" else f"round trip {language}"


def _ratings(row: Fields) -> list[float]:
    return [row.as_number(value, "full-ratings") for value in row.text("full-ratings").split(",")]
