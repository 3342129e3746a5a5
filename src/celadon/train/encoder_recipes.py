"""How an encoder is trained: the numbers that decide what comes of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import NamedTuple

from celadon.core import UsageError

PRECISIONS = ("float32", "bfloat16")


class Amounts(NamedTuple):
    """How much is taken of each source.

    Attributes
    ----------
    pairs
        Sentences of the corpus, each with one damaged copy; they are drawn as neighbours, two by two.
    treebank_passes, labelled_passes
        How often each sentence of a treebank (each time with another damaged copy) and each labelled one is taken.
    held_out
        Pairs of the articles kept apart, for measuring.
    """

    pairs: int = 150_000
    treebank_passes: int = 4
    labelled_passes: int = 5
    held_out: int = 4_000


@dataclass(frozen=True)
class AcceptabilityRecipe:
    """All that decides what a run makes of its examples.

    Attributes
    ----------
    pairs, treebank_passes, labelled_passes, held_out
        How much is taken of each source: see :class:`Amounts`.
    passes
        How often the examples are gone through.
    batch_tokens
        Positions in a batch, padding included.
    longest
        Tokens of a sentence that are trained on.
    learning_rate
        The highest: reached after a sixteenth of the run, from where it falls to zero.
    ranking
        The weight of a sentence being above its damaged copy, beside each being near its own target.
    meaning
        The weight of the meaning vectors staying what they were.
    order
        The weight of a sentence being known to stand before the one that follows it.
    precision
        ``bfloat16`` multiplies in 16 bits where the processor can; the weights stay in 32.
    """

    pairs: int = Amounts().pairs
    treebank_passes: int = Amounts().treebank_passes
    labelled_passes: int = Amounts().labelled_passes
    held_out: int = Amounts().held_out
    passes: float = 1.0
    batch_tokens: int = 2_048
    longest: int = 96
    learning_rate: float = 1e-4
    ranking: float = 1.0
    meaning: float = 2.0
    order: float = 0.5
    dropout: float = 0.1
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise UsageError(f"unknown precision {self.precision!r}; known: {', '.join(PRECISIONS)}")
        for name in ("pairs", "batch_tokens", "longest"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name.replace('_', ' ')} must be at least 1")

    @property
    def amounts(self) -> Amounts:
        """How much is taken of each source."""
        return Amounts(self.pairs, self.treebank_passes, self.labelled_passes, self.held_out)

    @property
    def fingerprint(self) -> str:
        """Two runs of one fingerprint over the same data make the same model."""
        return hashlib.sha256(json.dumps(dataclasses.asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class OrderRecipe:
    """How the order head is trained.

    Attributes
    ----------
    paragraphs, held_out
        How many to train on and to measure on; the latter of the articles kept apart.
    reach
        How far apart, in sentences, two sentences may stand to be compared.
    passes, batch, learning_rate, decay
        Of Adam over the pairs.
    """

    paragraphs: int = 40_000
    held_out: int = 2_000
    reach: int = 4
    passes: int = 8
    batch: int = 2_048
    learning_rate: float = 1e-3
    decay: float = 1e-3
    dropout: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("paragraphs", "reach", "passes", "batch"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1")
