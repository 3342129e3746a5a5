"""Redundancy against difflib: the four features of all pairs of a document's sentences, with equal flags, in one run.

The peer finds the longest common substring and run of words with difflib (autojunk off, so that it is exact), the edit
distance with a plain table and the common words with Counter. Only difflib is timed, and only on a random sample of
pairs, because all of them would take minutes; its time of the whole document is that of the sample, scaled by the
number of pairs. The flags of the sample, and of all pairs that we flag, must be equal. Ours is timed on all pairs, with
the splitting into words. Times are of the processor, of which each side uses one, so that a busy machine does no harm.

    python benchmarks/redundancy.py --data enwiki.txt.xz
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import combinations, islice

from pairs import make_pairs
from tqdm import tqdm

from celadon.io.lines import read_paragraphs
from celadon.metrics.gruen.redundancy import DEFAULTS
from celadon.text.repetition import NORMALISATION, repeated_pairs
from celadon.text.sentences import split_sentences
from celadon.text.words import words

SIZES = (125, 250, 500)
ROUNDS = 3
LEAST_GAIN = 10
SLACK = 1.5  # for noise; anything that grew faster than pairs would be at 4
LIMITS = {
    "common_substring": DEFAULTS.common_substring,
    "common_run": DEFAULTS.common_run,
    "edit_distance": DEFAULTS.edit_distance,
    "common_words": DEFAULTS.common_words,
}


def document(path: str | None, count: int, seed: int) -> list[str]:
    """Sentences of a corpus, or made ones; one in twenty of them once more, with a word changed."""
    generator = random.Random(seed)
    if path is None:
        lengths = [generator.randint(5, 45) for _ in range(count)]
        sentences = [make_pairs(length, 1, seed=number)[0][1] for number, length in enumerate(lengths)]
    else:
        paragraphs = (paragraph for paragraph in read_paragraphs([path]) if paragraph)
        found = (line[a:b] for line in islice(paragraphs, 100 * count) for a, b in split_sentences(line))
        sentences = list(islice(dict.fromkeys(islice(found, 2 * count)), count))
    for at in generator.sample(range(count), count // 20):
        copied = generator.choice(sentences).split()
        copied[generator.randrange(len(copied))] = "otherwise"
        sentences[at] = " ".join(copied)
    return sentences


def ours(sentences: Sequence[str]) -> dict[tuple[int, int], str]:
    """The flagged pairs."""
    return {(i, j): features for i, j, features in repeated_pairs(sentences, **LIMITS)}


def edits(left: str, right: str) -> int:
    """Edit distance by the plain table."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        above, row = row, [i]
        for j, b in enumerate(right, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def by_difflib(left: str, right: str) -> tuple[bool, bool]:
    """A and B."""

    def share(one: Sequence[str], other: Sequence[str]) -> float:
        size = SequenceMatcher(None, one, other, autojunk=False).find_longest_match().size
        return size / max(min(len(one), len(other)), 1)

    substring = share(left, right)
    run = share(words(left, NORMALISATION), words(right, NORMALISATION))
    return substring > LIMITS["common_substring"], run > LIMITS["common_run"]


def by_tables(left: str, right: str) -> tuple[bool, bool]:
    """C and D."""
    one, other = words(left, NORMALISATION), words(right, NORMALISATION)
    common = (Counter(one) & Counter(other)).total()
    few = edits(left, right) < LIMITS["edit_distance"] * max(len(left), len(right))
    return few, common > LIMITS["common_words"] * min(len(one), len(other))


def fastest(run: Callable[[], object]) -> float:
    """The best time of several rounds."""
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def compare(sentences: Sequence[str], sample: int, seed: int) -> float:
    """Print how much faster ours is, and return it; stop where a flag differs."""
    flagged = ours(sentences)
    pairs = list(combinations(range(len(sentences)), 2))
    drawn = random.Random(seed).sample(pairs, min(sample, len(pairs)))
    spent = 0.0
    for number, (i, j) in enumerate(tqdm(drawn + list(flagged), desc="difflib", unit=" pairs", disable=None)):
        begin = time.process_time()
        strings = by_difflib(sentences[i], sentences[j])
        spent += (time.process_time() - begin) * (number < len(drawn))
        found = zip("ABCD", (*strings, *by_tables(sentences[i], sentences[j])), strict=True)
        theirs = "".join(letter for letter, is_there in found if is_there)
        if theirs != flagged.get((i, j), ""):
            sys.exit(f"flags differ: {theirs!r}, ours {flagged.get((i, j), '')!r}: {sentences[i]!r} {sentences[j]!r}")
    their_time, our_time = spent / len(drawn) * len(pairs), fastest(lambda: ours(sentences))
    counts = Counter(letter for features in flagged.values() for letter in features)
    print(
        f"{len(sentences)} sentences, {len(pairs):,} pairs: ours {our_time:.3f} s with all four features; difflib "
        f"{their_time:.1f} s for A and B alone (from {len(drawn):,} pairs drawn at random), "
        f"{their_time / our_time:.0f} times ours; equal flags on these and on all {len(flagged)} that we flag "
        f"({dict(sorted(counts.items()))})"
    )
    return their_time / our_time


def growth(sentences: Sequence[str], seed: int) -> bool:
    """Print the time by the number of sentences; whether it grows no faster than the pairs."""
    # drawn from the whole, so that the sentences of all sizes are alike
    generator = random.Random(seed)
    parts = [generator.sample(sentences, size) for size in SIZES]
    times = [fastest(lambda part=part: ours(part)) for part in parts]
    per_pair = [taken / math.comb(size, 2) for size, taken in zip(SIZES, times, strict=True)]
    for size, taken, each in zip(SIZES, times, per_pair, strict=True):
        print(f"{size} sentences: {taken:.4f} s, {1e6 * each:.2f} microseconds a pair")
    return per_pair[-1] <= SLACK * per_pair[0]


def main() -> None:
    """Print the figures; exit with 1 where they are not good enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="a corpus, a paragraph a line; without it, sentences are made up")
    parser.add_argument("--sample", type=int, default=2000, help="how many pairs difflib is timed on")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sentences = document(arguments.data, max(SIZES), arguments.seed)
    gain = compare(sentences, arguments.sample, arguments.seed)
    if not growth(sentences, arguments.seed) or gain < LEAST_GAIN:
        sys.exit("not good enough: under a tenth of difflib's time, and no faster growth than pairs, are wanted")


if __name__ == "__main__":
    main()
