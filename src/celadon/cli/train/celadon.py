"""``celadon train celadon``: the weights of `celadon`, from documents damaged by known amounts."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.progress import CountProgress
from celadon.cli.train.bars import bar
from celadon.cli.train.recipe_options import file_names, given_options

if TYPE_CHECKING:
    from celadon.train.combinations.celadon import FittedReading, Rated

_EPILOG = """\
Paragraphs of the articles kept apart are damaged by known amounts: sentences repeated, out of order, of other articles,
broken. Each aspect learns the share of the text that is left whole; all of them together, what the text is worth. Rated
sentences, where given, only help to choose how much likelihood counts beside acceptability, and the worst sentence
beside the mean.

example:
  celadon train celadon corpus.txt.xz --rated gug.jsonl:grammaticality --output mine.json
  celadon score new.jsonl --metric 'celadon[weights=mine.json]'
"""


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    command = kinds.add_parser(
        "reading",
        help="fit the weights of celadon on damaged documents",
        description="Fit the weights of celadon, the score of how well a text reads, on damaged documents.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files, also .xz and .gz")
    command.add_argument("--output", required=True, metavar="FILE", help="where the weights are to be, .json")
    command.add_argument("--tier", default="builtin", metavar="NAME", help="which models read (default: builtin)")
    command.add_argument("--encoder", metavar="FOLDER", help="read with this encoder instead of the tier's")
    command.add_argument("--documents", type=int, default=2_000, metavar="N", help="paragraphs (default: 2000)")
    command.add_argument(
        "--extracts",
        type=int,
        default=0,
        metavar="N",
        help="more documents: sentences of an article with others between them left out (default: 0)",
    )
    command.add_argument(
        "--treebank",
        action="append",
        default=[],
        metavar="FILE",
        help="more documents, in CoNLL-U: other kinds of text",
    )
    command.add_argument(
        "--rated", action="append", default=[], metavar="FILE:COLUMN", help="texts with ratings of grammaticality"
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="for all that is drawn (default: 0)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit, write, print."""
    from celadon.core import UsageError
    from celadon.io import atomic_write_text
    from celadon.metrics.reading.weights import TIERS
    from celadon.text.layout import printable, table
    from celadon.train.combinations.celadon import fit_reading
    from celadon.train.combinations.celadon_documents import make_documents
    from celadon.train.corpus import Corpus

    if arguments.tier not in TIERS:
        raise UsageError(f"unknown tier {arguments.tier!r}; known: {', '.join(TIERS)}")
    models = TIERS[arguments.tier]
    if arguments.encoder:
        models = models._replace(encoder=arguments.encoder)
    rated = [_rated(given) for given in arguments.rated]
    corpus = Corpus(tuple(map(Path, arguments.corpus)))
    with bar("reading the corpus", corpus.size) as shown:
        documents = make_documents(
            corpus, arguments.documents, arguments.seed, shown.update, arguments.treebank, arguments.extracts
        )
    with CountProgress("texts") as progress:
        fitted = fit_reading(documents, models, rated, progress)
    atomic_write_text(arguments.output, _file(fitted, _command(arguments)))
    cells = [[printable(name), f"{figure:.3f}"] for name, figure in fitted.figures.items()]
    print(table(["rank correlation, on what was kept apart", ""], cells))
    return 0


def _file(fitted: FittedReading, command: str) -> str:
    figures = {name: round(value, 3) for name, value in fitted.figures.items()}
    content = {**fitted.content, "rank_correlation": figures, "made_by": command}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _rated(given: str) -> Rated:
    from celadon.core import UsageError
    from celadon.train.combinations.celadon import Rated
    from celadon.train.combinations.ratings import read_ratings

    path, _, column = given.rpartition(":")
    if not path:
        raise UsageError(f"--rated {given}: is FILE:COLUMN")
    table = read_ratings(path, column)
    known = (table.values == table.values).nonzero()[0]
    return Rated(table.name, [sample.text for sample in table.samples(known)], table.values[known])


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes these weights, with files by their names."""
    given: list[str] = [*file_names(arguments.corpus), "--output", Path(arguments.output).name]
    given += given_options(arguments, ("tier", "documents", "extracts", "seed"))
    for path in arguments.treebank:
        given += ["--treebank", Path(path).name]
    for rated in arguments.rated:
        given += ["--rated", Path(rated).name]
    return shlex.join(["celadon", "train", "reading", *given])
