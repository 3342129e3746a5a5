"""Training a language model: from a corpus to weights, with checkpoints that a killed run goes on from."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from celadon.core import FloatArray, IntArray, UsageError
from celadon.models.language.onnx_lm import CHECK
from celadon.models.language.unigrams import smoothed
from celadon.models.networks.self_check import write_reference_check
from celadon.train.corpus import Corpus, EncodedSentences, Padded, Plan, encode_corpus
from celadon.train.language_models.vocabulary import BEGIN, END, PASSES, choose_tokenizer, lm_description, marks_of
from celadon.train.model_folder import check_new_folder, new_folder
from celadon.train.precision import autocast, check_precision, usable_precision
from celadon.train.reporting import SILENT, Report, made_by, model_card
from celadon.train.training_run import TrainingRun, import_torch, work_folder

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

    from celadon.train.language_models.lstm import LstmLanguageModel

_FLOOR = 0.02


@dataclass(frozen=True)
class Recipe:
    """All that decides what a training run makes of a corpus."""

    # unit, vocabulary: what a token is, and how many there are
    unit: str = "wordpiece"
    vocabulary: int = 16_000
    # layers, hidden: the size of the network
    layers: int = 2
    hidden: int = 512
    tokens: int = 25_000_000  # how many tokens are trained on; more than the corpus has means several epochs
    batch_tokens: int = 2_048  # positions in a batch, padding included
    longest: int = 128  # tokens of a sentence that are trained on
    learning_rate: float = 2e-3  # the highest: reached after ``warm_up`` tokens, from where it falls as a cosine
    warm_up: int = 500_000
    dropout: float = 0.0
    precision: str = "float32"  # ``bfloat16`` multiplies in 16 bits, on a machine that can; the weights stay in 32
    hold_out: float = 0.01  # the share of the articles kept apart for the perplexity
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

    ``advance`` is called with what is being done and how many more bytes of the corpus' files it has read.
    """
    from tokenizers import Tokenizer

    from celadon.models.store.model_files import load_tokenizer

    work.mkdir(parents=True, exist_ok=True)
    digest = corpus.digest()
    given = _digest(load_tokenizer(tokenizer_file)) if tokenizer_file else None
    made_from = json.dumps([digest, recipe.unit, recipe.vocabulary, corpus.hold_out, corpus.seed, given])
    stamp = work / "material.json"
    if not (stamp.is_file() and stamp.read_text() == made_from):
        tokenizer = choose_tokenizer(
            tokenizer_file, corpus, recipe.unit, recipe.vocabulary, lambda size: advance("vocabulary", size)
        )
        tokenizer.save(str(work / "tokenizer.json"))
        sentences = corpus.sentences(lambda size: advance("numbering", size))
        for name, part in zip(("train", "held-out"), encode_corpus(sentences, tokenizer), strict=True):
            part.save(work, name)
        stamp.write_text(made_from)
    tokenizer = Tokenizer.from_file(str(work / "tokenizer.json"))
    trained, held_out = EncodedSentences.load(work, "train"), EncodedSentences.load(work, "held-out")
    counts = token_counts(tokenizer, trained)
    return Material(tokenizer, trained, held_out, smoothed(counts).astype(np.float64), digest)


def token_counts(tokenizer: Tokenizer, sentences: EncodedSentences) -> IntArray:
    """Return how often each token occurs, the end of a sentence included."""
    counts = np.bincount(sentences.ids, minlength=tokenizer.get_vocab_size())
    counts[marks_of(tokenizer).end] = len(sentences)
    return counts


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
        run = {"recipe": recipe.fingerprint, "corpus": material.corpus_digest, "tokenizer": _digest(material.tokenizer)}
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


GRAPH = "model.onnx"
# An LSTM has no window of its own; this bounds the memory that one text takes.
_WINDOW = 1_024


@dataclass(frozen=True)
class Trained:
    """A finished run, with what its card says of it."""

    # recipe, material: how it was made, and from what
    recipe: Recipe
    material: Material
    graph: bytes  # the network, serialised
    # seen, seconds: tokens trained on, and the time it took
    seen: int
    seconds: float
    measured: HeldOut | None  # the held-out perplexity of ``graph``; None where nothing was held out


def finish(training: Training, advance: Callable[[int], None] = lambda tokens: None) -> Trained:
    """Turn a finished run into a graph and measure that; ``advance`` is told how many more tokens were measured."""
    from celadon.train.language_models.lstm import lstm_graph

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
    tokenizer = trained.material.tokenizer
    counts = np.bincount(trained.material.trained.ids, minlength=tokenizer.get_vocab_size())
    described = lm_description(folder.name, "onnx", trained.recipe.unit, tokenizer, counts, _WINDOW)
    with new_folder(folder, card, described) as draft:
        (draft / GRAPH).write_bytes(trained.graph)
        write_reference_check(draft, trained.graph, tokenizer.get_vocab_size(), _WINDOW, CHECK)
        np.save(draft / "unigrams.npy", trained.material.unigrams.astype(np.float32))
        tokenizer.save(str(draft / "tokenizer.json"))


