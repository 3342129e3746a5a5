"""Training the encoder's order head: which of two sentences of a text comes first. The encoder stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from celadon.core import FloatArray, InputError, IntArray
from celadon.text.sentences import split_sentences
from celadon.train.corpus import Advance, Corpus, number_texts
from celadon.train.encoders.encoder_network import EncoderNetwork, Heads
from celadon.train.encoders.encoder_recipes import OrderRecipe
from celadon.train.encoders.example_batches import padded_rows
from celadon.train.precision import autocast

MOST_SENTENCES = 12
"""Sentences of a paragraph that are looked at."""


class Paragraphs(NamedTuple):
    """Paragraphs of two sentences or more; ``starts`` are where each begins among the sentences."""

    sentences: list[str]
    starts: IntArray

    def pairs(self, reach: int) -> IntArray:
        """All pairs of sentences of one paragraph, at most ``reach`` apart, the first one first: [pairs, 2]."""
        found = [
            (one, other)
            for begin, end in zip(self.starts.tolist(), self.starts.tolist()[1:], strict=False)
            for one in range(begin, end)
            for other in range(one + 1, min(end, one + 1 + reach))
        ]
        return np.array(found, dtype=np.int64).reshape(-1, 2)


class OrderFigures(NamedTuple):
    """How often the order is told right on the articles kept apart: of neighbours, and of a paragraph's two parts."""

    neighbours: float
    parts: float
    paragraphs: int


def draw_paragraphs(
    corpus: Corpus, recipe: OrderRecipe, advance: Advance = lambda size: None
) -> tuple[Paragraphs, Paragraphs]:
    """Draw paragraphs at random: those to train on, and those held out."""
    random = np.random.default_rng([recipe.seed, 2])
    parts: tuple[list[list[str]], list[list[str]]] = ([], [])
    sizes, counts = (recipe.paragraphs, recipe.held_out), [0, 0]
    for paragraph in corpus.paragraphs(advance):
        spans = split_sentences(paragraph.text)
        if len(spans) < 2:
            continue
        drawn = parts[paragraph.held_out]
        counts[paragraph.held_out] += 1
        if len(drawn) < sizes[paragraph.held_out]:
            drawn.append([])
            place = len(drawn) - 1
        elif (place := int(random.integers(counts[paragraph.held_out]))) >= sizes[paragraph.held_out]:
            continue
        drawn[place] = [paragraph.text[start:end] for start, end in spans[:MOST_SENTENCES]]
    if not parts[0]:
        raise InputError("the corpus has no paragraph of two sentences")
    return _laid_out(parts[0]), _laid_out(parts[1])


def _laid_out(paragraphs: Sequence[Sequence[str]]) -> Paragraphs:
    starts = np.cumsum([0, *map(len, paragraphs)], dtype=np.int64)
    return Paragraphs([text for paragraph in paragraphs for text in paragraph], starts)


@torch.no_grad()
def order_features(
    network: EncoderNetwork,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    longest: int = 96,
    advance: Callable[[int], None] = lambda texts: None,
    *,
    precision: str = "float32",
) -> torch.Tensor:
    """What the order head reads of each text, [texts, width], in half precision.

    Parameters
    ----------
    network, tokenizer
        The encoder, which is not changed.
    texts
        Sentences.
    longest
        Tokens of a sentence that are read.
    advance
        Told how many more texts are done.
    precision
        In which the network multiplies: ``float32`` or ``bfloat16``.
    """
    network.eval()
    encoded = number_texts(texts, tokenizer)
    found = torch.empty(len(texts), network.before.in_features, dtype=torch.float16)
    order = np.argsort(encoded.lengths, kind="stable")
    for at in range(0, len(order), 64):
        rows = order[at : at + 64]
        padded = padded_rows(encoded, rows, longest)
        with autocast(precision):
            features = network.order_features(torch.from_numpy(padded.ids), torch.from_numpy(padded.lengths))
        found[torch.from_numpy(rows)] = features.half()
        advance(len(rows))
    return found


def train_order(
    network: EncoderNetwork,
    features: torch.Tensor,
    pairs: IntArray,
    recipe: OrderRecipe,
    progress: Callable[[int, float], None] = lambda pairs, loss: None,
) -> None:
    """Train the order head in place.

    Parameters
    ----------
    network
        The encoder with the head.
    features
        What the head reads of each sentence.
    pairs
        Which sentence stands before which.
    recipe
        How.
    progress
        Told how many more pairs are done, and the loss.
    """
    head = [*network.before.parameters(), *network.after.parameters(), network.order_weight, network.order_offset]
    optimiser = torch.optim.AdamW(head, lr=recipe.learning_rate, weight_decay=recipe.decay)
    steps = recipe.passes * -(-len(pairs) // recipe.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    torch.manual_seed(recipe.seed)
    for rows in _shuffled(len(pairs), recipe):
        one, other = (features[torch.from_numpy(pairs[rows, side])].float() for side in (0, 1))
        one, other = (functional.dropout(side, recipe.dropout) for side in (one, other))
        loss = functional.softplus(-_logits(network, one, other)).mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        progress(len(rows), float(loss.detach()))


def _shuffled(pairs: int, recipe: OrderRecipe) -> Iterator[IntArray]:
    for number in range(recipe.passes):
        order = np.random.default_rng([recipe.seed, 3, number]).permutation(pairs)
        yield from (order[at : at + recipe.batch] for at in range(0, pairs, recipe.batch))


def _logits(network: EncoderNetwork, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    first, second = (Heads(side[:, 0], side, network.before(side), network.after(side)) for side in (one, other))
    return network.order_logits(first, second)


@torch.no_grad()
def measure_order(network: EncoderNetwork, features: torch.Tensor, paragraphs: Paragraphs, reach: int) -> OrderFigures:
    """Measure the head on paragraphs: every two neighbours, and every split of a paragraph into two parts."""
    pairs = paragraphs.pairs(reach)
    one, other = (features[torch.from_numpy(pairs[:, side])].float() for side in (0, 1))
    logits = _logits(network, one, other).numpy().astype(np.float64)
    neighbours = logits[pairs[:, 1] == pairs[:, 0] + 1]
    splits = _split_logits(pairs, logits, paragraphs.starts)
    return OrderFigures(float((neighbours > 0).mean()), float((splits > 0).mean()), len(paragraphs.starts) - 1)


def _split_logits(pairs: IntArray, logits: FloatArray, starts: IntArray) -> FloatArray:
    """For every split of a paragraph the mean logit of the pairs that it parts."""
    sums, counts = np.zeros(starts[-1]), np.zeros(starts[-1])
    for (one, other), logit in zip(pairs.tolist(), logits.tolist(), strict=True):
        sums[one:other] += logit
        counts[one:other] += 1
    return sums[counts > 0] / counts[counts > 0]
