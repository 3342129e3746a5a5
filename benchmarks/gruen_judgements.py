"""How `gruen` and `celadon` agree with people: every set at hand, every tier that runs, every ablation.

    python benchmarks/gruen_judgements.py --data JUDGEMENTS_FOLDER [--tiers builtin,standard] [--scores FILE.json]

Spearman with its 95 % interval (bootstrap over texts) and Pearson, beside the paper's. Nothing is chosen on
these sets: what there was to choose was chosen on CoLA, GUG's training part, Sulem's texts and damaged Wikipedia.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from judgement_sets import SETS, read

import celadon
from celadon.core import FloatArray
from celadon.meta.bootstrap import bootstrap
from celadon.meta.correlation import pearson
from celadon.metrics.gruen.models import WEIGHTS
from celadon.metrics.reading.weights import COHERENCE, FOCUS, GRAMMATICALITY, REDUNDANCY, weights_of

# GRUEN's figures in the paper's tables 2 and 3: Spearman, Pearson
PAPER = {
    ("novikova2017_bagel", "naturalness"): "0.22",
    ("novikova2017_bagel", "quality"): "0.19",
    ("novikova2017_sfhot", "naturalness"): "0.44",
    ("novikova2017_sfhot", "quality"): "0.44",
    ("novikova2017_sfres", "naturalness"): "0.24",
    ("novikova2017_sfres", "quality"): "0.27",
    ("chaganty2018_cnndm", "overall"): "0.52 / 0.54",
    ("chaganty2018_cnndm", "grammar"): "0.43 / 0.40",
    ("chaganty2018_cnndm", "redundancy"): "0.52 / 0.58",
    ("chaganty2018_cnndm", "hter"): "-0.60 / -0.58",
}
RESAMPLES = 1_000
ASPECTS = (GRAMMATICALITY, REDUNDANCY, FOCUS, COHERENCE)
"""Those that both metrics have."""


def columns(samples: list[celadon.Sample], tier: str) -> dict[str, FloatArray]:
    """Both metrics, their aspects, and the ablations."""
    option = "" if tier == "builtin" else f"[tier={tier}]"
    scores = celadon.score(samples, metrics=[f"gruen{option}", f"celadon{option}"])
    found: dict[str, FloatArray] = {}
    for metric in ("gruen", "celadon"):
        found[metric] = np.asarray(scores[metric + option])
        for aspect in ASPECTS:
            found[f"{metric}.{aspect}"] = np.asarray(scores[f"{metric}{option}.{aspect}"])
    weights = weights_of(tier)
    for many in range(1, len(ASPECTS)):
        chosen = ASPECTS[:many]
        letters = "".join(aspect[0].upper() for aspect in chosen)
        added = sum(getattr(WEIGHTS, aspect) * found[f"gruen.{aspect}"] for aspect in chosen)
        found[f"gruen {letters}"] = np.clip(added, 0, 1)
        found[f"celadon {letters}"] = weights.score({aspect: found[f"celadon.{aspect}"] for aspect in chosen})
    return found


def cell(values: FloatArray, rating: FloatArray) -> str:
    """Spearman, its interval, Pearson."""
    both = np.isfinite(values) & np.isfinite(rating)
    x, y = values[both], rating[both]
    if np.ptp(x) == 0:
        return "constant"
    found = bootstrap(x, y, kind="spearman", resamples=RESAMPLES, seed=1)
    return f"{found.value:.3f} [{found.low:.2f}, {found.high:.2f}] / {pearson(x, y).value:.3f}"


def main() -> None:
    """Print a table per set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--tiers", default="builtin")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--scores", type=Path, help="keep the scores here too")
    arguments = parser.parse_args()
    kept: dict[str, dict[str, list[float]]] = {}
    for name in arguments.sets.split(","):
        rated = read(arguments.data, name)
        questions = list(rated.ratings)
        print(f"\n**{name}**, {len(rated.samples):,} texts\n\n| | {' | '.join(questions)} |")
        print("|" + "---|" * (1 + len(questions)))
        print(f"| GRUEN in the paper | {' | '.join(PAPER.get((name, q), '') for q in questions)} |")
        for tier in arguments.tiers.split(","):
            found = columns(rated.samples, tier)
            kept[f"{name} {tier}"] = {metric: values.tolist() for metric, values in found.items()}
            for metric, values in found.items():
                cells = [cell(values, rating) for rating in rated.ratings.values()]
                print(f"| {metric}, {tier} | {' | '.join(cells)} |", flush=True)
    if arguments.scores:
        arguments.scores.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
