"""Chaganty et al. 2018, "The price of debiasing automatic metrics": CNN/Daily Mail summaries, rated -1 to 1.

Four layouts of JSON lines. The release (``lqual.jsonl``) has input.contents (id, system, text, reference) and output
(grammar, redundancy, overall, hter and more, with the single answers in _responses, which are not read). Its processed
form has id, system and prompts, each dimension with gold (the mean) and human (the ratings), and no texts. The
repository summary-reward-no-reference has it beside ``samples.jsonl`` (id, sys_name, sys_summ, ref and scores), whose
ratings are taken from it. Ours has output, reference, scores and ratings.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from celadon.core import InputError
from celadon.io.judgements.files import data_files, json_lines
from celadon.io.judgements.plain_jsonl import is_plain, plain_row
from celadon.io.judgements.rows import Fields, Row, judgement

Ratings: TypeAlias = dict[tuple[str, str], dict[str, list[float]]]
DIMENSIONS = ("grammar", "redundancy", "overall", "hter")
PATTERN = "chaganty2018*.jsonl* samples.jsonl* lqual.jsonl*"
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
    ratings: Ratings | None = None
    for row in json_lines(path):
        if row.has("sys_summ"):
            ratings = _ratings_beside(path) if ratings is None else ratings
            found = _sampled(row, ratings)
        else:
            found = plain_row(row) if is_plain(row) else _processed(row) if row.has("prompts") else _released(row)
        if with_references or found["system"] != REFERENCE:
            yield found


def _ratings_beside(path: str) -> Ratings:
    """Single ratings by article and system, from the processed file of the same folder; empty without it."""
    try:
        (beside,) = data_files(str(Path(path).parent), "lqual.jsonl*")
    except (InputError, ValueError):
        return {}
    rows = (_processed(row) for row in json_lines(beside))
    # where a summary was rated twice, the later ratings count, for both
    return {(row["id"], row["system"]): {name: row.get(f"ratings.{name}", []) for name in DIMENSIONS} for row in rows}


def _sampled(row: Fields, ratings: Ratings) -> Row:
    given, system = row.inner("scores"), row.text("sys_name")
    return judgement(
        id=row.text("id"),
        system=system,
        text=row.text("sys_summ"),
        references=row.texts("ref"),
        scores={name: given.number(name) if given.has(name) else None for name in DIMENSIONS},
        ratings=ratings.get((row.text("id"), system), {name: [] for name in DIMENSIONS}),
    )


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
