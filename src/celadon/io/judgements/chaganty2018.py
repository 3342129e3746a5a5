"""Chaganty et al. 2018, "The price of debiasing automatic metrics": CNN/Daily Mail summaries, rated -1 to 1.

Three layouts of JSON lines. The release (``lqual.jsonl``) has input.contents (id, system, text, reference) and output
(grammar, redundancy, overall, hter and more, with the single answers in _responses, which are not read). Its processed
form has id, system and prompts, each dimension with gold (the mean) and human (the ratings), and no texts. Ours has
output, reference, scores and ratings.
"""

from __future__ import annotations

from collections.abc import Iterator

from celadon.io.judgements.files import json_lines
from celadon.io.judgements.plain_jsonl import is_plain, plain_row
from celadon.io.judgements.rows import Fields, Row, judgement

DIMENSIONS = ("grammar", "redundancy", "overall", "hter")
PATTERN = "chaganty2018*.jsonl* lqual.jsonl*"
REFERENCE = "reference"


def read(path: str, *, with_references: bool = False) -> Iterator[Row]:
    """Rows of one file.

    Parameters
    ----------
    path
        The file.
    with_references
        Whether to keep the references that were judged as if a system had made them; the GRUEN paper leaves them out.
    """
    for row in json_lines(path):
        found = plain_row(row) if is_plain(row) else _processed(row) if row.has("prompts") else _released(row)
        if with_references or found["system"] != REFERENCE:
            yield found


def _released(row: Fields) -> Row:
    contents, output = row.inner("input").inner("contents"), row.inner("output")
    return judgement(
        id=contents.text("id"),
        system=contents.text("system"),
        text=contents.text("text"),
        references=contents.texts("reference"),
        scores={name: output.number(name) if output.has(name) else None for name in DIMENSIONS},
    )


def _processed(row: Fields) -> Row:
    prompts = row.inner("prompts")
    given = {name: prompts.inner(name) for name in DIMENSIONS if prompts.has(name)}
    return judgement(
        id=row.text("id"),
        system=row.text("system"),
        text=None,
        scores={name: of.number("gold") for name, of in given.items()},
        ratings={name: of.numbers("human") for name, of in given.items()},
    )
