"""How often intervals hold the truth and tests reject what is true, by simulation.

Means of `celadon score`, differences of `celadon compare` and correlations of `celadon meta compare` are drawn from
distributions whose mean, or whose difference of correlations, is known to be zero. A run is one such sample.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from celadon import Sample
from celadon.core import MetricScores
from celadon.meta.intervals import Interval
from celadon.meta.paired_differences import PairedDifferences
from celadon.meta.permutation import permutation_test
from celadon.meta.significance import williams
from celadon.metrics.registry import load
from celadon.scoring.summary import Summarizer

_BLOCK = 100
_METRIC = load("rouge1")

Draw = Callable[[np.random.Generator, int, int], np.ndarray]

DIFFERENCES: dict[str, Draw] = {
    "normal": lambda rng, n, runs: rng.normal(size=(n, runs)),
    "exponential": lambda rng, n, runs: rng.exponential(size=(n, runs)) - 1,
    "lognormal": lambda rng, n, runs: rng.lognormal(size=(n, runs)) - np.exp(0.5),
    "half ties": lambda rng, n, runs: (rng.exponential(size=(n, runs)) - 1) * (rng.random((n, runs)) < 0.5),
    "one in ten": lambda rng, n, runs: np.where(rng.random((n, runs)) < 0.1, 0.9, -0.1),
}
SCORES: dict[str, tuple[Draw, float]] = {
    "beta(5, 2)": (lambda rng, n, runs: rng.beta(5, 2, size=(n, runs)), 5 / 7),
    "beta(1, 4)": (lambda rng, n, runs: rng.beta(1, 4, size=(n, runs)), 1 / 5),
    "0 or 1, 0.9": (lambda rng, n, runs: (rng.random((n, runs)) < 0.9).astype(np.float64), 0.9),
}


def mean_coverage(draw: Draw, truth: float, count: int, runs: int, resamples: int) -> tuple[float, float]:
    """Return how often the interval of a mean holds the truth, and its mean width."""
    held, widths = 0, []
    for block in range(0, runs, _BLOCK):
        values = draw(np.random.default_rng([count, block]), count, _BLOCK)
        summarizer = Summarizer([_METRIC], resamples=resamples, seed=block)
        for system in range(_BLOCK):
            samples = [Sample("x", system=str(system))] * count
            summarizer.add(samples, {_METRIC.spec: MetricScores(_METRIC.spec, values[:, system])})
        for row in summarizer.summary().rows:
            assert row.mean_interval is not None
            held += row.mean_interval.low <= truth <= row.mean_interval.high
            widths.append(row.mean_interval.high - row.mean_interval.low)
    return held / runs, float(np.mean(widths))


def difference_rates(draw: Draw, count: int, runs: int, resamples: int, bounded: bool) -> tuple[float, float]:
    """Return how often the interval of a difference holds zero, and how often p is below 0.05."""
    held = rejected = 0
    ranges = [Interval(0, 1)] * _BLOCK if bounded else None
    for block in range(0, runs, _BLOCK):
        drawn = draw(np.random.default_rng([count, block]), count, _BLOCK)
        differences = PairedDifferences(_BLOCK, ranges=ranges, resamples=resamples, seed=block)
        differences.add(np.zeros_like(drawn), drawn)
        for result in differences.results():
            held += not (result.low > 0 or result.high < 0)
            rejected += result.pvalue < 0.05
    return held / runs, rejected / runs


def correlation_rates(kind: str, count: int, rho: float, between: float, runs: int) -> tuple[float, float]:
    """Return how often Williams' test and the permutation test reject equal correlations at 0.05."""
    rng = np.random.default_rng(count)
    root = np.linalg.cholesky(np.array([[1, between, rho], [between, 1, rho], [rho, rho, 1]]))
    rejected = np.zeros(2)
    for run in range(runs):
        first, second, people = root @ rng.normal(size=(3, count))
        tables = (first[None], second[None], people[None])
        permuted = permutation_test(*tables, kind=kind, permute="items", resamples=400, seed=run)  # type: ignore[arg-type]
        by_formula = williams(first, second, people, kind=kind)  # type: ignore[arg-type]
        rejected += [by_formula.pvalue < 0.05, permuted.pvalue < 0.05]
    return float(rejected[0] / runs), float(rejected[1] / runs)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=1000)
    arguments = parser.parse_args()
    runs, resamples = arguments.runs, arguments.resamples
    print("| scores | texts | coverage | mean width |\n|---|---|---|---|")
    for name, (draw, truth) in SCORES.items():
        for count in (2, 3, 5, 10, 30, 100):
            coverage, width = mean_coverage(draw, truth, count, runs, resamples)
            print(f"| {name} | {count} | {coverage:.3f} | {width:.3f} |", flush=True)
    print("\n| differences | pairs | coverage | p < 0.05 |\n|---|---|---|---|")
    for name, draw in DIFFERENCES.items():
        for count in (2, 3, 5, 10, 30, 100):
            coverage, level = difference_rates(draw, count, runs, resamples, name == "one in ten")
            print(f"| {name} | {count} | {coverage:.3f} | {level:.3f} |", flush=True)
    print("\n| correlation | texts | with people | between | Williams | permutation |\n|---|---|---|---|---|---|")
    for kind in ("pearson", "spearman", "kendall"):
        for count, rho, between in ((20, 0.3, 0.3), (60, 0.3, 0.7), (200, 0.3, 0.9)):
            levels = correlation_rates(kind, count, rho, between, runs)
            print(f"| {kind} | {count} | {rho} | {between} | {levels[0]:.3f} | {levels[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
