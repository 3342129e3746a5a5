"""Training a language model to judge sentences, and asking it about those that the encoder is to learn."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer

from celadon.core import InputError
from celadon.models.language.smollm2.layout import SMOLLM2, LlamaShape
from celadon.models.store import folder_of
from celadon.train.corpus import number_texts
from celadon.train.encoders.acceptability_examples import Teach
from celadon.train.encoders.encoder_recipes import TeacherRecipe
from celadon.train.encoders.example_batches import ExampleBatch, example_batches, example_loss, logits_of
from celadon.train.encoders.material import Material
from celadon.train.encoders.teacher_network import TeacherNetwork
from celadon.train.tensor_file import is_not, read_tensors, write_tensors
from celadon.train.training_run import TrainingRun

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
    """A run that makes a language model a judge of sentences.

    Parameters
    ----------
    recipe, material
        How, and on what.
    base
        The folder of the language model.
    checkpoint
        Where the run is kept.
    shape
        The size of the language model.
    """

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
    """A trained judge of sentences.

    Parameters
    ----------
    network, tokenizer
        Both as they were trained.
    longest
        The tokens of a sentence that are read.
    digest
        The sha256 of its file.
    """

    def __init__(self, network: TeacherNetwork, tokenizer: Tokenizer, longest: int, digest: str) -> None:
        self.network, self.tokenizer, self.longest, self.digest = network, tokenizer, longest, digest

    def judge(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """A logit for each text."""
        encoded = number_texts(texts, self.tokenizer)
        return logits_of(self.network, encoded, self.longest).astype(np.float32)

    def kept_in(self, folder: Path, advance: Callable[[int], None] = lambda many: None) -> Teach:
        """Return :meth:`judge` as one that keeps what was said in a folder, so that a stopped run goes on from there.

        Parameters
        ----------
        folder
            Where; one may be used for any texts and teachers.
        advance
            Told how many more texts have been judged.
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
    """Read what ``celadon train teacher`` wrote.

    Raises
    ------
    InputError
        There is no such file, or it is something else.
    """
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
