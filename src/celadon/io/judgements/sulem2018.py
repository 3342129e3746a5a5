"""Sulem et al. 2018: simplifications, grammaticality and meaning 1 to 5, simplicity -2 to 2. Our JSON lines only."""

from __future__ import annotations

from collections.abc import Iterator

from celadon.io.judgements.files import json_lines
from celadon.io.judgements.plain_jsonl import plain_row
from celadon.io.judgements.rows import Row

DIMENSIONS = ("grammaticality", "meaning", "simplicity")
PATTERN = "sulem2018*.jsonl*"


def read(path: str) -> Iterator[Row]:
    """Rows of one file."""
    for row in json_lines(path):
        yield plain_row(row)
