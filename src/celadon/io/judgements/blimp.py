"""Warstadt et al. 2020, BLiMP: minimal pairs of an acceptable and an unacceptable sentence.

JSON lines, a file per paradigm: sentence_good, sentence_bad, UID (the paradigm), field, linguistics_term, pairID. Each
pair becomes two rows of one id, the systems ``good`` and ``bad``.
"""

from __future__ import annotations

from collections.abc import Iterator

from celadon.io.judgements.files import json_lines
from celadon.io.judgements.rows import Row, judgement

DIMENSIONS = ("acceptability",)
PATTERN = "*.jsonl* data/*.jsonl*"


def read(path: str) -> Iterator[Row]:
    """Rows of one file, the good sentence of each pair first."""
    for row in json_lines(path):
        paradigm = row.text("UID")
        for system, value in (("good", 1.0), ("bad", 0.0)):
            yield judgement(
                id=f"{paradigm}-{row.text('pairID', 'pair_id')}",
                system=system,
                domain=paradigm,
                text=row.text(f"sentence_{system}"),
                scores={DIMENSIONS[0]: value},
                field=row.optional_text("field"),
                term=row.optional_text("linguistics_term"),
            )
