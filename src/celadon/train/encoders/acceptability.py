"""Training the encoder to tell acceptable sentences from others."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from celadon.core import InputError
from celadon.models.store import folder_of
from celadon.train.encoders.classifiers import (
    ExampleBatch,
    PaddedRows,
    PairAccuracy,
    example_batches,
    example_loss,
    label_correlation,
    pair_accuracies,
)
from celadon.train.encoders.examples import Lesson, Material, Sources, prepare
from celadon.train.encoders.graph import write_encoder
from celadon.train.encoders.network import EncoderNetwork, Heads, KeptNetwork, save_network
from celadon.train.encoders.recipes import AcceptabilityRecipe
from celadon.train.encoders.teacher import open_teacher, teacher_made_by
from celadon.train.model_folder import check_new_folder
from celadon.train.precision import autocast, usable_precision
from celadon.train.reporting import SILENT, Report, made_by, model_card
from celadon.train.training_run import TrainingRun, import_torch, work_folder

_DECAY = 0.01
# One sound sentence in so many is also read by the encoder as it was, to keep its meaning there.
_MEANT = 4
_HARDEST = 8  # kinds of damage that the card names


def encoder_tokenizer(base: Path) -> Tokenizer:
    """The tokenizer of an encoder, which puts the marks round a text and neither cuts nor pads."""
    from tokenizers.processors import BertProcessing

    from celadon.models.store.model_files import load_tokenizer

    tokenizer = load_tokenizer(base / "tokenizer.json")
    separator, first = (tokenizer.token_to_id(mark) for mark in ("[SEP]", "[CLS]"))
    if separator is None or first is None:
        raise InputError(f"{base}: its tokenizer has no [CLS] and [SEP]")
    tokenizer.post_processor = BertProcessing(("[SEP]", separator), ("[CLS]", first))
    return tokenizer


class AcceptabilityTraining(TrainingRun[ExampleBatch]):
    """A run that trains the encoder in a folder and its acceptability head."""

    def __init__(self, recipe: AcceptabilityRecipe, material: Material, base: Path, checkpoint: Path) -> None:
        self.recipe = recipe
        self.material = material
        self.network = EncoderNetwork.from_minilm(base, recipe.dropout, recipe.seed)
        self._before = copy.deepcopy(self.network).eval().requires_grad_(False)
        weights = self.network.parameters()
        optimiser = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=_DECAY, fused=True)
        self.total = max(1, int(len(material.trained.unit_lengths) * recipe.passes))
        run = {"recipe": recipe.fingerprint, "data": material.digest, "teacher": material.teacher}
        super().__init__(self.network, optimiser, self.total, recipe.seed, run, checkpoint)

    def batches(self, skip: int) -> Iterator[ExampleBatch]:
        """Yield batches of units of like length."""
        return example_batches(self.material.trained, self.recipe, skip)

    def loss(self, batch: ExampleBatch) -> tuple[torch.Tensor, int]:
        """Each sentence near its target, above its damaged copy, before its follower, its meaning where it was."""
        heads, good = self._read(self.network, batch.padded), batch.good
        loss = example_loss(heads.acceptability, batch, self.recipe.ranking)
        if good and self.recipe.meaning:
            some = math.ceil(good / _MEANT)
            whole = PaddedRows(batch.padded.ids[:some], batch.padded.lengths[:some])
            with torch.no_grad():
                meant = self._read(self._before, whole).meaning
            loss = loss + self.recipe.meaning * (1 - (heads.meaning[:some] * meant).sum(-1)).mean()
        if batch.neighbours and self.recipe.order:
            parts = (slice(0, batch.neighbours), slice(batch.neighbours, 2 * batch.neighbours))
            first, second = (Heads(*(head[part] for head in heads)) for part in parts)
            ordered = self.network.order_logits(first, second)
            loss = loss + self.recipe.order * functional.softplus(-ordered).mean()
        return loss, batch.units

    def rate(self, seen: int) -> float:
        """Return the learning rate."""
        return self.recipe.rate(seen / self.total)

    def _read(self, network: EncoderNetwork, padded: PaddedRows) -> Heads:
        with autocast(self.recipe.precision):
            heads: Heads = network(*padded.tensors())
        return heads


class TrainedEncoder(NamedTuple):
    """How well an encoder does."""

    # how often a sentence is above its damaged copy: first over all, then by kind of damage, hardest first
    pairs: list[PairAccuracy]
    # for each file measured on, Matthews' correlation with its labels and the number of its sentences
    labelled: dict[str, tuple[float, int]]


def train_acceptability(
    corpus: Sequence[str | Path],
    output: str | Path,
    recipe: AcceptabilityRecipe | None = None,
    *,
    treebank: Sequence[str | Path] = (),
    labelled: Sequence[str | Path] = (),
    disfluent: Sequence[str | Path] = (),
    test: Sequence[str | Path] = (),
    network: str | Path | None = None,
    teacher: str | Path | None = None,
    base: str = "minilm",
    about: str = "",
    work: str | Path | None = None,
    fresh: bool = False,
    threads: int | None = None,
    report: Report = SILENT,
) -> TrainedEncoder:
    """Train a sentence encoder to tell sound sentences from damaged ones, and write it to a new folder.

    Parameters
    ----------
    corpus, treebank, labelled, disfluent
        Text files; CoNLL-U files; sentences labelled as CoLA's; bad sentences, as ``celadon synth`` makes them.
    output
        The new folder.
    recipe
        How it is trained.
    test
        Labelled sentences to measure on.
    network
        Keep the network in this file, for :func:`celadon.train.encoders.sentence_order.train_order`.
    teacher
        A file of :func:`celadon.train.encoders.teacher.train_teacher` to learn from too.
    base
        The encoder to begin with.
    about
        For the card: what the data are, and their license.
    work, fresh, threads, report
        As in :func:`celadon.train.language_models.lm.train_lm`.
    """
    folder = Path(output)
    check_new_folder(folder)
    import_torch(threads)
    recipe = recipe or AcceptabilityRecipe()
    recipe = replace(recipe, precision=usable_precision(recipe.precision, report.note))
    sources = Sources.of(corpus, treebank, labelled, disfluent, recipe.seed)
    taught_by = Path(teacher) if teacher else None
    # before hours of work, lest the teacher's file be gone or another by then
    commands = [teacher_made_by(taught_by)] if taught_by else []
    options = {**sources.options(), "test": list(map(Path, test)), "teacher": taught_by, "base": base}
    commands.append(made_by("acceptability", corpus, output=folder, **options, **asdict(recipe)))
    start = folder_of(base)
    with work_folder(folder, work, fresh=fresh) as checkpoint:
        with (
            report.bar("drawing and damaging sentences", sources.corpus.size) as bar,
            _lesson(taught_by, recipe, checkpoint.parent, report) as lesson,
        ):
            material = prepare(sources, recipe, encoder_tokenizer(start), checkpoint.parent, bar.update, lesson)
        training = AcceptabilityTraining(recipe, material, start, checkpoint)
        training.run_with_bar(report)
        tokenizer = material.tokenizer.to_str()
        result = TrainedEncoder(
            pair_accuracies(training), {Path(path).name: label_correlation(training, str(path)) for path in test}
        )
        card = _card(training, sources, base, result, about, [command for command in commands if command])
        write_encoder(training.network, tokenizer, folder, card=f"# {folder.name}\n\n{card}")
        if network:
            save_network(Path(network), KeptNetwork(training.network, tokenizer, card))
    return result


@contextmanager
def _lesson(teacher: Path | None, recipe: AcceptabilityRecipe, work: Path, report: Report) -> Iterator[Lesson | None]:
    """Open the teacher, if there is one, with a bar that shows how far it is."""
    if teacher is None:
        yield None
        return
    opened = open_teacher(teacher)
    with report.bar("asking the teacher", 2 * recipe.taught, unit="sentence") as bar:
        yield Lesson(opened.kept_in(work, bar.update), opened.digest, recipe.taught)


def _card(
    training: AcceptabilityTraining,
    sources: Sources,
    base: str,
    result: TrainedEncoder,
    about: str,
    commands: Sequence[str],
) -> str:
    examples, pairs = training.material.trained, result.pairs
    files = ", ".join(path.name for path in (*sources.corpus.paths, *sources.files))
    alone = len(examples.sentences) - 4 * examples.twos - 2 * examples.ones
    asked = int((~np.isnan(examples.taught)).sum())
    hardest = (f"{one.kind.replace('_', ' ')} {one.accuracy:.0%} of {one.pairs}" for one in pairs[1 : 1 + _HARDEST])
    figures = [
        f"a sentence is above its damaged copy in {pairs[0].accuracy:.1%} of {pairs[0].pairs:,} pairs kept apart",
        f"hardest kinds of damage: {', '.join(hardest)}",
        *(f"{name}: Matthews' correlation {mcc:.3f} ({n:,} sentences)" for name, (mcc, n) in result.labelled.items()),
        f"trained for {training.seconds / 3600:.2f} hours",
    ]
    return model_card(
        "",
        "A sentence encoder: how acceptable a sentence is, what it means, which of two sentences comes first.\n"
        f"It began as {base}.",
        about,
        [
            f"files: {files} (sha256 of all {training.material.digest})",
            f"sentences with a damaged copy: {2 * examples.twos:,} of the corpus, {examples.ones:,} of treebanks; "
            f"labelled sentences: {alone:,}, repetitions counted",
            *([f"judged by a teacher: {asked:,} of these sentences and copies"] if asked else []),
            f"kept apart: {sources.corpus.hold_out:g} of the corpus' articles (seed {sources.corpus.seed})",
        ],
        "\n".join(f"- {line}" for line in figures),
        commands,
    )
