"""Fabbri et al. 2021, SummEval: CNN/Daily Mail summaries of 16 systems, rated 1 to 5 by 3 experts and 5 workers.

``model_annotations.aligned.jsonl``, or the same paired with the articles: id, model_id, decoded, expert_annotations and
turker_annotations (lists of an object with the four dimensions), references (the first is the original) and, when
paired, text (the article).
"""

from __future__ import annotations

from collections.abc import Iterator

from celadon.io.judgements.files import json_lines
from celadon.io.judgements.rows import Fields, Row, judgement, mean

DIMENSIONS = ("coherence", "consistency", "fluency", "relevance")
PATTERN = "model_annotations.aligned.paired.jsonl* model_annotations.aligned.jsonl*"


def read(path: str) -> Iterator[Row]:
    """Rows of one file: the experts' means under the dimension's name, the workers' under ``turker_`` and its name."""
    for row in json_lines(path):
        ratings = _ratings(row, "expert_annotations", "")
        if row.has("turker_annotations"):
            ratings |= _ratings(row, "turker_annotations", "turker_")
        yield judgement(
            id=row.text("id"),
            system=row.text("model_id"),
            domain=row.text("id").partition("-")[0],
            text=row.text("decoded"),
            references=row.texts("references") or row.texts("reference"),
            source=row.optional_text("text"),
            scores={name: mean(values) for name, values in ratings.items()},
            ratings=ratings,
        )


def _ratings(row: Fields, which: str, prefix: str) -> dict[str, list[float]]:
    people = row.objects(which)
    return {prefix + name: [person.number(name) for person in people] for name in DIMENSIONS}
