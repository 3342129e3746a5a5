"""Metrics with references against their peers on CNN/Daily Mail summaries, and how their time grows with the length.

Both sides get strings and give a score per text, alternately; of each the least processor time of all rounds counts,
because other work on the machine does not show in it. Before timing, the results are compared.

Run from the repository's root: ``CELADON_DATA=... python benchmarks/overlap_peers.py``
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF, TER

import celadon
from celadon.metrics.meteor_nltk import nltk_words
from celadon.models.words.wordnet import find_wordnet

ROUGE = ("rouge1", "rouge2", "rougeL")


def summaries(count: int) -> list[tuple[str, str]]:
    """Return pairs of a system's summary and its reference."""
    data = Path(os.environ.get("CELADON_DATA", "../shared/data")) / "judgements" / "chaganty2018_cnndm.jsonl.gz"
    with gzip.open(data, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [(row["output"], row["reference"]) for row in rows if row["output"] != row["reference"]][:count]


def nltk_wordnet() -> Any:
    """Return NLTK's reader on a copy of the installed WordNet."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Leave out the mapping to another version, which is not there."""

    folder, copy = find_wordnet(), Path(tempfile.mkdtemp())
    assert folder is not None
    for file in folder.iterdir():
        shutil.copy(file, copy / file.name)
    (copy / "lexnames").write_text("".join(f"{number:02d}\tname{number}\t1\n" for number in range(45)))
    nltk.data.path.append(str(copy))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reader(str(copy), None)


def least_times(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the least processor time of each side."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, kept in zip((ours, theirs), times, strict=True):
            begin = time.process_time()
            run()
            kept.append(time.process_time() - begin)
    return min(times[0]), min(times[1])


def compare(pairs: Sequence[tuple[str, str]], rounds: int) -> None:
    """Print the rates of both sides and their ratio."""
    from nltk.translate.meteor_score import single_meteor_score

    wordnet = nltk_wordnet()
    bleu, chrf, ter, rouge = BLEU(effective_order=True), CHRF(), TER(), rouge_scorer.RougeScorer(list(ROUGE))
    peers: list[tuple[str, Sequence[str], str, int, Callable[[str, str], object], Callable[[Any], float] | None]] = [
        ("string accuracy", ["simple_string_accuracy"], "jiwer", 400, lambda t, r: jiwer.process_words(r, t), None),
        (
            "both string accuracies",
            ["simple_string_accuracy", "generation_string_accuracy"],
            "jiwer",
            400,
            lambda t, r: jiwer.process_words(r, t),
            None,
        ),
        ("BLEU", ["bleu"], "sacrebleu", 400, lambda t, r: bleu.sentence_score(t, [r]), lambda s: float(s.score)),
        ("chrF", ["chrf"], "sacrebleu", 400, lambda t, r: chrf.sentence_score(t, [r]), lambda s: float(s.score)),
        ("TER", ["ter"], "sacrebleu", 10, lambda t, r: ter.sentence_score(t, [r]), lambda s: float(s.score)),
        (
            "ROUGE-1, 2, L",
            ROUGE,
            "rouge_score",
            100,
            lambda t, r: rouge.score(r, t),
            lambda s: float(s["rouge1"].fmeasure),
        ),
        (
            "METEOR as NLTK's",
            ["meteor[variant=nltk]"],
            "nltk",
            100,
            lambda t, r: single_meteor_score(nltk_words(r), nltk_words(t), wordnet=wordnet),
            float,
        ),
        (
            "METEOR 1.5",
            ["meteor"],
            "nltk",
            100,
            lambda t, r: single_meteor_score(nltk_words(r), nltk_words(t), wordnet=wordnet),
            None,
        ),
    ]
    print("| metric | pairs | celadon, pairs/s | peer | peer, pairs/s | times | largest difference |")
    print("|---|---|---|---|---|---|---|")
    for name, specs, peer, count, theirs, number in peers:
        chosen = pairs[:count]
        texts, references = [text for text, _ in chosen], [reference for _, reference in chosen]

        def score(texts: list[str] = texts, references: list[str] = references, specs: Any = specs) -> Any:
            return celadon.score(texts, references, metrics=list(specs))

        def other(chosen: Any = chosen, theirs: Any = theirs) -> list[Any]:
            return [theirs(text, reference) for text, reference in chosen]

        off = "-"
        first, results = score(), other()
        if number is not None:
            gaps = np.abs(first[specs[0]] - np.array([number(result) for result in results]))
            off = f"{np.nanmax(gaps):.1e}"
        mine, its = least_times(score, other, rounds if name != "TER" else 2)
        rates = f"{count / mine:,.0f} | {peer} | {count / its:,.0f} | {its / mine:.1f}"
        print(f"| {name} | {count} | {rates} | {off} |", flush=True)


def growth(pairs: Sequence[tuple[str, str]]) -> None:
    """Print the time of one pair of longer and longer texts."""
    text = " ".join(text for text, _ in pairs).split()
    reference = " ".join(reference for _, reference in pairs).split()
    specs = ["meteor", "meteor[variant=nltk]", "ter", "bleu", "chrf", "rougeL", "generation_string_accuracy"]
    specs += ["gruen.redundancy"]
    lengths = (50, 200, 1000, 5000)
    print(f"\n| seconds for a pair of | {' | '.join(f'{length:,} words' for length in lengths)} |")
    print(f"|---|{'---|' * len(lengths)}")
    for spec in specs:
        celadon.score(["one two three four"], ["one two three"], metrics=[spec])
        times = []
        for length in lengths:
            begin = time.process_time()
            celadon.score([" ".join(text[:length])], [" ".join(reference[:length])], metrics=[spec])
            times.append(time.process_time() - begin)
        print(f"| {spec} | {' | '.join(f'{each:.3f}' for each in times)} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    pairs = summaries(1000)
    compare(pairs, arguments.rounds)
    growth(pairs)


if __name__ == "__main__":
    main()
