"""What a trained network is written as: a folder that celadon opens, measured as it lies there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from celadon.core import IntArray
from celadon.models.language.onnx_lm import CHECK
from celadon.models.networks.self_check import write_reference_check
from celadon.train.batches import Padded, Plan
from celadon.train.corpus import Corpus, EncodedSentences
from celadon.train.language_models.lm import HeldOut, Material, Recipe, Training
from celadon.train.language_models.lstm_graph import lstm_graph
from celadon.train.language_models.vocabulary import BEGIN, END, marks_of
from celadon.train.model_folder import new_folder, scripts_of, tokens_of

GRAPH = "model.onnx"
# An LSTM has no window of its own; this bounds the memory that one text takes.
_WINDOW = 1_024


@dataclass(frozen=True)
class Trained:
    """A finished run, with what its card says of it.

    Attributes
    ----------
    recipe, material
        How it was made, and from what.
    graph
        The network, serialised.
    seen, seconds
        Tokens trained on, and the time it took.
    measured
        The held-out perplexity of ``graph``; None where nothing was held out.
    """

    recipe: Recipe
    material: Material
    graph: bytes
    seen: int
    seconds: float
    measured: HeldOut | None


def finish(training: Training, advance: Callable[[int], None] = lambda tokens: None) -> Trained:
    """Turn a finished run into a graph and measure that; ``advance`` is told how many more tokens were measured."""
    weights = {name: weight.detach().numpy() for name, weight in training.model.named_parameters()}
    graph = lstm_graph(weights, training.model.shape)
    held_out = training.material.held_out
    plan = training.material.test_plan(training.recipe)
    measured = measure_graph(graph, plan, held_out, advance) if len(held_out) else None
    return Trained(training.recipe, training.material, graph, training.seen, training.seconds, measured)


def measure_graph(
    graph: bytes, plan: Plan, sentences: EncodedSentences, advance: Callable[[int], None] = lambda tokens: None
) -> HeldOut:
    """The loss of a graph on sentences, run as scoring runs it."""
    from onnxruntime import InferenceSession

    session = InferenceSession(graph, providers=["CPUExecutionProvider"])
    total, tokens = 0.0, 0
    for batch in plan.in_order():
        ids, where = _as_graph_takes_it(batch)
        (logprobs,) = session.run(["logprobs"], {"ids": ids, "where": where})
        total -= float(np.asarray(logprobs, dtype=np.float64).sum())
        tokens += len(where)
        advance(len(where))
    return HeldOut(total, tokens, sentences.words, len(sentences))


def _as_graph_takes_it(batch: Padded) -> tuple[IntArray, IntArray]:
    last = np.where(batch.targets[-1:] >= 0, batch.targets[-1:], 0)
    ids = np.concatenate([batch.inputs, last]).T
    return np.ascontiguousarray(ids), np.flatnonzero(batch.targets.T.ravel() >= 0)


def write_lm(folder: Path, trained: Trained, card: str) -> None:
    """Write a model to a new folder, which appears whole or not at all."""
    with new_folder(folder) as draft:
        (draft / GRAPH).write_bytes(trained.graph)
        write_reference_check(draft, trained.graph, trained.material.tokenizer.get_vocab_size(), _WINDOW, CHECK)
        np.save(draft / "unigrams.npy", trained.material.unigrams.astype(np.float32))
        trained.material.tokenizer.save(str(draft / "tokenizer.json"))
        described = json.dumps(_description(folder.name, trained), ensure_ascii=False, indent=2)
        (draft / "model.json").write_text(described + "\n", encoding="utf-8")
        (draft / "card.md").write_text(card, encoding="utf-8")


def _description(name: str, trained: Trained) -> Mapping[str, Any]:
    tokenizer = trained.material.tokenizer
    marks = marks_of(tokenizer)
    counts = np.bincount(trained.material.trained.ids, minlength=tokenizer.get_vocab_size())
    return {
        "format": "celadon-lm/1",
        "kind": "onnx",
        "name": name,
        "unit": trained.recipe.unit,
        "begin": BEGIN,
        "begin_id": marks.begin,
        "end": END,
        "end_id": marks.end,
        "unknown_id": marks.unknown,
        "window": _WINDOW,
        "scripts": scripts_of(tokens_of(tokenizer), counts),
    }


def card(name: str, trained: Trained, corpus: Corpus, about: str, command: str) -> str:
    """What people should know of a model, in Markdown."""
    recipe, material = trained.recipe, trained.material
    files = ", ".join(path.name for path in corpus.paths)
    hours = trained.seconds / 3600
    epochs = trained.seen / max(1, len(material.trained.ids) + len(material.trained))
    return f"""# {name}

An LSTM language model of {recipe.layers} layers of {recipe.hidden} over {material.tokenizer.get_vocab_size():,} \
{"word pieces" if recipe.unit == "wordpiece" else "words"}, with an adaptive softmax that shares its vectors with the \
input. Sentences are scored one by one, from {BEGIN} to {END}; the end counts as a token.

## Data

{about or "Not stated."}

- files: {files} (sha256 {material.corpus_digest})
- trained on: {len(material.trained):,} sentences, {material.trained.words:,} words, \
{len(material.trained.ids):,} tokens
- kept apart for the perplexity: {corpus.hold_out:g} of the articles (seed {corpus.seed}): \
{len(material.held_out):,} sentences, {material.held_out.words:,} words
- the unigram table is of the same sentences, one added to every count

## Figures

- perplexity on what was kept apart: {perplexity(trained.measured)}
- tokens seen: {trained.seen:,} ({epochs:.2f} times the corpus) in {hours:.2f} hours
- size: {len(trained.graph) / 1e6:.1f} MB (weights and products in 8 bits, sums in integers)

## How it was made

    {command}
"""


def perplexity(measured: HeldOut | None) -> str:
    """The held-out perplexity in words."""
    if measured is None:
        return "not measured, nothing was kept apart"
    return f"{measured.per_word:.1f} per word, {measured.per_token:.1f} per token"
