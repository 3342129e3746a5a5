"""``celadon train acceptability``: a sentence encoder that tells sound sentences from others."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.bars import bar
from celadon.cli.train.recipe_options import add_numbers, file_names, given_options, recipe_of

if TYPE_CHECKING:
    from celadon.train.acceptability import AcceptabilityTraining
    from celadon.train.acceptability_examples import Sources
    from celadon.train.encoder_recipes import AcceptabilityRecipe
    from celadon.train.training_run import Progress

_EPILOG = """\
Sentences of the corpus (plain text, also .xz, .gz; a paragraph a line, a blank line between articles) and of treebanks
are set against copies damaged in the ways of learners and of machines; labelled sentences are learnt as they are. A run
that was stopped goes on from its last checkpoint when the same command is given again. Then:
  celadon train order CORPUS --network my-network.safetensors --output my-encoder
"""

_NUMBERS = {
    "pairs": "sentences of the corpus, each with a damaged copy",
    "treebank_passes": "how often each sentence of a treebank is taken, each time with another damaged copy",
    "labelled_passes": "how often each labelled sentence is taken",
    "held_out": "pairs of articles kept apart to measure on",
    "passes": "how often all that is gone through",
    "batch_tokens": "positions in a batch",
    "longest": "tokens of a sentence that are trained on",
    "learning_rate": "the highest learning rate",
    "ranking": "weight of a sentence being above its copy",
    "meaning": "weight of the meaning vectors staying what they were",
    "order": "weight of knowing which of two neighbours comes first",
    "dropout": "share of values left out while training",
    "seed": "for all that is drawn at random",
}


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    from celadon.train.encoder_recipes import PRECISIONS, AcceptabilityRecipe

    command = kinds.add_parser(
        "acceptability",
        help="a sentence encoder that tells sound sentences from others",
        description="Train a sentence encoder to tell sound sentences from damaged ones, starting from MiniLM.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files, also .xz and .gz")
    command.add_argument("--output", required=True, metavar="FOLDER", help="where the encoder is to be; a new folder")
    command.add_argument("--network", metavar="FILE", help="keep the network too, for celadon train order")
    command.add_argument("--treebank", action="append", default=[], metavar="FILE", help="sentences in CoNLL-U")
    command.add_argument("--labelled", action="append", default=[], metavar="FILE", help="sentences labelled as CoLA's")
    command.add_argument(
        "--disfluent", action="append", default=[], metavar="FILE", help="bad sentences, as celadon synth makes them"
    )
    command.add_argument("--test", action="append", default=[], metavar="FILE", help="labelled sentences to measure on")
    command.add_argument("--base", default="minilm", metavar="NAME", help="the encoder to begin with (default: minilm)")
    add_numbers(command, AcceptabilityRecipe, _NUMBERS)
    command.add_argument("--precision", choices=PRECISIONS, default="float32", help="bfloat16 is faster where it works")
    command.add_argument("--about", default="", metavar="TEXT", help="for the card: what the data are, their licence")
    command.add_argument("--work", metavar="FOLDER", help="where the examples and the checkpoint are, and stay")
    command.add_argument("--fresh", action="store_true", help="do not go on from a checkpoint")
    command.add_argument("--threads", type=int, metavar="N", help="processor threads (default: all)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, measure and write."""
    from celadon.text.layout import printable
    from celadon.train.encoder_recipes import AcceptabilityRecipe
    from celadon.train.model_folder import check_new_folder
    from celadon.train.training_run import import_torch

    folder = Path(arguments.output)
    check_new_folder(folder)
    torch = import_torch()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    recipe = recipe_of(arguments, AcceptabilityRecipe)
    training, sources = _prepared(arguments, recipe, folder)
    _train(training)
    for line in _finish(arguments, training, sources, folder):
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
    from celadon.train.acceptability import AcceptabilityTraining, prepare
    from celadon.train.acceptability_examples import Sources
    from celadon.train.corpus import Corpus

    corpus = Corpus(tuple(Path(path) for path in arguments.corpus), seed=recipe.seed)
    sources = Sources(
        corpus, *(tuple(map(Path, given)) for given in (arguments.treebank, arguments.labelled, arguments.disfluent))
    )
    base, work = folder_of(arguments.base), _work(arguments, folder)
    with bar("drawing and damaging sentences", corpus.size) as shown:
        material = prepare(sources, recipe, base, work, shown.update)
    checkpoint = work / "checkpoint.safetensors"
    if arguments.fresh:
        checkpoint.unlink(missing_ok=True)
    return AcceptabilityTraining(recipe, material, base, checkpoint), sources


def _train(training: AcceptabilityTraining) -> None:
    if training.seen:
        print(f"going on from the checkpoint after {training.seen:,} of {training.total:,}", file=sys.stderr)
    with bar("training", training.total, unit="unit") as shown:
        shown.update(training.seen)

        def advance(progress: Progress) -> None:
            shown.set_postfix_str(f"loss {progress.loss:.3f}", refresh=False)
            shown.update(progress.seen - shown.n)

        training.run(advance)


def _finish(
    arguments: argparse.Namespace, training: AcceptabilityTraining, sources: Sources, folder: Path
) -> Sequence[str]:
    """Write the encoder, then measure it as it lies there."""
    from celadon.train.acceptability_card import acceptability_card
    from celadon.train.acceptability_measures import labels_told, pairs_told
    from celadon.train.encoder_files import write_encoder
    from celadon.train.network_file import KeptNetwork, save_network

    tokenizer = training.material.tokenizer.to_str()
    pairs = pairs_told(training)
    labelled = {Path(path).name: labels_told(training, path) for path in arguments.test}
    made = acceptability_card(training, sources, arguments.base, pairs, labelled, arguments.about, _command(arguments))
    write_encoder(training.network, tokenizer, folder, card=f"# {folder.name}\n\n{made}")
    if arguments.network:
        save_network(Path(arguments.network), KeptNetwork(training.network, tokenizer, made))
    told = [
        f"{folder}: {pairs[0].accuracy:.1%} of {pairs[0].pairs:,} held-out sentences are above their damaged copies"
    ]
    return told + [f"{name}: Matthews' correlation {mcc:.3f}" for name, (mcc, _) in labelled.items()]


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes this encoder, with files by their names."""
    given: list[str] = [*file_names(arguments.corpus), "--output", Path(arguments.output).name]
    for name in ("treebank", "labelled", "disfluent", "test"):
        for path in getattr(arguments, name):
            given += [f"--{name}", Path(path).name]
    given += given_options(arguments, ("base", *_NUMBERS, "precision"))
    return shlex.join(["celadon", "train", "acceptability", *given])
