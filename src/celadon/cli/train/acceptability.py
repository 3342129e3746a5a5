"""``celadon train acceptability``: a sentence encoder that tells sound sentences from others."""

from __future__ import annotations

import argparse
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.bars import bar
from celadon.cli.train.judge_options import (
    EXAMPLE_NUMBERS,
    add_run_options,
    add_sources,
    checkpoint_in,
    drawing_bar,
    source_options,
    sources_of,
    train_with_bar,
)
from celadon.cli.train.precision_option import add_precision, settle_precision
from celadon.cli.train.recipe_options import add_numbers, file_names, given_options, recipe_of

if TYPE_CHECKING:
    from celadon.train.encoders.acceptability import AcceptabilityTraining
    from celadon.train.encoders.acceptability_examples import Lesson, Sources
    from celadon.train.encoders.encoder_recipes import AcceptabilityRecipe

_EPILOG = """\
Sentences of the corpus (plain text, also .xz, .gz; a paragraph a line, a blank line between articles) and of treebanks
are set against copies damaged in the ways of learners and of machines; labelled sentences are learnt as they are. With
--teacher some are learnt as a language model judges them that celadon train teacher has trained. A run that was stopped
goes on from its last checkpoint when the same command is given again. Then:
  celadon train order CORPUS --network my-network.safetensors --output my-encoder
"""

_NUMBERS = EXAMPLE_NUMBERS | {
    "taught": "sentences that the teacher is asked about, each with its damaged copy",
    "meaning": "weight of the meaning vectors staying what they were",
    "order": "weight of knowing which of two neighbours comes first",
}


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    from celadon.train.encoders.encoder_recipes import AcceptabilityRecipe

    command = kinds.add_parser(
        "acceptability",
        help="a sentence encoder that tells sound sentences from others",
        description="Train a sentence encoder to tell sound sentences from damaged ones, starting from MiniLM.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_sources(command)
    command.add_argument("--output", required=True, metavar="FOLDER", help="where the encoder is to be; a new folder")
    command.add_argument("--network", metavar="FILE", help="keep the network too, for celadon train order")
    command.add_argument("--teacher", metavar="FILE", help="what celadon train teacher made, to learn from too")
    command.add_argument("--base", default="minilm", metavar="NAME", help="the encoder to begin with (default: minilm)")
    add_numbers(command, AcceptabilityRecipe, _NUMBERS)
    add_precision(command)
    command.add_argument("--about", default="", metavar="TEXT", help="for the card: what the data are, their licence")
    add_run_options(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, measure and write."""
    from celadon.text.layout import printable
    from celadon.train.encoders.encoder_recipes import AcceptabilityRecipe
    from celadon.train.model_folder import check_new_folder
    from celadon.train.training_run import import_torch

    folder = Path(arguments.output)
    check_new_folder(folder)
    torch = import_torch()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    recipe = replace(recipe_of(arguments, AcceptabilityRecipe), precision=settle_precision(arguments))
    commands = _commands(arguments)  # before hours of work, lest the teacher's file be gone or another by then
    training, sources = _prepared(arguments, recipe, folder)
    train_with_bar(training, training.total)
    for line in _finish(arguments, training, sources, folder, commands):
        print(printable(line))
    if not arguments.work:
        shutil.rmtree(_work(arguments, folder))
    return 0


def _work(arguments: argparse.Namespace, folder: Path) -> Path:
    return Path(arguments.work) if arguments.work else folder.with_name(folder.name + ".work")


def _prepared(
    arguments: argparse.Namespace, recipe: AcceptabilityRecipe, folder: Path
) -> tuple[AcceptabilityTraining, Sources]:
    from celadon.models.store import folder_of
    from celadon.train.encoders.acceptability import AcceptabilityTraining, encoder_tokenizer
    from celadon.train.encoders.material import prepare

    sources = sources_of(arguments, recipe.seed)
    base, work = folder_of(arguments.base), _work(arguments, folder)
    work.mkdir(parents=True, exist_ok=True)
    with drawing_bar(sources) as shown, _lesson(arguments, recipe, work) as lesson:
        material = prepare(sources, recipe, encoder_tokenizer(base), work, shown.update, lesson)
    return AcceptabilityTraining(recipe, material, base, checkpoint_in(work, fresh=arguments.fresh)), sources


@contextmanager
def _lesson(arguments: argparse.Namespace, recipe: AcceptabilityRecipe, work: Path) -> Iterator[Lesson | None]:
    """What the teacher, if there is one, is asked, with a bar that shows how far it is."""
    if not arguments.teacher:
        yield None
        return
    from celadon.train.encoders.acceptability_examples import Lesson
    from celadon.train.encoders.teacher import open_teacher

    teacher = open_teacher(Path(arguments.teacher))
    with bar("asking the teacher", 2 * recipe.taught, unit="sentence") as shown:
        yield Lesson(teacher.kept_in(work, shown.update), teacher.digest, recipe.taught)


def _finish(
    arguments: argparse.Namespace,
    training: AcceptabilityTraining,
    sources: Sources,
    folder: Path,
    commands: Sequence[str],
) -> Sequence[str]:
    """Write the encoder, then measure it as it lies there."""
    from celadon.train.encoders.acceptability_card import acceptability_card
    from celadon.train.encoders.acceptability_measures import labels_told, pairs_told
    from celadon.train.encoders.encoder_files import write_encoder
    from celadon.train.encoders.network_file import KeptNetwork, save_network

    tokenizer = training.material.tokenizer.to_str()
    pairs = pairs_told(training)
    labelled = {Path(path).name: labels_told(training, path) for path in arguments.test}
    made = acceptability_card(training, sources, arguments.base, pairs, labelled, arguments.about, commands)
    write_encoder(training.network, tokenizer, folder, card=f"# {folder.name}\n\n{made}")
    if arguments.network:
        save_network(Path(arguments.network), KeptNetwork(training.network, tokenizer, made))
    told = [
        f"{folder}: {pairs[0].accuracy:.1%} of {pairs[0].pairs:,} held-out sentences are above their damaged copies"
    ]
    return told + [f"{name}: Matthews' correlation {mcc:.3f}" for name, (mcc, _) in labelled.items()]


def _commands(arguments: argparse.Namespace) -> list[str]:
    """The commands that make this encoder, with files by their names: that of its teacher, if there is one, first."""
    from celadon.train.encoders.teacher import teacher_made_by

    given: list[str] = [*file_names(arguments.corpus), "--output", Path(arguments.output).name]
    given += [*source_options(arguments), *(word for path in arguments.test for word in ("--test", Path(path).name))]
    if arguments.teacher:
        given += ["--teacher", Path(arguments.teacher).name]
    given += given_options(arguments, ("base", *_NUMBERS, "precision"))
    ours = shlex.join(["celadon", "train", "acceptability", *given])
    return [*filter(None, [teacher_made_by(Path(arguments.teacher)) if arguments.teacher else ""]), ours]
