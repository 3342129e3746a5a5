"""Does the analysis find a known correlation again? Simulated people of known noise in the experiment of 2000.

Each study has the example's 24 items and 10 people. Qualities and a metric are drawn with a correlation of 0.8; a
person feels the quality with noise, has a middle and a spread of their own, and answers in whole numbers from 1 to 7.
What noise leaves of the correlation is known from test theory, and a 95 % interval should nearly always hold it. The
report draws whole cells again, and six of them are few: ``--cells`` makes a larger study of four variants each.

    python benchmarks/judge_known_correlation.py --studies 200
    python benchmarks/judge_known_correlation.py --studies 200 --cells 60
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.judge.test_analysis import NOISE, SCALE, expected_correlation, known_truth

from celadon.io import write_json_rows
from celadon.judge.analysis import rated_table
from celadon.judge.conduct import Collected
from celadon.judge.experiment import Experiment, new_experiment
from celadon.judge.store import Answer, Rating
from celadon.meta.fisher import fisher_interval
from celadon.meta.study import make_study
from celadon.meta.table import make_table

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "judge-2000"
PEOPLE = 10


def one_study(experiment: Experiment, seed: int, resamples: int) -> tuple[float, float, float, float, float]:
    """The correlation found, its bootstrap interval, and the interval of Fisher."""
    quality, metric = known_truth([item.key for item in experiment.items], seed)
    draw = np.random.default_rng(seed + 10**6)
    ratings = []
    for person in range(PEOPLE):
        middle, spread = 4 + draw.normal(0, 0.4), SCALE * draw.uniform(0.8, 1.2)
        for item in experiment.items:
            felt = middle + spread * (quality[item.key] + NOISE * draw.standard_normal())
            answer = Answer(float(np.clip(round(felt), 1, 7)))
            ratings += [
                Rating(f"P{person}", item.key, q.name, 0, answer, 0.0, 0) for q in experiment.config.questions[:1]
            ]
    collected = Collected((), {}, (), ratings, {}, ())
    rows = rated_table(experiment, collected).rows
    for row, item in zip(rows, experiment.items, strict=True):
        row["known"] = metric[item.key]
    table = make_table(rows, humans=["understandability"], metrics=["known"])
    study = make_study(table, resamples=resamples, seed=seed)
    row = next(row for row in study.correlations if row.level == "instance" and not row.group)
    by_fisher = fisher_interval(row.value, row.used)
    return row.value, row.low, row.high, by_fisher.low, by_fisher.high


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--studies", type=int, default=200)
    options.add_argument("--cells", type=int, default=0, help="as many cells of four variants, not the example's six")
    options.add_argument("--resamples", type=int, default=1000)
    arguments = options.parse_args()
    truth = expected_correlation(PEOPLE)
    with tempfile.TemporaryDirectory() as folder:
        items = Path(folder) / "items.jsonl" if arguments.cells else EXAMPLE / "items.jsonl"
        rows = [{"id": f"{c}-{v}", "cell": f"{c}", "text": "A text."} for c in range(arguments.cells) for v in range(4)]
        if rows:
            write_json_rows(str(items), rows)
        config = EXAMPLE / "experiment.toml"
        experiment, _ = new_experiment(Path(folder) / "study", str(items), None, config=config)
        studies = tqdm(range(arguments.studies), unit=" studies", disable=None)
        found = np.array([one_study(experiment, seed, arguments.resamples) for seed in studies])
    inside = np.mean((found[:, 1] <= truth) & (truth <= found[:, 2]))
    inside_fisher = np.mean((found[:, 3] <= truth) & (truth <= found[:, 4]))
    error = found[:, 0].std(ddof=1) / math.sqrt(len(found))
    mean = found[:, 0].mean()
    print(f"known correlation {truth:.4f}; mean of {len(found)} studies {mean:.4f} (standard error {error:.4f})")
    print(f"the 95 % interval of the report holds it in {inside:.1%} of them, that of Fisher in {inside_fisher:.1%}")


if __name__ == "__main__":
    main()
