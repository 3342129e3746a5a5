"""How an encoder is trained: the numbers that decide what comes of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from typing import NamedTuple

from celadon.core import UsageError
from celadon.train.precision import check_precision

_WARM_UP = 0.06


class Amounts(NamedTuple):
    """How much is taken of each source."""

    # sentences of the corpus, each with one damaged copy; they are drawn as neighbours, two by two
    pairs: int = 150_000
    # treebank_passes, labelled_passes: how often each sentence of a treebank (each time with another damaged copy)
    # and each labelled one is taken
    treebank_passes: float = 4.0
    labelled_passes: float = 5.0
    held_out: int = 4_000  # pairs of the articles kept apart, for measuring
    genre_pairs: int = 30_000  # sentences of all files of genres together, alike of each, each with one damaged copy
    fragments: int = 4_000  # headings, questions and other fragments of the genres
    edit_passes: int = 3  # how often each correction is taken
    slips: float = 0.6  # the share of damaged copies with a slip or two, as people make them


@dataclass(frozen=True)
class ExamplesRecipe:
    """What decides the examples of a run, and how they are gone through."""

    # pairs to slips: how much is taken of each source: see :class:`Amounts`
    pairs: int = Amounts().pairs
    treebank_passes: float = Amounts().treebank_passes
    labelled_passes: float = Amounts().labelled_passes
    held_out: int = Amounts().held_out
    genre_pairs: int = Amounts().genre_pairs
    fragments: int = Amounts().fragments
    edit_passes: int = Amounts().edit_passes
    slips: float = Amounts().slips
    passes: float = 1.0  # how often the examples are gone through
    batch_tokens: int = 2_048  # positions in a batch, padding included
    longest: int = 96  # tokens of a sentence that are trained on
    learning_rate: float = 1e-4  # the highest: reached after a sixteenth of the run, from where it falls to zero
    ranking: float = 1.0  # the weight of a sentence being above its damaged copy, beside each being near its own target
    dropout: float = 0.1  # the share of values left out of what the heads read
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("pairs", "batch_tokens", "longest"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name.replace('_', ' ')} must be at least 1")

    @property
    def amounts(self) -> Amounts:
        """How much is taken of each source."""
        return Amounts(**{name: getattr(self, name) for name in Amounts._fields})

    @property
    def fingerprint(self) -> str:
        """Two runs of one fingerprint over the same data make the same model."""
        return hashlib.sha256(json.dumps(dataclasses.asdict(self), sort_keys=True).encode()).hexdigest()

    def rate(self, done: float) -> float:
        """Return the learning rate after a share of the run: up, then down to zero."""
        if done < _WARM_UP:
            return self.learning_rate * min(1.0, (done + 1e-3) / _WARM_UP)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, (done - _WARM_UP) / (1 - _WARM_UP))))


@dataclass(frozen=True)
class AcceptabilityRecipe(ExamplesRecipe):
    """All that decides what a run makes of its examples."""

    # how many sentences a teacher, where there is one, is asked about; their damaged copies are asked about too
    taught: int = 20_000
    layers: int = 0  # how many layers of the base are used, counted from the first; 0 for all
    frozen: int = 0  # how many of the lowest parts are not trained: 1 the embeddings, 2 the first layer too, and so on
    head_rate: float = 1.0  # how many times the learning rate of the base the heads learn with
    findings: float = 1.0  # the weight of knowing what is wrong with each word; 0 for an encoder that does not say it
    sound_words: float = 0.5  # how much a sound word counts in that, beside a faulty one
    meaning: float = 2.0  # the weight of the meaning vectors being those of MiniLM
    order: float = 0.5  # the weight of a sentence being known to stand before the one that follows it
    precision: str = "float32"  # ``bfloat16`` multiplies in 16 bits, on a machine that can; the weights stay in 32

    def __post_init__(self) -> None:
        super().__post_init__()
        check_precision(self.precision)


@dataclass(frozen=True)
class TeacherRecipe(ExamplesRecipe):
    """How a language model is made a judge of sentences."""

    pairs: int = 6_000
    treebank_passes: float = 1.0
    labelled_passes: float = 2.0
    held_out: int = 500
    learning_rate: float = 3e-5
    depth: int = 0  # how many layers of the model are used, counted from the first; 0 for all
    layers: int = 10  # how many of these are trained, counted from the last; the others stay what they were
    head_rate: float = 1e-3  # the highest learning rate of the head, which begins with nothing


@dataclass(frozen=True)
class OrderRecipe:
    """How the order head is trained."""

    # paragraphs, held_out: how many to train on and to measure on; the latter of the articles kept apart
    paragraphs: int = 40_000
    held_out: int = 2_000
    reach: int = 4  # how far apart, in sentences, two sentences may stand to be compared
    # passes, batch, learning_rate, decay: of Adam over the pairs
    passes: int = 8
    batch: int = 2_048
    learning_rate: float = 1e-3
    decay: float = 1e-3
    dropout: float = 0.2
    seed: int = 0
    precision: str = "float32"  # in which sentences are encoded: ``float32`` or ``bfloat16``

    def __post_init__(self) -> None:
        check_precision(self.precision)
        for name in ("paragraphs", "reach", "passes", "batch"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1")
