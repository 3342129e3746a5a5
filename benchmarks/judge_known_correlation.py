"""Does the analysis find a known correlation again? Simulated people of known noise in the experiment of 2000.

Each study has the example's 24 items and 10 people. Qualities and a metric are drawn with a correlation of 0.8; a
person feels the quality with noise, has a middle and a spread of their own, and answers in whole numbers from 1 to 7.
What noise leaves of the correlation is known, and a 95 % interval should hold it 95 times in 100.
The report draws whole cells again, and six of them are few: plain percentiles, shown beside its own expanded ones, are
then too near. ``--cells`` makes a study of another size, of four variants a cell.

    python benchmarks/judge_known_correlation.py --studies 200
    python benchmarks/judge_known_correlation.py --studies 200 --cells 12
    python benchmarks/judge_known_correlation.py --studies 200 --cells 60
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.judge.test_analysis import NOISE, SCALE, expected_correlation, known_truth

from celadon.core import FloatArray
from celadon.io import write_json_rows
from celadon.judge.analysis import rated_table
from celadon.judge.conduct import Collected
from celadon.judge.experiment import Experiment, new_experiment
from celadon.judge.store import Answer, Rating
from celadon.meta.bootstrap import bootstrap
from celadon.meta.correlation import Kind
from celadon.meta.significance import fisher_interval
from celadon.meta.study import make_study
from celadon.meta.table import make_table

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "judge-2000"
PEOPLE = 10
KIND: Kind = "pearson"


class Found(NamedTuple):
    """The correlation found, and its intervals: of the report, of plain percentiles of the same draws, of Fisher."""

    value: float
    intervals: tuple[tuple[float, float], ...]


INTERVALS = ("the report (expanded percentiles)", "plain percentiles", "Fisher, as if all texts were independent")


def answers(quality: FloatArray, draw: np.random.Generator) -> FloatArray:
    """What simulated people say, person by person, of texts of known quality."""
    said = []
    for _ in range(PEOPLE):
        middle, spread = 4 + draw.normal(0, 0.4), SCALE * draw.uniform(0.8, 1.2)
        felt = middle + spread * (quality + NOISE * draw.standard_normal(len(quality)))
        said.append(np.clip(np.round(felt), 1, 7))
    return np.array(said)


def found_in_the_limit(groups: int = 100, texts: int = 20_000) -> float:
    """The mean correlation of studies so large that chance plays no part.

    A little less than test theory says, which knows nothing of a scale that ends at 1 and 7.
    """
    draw, values = np.random.default_rng(2000), []
    for group in range(groups):
        quality, metric = (np.array(list(column.values())) for column in known_truth(list(range(texts)), group))
        said = answers(quality, draw)
        normalised = (said - said.mean(axis=1, keepdims=True)) / said.std(axis=1, keepdims=True)
        values.append(np.corrcoef(normalised.mean(axis=0), metric)[0, 1])
    return float(np.mean(values))


def one_study(experiment: Experiment, seed: int, resamples: int) -> Found:
    """A study by simulated people."""
    keys = [item.key for item in experiment.items]
    quality, metric = known_truth(keys, seed)
    said = answers(np.array([quality[key] for key in keys]), np.random.default_rng(seed + 10**6))
    question = experiment.config.questions[0].name
    ratings = [
        Rating(f"P{person}", key, question, 0, Answer(float(number)), 0.0, 0)
        for person, numbers in enumerate(said)
        for key, number in zip(keys, numbers, strict=True)
    ]
    collected = Collected((), {}, (), ratings, {}, ())
    rows = rated_table(experiment, collected).rows
    for row, item in zip(rows, experiment.items, strict=True):
        row["known"] = metric[item.key]
    table = make_table(rows, humans=["understandability"], metrics=["known"])
    study = make_study(
        table, kind=KIND, levels=["instance"], groups=(), parts=["correlations"], resamples=resamples, seed=seed
    )
    row = next(row for row in study.correlations if row.level == "instance" and not row.group)
    plain = bootstrap(
        table.good("known"),
        table.good("understandability"),
        items=table.items,
        kind=KIND,
        method="percentile",
        resamples=resamples,
        seed=seed,
    )
    if plain.value != row.value:
        raise SystemExit("the report and the bootstrap do not speak of the same correlation")
    by_fisher = fisher_interval(row.value, row.used)
    return Found(row.value, ((row.low, row.high), (plain.low, plain.high), (by_fisher.low, by_fisher.high)))


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--studies", type=int, default=200)
    options.add_argument("--cells", type=int, default=0, help="as many cells of four variants, not the example's six")
    options.add_argument("--resamples", type=int, default=1000)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        items = Path(folder) / "items.jsonl" if arguments.cells else EXAMPLE / "items.jsonl"
        rows = [{"id": f"{c}-{v}", "cell": f"{c}", "text": "A text."} for c in range(arguments.cells) for v in range(4)]
        if rows:
            write_json_rows(str(items), rows)
        config = EXAMPLE / "experiment.toml"
        experiment, _ = new_experiment(Path(folder) / "study", str(items), None, config=config)
        studies = tqdm(range(arguments.studies), unit=" studies", disable=None)
        found = [one_study(experiment, seed, arguments.resamples) for seed in studies]
    _print(found)


def _print(found: Sequence[Found]) -> None:
    values = np.array([study.value for study in found])
    error = values.std(ddof=1) / math.sqrt(len(values))
    print(f"mean correlation of {len(values)} studies {values.mean():.4f} (standard error {error:.4f})")
    theory, limit = expected_correlation(PEOPLE), found_in_the_limit()
    print(f"known correlation: {limit:.4f}; by test theory, for a scale without ends, {theory:.4f}")
    for name, ends in zip(INTERVALS, np.array([study.intervals for study in found]).transpose(1, 2, 0), strict=True):
        inside, of_theory = (np.mean((ends[0] <= truth) & (truth <= ends[1])) for truth in (limit, theory))
        print(
            f"95 % interval of {name}: holds it in {inside:.1%} (that of theory in {of_theory:.1%}), "
            f"mean width {np.mean(ends[1] - ends[0]):.3f}"
        )


if __name__ == "__main__":
    main()
