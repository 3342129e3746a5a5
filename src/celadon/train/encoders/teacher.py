"""A language model trained to tell sound sentences from damaged ones: better than the encoder, too large to ship.

The lower layers of a model of Llama's kind stay what they were; the upper ones and a head are trained. The encoder
learns from what it says of sentences.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from celadon.core import InputError, UsageError
from celadon.models.language.smollm2.layout import SMOLLM2, LlamaShape, Precision, linear_shapes, plan_weights
from celadon.models.store import folder_of
from celadon.train.corpus import number_texts
from celadon.train.encoders.classifiers import (
    ExampleBatch,
    PairAccuracy,
    example_batches,
    example_loss,
    label_correlation,
    logits_of,
    pair_accuracies,
)
from celadon.train.encoders.examples import TEACHER_STREAM, Material, Sources, Teach, prepare
from celadon.train.encoders.recipes import TeacherRecipe
from celadon.train.reporting import SILENT, Report, made_by
from celadon.train.training_run import TrainingRun, import_torch, is_not, read_tensors, work_folder, write_tensors

_STD = 0.02


class TeacherLayer(nn.Module):
    """Attention to what came before, then a gated feed-forward net."""

    def __init__(self, shape: LlamaShape) -> None:
        super().__init__()
        self.shape = shape
        sizes = linear_shapes(shape)
        self.qkv, self.out, self.gate_up, self.down = (
            nn.Linear(*sizes[name], bias=False) for name in ("qkv", "out", "gate_up", "down")
        )
        self.attention_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.mlp_norm = nn.RMSNorm(shape.width, shape.epsilon)

    def forward(self, states: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return the next states; ``turns`` are cosines and sines by place, [length, half a head]."""
        states = states + self._attended(self.attention_norm(states), turns)
        gate, up = self.gate_up(self.mlp_norm(states)).chunk(2, dim=-1)
        following: torch.Tensor = states + self.down(functional.silu(gate) * up)
        return following

    def _attended(self, states: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        rows, length, _ = states.shape
        shape, keys = self.shape, self.shape.key_heads * self.shape.head_width
        parts = self.qkv(states).split([shape.heads * shape.head_width, keys, keys], dim=-1)
        # [rows, heads that answer, heads that ask each of them, places, numbers]
        query, key, value = (part.view(rows, length, shape.key_heads, -1, shape.head_width) for part in parts)
        query, key, value = (part.permute(0, 2, 3, 1, 4) for part in (query, key, value))
        weights = (_turned(query, *turns) @ _turned(key, *turns).transpose(-1, -2)) * shape.head_width**-0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = weights.masked_fill(later, float("-inf")).softmax(-1)
        mixed: torch.Tensor = self.out((weights @ value).permute(0, 3, 1, 2, 4).reshape(rows, length, -1))
        return mixed


def _turned(heads: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    first, second = heads.chunk(2, dim=-1)
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)


class TeacherNetwork(nn.Module):
    """The layers of a language model, and a head that reads its last state and the mean of all.

    The first ``depth`` layers are used, by default all; of these the last ``trained`` are trained.
    """

    cosines: torch.Tensor
    sines: torch.Tensor

    def __init__(
        self, shape: LlamaShape, trained: int, dropout: float = 0.1, seed: int = 0, depth: int | None = None
    ) -> None:
        super().__init__()
        depth = depth or shape.layers
        if not 0 <= trained <= depth <= shape.layers:
            raise UsageError(f"of {shape.layers} layers, {depth} cannot be used and {trained} of these trained")
        self.shape, self.trained = shape, trained
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(TeacherLayer(shape) for _ in range(depth))
        self.last_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.head = nn.Linear(2 * shape.width, 1)
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.head.weight, std=_STD, generator=torch.Generator().manual_seed(seed))
        nn.init.zeros_(self.head.bias)
        frequencies = shape.theta ** -(torch.arange(0, shape.head_width, 2).double() / shape.head_width)
        angles = torch.arange(shape.positions).double()[:, None] * frequencies
        self.register_buffer("cosines", angles.cos().float(), persistent=False)
        self.register_buffer("sines", angles.sin().float(), persistent=False)
        for part in (self.embedding, *self.layers[: depth - trained]):
            part.requires_grad_(False)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return a logit for each row of tokens, [rows, length]; what comes after a row's length is not looked at."""
        states = self.states(ids)
        there = torch.arange(ids.shape[1]) < lengths[:, None]
        mean = states.masked_fill(~there[:, :, None], 0.0).sum(1) / lengths[:, None]
        last = states[torch.arange(len(ids)), lengths - 1]
        logits: torch.Tensor = self.head(self.dropout(torch.cat([last, mean], dim=1))).squeeze(-1)
        return logits

    def states(self, ids: torch.Tensor) -> torch.Tensor:
        """Return what the language model makes of each token and those before it, [rows, length, width]."""
        turns = (self.cosines[: ids.shape[1]], self.sines[: ids.shape[1]])
        states = self.embedding(ids)
        for layer in self.layers:
            states = layer(states, turns)
        found: torch.Tensor = self.last_norm(states)
        return found

    def read_language_model(self, path: Path) -> None:
        """Take the layers' weights from a file as ``celadon models fetch`` leaves it."""
        plan = plan_weights(self.shape, Precision.FP32)
        try:
            file = np.memmap(path, dtype=np.uint8, mode="r")
            weights = {
                name: torch.from_numpy(
                    np.array(file[place.offset : place.offset + place.size].view(place.kind).reshape(place.shape))
                )
                for name, place in plan.items()
            }
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: does not hold the weights of such a language model: {error}") from error
        self.load_state_dict(_named(weights, self.shape, len(self.layers)), strict=False)

    def learnt(self) -> dict[str, torch.Tensor]:
        """The weights that training changes."""
        return {name: weight.detach() for name, weight in self.named_parameters() if weight.requires_grad}


