"""How good judges of sentences encoders are, and a teacher that one may learn from: nothing is chosen by it.

    python benchmarks/teacher.py [teacher.safetensors] --cola COLA_FOLDER --data JUDGEMENTS_FOLDER
        [--encoders builtin,FOLDER] [--sets A,B]

A teacher needs `celadon install train` and `celadon models fetch smollm2`. The area under the curve on CoLA's dev set,
Spearman with ratings (by default of GUG's dev part and Sulem); the texts of these are judged whole, not sentence by
sentence.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from judgement_sets import read

from celadon.core import FloatArray
from celadon.meta.correlation import spearman
from celadon.models.encoders.encoder import open_sentence_encoder
from celadon.train.combinations.ratings import area_under_curve
from celadon.train.encoders.teacher import open_teacher

SETS = "gug_train_dev,sulem2018_simplification"
Judge = Callable[[Sequence[str]], FloatArray]


def cola(path: Path) -> tuple[list[str], FloatArray]:
    """The sentences of CoLA and their labels."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row[3] for row in rows], np.array([float(row[1]) for row in rows])


def encoder_judge(name: str) -> Judge:
    """An encoder's acceptability."""
    encoder = open_sentence_encoder(name)
    return lambda texts: encoder.encode(list(texts)).acceptability


def main() -> None:
    """Ask both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher", type=Path, nargs="?")
    parser.add_argument("--cola", required=True, type=Path)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--encoders", default="builtin", help="names or folders, with commas between")
    parser.add_argument("--sets", default=SETS)
    arguments = parser.parse_args()
    judges: dict[str, Judge] = {name: encoder_judge(name) for name in arguments.encoders.split(",")}
    if arguments.teacher:
        judges["teacher"] = open_teacher(arguments.teacher).judge
    sentences, labels = cola(arguments.cola / "in_domain_dev.tsv")
    rated = {name: read(arguments.data, name) for name in arguments.sets.split(",")}
    texts = {"CoLA dev": sentences} | {name: [each.text for each in of.samples] for name, of in rated.items()}
    said: dict[tuple[str, str], FloatArray] = {}
    for name, judge in judges.items():
        said |= {(name, each): np.asarray(judge(of), dtype=np.float64) for each, of in texts.items()}
        told = [f"CoLA dev {area_under_curve(said[name, 'CoLA dev'], labels > 0.5):.3f}"]
        for each, of in rated.items():
            told += [
                f"{each} {what} {spearman(said[name, each], rating).value:.3f}" for what, rating in of.ratings.items()
            ]
        print(f"{name}: {', '.join(told)}", flush=True)
    for name in arguments.encoders.split(",") if arguments.teacher else ():
        alike = [f"{each} {spearman(said['teacher', each], said[name, each]).value:.3f}" for each in texts]
        print(f"{name} with the teacher, Spearman: {', '.join(alike)}")


if __name__ == "__main__":
    main()
