"""``celadon train fergus``: the realizer, from a treebank and plain text."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.bars import bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from celadon.train.realizer.fergus import FergusRecipe
    from celadon.train.realizer.fergus_trees import Parts, TreebankTree

_EPILOG = """\
A treebank is a file of trees in Penn brackets, or a folder or zip archive of files that end in .mrg; or a CoNLL-U file
(.conllu, also .xz and .gz). Its names are those that --hold-out takes: the file's and the tree's number in it
(wsj_0001.1), or the sent_id. Settings are chosen on a part of the treebank that is kept apart.

examples:
  celadon train fergus treebank.zip --text enwiki.txt.xz --hold-out held-out.txt --output my-fergus
  celadon train fergus en_ewt-ud-train.conllu.xz --text enwiki.txt.xz --output my-fergus
"""


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    command = kinds.add_parser(
        "fergus",
        help="the realizer of dependency trees, from a treebank",
        description="Train FERGUS, the realizer of celadon realize: a grammar and an order model from a treebank, "
        "trigrams from its sentences and from plain text.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("treebank", metavar="TREEBANK", help="trees in Penn brackets, or CoNLL-U")
    command.add_argument("--output", required=True, metavar="FOLDER", help="where the model is to be; a new folder")
    command.add_argument("--text", nargs="+", default=[], metavar="CORPUS", help="text files, also .xz and .gz")
    command.add_argument("--hold-out", metavar="FILE", help="names of sentences not to be trained on, one a line")
    command.add_argument(
        "--develop", type=float, default=0.08, metavar="SHARE", help="kept apart to choose settings by (default: 0.08)"
    )
    command.add_argument(
        "--develop-trees", metavar="TREEBANK", help="choose settings by these instead; nothing is kept apart"
    )
    command.add_argument("--vocab", type=int, metavar="N", help="words of the trigrams (default: 50000)")
    command.add_argument("--bigrams", type=int, metavar="N", help="pairs of words that are kept (default: 1000000)")
    command.add_argument("--trigrams", type=int, metavar="N", help="trigrams that are kept (default: 2400000)")
    command.add_argument("--epochs", type=int, metavar="N", help="passes over the treelets (default: 10)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="which trees are kept apart (default: 0)")
    command.add_argument("--about", default="", metavar="TEXT", help="for the card: what the data are, their licence")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, choose and write."""
    from celadon.core import UsageError
    from celadon.realize.model_files import save_fergus
    from celadon.text.layout import printable
    from celadon.train.model_folder import check_new_folder, new_folder
    from celadon.train.realizer.fergus import train_fergus
    from celadon.train.realizer.fergus_card import card, figures
    from celadon.train.realizer.fergus_lm import number_sentences, text_words
    from celadon.train.realizer.fergus_trees import part_trees, read_derivations
    from celadon.train.training_run import import_torch

    folder, treebank = Path(arguments.output), Path(arguments.treebank)
    check_new_folder(folder)
    import_torch()
    if not 0 <= arguments.develop < 1:
        raise UsageError(f"the share to choose by must be at least 0 and below 1, not {arguments.develop}")
    recipe = _recipe(arguments)
    trees = read_derivations(treebank)
    share = 0.0 if arguments.develop_trees else arguments.develop
    parts = part_trees(trees, _held_out(arguments.hold_out), share, arguments.seed)
    if arguments.develop_trees:
        parts = parts._replace(develop=tuple(read_derivations(arguments.develop_trees)))
    text = number_sentences(text_words(_sentences(arguments.text)))
    with bar("training", _steps(parts, recipe.order.epochs), unit="step") as shown:
        done = train_fergus(parts, text, recipe, shown.update)
    with new_folder(folder) as draft:
        save_fergus(draft, done.trained)
        facts = (treebank, [Path(path) for path in arguments.text], arguments.about, _command(arguments))
        (draft / "card.md").write_text(card(folder.name, done, parts, *facts), encoding="utf-8")
    print(printable(f"{folder}: {len(done.trained.fergus.grammar.supertags):,} supertags"))
    print(figures(done))
    return 0


def _recipe(arguments: argparse.Namespace) -> FergusRecipe:
    from dataclasses import replace

    from celadon.core import UsageError
    from celadon.train.realizer.fergus import FergusRecipe

    recipe = FergusRecipe()
    trigrams = {"vocabulary": arguments.vocab, "pairs": arguments.bigrams, "triples": arguments.trigrams}
    given = {name: value for name, value in trigrams.items() if value is not None}
    for name, value in (*given.items(), ("epochs", 1 if arguments.epochs is None else arguments.epochs)):
        if value < 1:
            raise UsageError(f"the number of {name} must be at least 1, not {value}")
    recipe = replace(recipe, trigrams=replace(recipe.trigrams, **given))
    return recipe if arguments.epochs is None else replace(recipe, order=replace(recipe.order, epochs=arguments.epochs))


def _held_out(path: str | None) -> list[str]:
    from celadon.io.paragraphs import read_paragraphs

    return [] if path is None else [line for line in read_paragraphs([path]) if line and not line.startswith("#")]


def _sentences(paths: Sequence[str]) -> Iterator[str]:
    from celadon.train.corpus import Corpus

    if paths:
        corpus = Corpus(tuple(Path(path) for path in paths), hold_out=0.0)
        with bar("reading the text", corpus.size) as shown:
            yield from (sentence.text for sentence in corpus.sentences(shown.update))


def _steps(parts: Parts, epochs: int) -> int:
    """What the bar counts: trees that are tagged, treelets that are seen, trees that are realized."""
    from celadon.train.realizer.fergus import KEPT_SHARES, TRIGRAM_WEIGHTS

    def treelets(tree: TreebankTree) -> int:
        return sum(bool(each.attachments) for each in tree.derivation.in_order())

    tried = len(parts.develop) * len(TRIGRAM_WEIGHTS) * len(KEPT_SHARES)
    return len(parts.train) + epochs * sum(map(treelets, parts.train)) + tried


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes this model, with files by their names alone."""
    given = [Path(arguments.treebank).name, "--output", Path(arguments.output).name]
    if arguments.text:
        given += ["--text", *(Path(path).name for path in arguments.text)]
    if arguments.hold_out:
        given += ["--hold-out", Path(arguments.hold_out).name]
    if arguments.develop_trees:
        given += ["--develop-trees", Path(arguments.develop_trees).name]
    for name in ("develop", "vocab", "bigrams", "trigrams", "epochs", "seed"):
        if getattr(arguments, name) is not None:
            given += [f"--{name}", str(getattr(arguments, name))]
    return shlex.join(["celadon", "train", "fergus", *given])