def _named(weights: Mapping[str, torch.Tensor], shape: LlamaShape, depth: int) -> dict[str, torch.Tensor]:
    """The file's weights of the first layers under the network's names; the file has matrices inputs by outputs."""
    found = {"embedding.weight": weights["embedding"], "last_norm.weight": weights["last_norm"]}
    for layer in range(depth):
        for name in linear_shapes(shape):
            found[f"layers.{layer}.{name}.weight"] = weights[f"{name}.{layer}"].T.contiguous()
        for name in ("attention_norm", "mlp_norm"):
            found[f"layers.{layer}.{name}.weight"] = weights[f"{name}.{layer}"]
    return found


BASE = "smollm2"
_WEIGHTS = "weights.bin"
_WHAT = "a teacher that celadon train teacher made"
_FACTS = "teacher"
_MARK = "<|endoftext|>"
_DECAY = 0.01
# texts after which what the teacher said so far is kept: about a minute's work
_KEPT_EVERY = 2_048


def teacher_tokenizer(base: Path) -> Tokenizer:
    """The tokenizer of a language model, which puts the mark round a text that stands between texts."""
    from tokenizers.processors import TemplateProcessing

    from celadon.models.store.model_files import load_tokenizer

    tokenizer = load_tokenizer(base / "tokenizer.json")
    mark = tokenizer.token_to_id(_MARK)
    if mark is None:
        raise InputError(f"{base}: its tokenizer has no {_MARK}")
    tokenizer.post_processor = TemplateProcessing(single=f"{_MARK} $A {_MARK}", special_tokens=[(_MARK, mark)])
    return tokenizer


class TeacherTraining(TrainingRun[ExampleBatch]):
    """A run that trains the upper layers of the language model in a folder to classify sentences."""

    def __init__(
        self, recipe: TeacherRecipe, material: Material, base: Path, checkpoint: Path, shape: LlamaShape = SMOLLM2
    ) -> None:
        self.recipe, self.material = recipe, material
        self.network = TeacherNetwork(shape, recipe.layers, recipe.dropout, recipe.seed, recipe.depth)
        self.network.read_language_model(base / _WEIGHTS)
        head = list(self.network.head.parameters())
        layers = [
            each for each in self.network.parameters() if each.requires_grad and all(each is not it for it in head)
        ]
        groups: list[dict[str, Any]] = [
            {"params": layers},
            {"params": head, "scale": recipe.head_rate / recipe.learning_rate},
        ]
        optimiser = torch.optim.AdamW(groups, lr=recipe.learning_rate, weight_decay=_DECAY, fused=True)
        self.total = max(1, int(len(material.trained.unit_lengths) * recipe.passes))
        run = {"recipe": recipe.fingerprint, "data": material.digest}
        super().__init__(self.network, optimiser, self.total, recipe.seed, run, checkpoint)

    def batches(self, skip: int) -> Iterator[ExampleBatch]:
        """Yield batches of units of like length."""
        return example_batches(self.material.trained, self.recipe, skip)

    def loss(self, batch: ExampleBatch) -> tuple[torch.Tensor, int]:
        """Each sentence near its target and above its damaged copy."""
        return example_loss(self.network(*batch.padded.tensors()), batch, self.recipe.ranking), batch.units

    def rate(self, seen: int) -> float:
        """Return the learning rate of the layers."""
        return self.recipe.rate(seen / self.total)

    def save_teacher(self, path: Path, base: str, made_by: str = "") -> None:
        """Write what :func:`open_teacher` reads, with the command that made it."""
        facts = {
            "base": base,
            "shape": dataclasses.asdict(self.network.shape),
            "depth": self.recipe.depth,
            "layers": self.recipe.layers,
            "longest": self.recipe.longest,
            "made_by": made_by,
        }
        write_tensors(path, self.network.learnt(), {_FACTS: json.dumps(facts)})


