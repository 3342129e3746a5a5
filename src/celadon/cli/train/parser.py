"""``celadon train parser``: a grammar for the chart parser, from a treebank."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.bars import bar

if TYPE_CHECKING:
    from celadon.train.parsers.parser import ParserRecipe

_EPILOG = """\
A treebank is a file of trees in Penn brackets (also .xz, .gz), or a folder or zip archive of files that end in .mrg. Of
each ten files, or documents with --documents, one is kept apart to choose the recipe by, and one to measure the
result on. Without --vertical, --horizontal and --splits a few recipes are tried and the best one is taken.

examples:
  celadon train parser treebank.zip --output my-grammar
  celadon train parser gum.ptb.xz --documents gum.jsonl.xz --tagged ewt.conllu.xz --output my-grammar
  celadon score new.jsonl --metric 'gleu[grammar=./my-grammar]'
"""


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    command = kinds.add_parser(
        "parser",
        help="a grammar for the chart parser, from trees",
        description="Read a grammar with probabilities off a treebank, for the chart parser.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("treebank", metavar="TREEBANK", help="trees in Penn brackets: a file, a folder, a zip archive")
    command.add_argument(
        "--documents", metavar="TABLE", help="the documents of the trees, with columns id and text; they are kept whole"
    )
    command.add_argument(
        "--tagged", nargs="+", default=[], metavar="FILE", help="CoNLL-U whose words and tags (XPOS) the lexicon learns"
    )
    command.add_argument("--output", required=True, metavar="FOLDER", help="where the grammar is to be; a new folder")
    command.add_argument("--vertical", type=int, metavar="N", help="labels that a state tells, upwards (1 to 3)")
    command.add_argument("--horizontal", type=int, metavar="N", help="neighbours that a state tells (0 to 9)")
    command.add_argument("--splits", metavar="NAMES", help="further distinctions, with commas between; '' for none")
    command.add_argument(
        "--every", type=int, default=10, metavar="N", help="one in so many files is kept apart, twice (default: 10)"
    )
    command.add_argument("--about", default="", metavar="TEXT", help="for the card: what the data are, their licence")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, measure and write."""
    from celadon.parsing.brackets import read_treebank
    from celadon.parsing.chart_parser import check_compiler
    from celadon.text.layout import printable
    from celadon.train.model_folder import check_new_folder
    from celadon.train.parsers.parser import part
    from celadon.train.parsers.parser_files import card, figures, train_parser, write_parser
    from celadon.train.parsers.penn_forms import read_tagged
    from celadon.train.parsers.tree_documents import by_document

    folder, treebank = Path(arguments.output), Path(arguments.treebank)
    check_new_folder(folder)
    check_compiler()
    recipes = _recipes(arguments)
    files = read_treebank(treebank)
    parts = part(by_document(files, arguments.documents) if arguments.documents else files, arguments.every)
    tagged = list(read_tagged(arguments.tagged))
    rounds = len(recipes) if len(recipes) > 1 else 0
    with bar("parsing", rounds * len(parts.develop) + len(parts.test), unit="sentence") as shown:
        trained = train_parser(parts, recipes, shown.update, tagged)
    described = card(
        folder.name, trained, treebank, arguments.about, _command(arguments), [Path(file) for file in arguments.tagged]
    )
    write_parser(folder, trained, described)
    print(printable(f"{folder}: {len(trained.grammar.states):,} states; {trained.recipe}"))
    print(figures(trained))
    return 0


def _recipes(arguments: argparse.Namespace) -> list[ParserRecipe]:
    from celadon.train.parsers.parser import CANDIDATES, ParserRecipe

    given = (arguments.vertical, arguments.horizontal, arguments.splits)
    if given == (None, None, None):
        return list(CANDIDATES)
    default = ParserRecipe()
    return [
        ParserRecipe(
            default.vertical if arguments.vertical is None else arguments.vertical,
            default.horizontal if arguments.horizontal is None else arguments.horizontal,
            default.splits if arguments.splits is None else tuple(filter(None, arguments.splits.split(","))),
        )
    ]


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes this grammar, with the treebank by its name alone."""
    given = [Path(arguments.treebank).name, "--output", Path(arguments.output).name]
    given += ["--documents", Path(arguments.documents).name] if arguments.documents else []
    given += ["--tagged", *(Path(file).name for file in arguments.tagged)] if arguments.tagged else []
    for name in ("vertical", "horizontal", "splits", "every"):
        if getattr(arguments, name) is not None:
            given += [f"--{name}", str(getattr(arguments, name))]
    return shlex.join(["celadon", "train", "parser", *given])
