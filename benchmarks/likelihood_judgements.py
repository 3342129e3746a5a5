"""How likelihood metrics agree with people: every set at hand, every metric, one table, no selection.

    python benchmarks/likelihood_judgements.py --data JUDGEMENTS_FOLDER [--model builtin,smollm2]

Pearson / Spearman over single texts. The combiner is the support vector regression of `celadon train combine` on rougeL
and slor, trained on 500 texts (half where there are fewer than 1,000) and tested on the rest; every other figure of its
row is on the same rest.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.svm import SVR

import celadon
from celadon.core import FloatArray, Sample

SETS = (
    ("novikova2017_bagel", ("naturalness", "quality"), {}),
    ("novikova2017_sfhot", ("naturalness", "quality"), {}),
    ("novikova2017_sfres", ("naturalness", "quality"), {}),
    ("chaganty2018_cnndm", ("grammar", "overall"), {"system": "reference"}),
    ("gug_train_dev", ("grammaticality",), {"split": "train"}),
    ("sulem2018_simplification", ("grammaticality",), {}),
)
SMALL, TRAINED_ON = 1_000, 500


class Rated(NamedTuple):
    """The texts of a set, and their ratings by question."""

    samples: list[Sample]
    ratings: dict[str, FloatArray]


def read(path: Path, questions: tuple[str, ...], left_out: dict[str, str]) -> Rated:
    """Read a set without the rows that have one of the ``left_out`` values."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if all(row.get(key) != value for key, value in left_out.items())]
    samples = []
    for row in rows:
        references = row.get("references") or ([row["reference"]] if row.get("reference") else [])
        samples.append(Sample(row["output"], tuple(references)))
    ratings = {q: np.array([row["scores"].get(q, np.nan) for row in rows], dtype=np.float64) for q in questions}
    return Rated(samples, ratings)


def columns(rated: Rated, model: str) -> dict[str, FloatArray]:
    """The scores of every metric that can run on the set; ppl turned round."""
    option = "" if model == "builtin" else f"[model={model}]"
    names = [f"nce{option}", f"ppl{option}", f"slor{option}"]
    if model == "builtin":
        names += ["wpslor", "morcela"]
    if any(sample.references for sample in rated.samples):
        names += ["rougeL", *(["rouge_lm"] if model == "builtin" else [])]
    scores = celadon.score(rated.samples, metrics=names)
    found = {name.partition("[")[0]: np.asarray(scores[name]) for name in names}
    return {name: -values if name == "ppl" else values for name, values in found.items()}


def combined(found: dict[str, FloatArray], rating: FloatArray) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Every column on the rows that the combiner is tested on, and the combiner."""
    features = np.stack([found["rougeL"], found["slor"]], axis=1)
    usable = np.flatnonzero(np.isfinite(features).all(axis=1) & np.isfinite(rating))
    order = np.random.default_rng(0).permutation(usable)
    cut = TRAINED_ON if len(order) >= SMALL else len(order) // 2
    train, test = order[:cut], order[cut:]
    predicted = SVR().fit(features[train], rating[train]).predict(features[test])
    return {"combiner": (predicted, rating[test])} | {n: (v[test], rating[test]) for n, v in found.items()}


def figures(values: FloatArray, rating: FloatArray) -> str:
    """Pearson / Spearman of the rows that have both."""
    both = np.isfinite(values) & np.isfinite(rating)
    return f"{pearsonr(values[both], rating[both])[0]:.3f} / {spearmanr(values[both], rating[both])[0]:.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--model", default="builtin,smollm2")
    arguments = parser.parse_args()
    names = ("nce", "ppl", "slor", "wpslor", "morcela", "rougeL", "rouge_lm", "combiner")
    print(f"| set, question | model | rows | n | {' | '.join(names)} |")
    print("|" + "---|" * (len(names) + 4))
    for file, questions, left_out in SETS:
        rated = read(arguments.data / f"{file}.jsonl.gz", questions, left_out)
        for model in arguments.model.split(","):
            found = columns(rated, model)
            for question, rating in rated.ratings.items():
                every = {name: (values, rating) for name, values in found.items()}
                kinds = {"all": every}
                if "rougeL" in found:
                    kinds["tested on"] = combined(found, rating)
                for kind, shown in kinds.items():
                    cells = [figures(*shown[name]) if name in shown else "" for name in names]
                    n = int(np.isfinite(next(iter(shown.values()))[1]).sum())
                    print(f"| {file} {question} | {model} | {kind} | {n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