class Teacher:
    """A trained classifier, which reads ``longest`` tokens of a sentence; ``digest`` is the sha256 of its file."""

    def __init__(self, network: TeacherNetwork, tokenizer: Tokenizer, longest: int, digest: str) -> None:
        self.network, self.tokenizer, self.longest, self.digest = network, tokenizer, longest, digest

    def judge(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """A logit for each text."""
        encoded = number_texts(texts, self.tokenizer)
        return logits_of(self.network, encoded, self.longest).astype(np.float32)

    def kept_in(self, folder: Path, advance: Callable[[int], None] = lambda many: None) -> Teach:
        """Return :meth:`judge` as one that keeps what was said in a folder, so that a stopped run goes on from there.

        A folder may be used for any texts and teachers. ``advance`` is called with how many more texts were judged.
        """

        def teach(texts: Sequence[str]) -> npt.NDArray[np.float32]:
            name = hashlib.sha256(json.dumps([self.digest, *texts]).encode()).hexdigest()[:16]
            path = folder / f"taught-{name}.npy"
            said = np.load(path) if path.is_file() else np.zeros(0, dtype=np.float32)
            advance(len(said))
            while len(said) < len(texts):
                some = texts[len(said) : len(said) + _KEPT_EVERY]
                said = np.concatenate([said, self.judge(some)])
                draft = path.with_suffix(".part.npy")
                np.save(draft, said)
                draft.replace(path)
                advance(len(some))
            return said

        return teach


def teacher_made_by(path: Path) -> str:
    """The command that made a teacher; empty where it does not say."""
    return str(json.loads(read_tensors(path, _WHAT).facts.get(_FACTS, "{}")).get("made_by", ""))


def open_teacher(path: Path) -> Teacher:
    """Read what ``celadon train teacher`` wrote; raise InputError where it is something else."""
    learnt, said = read_tensors(path, _WHAT)
    try:
        facts = json.loads(said[_FACTS])
        network = TeacherNetwork(LlamaShape(**facts["shape"]), int(facts["layers"]), depth=int(facts["depth"]))
        shapes = {name: each.shape for name, each in network.learnt().items()}
        if {name: each.shape for name, each in learnt.items()} != shapes:
            raise ValueError("it has other weights than such a network")
        base, longest = str(facts["base"]), int(facts["longest"])
    except (KeyError, TypeError, ValueError) as error:
        raise is_not(path, _WHAT, error) from error
    folder = folder_of(base)
    network.read_language_model(folder / _WEIGHTS)
    network.load_state_dict(learnt, strict=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Teacher(network.eval(), teacher_tokenizer(folder), longest, digest)


def train_teacher(
    corpus: Sequence[str | Path],
    output: str | Path,
    recipe: TeacherRecipe | None = None,
    *,
    treebank: Sequence[str | Path] = (),
    labelled: Sequence[str | Path] = (),
    disfluent: Sequence[str | Path] = (),
    test: Sequence[str | Path] = (),
    work: str | Path | None = None,
    fresh: bool = False,
    threads: int | None = None,
    report: Report = SILENT,
) -> tuple[PairAccuracy, dict[str, float]]:
    """Train the upper layers of SmolLM2 to tell sound sentences from damaged ones, and write them to a new file.

    Parameters
    ----------
    corpus, treebank, labelled, disfluent, test, work, fresh, threads, report
        As in :func:`celadon.train.encoders.acceptability.train_acceptability`.
    output
        The new file.
    recipe
        How the layers are trained.

    Returns
    -------
    tuple
        How often a held-out sentence is above its damaged copy, and Matthews' correlation with each file of ``test``.
    """
    path = Path(output)
    if os.path.lexists(path):
        raise UsageError(f"{path}: is there already; give another --output, or remove it first")
    import_torch(threads)
    recipe, base = recipe or TeacherRecipe(), folder_of(BASE)
    sources = Sources.of(corpus, treebank, labelled, disfluent, recipe.seed)
    with work_folder(path, work, fresh=fresh) as checkpoint:
        with report.bar("drawing and damaging sentences", sources.corpus.size) as bar:
            tokenizer = teacher_tokenizer(base)
            material = prepare(sources, recipe, tokenizer, checkpoint.parent, bar.update, stream=TEACHER_STREAM)
        training = TeacherTraining(recipe, material, base, checkpoint)
        training.run_with_bar(report)
        command = made_by("teacher", corpus, output=path, **sources.options(), **dataclasses.asdict(recipe))
        training.save_teacher(path, BASE, command)
        return pair_accuracies(training)[0], {
            Path(file).name: label_correlation(training, str(file))[0] for file in test
        }
