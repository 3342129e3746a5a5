"""``celadon train lm``: an LSTM language model, from a corpus to a folder that every likelihood metric can use."""

from __future__ import annotations

import argparse
import math
import shlex
import shutil
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.precision_option import add_precision, settle_precision

if TYPE_CHECKING:
    from celadon.train.corpus import Corpus
    from celadon.train.language_models.lm import Material, Recipe, Training
    from celadon.train.training_run import Progress

_VOCABULARY = {"wordpiece": 16_000, "word": 128_000}

_EPILOG = """\
A corpus is plain text (also .xz, .gz), a paragraph a line, a blank line between articles. A run that was stopped, in
whatever way, goes on from its last checkpoint when the same command is given again. Use the model by its folder:
celadon score texts.txt --metric "slor[model=my-lm]"
"""


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    command = kinds.add_parser(
        "lm",
        help="an LSTM over word pieces or words",
        description="Train a language model, measure it on articles kept apart, and write it as an ONNX file.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files, also .xz and .gz")
    command.add_argument("--output", required=True, metavar="FOLDER", help="where the model is to be; a new folder")
    _add_recipe(command)
    command.add_argument("--about", default="", metavar="TEXT", help="for the card: what the data are, their licence")
    command.add_argument("--work", metavar="FOLDER", help="where the numbered corpus and the checkpoint are, and stay")
    command.add_argument(
        "--save-every", type=float, default=120.0, metavar="SECONDS", help="time between checkpoints (default: 120)"
    )
    command.add_argument("--fresh", action="store_true", help="do not go on from a checkpoint")
    command.add_argument("--threads", type=int, metavar="N", help="processor threads (default: all)")
    command.set_defaults(run=run)


def _add_recipe(command: argparse.ArgumentParser) -> None:
    from celadon.train.language_models.lm import Recipe

    default = {field.name: field.default for field in fields(Recipe)}
    command.add_argument("--unit", choices=tuple(_VOCABULARY), default="wordpiece", help="what a token is")
    tokens = command.add_mutually_exclusive_group()
    tokens.add_argument("--vocab", type=int, metavar="N", help="how many tokens (16000 word pieces or 128000 words)")
    tokens.add_argument("--tokenizer", metavar="FILE", help="the tokenizer.json of another model, to have its tokens")
    numbers = {
        "layers": "LSTM layers",
        "hidden": "units in a layer, and in a token's vector",
        "tokens": "how many tokens to train on",
        "batch_tokens": "positions in a batch",
        "longest": "tokens of a sentence that are trained on",
        "warm_up": "tokens until the learning rate is at its highest",
        "seed": "for the order of the sentences, the first weights and the articles kept apart",
    }
    for name, meaning in numbers.items():
        option = f"--{name.replace('_', '-')}"
        command.add_argument(
            option, type=int, default=default[name], metavar="N", help=f"{meaning} (default: {default[name]:,})"
        )
    for name, meaning in {
        "learning_rate": "Adam's highest learning rate",
        "dropout": "share of values left out while training",
        "hold_out": "share of the articles kept apart to measure on",
    }.items():
        option = f"--{name.replace('_', '-')}"
        command.add_argument(
            option, type=float, default=default[name], metavar="X", help=f"{meaning} (default: {default[name]:g})"
        )
    add_precision(command)


def run(arguments: argparse.Namespace) -> int:
    """Train, measure and write."""
    from celadon.cli.train.bars import bar
    from celadon.text.layout import printable
    from celadon.train.corpus import Corpus
    from celadon.train.language_models.lm import Training
    from celadon.train.language_models.lm_files import card, finish, perplexity, write_lm
    from celadon.train.model_folder import check_new_folder
    from celadon.train.training_run import import_torch

    folder = Path(arguments.output)
    check_new_folder(folder)
    recipe = _recipe(arguments)
    corpus = Corpus(tuple(Path(path) for path in arguments.corpus), recipe.hold_out, recipe.seed)
    torch = import_torch()
    recipe = replace(recipe, precision=settle_precision(arguments))
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    work = Path(arguments.work) if arguments.work else folder.with_name(folder.name + ".work")
    material = _prepared(corpus, recipe, work, Path(arguments.tokenizer) if arguments.tokenizer else None)
    checkpoint = work / "checkpoint.safetensors"
    if arguments.fresh:
        checkpoint.unlink(missing_ok=True)
    training = Training(recipe, material, checkpoint)
    _train(training, arguments.save_every)
    with bar("measuring", len(material.held_out.ids) + len(material.held_out), unit="token") as shown:
        trained = finish(training, shown.update)
    write_lm(folder, trained, card(folder.name, trained, corpus, arguments.about, _command(arguments)))
    if not arguments.work:
        shutil.rmtree(work)
    print(printable(f"{folder}: held-out perplexity {perplexity(trained.measured)}"))
    print(printable(f'use it as a model: celadon score texts.txt --metric "slor[model={folder}]"'))
    return 0


def _recipe(arguments: argparse.Namespace) -> Recipe:
    from celadon.train.language_models.lm import Recipe

    given = {field.name: getattr(arguments, field.name) for field in fields(Recipe) if hasattr(arguments, field.name)}
    return Recipe(**given, vocabulary=arguments.vocab or _VOCABULARY[arguments.unit])


def _prepared(corpus: Corpus, recipe: Recipe, work: Path, tokenizer: Path | None) -> Material:
    from celadon.cli.train.bars import bar
    from celadon.train.language_models.lm import prepare
    from celadon.train.language_models.vocabulary import PASSES

    # the vocabulary is made, then the corpus is numbered
    passes = 1 + (0 if tokenizer else PASSES[recipe.unit])
    with bar("reading the corpus", passes * corpus.size) as shown:

        def advance(what: str, size: int) -> None:
            shown.set_description(what, refresh=False)
            shown.update(size)

        return prepare(corpus, recipe, work, advance, tokenizer)


def _train(training: Training, save_every: float) -> None:
    from celadon.cli.train.bars import bar

    if training.seen:
        print(f"going on from the checkpoint after {training.seen:,} tokens", file=sys.stderr)
    with bar("training", training.recipe.tokens, unit="token") as shown:
        shown.update(training.seen)

        def advance(progress: Progress) -> None:
            shown.set_postfix_str(f"perplexity {math.exp(min(progress.loss, 50)):.1f}", refresh=False)
            shown.update(progress.seen - shown.n)

        training.run(advance, save_every)


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes this model, with the corpus by the names of its files."""
    given: list[str] = [Path(path).name for path in arguments.corpus]
    given += ["--output", Path(arguments.output).name]
    if arguments.tokenizer:
        given += ["--tokenizer", Path(arguments.tokenizer).name]
    left_out = {"corpus", "output", "tokenizer", "run", "work", "fresh", "threads", "about", "save_every"}
    for name, value in vars(arguments).items():
        if name not in left_out and value is not None and not callable(value):
            given += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(["celadon", "train", "lm", *given])
