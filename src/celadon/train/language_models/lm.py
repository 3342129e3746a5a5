"""Training a language model: from a corpus to weights, with checkpoints that a killed run goes on from."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from celadon.core import FloatArray, UsageError
from celadon.models.language.unigrams import smoothed
from celadon.train.batches import Padded, Plan
from celadon.train.corpus import Corpus, EncodedSentences, TrainingTexts, encode_corpus
from celadon.train.language_models.vocabulary import marks_of, train_tokenizer
from celadon.train.precision import autocast, check_precision
from celadon.train.training_run import TrainingRun, import_torch

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

    from celadon.train.language_models.lstm import LstmLanguageModel

_FLOOR = 0.02


@dataclass(frozen=True)
class Recipe:
    """All that decides what a training run makes of a corpus.

    Attributes
    ----------
    unit, vocabulary
        What a token is, and how many there are.
    layers, hidden
        The size of the network.
    tokens
        How many tokens are trained on; more than the corpus has means several epochs.
    batch_tokens
        Positions in a batch, padding included.
    longest
        Tokens of a sentence that are trained on.
    learning_rate
        The highest: reached after ``warm_up`` tokens, from where it falls as a cosine.
    precision
        ``bfloat16`` multiplies in 16 bits, on a machine that can; the weights stay in 32.
    hold_out
        The share of the articles kept apart for the perplexity.
    """

    unit: str = "wordpiece"
    vocabulary: int = 16_000
    layers: int = 2
    hidden: int = 512
    tokens: int = 25_000_000
    batch_tokens: int = 2_048
    longest: int = 128
    learning_rate: float = 2e-3
    warm_up: int = 500_000
    dropout: float = 0.0
    precision: str = "float32"
    hold_out: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        check_precision(self.precision)
        for name in ("layers", "hidden", "tokens", "batch_tokens", "longest"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name.replace('_', ' ')} must be at least 1")
        if self.hidden % 2:
            raise UsageError(f"the number of units must be even, not {self.hidden}")

    @property
    def fingerprint(self) -> str:
        """Two runs of one fingerprint over one corpus make the same model."""
        return hashlib.sha256(json.dumps(dataclasses.asdict(self), sort_keys=True).encode()).hexdigest()

    def rate(self, seen: int) -> float:
        """The learning rate after ``seen`` tokens."""
        if seen < self.warm_up:
            return self.learning_rate * (seen + self.batch_tokens) / (self.warm_up + self.batch_tokens)
        done = min(1.0, (seen - self.warm_up) / max(1, self.tokens - self.warm_up))
        return self.learning_rate * (_FLOOR + (1 - _FLOOR) * 0.5 * (1 + math.cos(math.pi * done)))


@dataclass(frozen=True)
class Material:
    """A corpus made ready: its tokenizer, its sentences as numbers, its unigram table."""

    tokenizer: Tokenizer
    trained: EncodedSentences
    held_out: EncodedSentences
    unigrams: FloatArray
    corpus_digest: str

    def plan(self, recipe: Recipe) -> Plan:
        """The batches to train on."""
        return self._plan(self.trained, recipe, recipe.longest)

    def test_plan(self, recipe: Recipe) -> Plan:
        """The batches to measure on: every sentence whole."""
        return self._plan(self.held_out, recipe, max(1, int(self.held_out.lengths.max(initial=1))))

    def _plan(self, sentences: EncodedSentences, recipe: Recipe, longest: int) -> Plan:
        marks = marks_of(self.tokenizer)
        return Plan(sentences, recipe.batch_tokens, longest, marks.begin, marks.end, recipe.seed)


class HeldOut(NamedTuple):
    """How well the held-out sentences were predicted; the end of a sentence is a token, not a word."""

    loss: float
    tokens: int
    words: int
    sentences: int

    @property
    def per_word(self) -> float:
        """Perplexity per word, between white space: the measure that models of different units share."""
        return math.exp(self.loss / max(1, self.words))

    @property
    def per_token(self) -> float:
        """Perplexity per token."""
        return math.exp(self.loss / max(1, self.tokens))


def prepare(
    corpus: Corpus,
    recipe: Recipe,
    work: Path,
    advance: Callable[[str, int], None] = lambda what, size: None,
    tokenizer_file: Path | None = None,
) -> Material:
    """Make the tokenizer and number the corpus, or take both from ``work`` if they were made from the same corpus.

    Parameters
    ----------
    corpus, recipe
        What is trained on, and how.
    work
        Where the results are kept.
    advance
        Called with what is being done and how many more bytes of the corpus' files it has read.
    tokenizer_file
        The tokenizer of another model, to have its tokens; by default one is made.
    """
    from tokenizers import Tokenizer

    from celadon.models.store.model_files import load_tokenizer

    work.mkdir(parents=True, exist_ok=True)
    digest = corpus.digest()
    given = load_tokenizer(tokenizer_file) if tokenizer_file else None
    made_from = json.dumps(
        [digest, recipe.unit, recipe.vocabulary, corpus.hold_out, corpus.seed, _digest(given) if given else None]
    )
    stamp = work / "material.json"
    if not (stamp.is_file() and stamp.read_text() == made_from):
        texts = TrainingTexts(corpus, lambda size: advance("vocabulary", size))
        tokenizer = given or train_tokenizer(texts, recipe.unit, recipe.vocabulary)
        marks_of(tokenizer)
        tokenizer.save(str(work / "tokenizer.json"))
        told = corpus.sentences(lambda size: advance("numbering", size))
        for name, part in zip(("train", "held-out"), encode_corpus(told, tokenizer), strict=True):
            part.save(work, name)
        stamp.write_text(made_from)
    tokenizer = Tokenizer.from_file(str(work / "tokenizer.json"))
    trained, held_out = EncodedSentences.load(work, "train"), EncodedSentences.load(work, "held-out")
    counts = np.bincount(trained.ids, minlength=tokenizer.get_vocab_size())
    counts[marks_of(tokenizer).end] = len(trained)
    return Material(tokenizer, trained, held_out, smoothed(counts).astype(np.float64), digest)


def _digest(tokenizer: Tokenizer) -> str:
    return hashlib.sha256(tokenizer.to_str().encode()).hexdigest()


class Training(TrainingRun[Padded]):
    """A run that trains a language model."""

    def __init__(self, recipe: Recipe, material: Material, checkpoint: Path) -> None:
        torch = import_torch()
        from celadon.train.language_models.lstm import LstmLanguageModel, Shape, default_cutoffs

        self.recipe = recipe
        self.material = material
        vocabulary = material.tokenizer.get_vocab_size()
        shape = Shape(vocabulary, recipe.hidden, recipe.layers, default_cutoffs(vocabulary))
        torch.manual_seed(recipe.seed)
        self.model: LstmLanguageModel = LstmLanguageModel(shape, recipe.dropout)
        self.model.initialise(torch.from_numpy(material.unigrams).float(), recipe.seed)
        optimiser = torch.optim.Adam(self.model.parameters(), lr=recipe.learning_rate, fused=True)
        run = {
            "recipe": recipe.fingerprint,
            "corpus": material.corpus_digest,
            "tokenizer": _digest(material.tokenizer),
        }
        super().__init__(self.model, optimiser, recipe.tokens, recipe.seed, run, checkpoint)

    def batches(self, skip: int) -> Iterator[Padded]:
        """Yield the batches of the plan."""
        return self.material.plan(self.recipe).batches(skip)

    def loss(self, batch: Padded) -> tuple[torch.Tensor, int]:
        """Return the mean loss of a token, and the number of tokens."""
        torch = import_torch()
        with autocast(self.recipe.precision):
            losses = self.model(torch.from_numpy(batch.inputs), torch.from_numpy(batch.targets))
        return losses.sum() / batch.tokens, batch.tokens

    def rate(self, seen: int) -> float:
        """Return the recipe's learning rate."""
        return self.recipe.rate(seen)
