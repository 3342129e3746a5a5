"""Heilman et al. 2014, Grammatical vs. Ungrammatical: sentences of learners, grammaticality 1 to 4.

``gug_annotations.tsv`` (or .csv) has the columns Id, Sentence, Expert Judgement, Crowd Flower Judgements (a list of
five), Average (of all six) and Dataset (train, dev, test, none). Ours is JSON lines with split and expert. Sentences
that were not judged (0 of the expert, an empty list, ``none``) are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from celadon.io.judgements.files import json_lines, table
from celadon.io.judgements.plain_jsonl import plain_row
from celadon.io.judgements.rows import Fields, Row, judgement

DIMENSIONS = ("grammaticality",)
PATTERN = "gug_annotations.tsv* gug_annotations.csv* gug*.jsonl*"

_DIMENSION = DIMENSIONS[0]
_CROWD = "Crowd Flower Judgements"


def read(path: str) -> Iterator[Row]:
    """Rows of one file: the score is the published average, which has the expert in it; ratings are the crowd's."""
    if ".jsonl" in path.lower():
        for row in json_lines(path):
            expert = row.number("expert") if row.has("expert") else None
            yield plain_row(row, row.optional_text("split"), expert=expert)
        return
    for row in table(path, "Id", "Sentence", "Expert Judgement", _CROWD, "Average", "Dataset"):
        ratings = _list(row)
        if not ratings:
            continue
        yield judgement(
            id=row.text("Id"),
            domain=row.text("Dataset"),
            text=row.text("Sentence"),
            scores={_DIMENSION: row.number("Average")},
            ratings={_DIMENSION: ratings},
            expert=row.number("Expert Judgement"),
        )


def _list(row: Fields) -> list[float]:
    try:
        found = json.loads(row.text(_CROWD))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise row.wrong(f"{_CROWD!r} is no list of numbers: {row.text(_CROWD)[:40]!r}")
    return [row.as_number(value, _CROWD) for value in found]
