"""How fast the resampling statistics are, side by side with peers, in one run.

Permutation tests of two metrics on 16 systems x 100 items, 1,000 resamples, against nlpstats; and 10,000 bootstrap
resamples of Spearman's rho on 2,000 rows against a Python loop over scipy. One thread. Peers too slow to wait for are
timed on fewer resamples and scaled; the table says so.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from celadon.meta.bootstrap import bootstrap
from celadon.meta.correlation import KINDS
from celadon.meta.permutation import permutation_test

SHAPE = (16, 100)
RESAMPLES = 1_000
ROWS = 2_000
DRAWS = 10_000
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
THEIR_LEVEL = {"system": "system", "instance": "global", "within_item": "input"}


def fastest(run: Callable[[], Any], times: int) -> float:
    """Seconds of the fastest of several runs, after one that warms up."""
    run()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def tables(tied: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    human = rng.normal(size=SHAPE) + rng.normal(size=(SHAPE[0], 1))
    made = [human + rng.normal(size=SHAPE), human + 1.2 * rng.normal(size=SHAPE), human]
    return [np.round(table, 1) for table in made] if tied else made


def their_seconds(given: list[np.ndarray], level: str, kind: str, resamples: int, times: int) -> float | None:
    """Seconds nlpstats would take for all resamples; None where it is not installed."""
    try:
        from nlpstats.correlations.permutation import permutation_test as theirs
    except ImportError:
        return None

    def run() -> None:
        theirs(*given, THEIR_LEVEL[level], kind, "both", n_resamples=resamples)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fastest(run, times) * RESAMPLES / resamples


def permutations(levels: list[str], times: int) -> None:
    print(f"PERM-BOTH, {RESAMPLES:,} resamples, {SHAPE[0]} systems x {SHAPE[1]} items; seconds")
    print(f"{'scores':<10}{'level':<13}{'kind':<10}{'celadon':>9}{'nlpstats':>11}{'ratio':>8}  note")
    missing = False
    for tied in (False, True):
        given = tables(tied)
        for level in levels:
            for kind in KINDS:
                ours = fastest(
                    lambda: permutation_test(*given, level=level, kind=kind, resamples=RESAMPLES),  # noqa: B023
                    times,
                )
                measured = 4 if level == "within_item" else 100
                peer = their_seconds(given, level, kind, measured, 2)
                missing = missing or peer is None
                beside = "" if peer is None else f"{peer:>11.2f}{peer / ours:>8.0f}  from {measured} resamples, scaled"
                print(f"{'tied' if tied else 'untied':<10}{level:<13}{kind:<10}{ours:>9.4f}{beside}", flush=True)
    if missing:
        print("nlpstats is not installed; for its column: pip install nlpstats==0.0.1")


def bootstraps(times: int) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=ROWS)
    y = x + rng.normal(size=ROWS)
    print(f"\nBootstrap of Spearman's rho, {DRAWS:,} resamples of {ROWS:,} rows; seconds")
    looped = 200

    def loop() -> None:
        for _ in range(looped):
            rows = rng.integers(0, ROWS, size=ROWS)
            stats.spearmanr(x[rows], y[rows])

    peer = fastest(loop, 2) * DRAWS / looped
    print(f"{'scores':<10}{'celadon':>9}{'scipy loop':>12}{'ratio':>8}  note")
    for name, a, b in (("untied", x, y), ("tied", np.round(x, 1), np.round(y))):
        ours = fastest(lambda: bootstrap(a, b, kind="spearman", unit="rows", resamples=DRAWS), times)  # noqa: B023
        print(f"{name:<10}{ours:>9.2f}{peer:>12.1f}{peer / ours:>8.1f}  loop from {looped} resamples, scaled")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--within-item", action="store_true", help="time the within-item level too: a minute more")
    parser.add_argument("--times", type=int, default=5, help="runs of which the fastest counts")
    given = parser.parse_args()
    permutations(["instance", "system", *(["within_item"] if given.within_item else [])], given.times)
    bootstraps(given.times)


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # Numpy reads these when it is loaded, so begin again: the figures are for one core, ours and the peers'.
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
    main()
