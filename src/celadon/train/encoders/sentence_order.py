"""Training the encoder's order head: which of two sentences of a text comes first. The encoder stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from celadon.core import FloatArray, InputError, IntArray
from celadon.text.sentences import split_sentences
from celadon.train.corpus import Advance, Corpus, draw_items, number_texts
from celadon.train.encoders.classifiers import padded_rows
from celadon.train.encoders.graph import write_encoder
from celadon.train.encoders.network import EncoderNetwork, Heads, load_network
from celadon.train.encoders.recipes import OrderRecipe
from celadon.train.model_folder import check_new_folder
from celadon.train.precision import autocast, usable_precision
from celadon.train.reporting import SILENT, Report, made_by
from celadon.train.training_run import import_torch

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
    split = ((paragraph, split_sentences(paragraph.text)) for paragraph in corpus.paragraphs(advance))
    usable = (
        ([paragraph.text[start:end] for start, end in spans[:MOST_SENTENCES]], paragraph.held_out)
        for paragraph, spans in split
        if len(spans) > 1
    )
    trained, apart = draw_items(usable, recipe.paragraphs, recipe.held_out, np.random.default_rng([recipe.seed, 2]))
    if not trained:
        raise InputError("the corpus has no paragraph of two sentences")
    return _laid_out(trained), _laid_out(apart)


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
    """Return what the order head reads of each text, [texts, width], in half precision."""
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


def fit_order_head(
    network: EncoderNetwork,
    features: torch.Tensor,
    pairs: IntArray,
    recipe: OrderRecipe,
    progress: Callable[[int, float], None] = lambda pairs, loss: None,
) -> None:
    """Train the order head in place, on features of sentences and pairs of which the first stands before the second."""
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


def train_order(
    corpus: Sequence[str | Path],
    network: str | Path,
    output: str | Path,
    recipe: OrderRecipe | None = None,
    *,
    threads: int | None = None,
    report: Report = SILENT,
) -> OrderFigures:
    """Train the order head of an encoder, which stays as it is, and write both to a new folder.

    Parameters
    ----------
    corpus
        Text files, a paragraph a line, a blank line between articles.
    network
        The file that :func:`celadon.train.encoders.acceptability.train_acceptability` kept.
    output
        The new folder.
    recipe
        How the head is trained.
    threads, report
        As in :func:`celadon.train.language_models.lm.train_lm`.
    """
    folder = Path(output)
    check_new_folder(folder)
    import_torch(threads)
    recipe = recipe or OrderRecipe()
    recipe = replace(recipe, precision=usable_precision(recipe.precision, report.note))
    kept = load_network(Path(network))
    texts = Corpus(tuple(map(Path, corpus)), seed=recipe.seed)
    with report.bar("drawing paragraphs", texts.size) as bar:
        trained, apart = draw_paragraphs(texts, recipe, bar.update)
    tokenizer = Tokenizer.from_str(kept.tokenizer)
    with report.bar("encoding", len(trained.sentences) + len(apart.sentences), unit="sentence") as bar:
        features, measured = (
            order_features(kept.network, tokenizer, part.sentences, advance=bar.update, precision=recipe.precision)
            for part in (trained, apart)
        )
    pairs = trained.pairs(recipe.reach)
    with report.bar("training", recipe.passes * len(pairs), unit="pair") as bar:
        fit_order_head(kept.network, features, pairs, recipe, lambda some, loss: bar.update(some))
    figures = measure_order(kept.network, measured, apart, recipe.reach)
    command = made_by("order", corpus, network=Path(network), output=folder, **asdict(recipe))
    card = (
        f"# {folder.name}\n\n{kept.card}    {command}\n\n## Order\n\n"
        f"- trained on {recipe.paragraphs:,} paragraphs, sentences up to {recipe.reach} apart; the encoder unchanged\n"
        f"- on {figures.paragraphs:,} paragraphs kept apart: {figures.neighbours:.1%} of neighbours and "
        f"{figures.parts:.1%} of splits into two parts are told in their right order\n"
    )
    write_encoder(kept.network, kept.tokenizer, folder, card=card)
    return figures
