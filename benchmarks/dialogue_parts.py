"""Whether the order of the dialogue sets, or the choice of a reference, explains that our figures are not the papers'.

    python benchmarks/dialogue_parts.py --data JUDGEMENTS_FOLDER [--sets novikova2017_sfhot]

The files name no system, but the meaning representations begin again somewhere, as if one system followed another.
Prints Spearman of `celadon` and ROUGE-1 with the ratings, over all texts and within these two parts; of ROUGE-1 also
with the first and with the last reference alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from judgement_sets import rows_of

import celadon
from celadon.core import FloatArray, Sample
from celadon.meta.correlation import spearman

SETS = "novikova2017_sfhot"
QUESTIONS = ("naturalness", "quality")


def begins_again(sources: Sequence[str]) -> int:
    """Return from where on every meaning representation was seen before."""
    seen: set[str] = set()
    last_new = 0
    for at, source in enumerate(sources):
        last_new = last_new if source in seen else at
        seen.add(source)
    return last_new + 1


def scored(samples: Sequence[Sample], metric: str) -> FloatArray:
    """Return one score a sample."""
    scores = celadon.score([s.text for s in samples], [list(s.references) for s in samples], metrics=[metric])
    return np.asarray(scores[metric], dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default=SETS)
    arguments = parser.parse_args()
    for name in arguments.sets.split(","):
        rows = rows_of(arguments.data / f"{name}.jsonl.gz")
        ratings = {question: np.array([row[f"scores.{question}"] for row in rows]) for question in QUESTIONS}
        samples = [Sample(row["text"], tuple(dict.fromkeys(row["references"]))) for row in rows]
        cut = begins_again([row["source"] for row in rows])
        first = [replace(sample, references=sample.references[:1]) for sample in samples]
        last = [replace(sample, references=sample.references[-1:]) for sample in samples]
        columns = {"celadon": scored(samples, "celadon"), "rouge1": scored(samples, "rouge1")}
        columns |= {"rouge1, first reference": scored(first, "rouge1"), "rouge1, last": scored(last, "rouge1")}
        print(f"\n**{name}**: {cut} and {len(rows) - cut} texts\n\n| | {' | '.join(QUESTIONS)} |\n|---|---|---|")
        for metric, values in columns.items():
            cells = []
            for rating in ratings.values():
                parts = [spearman(values[part], rating[part]).value for part in (slice(cut), slice(cut, None))]
                cells.append(f"{spearman(values, rating).value:.3f} ({parts[0]:.3f}, {parts[1]:.3f})")
            print(f"| {metric}: all (first part, second part) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