def _card(name: str, trained: Trained, corpus: Corpus, about: str, command: str) -> str:
    recipe, material = trained.recipe, trained.material
    unit = "word pieces" if recipe.unit == "wordpiece" else "words"
    epochs = trained.seen / max(1, len(material.trained.ids) + len(material.trained))
    return model_card(
        name,
        f"An LSTM language model of {recipe.layers} layers of {recipe.hidden} over "
        f"{material.tokenizer.get_vocab_size():,} {unit}, with an adaptive softmax that shares its vectors with the "
        f"input. Sentences are scored one by one, from {BEGIN} to {END}; the end counts as a token.",
        about,
        [
            f"files: {', '.join(path.name for path in corpus.paths)} (sha256 {material.corpus_digest})",
            f"trained on: {len(material.trained):,} sentences, {material.trained.words:,} words, "
            f"{len(material.trained.ids):,} tokens",
            f"kept apart for the perplexity: {corpus.hold_out:g} of the articles (seed {corpus.seed}): "
            f"{len(material.held_out):,} sentences, {material.held_out.words:,} words",
            "the unigram table is of the same sentences, one added to every count",
        ],
        f"- perplexity on what was kept apart: {perplexity(trained.measured)}\n"
        f"- tokens seen: {trained.seen:,} ({epochs:.2f} times the corpus) in {trained.seconds / 3600:.2f} hours\n"
        f"- size: {len(trained.graph) / 1e6:.1f} MB (weights and products in 8 bits, sums in integers)",
        [command],
    )


def perplexity(measured: HeldOut | None) -> str:
    """The held-out perplexity in words."""
    if measured is None:
        return "not measured, nothing was kept apart"
    return f"{measured.per_word:.1f} per word, {measured.per_token:.1f} per token"


def train_lm(
    corpus: Sequence[str | Path],
    output: str | Path,
    recipe: Recipe | None = None,
    *,
    tokenizer: str | Path | None = None,
    about: str = "",
    work: str | Path | None = None,
    save_every: float = 120.0,
    fresh: bool = False,
    threads: int | None = None,
    report: Report = SILENT,
) -> Trained:
    """Train an LSTM language model, measure it on articles kept apart, and write it to a new folder.

    Parameters
    ----------
    corpus
        Text files, a paragraph a line, a blank line between articles.
    output
        The new folder, by which every likelihood metric can use the model.
    recipe
        The size of the network and how it is trained.
    tokenizer
        The tokenizer.json of another model, to have its tokens; by default one is made.
    about
        For the card: what the data are, and their license.
    work, fresh, save_every
        Where the numbered corpus and the checkpoint are kept, whether an earlier checkpoint is ignored, and the seconds
        between checkpoints.
    threads
        Processor threads; all by default.
    report
        Receives the progress.
    """
    folder = Path(output)
    check_new_folder(folder)
    recipe = recipe or Recipe()
    texts = Corpus(tuple(map(Path, corpus)), recipe.hold_out, recipe.seed)
    import_torch(threads)
    recipe = dataclasses.replace(recipe, precision=usable_precision(recipe.precision, report.note))
    file = Path(tokenizer) if tokenizer else None
    with work_folder(folder, work, fresh=fresh) as checkpoint:
        # the vocabulary is made, then the corpus is numbered
        with report.bar("reading the corpus", (1 if file else 1 + PASSES[recipe.unit]) * texts.size) as bar:

            def advance(what: str, size: int) -> None:
                bar.set_description(what, refresh=False)
                bar.update(size)

            material = prepare(texts, recipe, checkpoint.parent, advance, file)
        training = Training(recipe, material, checkpoint)
        training.run_with_bar(report, "token", lambda loss: f"perplexity {math.exp(min(loss, 50)):.1f}", save_every)
        with report.bar("measuring", len(material.held_out.ids) + len(material.held_out), unit="token") as bar:
            trained = finish(training, bar.update)
        names = ("layers", "hidden", "tokens", "batch_tokens", "longest", "warm_up", "seed", "learning_rate", "dropout")
        options = {name: getattr(recipe, name) for name in (*names, "hold_out", "precision")}
        command = made_by(
            "lm",
            corpus,
            output=folder,
            tokenizer=file,
            unit=recipe.unit,
            vocab=None if file else recipe.vocabulary,
            **options,
        )
        write_lm(folder, trained, _card(folder.name, trained, texts, about, command))
    return trained
