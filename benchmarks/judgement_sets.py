"""The sets of human judgements that metrics are measured on."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, Sample
from celadon.io.judgements import Row, load

# name: the questions, and which domains are left out
SETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "novikova2017_bagel": (("naturalness", "quality"), ()),
    "novikova2017_sfhot": (("naturalness", "quality"), ()),
    "novikova2017_sfres": (("naturalness", "quality"), ()),
    "chaganty2018_cnndm": (("overall", "grammar", "redundancy", "hter"), ()),
    "gug_train_dev": (("grammaticality",), ("train",)),
    "sulem2018_simplification": (("grammaticality",), ()),
}


class Rated(NamedTuple):
    """The texts of a set, and their ratings by question."""

    samples: list[Sample]
    ratings: dict[str, FloatArray]


def rows_of(path: Path) -> list[Row]:
    """Read a file of judgements, named after its set, in any layout that `celadon meta load` knows."""
    return list(load(path.name.partition("_")[0], str(path)))


def read(folder: Path, name: str, questions: tuple[str, ...] | None = None) -> Rated:
    """Read a set without the rows that are left out; by default with all its questions."""
    known, left_out = SETS[name]
    rows = [row for row in rows_of(folder / f"{name}.jsonl.gz") if row["domain"] not in left_out]
    samples = [Sample(row["text"], tuple(row["references"])) for row in rows]
    ratings = {
        question: np.array([row.get(f"scores.{question}") for row in rows], dtype=np.float64)
        for question in questions or known
    }
    return Rated(samples, ratings)
