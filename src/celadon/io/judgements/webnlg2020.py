"""WebNLG+ 2020 human evaluation: texts made from RDF triples, rated 0 to 100 on five dimensions.

Two layouts, neither of which has the texts: ``english_humeval_data_all_teams.json`` (also Russian) is a list with
submission_id, sample_id, category, size, domain (the kind of test item) and each dimension as a mean of z-scores; a
team's ``primary.json`` is an object from sample_id to worker to dimensions, 0 to 100. A file made from these with a
field text (and references, source) in each row of the list is read with it. Rows join with submissions by system
and id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from celadon.core import InputError
from celadon.io.judgements.files import whole_json
from celadon.io.judgements.rows import Fields, Row, judgement, mean

_NAMES = ("Correctness", "DataCoverage", "Fluency", "Relevance", "TextStructure")
# DataCoverage -> data_coverage
_PUBLIC = {name: re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in _NAMES}
DIMENSIONS = tuple(_PUBLIC.values())
PATTERN = "*_humeval_data_all_teams.json* */primary.json*"


def read(path: str) -> Iterator[Row]:
    """Rows of one file; of a team's file the system is the name of its folder."""
    content = whole_json(path)
    if isinstance(content, list):
        for number, item in enumerate(content, 1):
            yield _aggregated(Fields(f"{path}: item {number}", item))
    elif isinstance(content, dict):
        system = Path(path).parent.name
        for sample, workers in content.items():
            yield _single(Fields(f"{path}: item {sample}", workers), sample, system)
    else:
        raise InputError(f"{path}: a list of judgements is expected, or an object of samples")


def _aggregated(item: Fields) -> Row:
    return judgement(
        id=item.text("sample_id"),
        system=item.text("submission_id"),
        domain=item.optional_text("category"),
        text=item.optional_text("text"),
        references=item.texts("references"),
        source=item.optional_text("source"),
        scores={name: item.number(public) for public, name in _PUBLIC.items()},
    )


def _single(item: Fields, sample: str, system: str) -> Row:
    workers = [item.inner(worker) for worker in sorted(item.content)]
    ratings = {name: [worker.number(public) for worker in workers] for public, name in _PUBLIC.items()}
    scores = {name: mean(values) for name, values in ratings.items()}
    return judgement(id=sample, system=system, text=None, scores=scores, ratings=ratings)
