"""How likelihood metrics agree with people: every set at hand, every metric, one table, no selection.

    python benchmarks/likelihood_judgements.py --data JUDGEMENTS_FOLDER [--model builtin,smollm2]

Pearson / Spearman over single texts. The combiner is the support vector regression of `celadon train combine` on rougeL
and slor, trained on 500 texts (half where there are fewer than 1,000) and tested on the rest; every other figure of its
row is on the same rest.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from judgement_sets import SETS, Rated, read
from scipy.stats import pearsonr, spearmanr
from sklearn.svm import SVR

import celadon
from celadon.core import FloatArray

SMALL, TRAINED_ON = 1_000, 500
# what a likelihood may be expected to tell, where a set has more questions
LIKELIHOOD = {"chaganty2018_cnndm": ("grammar", "overall")}


def columns(rated: Rated, model: str) -> dict[str, FloatArray]:
    """The scores of every metric that can run on the set; ppl turned round."""
    option = "" if model == "builtin" else f"[model={model}]"
    names = [f"nce{option}", f"ppl{option}", f"slor{option}"]
    if model == "builtin":
        names += ["wpslor", "wordslor", "morcela"]
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
    parser.add_argument("--sets", default=",".join(SETS))
    arguments = parser.parse_args()
    names = ("nce", "ppl", "slor", "wpslor", "wordslor", "morcela", "rougeL", "rouge_lm", "combiner")
    print(f"| set, question | model | rows | n | {' | '.join(names)} |")
    print("|" + "---|" * (len(names) + 4))
    for file in arguments.sets.split(","):
        rated = read(arguments.data, file, LIKELIHOOD.get(file))
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
