"""Training the encoder to tell acceptable sentences from others, and to say which words are wrong."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from celadon.models.encoders.word_findings import FINDING_KINDS
from celadon.models.store import folder_of
from celadon.train.encoders.bases import base_network, encoder_tokenizer, is_tagger
from celadon.train.encoders.classifiers import (
    ExampleBatch,
    PaddedRows,
    PairAccuracy,
    example_batches,
    example_loss,
    findings_loss,
    label_correlation,
    pair_accuracies,
)
from celadon.train.encoders.examples import Lesson, Material, Sources, prepare
from celadon.train.encoders.graph import write_encoder
from celadon.train.encoders.meaning import fit_meaning, minilm_meanings
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
# sentences that the projection to meaning is fitted to before training and after it
_FIRST_FITTED, _FITTED = 2_000, 12_000
_HARDEST = 8  # kinds of damage that the card names


class AcceptabilityTraining(TrainingRun[ExampleBatch]):
    """A run that trains the encoder in a folder and its acceptability head."""

    def __init__(self, recipe: AcceptabilityRecipe, material: Material, base: Path, checkpoint: Path) -> None:
        self.recipe = recipe
        self.material = material
        meaning = material.trained.meant.shape[1]
        self.network = base_network(
            base,
            layers=recipe.layers,
            findings=len(FINDING_KINDS) if recipe.findings else 0,
            meaning=meaning,
            dropout=recipe.dropout,
            seed=recipe.seed,
        )
        # a base that has a meaning of its own keeps it
        self._before = None if meaning else copy.deepcopy(self.network).eval().requires_grad_(False)
        if meaning and not checkpoint.is_file():
            fit_meaning(self.network, material.trained, _FIRST_FITTED, recipe.longest)
        self.network.freeze(recipe.frozen)
        optimiser = torch.optim.AdamW(
            _groups(self.network, recipe.head_rate), lr=recipe.learning_rate, weight_decay=_DECAY, fused=True
        )
        self.total = max(1, int(len(material.trained.unit_lengths) * recipe.passes))
        run = {"recipe": recipe.fingerprint, "data": material.digest, "teacher": material.teacher}
        super().__init__(self.network, optimiser, self.total, recipe.seed, run, checkpoint)

    def batches(self, skip: int) -> Iterator[ExampleBatch]:
        """Yield batches of units of like length."""
        return example_batches(self.material.trained, self.recipe, skip)

    def loss(self, batch: ExampleBatch) -> tuple[torch.Tensor, int]:
        """Each sentence near its target, above its copy, before its follower; its meaning and words as known."""
        heads, recipe = self._read(self.network, batch.padded), self.recipe
        loss = example_loss(heads.acceptability, batch, recipe.ranking)
        if recipe.findings:
            loss = loss + recipe.findings * findings_loss(heads.findings, batch.labels, recipe.sound_words)
        if recipe.meaning:
            loss = loss + recipe.meaning * self._meaning_loss(heads, batch)
        if batch.neighbours and recipe.order:
            first, second = slice(0, batch.neighbours), slice(batch.neighbours, 2 * batch.neighbours)
            ordered = self.network.order_logits(heads.rows(first), heads.rows(second))
            loss = loss + recipe.order * functional.softplus(-ordered).mean()
        return loss, batch.units

    def _meaning_loss(self, heads: Heads, batch: ExampleBatch) -> torch.Tensor:
        """One minus the cosine of what rows mean and should mean; without what they should, of what the base said."""
        if self._before is None:
            known = ~torch.isnan(batch.meant[:, 0])
            means, meant = heads.meaning[known], batch.meant[known]
        else:
            some = math.ceil(batch.good / _MEANT)
            whole = PaddedRows(batch.padded.ids[:some], batch.padded.lengths[:some])
            means = heads.meaning[:some]
            with torch.no_grad():
                meant = self._read(self._before, whole).meaning if some else means
        return (1 - (means * meant).sum(-1)).mean() if len(means) else means.sum()

    def rate(self, seen: int) -> float:
        """Return the learning rate."""
        return self.recipe.rate(seen / self.total)

    def _read(self, network: EncoderNetwork, padded: PaddedRows) -> Heads:
        with autocast(self.recipe.precision):
            heads: Heads = network(*padded.tensors())
        return heads


def _groups(network: EncoderNetwork, head_rate: float) -> list[dict[str, Any]]:
    """Return the weights to be trained: those of the base, and those of the heads, which learn faster."""
    body = {id(weight) for weight in network.body_parameters()}
    trained = [weight for weight in network.parameters() if weight.requires_grad]
    return [
        {"params": [weight for weight in trained if id(weight) in body]},
        {"params": [weight for weight in trained if id(weight) not in body], "scale": head_rate},
    ]


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
    genres: Sequence[str | Path] = (),
    edits: Sequence[str | Path] = (),
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
    genres, edits
        Sound texts of many genres, and sentences before and after a correction, one JSON object a line. Only documents
        of the fit half are used (:mod:`celadon.instrument.halves`), then of the corpus too.
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
        The encoder to begin with: ``minilm``, ``quire`` or a folder. What is not MiniLM learns meaning from it.
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
    sources = Sources.of(corpus, treebank, labelled, disfluent, recipe.seed, genres, edits)
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
            meanings = minilm_meanings() if is_tagger(start) and recipe.meaning else None
            tokenizer = encoder_tokenizer(start)
            material = prepare(sources, recipe, tokenizer, checkpoint.parent, bar.update, lesson, meanings=meanings)
        training = AcceptabilityTraining(recipe, material, start, checkpoint)
        training.run_with_bar(report)
        if training.network.meaning is not None:
            fit_meaning(training.network, material.trained, _FITTED, recipe.longest)
        written = material.tokenizer.to_str()
        result = TrainedEncoder(
            pair_accuracies(training), {Path(path).name: label_correlation(training, str(path)) for path in test}
        )
        card = _card(training, sources, base, result, about, [command for command in commands if command])
        write_encoder(training.network, written, folder, card=f"# {folder.name}\n\n{card}")
        if network:
            save_network(Path(network), KeptNetwork(training.network, written, card))
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
    words = int((examples.labels >= 0).sum())
    hardest = (f"{one.kind.replace('_', ' ')} {one.accuracy:.0%} of {one.pairs}" for one in pairs[1 : 1 + _HARDEST])
    figures = [
        f"a sentence is above its damaged copy in {pairs[0].accuracy:.1%} of {pairs[0].pairs:,} pairs kept apart",
        f"hardest kinds of damage: {', '.join(hardest)}",
        *(f"{name}: Matthews' correlation {mcc:.3f} ({n:,} sentences)" for name, (mcc, n) in result.labelled.items()),
        f"trained for {training.seconds / 3600:.2f} hours",
    ]
    return model_card(
        "",
        "A sentence encoder: how acceptable a sentence is, which words are wrong, what it means,\n"
        "which of two comes first. "
        f"It began as {base}.",
        about,
        [
            f"files: {files} (sha256 of all {training.material.digest})",
            f"sentences with a damaged copy: {2 * examples.twos:,} two by two, {examples.ones:,} alone, corrections "
            f"among them; sentences without a copy: {alone:,}; repetitions counted",
            f"words with a label: {words:,}, of which faulty {int((examples.labels > 0).sum()):,}",
            *([f"judged by a teacher: {asked:,} of these sentences and copies"] if asked else []),
            f"kept apart: {sources.corpus.hold_out:g} of the corpus' articles (seed {sources.corpus.seed})",
        ],
        "\n".join(f"- {line}" for line in figures),
        commands,
    )
