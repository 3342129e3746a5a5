"""How far the intervals of ``celadon meta audit`` can be trusted, in worlds whose truth is known, and how fast it is.

    python benchmarks/audit_simulation.py --runs 1000
    python benchmarks/audit_simulation.py --speed

A world has texts of two systems for each item. Three raters and three runs of a judge see a text's quality with errors
of the same size, rounded to 1 to 5; the judge's errors are shared within an item and a text. Longer texts are better on
average. The truth of every figure is that of 400,000 texts, with ratings that have no error where the figure is of true
quality. Coverage is the share of runs whose 95% interval holds the truth.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from celadon.core import FloatArray
from celadon.meta.judges import JudgeAudit, audit_table
from celadon.meta.judges.inputs import JudgeTable

LABELS = (20, 50, 100, 500)
TEXTS = 1_000
GATE = 3.5
RATER = 0.8
# item, text and run: together as large as a rater's
JUDGE = (0.3, 0.45, float(np.sqrt(RATER**2 - 0.3**2 - 0.45**2)))
SYSTEMS = ("plain", "tuned")


class World(NamedTuple):
    """Texts with scores, ratings, and what a rater would say on average."""

    item: FloatArray
    system: FloatArray
    runs: FloatArray
    ratings: FloatArray
    expected: FloatArray
    length: FloatArray


def draw(items: int, rng: np.random.Generator, length_bias: float, lenient: float) -> World:
    """Draw a world of two texts for each item."""
    texts = 2 * items
    item, system = np.repeat(np.arange(items), 2), np.tile([0, 1], items)
    quality = 3 + 0.25 * system + rng.normal(0, 0.5, items)[item] + rng.normal(0, 0.7, texts)
    length = 6 + 0.6 * (quality - 3) + rng.normal(0, 0.8, texts)
    seen = quality + length_bias * (length - 6) + lenient
    seen += rng.normal(0, JUDGE[0], items)[item] + rng.normal(0, JUDGE[1], texts)
    runs = seen[:, None] + rng.normal(0, JUDGE[2], (texts, 3))
    ratings = quality[:, None] + rng.normal(0, RATER, (texts, 3))
    steps = np.arange(1.5, 5)
    expected = 1 + stats.norm.sf((steps - quality[:, None]) / RATER).sum(axis=1)
    return World(item, system, likert(runs), likert(ratings), expected, length)


def likert(values: FloatArray) -> FloatArray:
    """Round to 1 to 5."""
    return np.clip(np.round(values), 1, 5)


def truths(world: World) -> dict[str, float]:
    """The figures of a very large world."""
    judge, rating = world.runs.mean(axis=1), world.ratings.mean(axis=1)
    first, second = world.runs[:, 0] >= GATE, world.runs[:, 1] >= GATE
    design = np.column_stack([np.ones(len(judge)), world.expected, world.length])
    (_, _, length), *_ = np.linalg.lstsq(design, judge, rcond=None)
    (_, slope), *_ = np.linalg.lstsq(design[:, :2], judge, rcond=None)
    says, true = judge >= GATE, rating >= GATE
    chance = says.mean() * true.mean() + (1 - says.mean()) * (1 - true.mean())
    plain, tuned = (float(world.expected[world.system == which].mean()) for which in (0, 1))
    return {
        "correlation": float(np.corrcoef(judge, rating)[0, 1]),
        "accuracy": float((says == true).mean()),
        "kappa": float(((says == true).mean() - chance) / (1 - chance)),
        "flips": float((first != second).mean()),
        "length": float(length),
        "leniency": float((judge - rating).mean()),
        "compression": float(slope - 1),
        "mean of plain": plain,
        "mean of tuned": tuned,
        "difference": tuned - plain,
    }


def table_of(world: World, labels: int, rng: np.random.Generator) -> JudgeTable:
    """All texts with scores, and ratings of so many of them, whole items drawn at random."""
    ratings = world.ratings.copy()
    items = int(world.item.max()) + 1
    rated = rng.permutation(items)[: labels // 2]
    ratings[~np.isin(world.item, rated)] = np.nan
    names = tuple(f"item{number}" for number in world.item.tolist())
    return JudgeTable(
        judges={"judge": world.runs},
        columns={"judge": ("run1", "run2", "run3")},
        human="rating",
        ratings=ratings,
        items=names,
        names=tuple(f"{name}/{system}" for name, system in zip(names, world.system.tolist(), strict=True)),
        origins=tuple(f"row {row + 1}" for row in range(len(names))),
        systems=tuple(SYSTEMS[system] for system in world.system.tolist()),
        times=rng.permutation(len(names)).astype(float),
        positions=rng.integers(1, 4, len(names)).astype(float),
        covariates={"length": world.length},
    )


def figures(one: JudgeAudit, spread: float) -> dict[str, tuple[float, float, float]]:
    """The value and the bounds of every figure that has a truth."""
    assert one.gate is not None
    assert one.flips is not None
    agreement = one.agreement[0]
    found = {"correlation": (agreement.value, agreement.low, agreement.high)}
    estimates = {"accuracy": one.gate.accuracy, "kappa": one.gate.kappa, "flips": one.flips.rate}
    biases = {bias.name: bias.effect for bias in one.biases}
    estimates |= {name: biases[name] for name in ("length", "leniency", "compression") if name in biases}
    for name, estimate in estimates.items():
        scale = spread if name == "length" else 1.0
        found[name] = (estimate.value / scale, estimate.low / scale, estimate.high / scale)
    for row in one.means:
        found[f"mean of {row.system}"] = (row.mean.value, row.mean.low, row.mean.high)
    for pair in one.differences:
        sign = 1 if pair.first == "tuned" else -1
        bounds = sorted((sign * pair.difference.low, sign * pair.difference.high))
        found["difference"] = (sign * pair.difference.value, bounds[0], bounds[1])
    return found


def simulate(name: str, runs: int, length_bias: float, lenient: float, seed: int) -> None:
    """Print the coverage of every interval, and how often biases are reported."""
    rng = np.random.default_rng(seed)
    truth = truths(draw(200_000, rng, length_bias, lenient))
    print(f"\n{name}: {runs:,} runs, {TEXTS:,} texts, of which so many are rated")
    print(f"{'figure':<16}{'truth':>8}" + "".join(f"{f'{labels} labels':>26}" for labels in LABELS))
    print(f"{'':<24}" + f"{'mean':>9}{'width':>8}{'coverage':>9}" * len(LABELS))
    lines = {figure: f"{figure:<16}{value:>8.3f}" for figure, value in truth.items()}
    shown: list[dict[str, int]] = []
    narrower = []
    for labels in LABELS:
        values: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        reported: dict[str, int] = defaultdict(int)
        saved = []
        for _ in range(runs):
            table = table_of(draw(TEXTS // 2, rng, length_bias, lenient), labels, rng)
            one = audit_table(table, gate=GATE, resamples=200).judges[0]
            rated = np.isfinite(table.rating)
            for figure, bounds in figures(one, float(table.covariates["length"][rated].std())).items():
                values[figure].append(bounds)
            for bias in one.biases:
                reported[bias.name] += bias.shown
            reported["any"] += any(bias.shown for bias in one.biases)
            saved += [row.mean.equivalent / row.mean.labels for row in one.means]
        for figure, value in truth.items():
            known = np.array([row for row in values[figure] if np.isfinite(row).all()]).reshape(-1, 3)
            held = (known[:, 1] <= value) & (value <= known[:, 2])
            width = float(np.median(known[:, 2] - known[:, 1]))
            lines[figure] += f"{known[:, 0].mean():>9.3f}{width:>8.3f}{held.mean():>9.3f}"
        shown.append(reported)
        narrower.append(float(np.mean(saved)))
    print("\n".join(lines.values()))
    for which in ("any", *dict.fromkeys(which for one in shown for which in one if which != "any")):
        print(f"{f'shown: {which}':<24}" + "".join(f"{one[which] / runs:>26.3f}" for one in shown))
    print(f"{'a label is worth':<24}" + "".join(f"{worth:>26.2f}" for worth in narrower))


def speed(rows: int, judges: int) -> None:
    """Time the command on a file: ten systems, three raters of every text, short texts, ten judge columns."""
    rng = np.random.default_rng(0)
    quality = rng.normal(3, 1, rows)
    ratings, scores = (likert(quality[:, None] + rng.normal(0, RATER, (rows, width))) for width in (3, judges))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scored.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for row in range(rows):
                values: dict[str, object] = {"id": f"item{row // 10}", "system": f"system{row % 10}"}
                values["text"] = "A sentence of the text that is no better than others. " * int(rng.integers(1, 9))
                values |= {f"rater{at}": value for at, value in enumerate(ratings[row].tolist())}
                values |= {f"judge{at}": value for at, value in enumerate(scores[row].tolist())}
                file.write(json.dumps(values) + "\n")
        apart = [option for at in range(judges) for option in ("--judge", f"judge{at}")]
        for what, options in ((f"{judges} judges", apart), (f"one judge with {judges} runs", ["--judge", "judge*"])):
            command = [
                sys.executable,
                "-m",
                "celadon",
                "meta",
                "audit",
                str(path),
                "--human",
                "rater*",
                "--gate",
                "3.5",
            ]
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([*command, *options, "--json"], check=True, stdout=subprocess.DEVNULL)
            took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            peak = after.ru_maxrss / 1024
            print(f"{rows:,} rows, {what}: {took:.1f} s ({busy:.1f} s of processor time), peak {peak:,.0f} MB")


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--world", choices=("sound", "biased", "both"), default="both")
    parser.add_argument("--speed", action="store_true", help="time 100,000 rows with ten judge columns instead")
    options = parser.parse_args()
    if options.speed:
        speed(100_000, 10)
        return
    if options.world in ("sound", "both"):
        simulate("no bias", options.runs, 0.0, 0.0, options.seed)
    if options.world in ("biased", "both"):
        simulate("planted: 0.3 points a doubling of length, 0.4 lenient", options.runs, 0.3, 0.4, options.seed + 1)


if __name__ == "__main__":
    main()
