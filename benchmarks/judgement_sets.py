"""The sets of human judgements that metrics are measured on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, Sample

# name: the questions, and which rows are left out
SETS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "novikova2017_bagel": (("naturalness", "quality"), {}),
    "novikova2017_sfhot": (("naturalness", "quality"), {}),
    "novikova2017_sfres": (("naturalness", "quality"), {}),
    "chaganty2018_cnndm": (("overall", "grammar", "redundancy", "hter"), {"system": "reference"}),
    "gug_train_dev": (("grammaticality",), {"split": "train"}),
    "sulem2018_simplification": (("grammaticality",), {}),
}


class Rated(NamedTuple):
    """The texts of a set, and their ratings by question."""

    samples: list[Sample]
    ratings: dict[str, FloatArray]


def read(folder: Path, name: str, questions: tuple[str, ...] | None = None) -> Rated:
    """Read a set without the rows that are left out; by default with all its questions."""
    known, left_out = SETS[name]
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if all(row.get(key) != value for key, value in left_out.items())]
    samples = []
    for row in rows:
        references = row.get("references") or ([row["reference"]] if row.get("reference") else [])
        samples.append(Sample(row["output"], tuple(references)))
    ratings = {
        q: np.array([row["scores"].get(q, np.nan) for row in rows], dtype=np.float64) for q in questions or known
    }
    return Rated(samples, ratings)
