"""Texts of several systems with people's ratings and a judge's scores, made from a known truth."""

from __future__ import annotations

from typing import Any

import numpy as np

WORDS = "the quick brown fox jumps over a lazy dog while seven wizards brew potions near old castle gates today".split()


def judged_texts(
    items: int = 60,
    systems: int = 3,
    *,
    seed: int = 0,
    raters: int = 3,
    runs: int = 3,
    noise: float = 0.6,
    length_bias: float = 0.0,
    lists_bias: float = 0.0,
    own_bias: float = 0.0,
    drift: float = 0.0,
    lenient: float = 0.0,
    unrated: float = 0.0,
    scale: tuple[float, float] = (1.0, 5.0),
) -> list[dict[str, Any]]:
    """Return rows; ``length_bias`` is in points per doubling, ``lists_bias`` in points per tenth of the text.

    Judge and raters err alike, but for the biases and ``noise``, that of a run. Longer texts are better on average.
    ``unrated`` is the share of items that nobody rated.
    """
    rng = np.random.default_rng(seed)
    low, high = scale
    rows: list[dict[str, Any]] = []
    rated = rng.random(items) >= unrated
    for item in range(items):
        for system in range(systems):
            quality = 3 + 0.3 * (system - (systems - 1) / 2) + rng.normal(0, 0.9)
            doublings = 5 + 0.5 * (quality - 3) + rng.normal(0, 0.7)
            words = max(int(2**doublings), 3)
            listed = rng.random() < 0.4
            text = " ".join(rng.choice(WORDS, words).tolist())
            share = 0.0
            if listed:
                points = "\n".join(f"- {' '.join(rng.choice(WORDS, 6).tolist())}" for _ in range(4))
                text, share = f"{text}.\n\n{points}\n", len(points) / (len(text) + 3 + len(points))
            shift = length_bias * np.log2(len(text.split())) + lists_bias * 10 * share + own_bias * (system == 0)
            shift += lenient + drift * item / items - (length_bias * 5)
            own = quality + rng.normal(0, 0.3) + shift
            ratings = np.clip(np.round(quality + rng.normal(0, 0.8, raters)), low, high)
            row: dict[str, Any] = {
                "id": f"item{item}",
                "system": f"system{system}",
                "text": text,
                "day": item,
                "position": int(rng.integers(1, 4)),
                "better": quality + rng.normal(0, 0.1),
                "noise": rng.normal(),
            }
            row |= {f"rater{n + 1}.overall": float(ratings[n]) if rated[item] else None for n in range(raters)}
            row |= {f"judge.run{n + 1}": float(own + rng.normal(0, noise)) for n in range(runs)}
            rows.append(row)
    return rows
