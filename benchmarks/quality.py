"""`sumqe` against people: what comes with the package on sets of judgements, and heads trained on others of them.

    python benchmarks/quality.py shipped --data JUDGEMENTS [--sets A,B] [--limit N]
    python benchmarks/quality.py trained --data JUDGEMENTS --cola COLA_FOLDER [--limit N]

``shipped`` prints Spearman and Pearson of `sumqe`, of each of its heads and of `celadon` with every rating; by default
on GUG's and Sulem's. Name the sets that nothing was chosen on with --sets, once, at the end. ``trained`` leaves each
research set out in turn and predicts it from the others, by the encoder's vectors, by the named features and by both,
for single tasks and together (with Sulem's meaning and simplicity): measurement only, since GUG and Sulem are not for
shipped weights.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from judgement_sets import SETS, read

import celadon
from celadon.core import FloatArray
from celadon.meta.correlation import pearson, spearman
from celadon.metrics.reading.features import ReadingModels
from celadon.metrics.sumqe import QUESTIONS
from celadon.train.combinations.rated_sets import RatedSet, read_sets
from celadon.train.combinations.ridge import SHARES
from celadon.train.combinations.sumqe import held_out_figures, measure

RESEARCH = ("gug_train_dev", "sulem2018_simplification")
QUESTION = "grammaticality"


def cell(values: FloatArray, ratings: FloatArray) -> str:
    """Spearman and Pearson."""
    both = np.isfinite(values) & np.isfinite(ratings)
    x, y = values[both], ratings[both]
    return f"{spearman(x, y).value:.3f} / {pearson(x, y).value:.3f}" if np.ptp(x) else "constant"


def shipped(folder: Path, names: list[str], limit: int | None) -> None:
    """Print a table per set."""
    for name in names:
        rated = read(folder, name)
        samples = rated.samples[:limit]
        scores = celadon.score(samples, metrics=["sumqe", "celadon"])
        columns = {"sumqe": scores["sumqe"], **{head: scores[f"sumqe.{head}"] for head in QUESTIONS}}
        columns["celadon"] = scores["celadon"]
        print(f"\n**{name}**, {len(samples):,} texts\n\n| | {' | '.join(rated.ratings)} |")
        print("|" + "---|" * (1 + len(rated.ratings)))
        for metric, values in columns.items():
            cells = [cell(np.asarray(values), ratings[:limit]) for ratings in rated.ratings.values()]
            print(f"| {metric} | {' | '.join(cells)} |", flush=True)


def trained(folder: Path, cola: Path | None, limit: int | None) -> None:
    """Print the figures of sets left out."""
    sets = read_sets([str(folder / f"{name}.jsonl.gz") for name in RESEARCH])
    if cola is not None:
        # the labels stand for the same question; the training sentences taught the encoder
        labelled = read_sets([str(cola / "in_domain_dev.tsv")])[0]
        renamed = {QUESTION: next(iter(labelled.ratings.values()))}
        sets.append(replace(labelled, ratings=renamed, scales={QUESTION: (0.0, 1.0)}))
    measured = measure([cut(each, limit) for each in sets], ReadingModels())
    print("| left out | features | single: rho / r | multi: rho / r | n |\n|---|---|---|---|---|")
    for features in SHARES:
        found = held_out_figures(measured, [each.name for each in sets], features)
        for one, two in zip(found[::2], found[1::2], strict=True):
            cells = " | ".join(f"{each.spearman:.3f} / {each.pearson:.3f}" for each in (one, two))
            print(f"| {one.held_out} | {features} | {cells} | {one.n:,} |", flush=True)


def cut(rated: RatedSet, limit: int | None) -> RatedSet:
    """The first texts of a set."""
    own = {name: values[:limit] for name, values in rated.ratings.items()}
    return replace(rated, texts=rated.texts[:limit], items=rated.items[:limit], ratings=own)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("shipped", "trained"))
    parser.add_argument("--data", required=True, type=Path, help="the folder of judgements")
    parser.add_argument("--sets", default=",".join(RESEARCH), help=f"for shipped: of {', '.join(SETS)}")
    parser.add_argument("--cola", type=Path, help="for trained: the folder of CoLA")
    parser.add_argument("--limit", type=int, help="texts of each set")
    arguments = parser.parse_args()
    if arguments.what == "shipped":
        shipped(arguments.data, arguments.sets.split(","), arguments.limit)
    else:
        trained(arguments.data, arguments.cola, arguments.limit)


if __name__ == "__main__":
    main()
