"""``celadon train gleu``: the weights of `gleu` and `gleu_plus`, from real sentences and glued ones."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.progress import CountProgress
from celadon.cli.train.bars import bar
from celadon.cli.train.recipe_options import file_names, given_options, recipe_of

if TYPE_CHECKING:
    from celadon.train.combinations.gleu import TrainedGleu

_EPILOG = """\
Real sentences of the corpus are told from as many that are glued together word by word, by what three parsers make of
them; for gleu_plus half of the others are real sentences damaged on purpose. The extras parse and train are needed.

example:
  celadon train gleu corpus.txt.xz --output mine.json
  celadon score new.jsonl --metric 'gleu[weights=mine.json]'
  celadon train gleu corpus.txt.xz --variant paper --output mine-paper.json
  celadon train gleu corpus.txt.xz --grammar ./my-grammar --output mine.json
  celadon score new.jsonl --metric 'gleu[weights=mine.json,grammar=./my-grammar]'
"""


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    command = kinds.add_parser(
        "gleu",
        help="the weights of gleu, from real and glued sentences",
        description="Train the support vector machine of gleu: fluency by what parsers make of a sentence.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files, a paragraph a line, also .xz and .gz")
    command.add_argument("--output", required=True, metavar="FILE", help="where the weights are to be, .json")
    command.add_argument("--metric", default="gleu", metavar="NAME", help="gleu or gleu_plus (default: gleu)")
    command.add_argument(
        "--variant", default="structure", metavar="NAME", help="of gleu: structure or paper (default: structure)"
    )
    command.add_argument("--length", type=int, default=24, metavar="N", help="tokens of a sentence (default: 24)")
    command.add_argument("--count", type=int, default=1_000, metavar="N", help="sentences of each kind (default: 1000)")
    command.add_argument(
        "--held-out", type=int, default=150, metavar="N", help="of each kind, kept apart for the figures (default: 150)"
    )
    command.add_argument(
        "--tokens", type=int, default=3_000_000, metavar="N", help="read the corpus so far (default: 3000000)"
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="for all that is drawn (default: 0)")
    command.add_argument(
        "--grammar", default="", metavar="PATH", help="another grammar for the chart parser (default: the package's)"
    )
    command.add_argument("--rules", action="store_true", help="for gleu_plus[rules=true]: ask the rule checker too")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, write, print."""
    from celadon.core import OutputError
    from celadon.io import atomic_write_text, check_distinct
    from celadon.io.paragraphs import corpus_size
    from celadon.synth.tokens import read_token_corpus
    from celadon.text.layout import printable, table
    from celadon.train.combinations.gleu import GleuRecipe, make_examples, train_gleu

    recipe = recipe_of(arguments, GleuRecipe)
    check_distinct(arguments.output, arguments.corpus)
    folder = Path(arguments.output).parent
    if not folder.is_dir():
        raise OutputError(f"{arguments.output}: the folder {folder} does not exist; create it first")
    with bar("reading", corpus_size(arguments.corpus) or 0) as shown:
        corpus = read_token_corpus(arguments.corpus, shown.update, arguments.tokens)
    training, apart = make_examples(corpus, recipe)
    with CountProgress("sentences") as progress:
        trained = train_gleu(training, apart, recipe, progress)
    atomic_write_text(arguments.output, _file(trained, _command(arguments)))
    rows = [[printable(name), f"{figure:.3f}"] for name, figure in trained.figures.items()]
    print(table(["on sentences kept apart", ""], rows))
    return 0


def _file(trained: TrainedGleu, command: str) -> str:
    figures = {name: round(value, 3) for name, value in trained.figures.items()}
    return json.dumps({**trained.content, "figures": figures, "made_by": command}, indent=2) + "\n"


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes these weights, with files by their names."""
    given = [*file_names(arguments.corpus), "--output", Path(arguments.output).name]
    given += given_options(arguments, ("metric", "length", "count", "held_out", "tokens", "seed"))
    given += given_options(arguments, ("variant",)) if arguments.variant != "structure" else []
    given += ["--grammar", Path(arguments.grammar).name] if arguments.grammar else []
    given += ["--rules"] if arguments.rules else []
    return shlex.join(["celadon", "train", "gleu", *given])
