"""Sulem et al. 2018: simplifications, grammaticality and meaning 1 to 5, simplicity -2 to 2.

``structural_simplicity.csv`` (of the repository metaeval-simplification) has the columns sent_id, sys_name, orig_sent,
simp_sent, grammaticality, meaning, simplicity, structural_simplicity, means of three raters. Ours is JSON lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from celadon.io.judgements.files import json_lines, table
from celadon.io.judgements.plain_jsonl import plain_row
from celadon.io.judgements.rows import Row, judgement

DIMENSIONS = ("grammaticality", "meaning", "simplicity")
PATTERN = "sulem2018*.jsonl* structural_simplicity.csv* data/structural_simplicity.csv*"


def read(path: str) -> Iterator[Row]:
    """Rows of one file."""
    if ".csv" not in path.lower():
        for row in json_lines(path):
            yield plain_row(row)
        return
    for row in table(path, "sent_id", "sys_name", "orig_sent", "simp_sent", *DIMENSIONS):
        yield judgement(
            id=row.text("sent_id"),
            system=row.text("sys_name"),
            text=row.text("simp_sent"),
            source=row.text("orig_sent"),
            scores={name: row.number(name) for name in DIMENSIONS},
        )
