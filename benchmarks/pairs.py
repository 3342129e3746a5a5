"""Pairs of texts of a given length for benchmarks: a reference, and a copy with words dropped, replaced and moved."""

from __future__ import annotations

import random
from itertools import accumulate


def make_pairs(words: int, count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Return (text, reference) pairs of about this many words."""
    generator = random.Random(seed)
    # as in language, the nth word is about n times rarer than the first
    stock = [f"{'etaoinshrdlu'[number % 12]}{number:x}" for number in range(20_000)]
    weights = list(accumulate(1 / rank for rank in range(1, len(stock) + 1)))
    pairs = []
    for _ in range(count):
        reference = generator.choices(stock, cum_weights=weights, k=words)
        text = [word for word in reference if generator.random() > 0.2]
        for word in generator.choices(stock, cum_weights=weights, k=words // 5):
            text.insert(generator.randrange(len(text) + 1), word)
        pairs.append((" ".join(text[:words]).capitalize() + ".", " ".join(reference).capitalize() + "."))
    return pairs
