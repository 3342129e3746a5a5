"""`wmd` against gensim's ``wmdistance`` with the same vectors, in one run, one thread each; and memory.

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
    python benchmarks/movers.py agreement    # 500 pairs: the greatest difference from gensim, and from POT's emd2
    python benchmarks/movers.py speed        # pairs a second at 30, 100 and 300 words
    python benchmarks/movers.py pruning      # with several references, what the lower bounds spare
    python benchmarks/movers.py memory       # peak memory of celadon score at 10,000 and 100,000 pairs; --metric vecsim

gensim is no part of celadon: pip install gensim. It is given lists of words, ours whole texts as strings: what takes us
from strings to words is in our time. Text and reference share a third of their words, as paraphrases do; words are
drawn by Zipf's law from those that have a vector. Seconds are of the processor, not of the clock.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from memory import peak_memory

from celadon.core import Sample
from celadon.metrics.registry import load
from celadon.models.words.word_mover import STOP_WORDS
from celadon.models.words.word_vectors import word_vectors
from celadon.scoring.batch import Batch

FREQUENT = 20_000
LEAST_GAIN = 5.0
LENGTHS = {30: 2000, 100: 400, 300: 60}
MOST_GROWTH = 1.25
Words = list[str]


def vocabulary() -> Words:
    """The frequent words of the builtin vectors that the metric counts."""
    return [word for word in word_vectors().words[:FREQUENT] if word not in STOP_WORDS and word.isascii()]


def word_pairs(length: int, count: int, seed: int) -> list[tuple[Words, Words]]:
    """Lists of so many words, a third of them in both."""
    known = vocabulary()
    chances = 1.0 / np.arange(1, len(known) + 1)
    generator = np.random.default_rng(seed)
    drawn = generator.choice(len(known), size=(count, 2, length), p=chances / chances.sum())
    drawn[:, 1, : length // 3] = drawn[:, 0, : length // 3]
    return [([known[at] for at in one], [known[at] for at in other]) for one, other in drawn]


def samples_of(pairs: list[tuple[Words, Words]]) -> list[Sample]:
    """The same words as texts."""
    return [Sample(" ".join(text), (" ".join(reference),)) for text, reference in pairs]


def ours(samples: list[Sample], spec: str = "wmd") -> np.ndarray:
    """Our distances, in batches as the engine makes them."""
    metric = load(spec)
    parts = [metric.score(Batch(samples[at : at + 512])) for at in range(0, len(samples), 512)]
    return np.concatenate([part.parts["distance"] for part in parts])


def gensim_vectors() -> object:
    """The builtin vectors in gensim."""
    from gensim.models import KeyedVectors

    logging.disable(logging.CRITICAL)
    known = vocabulary()
    vectors = KeyedVectors(word_vectors().size)
    vectors.add_vectors(known, word_vectors().take(word_vectors().numbers(known)).astype(np.float32))
    return vectors


def agreement(count: int) -> None:
    """Compare distances pair by pair."""
    import ot

    peer = gensim_vectors()
    pairs = [pair for length in (8, 15, 30, 60, 120) for pair in word_pairs(length, count // 5, seed=length)]
    distances = ours(samples_of(pairs))
    theirs = np.array([peer.wmdistance(*pair) for pair in pairs])  # type: ignore[attr-defined]
    table = word_vectors()
    direct = []
    for text, reference in pairs:
        sides = [np.unique(table.numbers(words), return_counts=True) for words in (text, reference)]
        costs = ot.dist(*(table.take(numbers) for numbers, _ in sides), metric="euclidean")
        direct.append(ot.emd2(*(counts / counts.sum() for _, counts in sides), costs))
    print(f"{len(pairs)} pairs of 8 to 120 words, distances {distances.min():.3f} to {distances.max():.3f}")
    print(f"greatest difference from gensim's wmdistance: {np.abs(distances - theirs).max():.1e}")
    print(f"greatest difference from POT's emd2 of the whole problem: {np.abs(distances - direct).max():.1e}")


def speed(rounds: int) -> None:
    """Time both, in turns, and print the middle of the ratios."""
    if {os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")} != {"1"}:
        raise SystemExit("both sides are to have one thread: export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1")
    peer = gensim_vectors()
    ours(samples_of(word_pairs(30, 10, seed=0)))
    peer.wmdistance(["music"], ["river"])  # type: ignore[attr-defined]
    for length, count in LENGTHS.items():
        ratios, rates = [], []
        for number in range(rounds):
            pairs = word_pairs(length, count, seed=number)
            samples, some = samples_of(pairs), pairs[: max(20, count // 5)]
            begin = time.process_time()
            ours(samples)
            middle = time.process_time()
            for pair in some:
                peer.wmdistance(*pair)  # type: ignore[attr-defined]
            theirs = len(some) / (time.process_time() - middle)
            rates.append((count / (middle - begin), theirs))
            ratios.append(rates[-1][0] / theirs)
        mine, their = (np.median([rate[side] for rate in rates]) for side in (0, 1))
        ratio = float(np.median(ratios))
        print(f"{length} words: {mine:,.0f} pairs/s, gensim {their:,.0f}: {ratio:.1f} times", flush=True)
        if length == 30 and ratio < LEAST_GAIN:
            raise SystemExit(f"less than {LEAST_GAIN:g} times")


def pruning() -> None:
    """Time the nearest of ten references against all ten distances, which must have the same least one."""
    pairs = word_pairs(30, 600, seed=1)
    ours(samples_of(pairs[:10]))
    for kept in (0, 10, 20):
        samples = []
        for at in range(300):
            text = pairs[at][0]
            strangers = [" ".join(pairs[(at + step) % 600][1]) for step in range(1, 11)]
            # of another text with the first words of this one
            near = [" ".join([*text[:kept], *pairs[at + 300][1][kept:]])] if kept else []
            samples.append(Sample(" ".join(text), tuple([*strangers, *near][-10:])))
        begin = time.process_time()
        pruned = ours(samples)
        middle = time.process_time()
        every = ours([Sample(one.text, (reference,)) for one in samples for reference in one.references])
        taken = (middle - begin, time.process_time() - middle)
        assert pruned.tolist() == every.reshape(-1, 10).min(axis=1).tolist()
        kind = f"one with {kept} of the 30 words" if kept else "all of them strangers"
        print(f"10 references, {kind}: same distances, {taken[1] / taken[0]:.1f} times as fast as all ten")


def memory(spec: str, numbers: list[int]) -> None:
    """Print the peaks at both numbers of pairs, and their ratio."""
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in numbers:
            source, out = (Path(folder) / f"{rows}{ending}" for ending in (".jsonl", ".out.jsonl"))
            pairs = samples_of(word_pairs(30, 10_000, seed=3))
            with source.open("w", encoding="utf-8") as file:
                for at in range(rows):
                    text, reference = pairs[at % len(pairs)].text, pairs[(at * 7 + at // len(pairs)) % len(pairs)]
                    file.write(json.dumps({"text": text, "references": [reference.references[0]]}) + "\n")
            peak, seconds = peak_memory(["score", str(source), "-m", spec, "-o", str(out), "--quiet"])
            peaks.append(peak)
            print(f"{spec}, {rows:,} pairs: peak {peak:.0f} MB, {rows / seconds:,.0f} pairs/s", flush=True)
    print(f"ratio {peaks[-1] / peaks[0]:.2f}")
    if peaks[-1] > MOST_GROWTH * peaks[0]:
        raise SystemExit("memory grows with the number of pairs")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("agreement", "speed", "pruning", "memory"))
    parser.add_argument("--metric", default="wmd", help="for memory")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000], help="for memory")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.what == "agreement":
        agreement(500)
    elif arguments.what == "speed":
        speed(arguments.rounds)
    elif arguments.what == "pruning":
        pruning()
    else:
        memory(arguments.metric, arguments.rows)


if __name__ == "__main__":
    sys.exit(main())
