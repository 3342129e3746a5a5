"""``celadon train order``: the encoder's order head, which tells which of two sentences comes first."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.bars import bar
from celadon.cli.train.precision_option import add_precision, settle_precision
from celadon.cli.train.recipe_options import add_numbers, file_names, given_options, recipe_of

if TYPE_CHECKING:
    from celadon.train.encoders.encoder_recipes import OrderRecipe
    from celadon.train.encoders.network_file import KeptNetwork
    from celadon.train.encoders.sentence_order import OrderFigures

_EPILOG = """\
Sentences of one paragraph are compared two by two; articles kept apart tell how often the order is told right. The
encoder itself is not changed.
"""

_NUMBERS = {
    "paragraphs": "how many to train on",
    "held_out": "how many of the articles kept apart to measure on",
    "reach": "how many sentences apart two sentences may stand",
    "passes": "how often all pairs are gone through",
    "batch": "pairs in a batch",
    "learning_rate": "the highest learning rate",
    "decay": "of the weights",
    "dropout": "share of values left out while training",
    "seed": "for all that is drawn at random",
}


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    from celadon.train.encoders.encoder_recipes import OrderRecipe

    command = kinds.add_parser(
        "order",
        help="which of two sentences comes first, told by the encoder",
        description="Train the order head of an encoder that celadon train acceptability made.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files, also .xz and .gz")
    command.add_argument("--network", required=True, metavar="FILE", help="what celadon train acceptability kept")
    command.add_argument("--output", required=True, metavar="FOLDER", help="where the encoder is to be; a new folder")
    add_numbers(command, OrderRecipe, _NUMBERS)
    add_precision(command)
    # as it was written before; cards of encoders have it
    command.add_argument(
        "--bfloat16",
        dest="precision",
        action="store_const",
        const="bfloat16",
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )
    command.add_argument("--threads", type=int, metavar="N", help="processor threads (default: all)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, measure and write."""
    from celadon.text.layout import printable
    from celadon.train.encoders.encoder_recipes import OrderRecipe
    from celadon.train.model_folder import check_new_folder
    from celadon.train.training_run import import_torch

    folder = Path(arguments.output)
    check_new_folder(folder)
    torch = import_torch()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    from celadon.train.encoders.acceptability_card import order_card
    from celadon.train.encoders.encoder_files import write_encoder
    from celadon.train.encoders.network_file import load_network

    recipe = replace(recipe_of(arguments, OrderRecipe), precision=settle_precision(arguments))
    kept = load_network(Path(arguments.network))
    figures = _train(arguments, recipe, kept)
    card = order_card(kept.card, recipe, figures, _command(arguments))
    write_encoder(kept.network, kept.tokenizer, folder, card=f"# {folder.name}\n\n{card}")
    print(printable(f"{folder}: {figures.neighbours:.1%} of neighbours, {figures.parts:.1%} of splits in right order"))
    return 0


def _train(arguments: argparse.Namespace, recipe: OrderRecipe, kept: KeptNetwork) -> OrderFigures:
    from tokenizers import Tokenizer

    from celadon.train.corpus import Corpus
    from celadon.train.encoders import sentence_order as order

    corpus = Corpus(tuple(Path(path) for path in arguments.corpus), seed=recipe.seed)
    with bar("drawing paragraphs", corpus.size) as shown:
        trained, apart = order.draw_paragraphs(corpus, recipe, shown.update)
    tokenizer = Tokenizer.from_str(kept.tokenizer)
    with bar("encoding", len(trained.sentences) + len(apart.sentences), unit="sentence") as shown:
        features, measured = (
            order.order_features(
                kept.network, tokenizer, part.sentences, advance=shown.update, precision=recipe.precision
            )
            for part in (trained, apart)
        )
    pairs = trained.pairs(recipe.reach)
    with bar("training", recipe.passes * len(pairs), unit="pair") as shown:
        order.train_order(kept.network, features, pairs, recipe, lambda some, loss: shown.update(some))
    return order.measure_order(kept.network, measured, apart, recipe.reach)


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes this encoder, with files by their names."""
    given: list[str] = [*file_names(arguments.corpus), "--network", Path(arguments.network).name]
    given += ["--output", Path(arguments.output).name]
    given += given_options(arguments, (*_NUMBERS, "precision"))
    return shlex.join(["celadon", "train", "order", *given])
