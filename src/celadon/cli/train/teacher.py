"""``celadon train teacher``: a language model as a judge of sentences, from which the encoder learns."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

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
from celadon.cli.train.recipe_options import add_numbers, file_names, given_options, recipe_of

_EPILOG = """\
The upper layers of SmolLM2-135M are trained on sentences of the corpus and of treebanks, each with a damaged copy, and
on labelled ones, as celadon train acceptability does with the encoder. A run that was stopped goes on from its last
checkpoint when the same command is given again. Then:
  celadon train acceptability CORPUS --teacher my-teacher.safetensors --output my-encoder
"""

_NUMBERS = EXAMPLE_NUMBERS | {
    "depth": "layers of the model that are used, counted from the first; 0 for all",
    "layers": "layers that are trained, counted from the last",
    "head_rate": "the highest learning rate of the head",
}


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    from celadon.train.encoders.encoder_recipes import TeacherRecipe

    command = kinds.add_parser(
        "teacher",
        help="a language model as a judge of sentences, for the encoder to learn from",
        description="Train a language model to tell sound sentences from damaged ones.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_sources(command)
    command.add_argument("--output", required=True, metavar="FILE", help="where what is learnt is to be; a new file")
    add_numbers(command, TeacherRecipe, _NUMBERS)
    add_run_options(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, write and measure."""
    from celadon.core import UsageError
    from celadon.models.store import folder_of
    from celadon.text.layout import printable
    from celadon.train.encoders.encoder_recipes import TeacherRecipe
    from celadon.train.training_run import import_torch

    output = Path(arguments.output)
    if os.path.lexists(output):
        raise UsageError(f"{output}: is there already; give another --output, or remove it first")
    torch = import_torch()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    from celadon.train.encoders.acceptability_measures import labels_told, pairs_told
    from celadon.train.encoders.material import TEACHER_STREAM, prepare
    from celadon.train.encoders.teacher import BASE, TeacherTraining, teacher_tokenizer

    recipe = recipe_of(arguments, TeacherRecipe)
    sources, base = sources_of(arguments, recipe.seed), folder_of(BASE)
    work = Path(arguments.work) if arguments.work else output.with_name(output.name + ".work")
    with drawing_bar(sources) as shown:
        material = prepare(sources, recipe, teacher_tokenizer(base), work, shown.update, stream=TEACHER_STREAM)
    training = TeacherTraining(recipe, material, base, checkpoint_in(work, fresh=arguments.fresh))
    train_with_bar(training, training.total)
    training.save_teacher(output, BASE, _command(arguments))
    told = pairs_told(training)[0]
    print(printable(f"{output}: {told.accuracy:.1%} of {told.pairs:,} held-out sentences are above their copies"))
    for path in arguments.test:
        print(printable(f"{Path(path).name}: Matthews' correlation {labels_told(training, path)[0]:.3f}"))
    if not arguments.work:
        shutil.rmtree(work)
    return 0


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes this teacher, with files by their names."""
    given = [*file_names(arguments.corpus), "--output", Path(arguments.output).name, *source_options(arguments)]
    return shlex.join(["celadon", "train", "teacher", *given, *given_options(arguments, _NUMBERS)])
