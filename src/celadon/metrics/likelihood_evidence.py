"""Why a text is likely or not: the surprisal of its tokens, its least expected words, the value of each sentence.

Surprisal is ``-log2 p``, in bits: a token that has one chance in 1,024 has 10 bits.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from celadon.core import Direction, Evidence, FloatArray, Section, Span
from celadon.models.language.language_model import TokenScores
from celadon.scoring.batch import Batch, Likelihoods
from celadon.text.words import located_words

if TYPE_CHECKING:
    from celadon.metrics.likelihood import Likelihood

LEVELS = (4.0, 7.0, 10.0, 13.0, 16.0)
"""From how many bits on a token is shaded, and ever more."""
LABELS = tuple(f"surprisal-{level}" for level in range(len(LEVELS) + 1))
"""The labels of tokens' spans, from expected to surprising."""
WORST_WORDS = 5
END = "end"
"""The label of a sentence's end among the least expected words; it has no characters."""

_NATS = math.log(2.0)


class _Bits(NamedTuple):
    """A stretch of text, its surprisal here and by the frequency of its tokens alone (NaN where that is not known)."""

    start: int
    end: int
    here: float
    alone: float


def explain(metric: Likelihood, batch: Batch, read: Likelihoods, values: FloatArray) -> list[Evidence | None]:
    """Show why for each sample of a batch; None for a sample without a score.

    The tokens are shaded by their bits. Listed are the words, and ends of sentences, that count most against the text,
    worst first, and what the model read at a time, with its value.
    """
    evidence: list[Evidence | None] = []
    for row, sample in enumerate(batch.samples):
        units = np.flatnonzero(read.owner == row).tolist()
        if not units:
            evidence.append(None)
            continue
        tokens = [bits for scores in read.of(row) for bits in _tokens(sample.text, scores)]
        visible = [bits for bits in tokens if bits.end > bits.start]
        spans = tuple(Span(b.start, b.end, LABELS[level(b.here)], f"{b.here:.1f} bits", b.here) for b in visible)
        words = _worst_words(sample.text, tokens, by_frequency=metric.needs_unigrams)
        sentences = _sentences(read, values, units, lower=metric.info.direction is Direction.LOWER)
        sections = (
            Section("tokens", "Surprisal", spans),
            Section("list", "Least expected", words),
            Section("list", "Values of sentences", sentences),
        )
        evidence.append(Evidence(metric.spec, _summary(metric, read, units), sections))
    return evidence


def level(bits: float) -> int:
    """Return how surprising a token is, from 0 to the number of levels."""
    return bisect_right(LEVELS, bits)


def _tokens(text: str, scores: TokenScores) -> list[_Bits]:
    """The tokens without the spaces that some models count in, those that share a character as one; ends last."""
    found: list[_Bits] = []
    columns = (scores.starts, scores.ends, -scores.logprobs / _NATS, -scores.unigrams / _NATS)
    for start, end, here, alone in zip(*(column.tolist() for column in columns), strict=True):
        inside = text[start:end]
        first, last = start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())
        if found and first < min(last, found[-1].end):
            before = found.pop()
            both = (before.here + here, before.alone + alone)
            found.append(_Bits(before.start, max(last, before.end), *both))
        elif start == end or first < last:
            found.append(_Bits(first, last, here, alone))
    return found


def _worst_words(text: str, tokens: Sequence[_Bits], *, by_frequency: bool) -> tuple[Span, ...]:
    """The words that lower the value most: for SLOR and its like, what is more surprising here than by frequency."""
    words = located_words(text, "surface")
    sums: dict[tuple[int, int], tuple[float, float]] = {}
    at = 0
    for token in tokens:
        place = (token.start, token.end)
        if token.end > token.start:
            while at < len(words) and words[at].end <= token.start:
                at += 1
            if at < len(words) and words[at].start < token.end:
                place = (words[at].start, words[at].end)
        here, alone = sums.get(place, (0.0, 0.0))
        sums[place] = (here + token.here, alone + token.alone)

    def badness(item: tuple[tuple[int, int], tuple[float, float]]) -> float:
        here, alone = item[1]
        return here - alone if by_frequency else here

    worst = sorted(sums.items(), key=badness, reverse=True)[:WORST_WORDS]
    return tuple(
        Span(start, end, "word" if end > start else END, _bits(here, alone if by_frequency else math.nan))
        for (start, end), (here, alone) in worst
    )


def _bits(here: float, alone: float) -> str:
    return f"{here:.1f} bits" + ("" if math.isnan(alone) else f" ({alone:.1f} by frequency)")


def _sentences(read: Likelihoods, values: FloatArray, units: list[int], *, lower: bool) -> tuple[Span, ...]:
    of_text = values[units]
    worst = units[int(np.argmax(of_text) if lower else np.argmin(of_text))] if len(units) > 1 else None
    return tuple(
        Span(
            int(read.starts[u]),
            int(read.ends[u]),
            "worst" if u == worst else "sentence",
            f"{values[u]:.4f}",
            float(values[u]),
        )
        for u in units
    )


def _summary(metric: Likelihood, read: Likelihoods, units: list[int]) -> str:
    tokens = int(read.lengths[units].sum())
    here = -float(read.logprobs[units].sum()) / tokens / _NATS
    alone = -float(read.unigrams[units].sum()) / tokens / _NATS if metric.needs_unigrams else math.nan
    many = "1 token" if tokens == 1 else f"{tokens:,} tokens"
    if metric.context == "sentence":
        many += " in 1 sentence" if len(units) == 1 else f" in {len(units):,} sentences, each on its own"
    else:
        many += ", read as one text"
    return f"{many}; a token has {_bits(here, alone)} on average under {metric.model}"
