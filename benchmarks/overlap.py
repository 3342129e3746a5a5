"""ROUGE against rouge_score, chrF against sacrebleu, the string accuracies against jiwer: the same pairs, in one run.

Each side gets strings and gives scores; tokenization is part of both. The best of several rounds counts, and the
rounds of the two sides alternate, so that a noisy machine is as noisy for both.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import jiwer
from pairs import make_pairs
from rouge_score import rouge_scorer
from sacrebleu.metrics import CHRF

import celadon

ROUGE = ["rouge1", "rouge2", "rougeL"]
ACCURACIES = ["simple_string_accuracy", "generation_string_accuracy"]


def best_times(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The best time of each side."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, kept in zip((ours, theirs), times, strict=True):
            begin = time.perf_counter()
            run()
            kept.append(time.perf_counter() - begin)
    return min(times[0]), min(times[1])


def compare_rouge(words: int, our_count: int, their_count: int) -> None:
    """ROUGE-1, ROUGE-2 and ROUGE-L; the peer is slower and gets the first part of the same pairs."""
    pairs = make_pairs(words, our_count)
    texts, references = [text for text, _ in pairs], [reference for _, reference in pairs]
    scorer = rouge_scorer.RougeScorer(ROUGE)
    ours, theirs = best_times(
        lambda: celadon.score(texts, references, metrics=ROUGE),
        lambda: [scorer.score(reference, text) for text, reference in pairs[:their_count]],
        rounds=5,
    )
    our_rate, their_rate = our_count / ours, their_count / theirs
    print(
        f"ROUGE-1+2+L, {words}-token pairs: celadon {our_rate:,.0f} pairs/s, rouge_score {their_rate:,.0f} pairs/s, "
        f"ratio {our_rate / their_rate:.1f}"
    )


def compare_accuracies(words: int, count: int) -> None:
    """Both string accuracies against jiwer's alignment of words."""
    pairs = make_pairs(words, count)
    texts, references = [text for text, _ in pairs], [reference for _, reference in pairs]
    ours, theirs = best_times(
        lambda: celadon.score(texts, references, metrics=ACCURACIES),
        lambda: [jiwer.process_words(reference, text) for text, reference in pairs],
        rounds=5,
    )
    print(
        f"string accuracies, {words}-token pairs: celadon {count / ours:,.0f} pairs/s, jiwer's alignment "
        f"{count / theirs:,.0f} pairs/s, ratio {theirs / ours:.1f}"
    )


def compare_chrf(words: int, count: int) -> None:
    """The chrF of each text against sacrebleu's."""
    pairs = make_pairs(words, count)
    texts, references = [text for text, _ in pairs], [reference for _, reference in pairs]
    chrf = CHRF()
    ours, theirs = best_times(
        lambda: celadon.score(texts, references, metrics=["chrf"]),
        lambda: [chrf.sentence_score(text, [reference]) for text, reference in pairs],
        rounds=5,
    )
    print(
        f"chrF, {words}-token pairs: celadon {count / ours:,.0f} pairs/s, sacrebleu {count / theirs:,.0f} pairs/s, "
        f"ratio {theirs / ours:.1f}"
    )


def main() -> None:
    """Print all comparisons."""
    compare_rouge(26, 8192, 1024)
    compare_rouge(800, 256, 8)
    compare_accuracies(26, 8192)
    compare_chrf(26, 2048)


if __name__ == "__main__":
    main()
