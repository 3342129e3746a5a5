"""``celadon train sumqe``: an estimator of quality, from human ratings or from documents damaged by known amounts."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables
from celadon.cli.progress import CountProgress
from celadon.cli.train.bars import bar
from celadon.cli.train.recipe_options import file_names, given_options

if TYPE_CHECKING:
    from celadon.train.combinations.sumqe import Figure, TrainedQuality
    from celadon.train.combinations.sumqe_sets import RatedSet

_EPILOG = """\
In the way of SUM-QE (Xenouleas et al. 2019): a linear head for each rating, on the sentence encoder's vectors and on
what celadon sees of how a text reads. Each file is a set. Several sets are left out in turn, one set by fifths of its
items; the figures are of what was left out, for each rating on its own (single) and for all together (multi).

examples:
  celadon train sumqe rated.jsonl --rating grammar,focus --output mine.json
  celadon train sumqe news.jsonl mail.jsonl --rating overall --output mine.json
  celadon train sumqe --damaged corpus.txt.xz --output mine.json
  celadon score new.jsonl --metric 'sumqe[model=mine.json]'
"""


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    command = kinds.add_parser(
        "quality",
        help="an estimator of quality from human ratings: linear heads on an encoder; the result is sumqe's model",
        description="Train the heads of sumqe, by ridge regression from features of texts to ratings.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_data(command)
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="where the estimator goes, .json")
    command.add_argument(
        "--tasks",
        choices=("single", "multi"),
        default="single",
        help="each rating for itself, or all with a shared projection (default: single; figures are of both)",
    )
    command.add_argument(
        "--features",
        choices=("both", "reading", "encoder"),
        default="both",
        help="the vectors of the encoder, what celadon sees of how a text reads, or both (default)",
    )
    command.add_argument("--likelihood", default="builtin", metavar="NAME", help="language model (default: builtin)")
    command.add_argument("--encoder", default="builtin", metavar="NAME", help="sentence encoder (default: builtin)")
    command.add_argument("--name", metavar="NAME", help="of the estimator (default: the output's name)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="for all that is drawn (default: 0)")
    command.add_argument("--about", default="", metavar="TEXT", help="what the data are, their licence")
    command.add_argument("--json", action="store_true", help="print the figures in full precision as JSON")
    command.set_defaults(run=run)


def _add_data(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "ratings", nargs="*", metavar="RATINGS", help="texts with human ratings: JSONL, CSV, TSV, Parquet"
    )
    command.add_argument(
        "--rating",
        action="append",
        default=[],
        metavar="A,B",
        help="the ratings; overall also means scores.overall (default: all columns scores.NAME)",
    )
    command.add_argument(
        "--lower-is-better", action="append", default=[], metavar="A,B", help="ratings of which less is better"
    )
    command.add_argument(
        "--scale", metavar="LOW:HIGH", help="of the ratings (default: the least and the greatest of each set)"
    )
    command.add_argument("--set-field", metavar="NAME", help="a column that tells the sets of one file apart")
    command.add_argument(
        "--format", metavar="NAME", help="jsonl, csv, tsv, parquet, or a data set of celadon meta load --list"
    )
    command.add_argument("--text-field", metavar="NAME", help="the text (default: text, output or prediction)")
    command.add_argument(
        "--damaged",
        action="append",
        default=[],
        metavar="CORPUS",
        help="paragraphs of a corpus, damaged by known amounts, which stand for DUC's five questions",
    )
    command.add_argument("--documents", type=int, default=2_000, metavar="N", help="paragraphs of it (default: 2000)")
    command.add_argument(
        "--treebank", action="append", default=[], metavar="FILE", help="more such documents, in CoNLL-U"
    )


def run(arguments: argparse.Namespace) -> int:
    """Train, write, print."""
    from celadon.core import OutputError, UsageError
    from celadon.io import check_distinct
    from celadon.io.weight_files import write_quality
    from celadon.metrics.reading.features import ReadingModels
    from celadon.train.combinations.sumqe import train_quality
    from celadon.train.combinations.sumqe_sets import lower_ratings

    inputs = [*arguments.ratings, *arguments.damaged, *arguments.treebank]
    if not arguments.ratings and not arguments.damaged:
        raise UsageError("nothing to learn from: give files with ratings, or a corpus with --damaged")
    if arguments.treebank and not arguments.damaged:
        raise UsageError("--treebank adds to the documents of --damaged; give a corpus too")
    if arguments.rating and not arguments.ratings:
        raise UsageError("--rating names columns of RATINGS, and no such file was given")
    if arguments.documents < 1:
        raise UsageError(f"--documents must be at least 1, not {arguments.documents}")
    check_distinct(arguments.output, inputs)
    folder = Path(arguments.output).parent
    if not folder.is_dir():
        raise OutputError(f"{arguments.output}: the folder {folder} does not exist; create it first")
    sets = _sets(arguments)
    names = {name for each in sets for name in each.ratings}
    with CountProgress("steps") as progress:
        trained = train_quality(
            sets,
            ReadingModels(arguments.likelihood, arguments.encoder),
            name=arguments.name or Path(arguments.output).stem,
            tasks=arguments.tasks,
            features=arguments.features,
            lower_is_better=lower_ratings(names, meta_tables.named(arguments.lower_is_better), arguments.format),
            seed=arguments.seed,
            progress=progress,
        )
    facts = {"about": arguments.about or "Not stated.", "made_by": _command(arguments), **trained.model.facts}
    write_quality(arguments.output, replace(trained.model, facts=facts))
    if arguments.json:
        meta_tables.print_json({"trained_on": trained.model.trained_on, "held_out": trained.figures})
    else:
        _print(trained)
    _tell(arguments.output, trained)
    return 0


def _sets(arguments: argparse.Namespace) -> list[RatedSet]:
    from celadon.io import Fields
    from celadon.train.combinations.sumqe_sets import damaged_sets, read_sets
    from celadon.train.corpus import Corpus

    found = read_sets(
        arguments.ratings,
        meta_tables.named(arguments.rating),
        format=arguments.format,
        fields=Fields(text=arguments.text_field),
        scale=_scale(arguments.scale),
        set_field=arguments.set_field,
    )
    if arguments.damaged:
        corpus = Corpus(tuple(map(Path, arguments.damaged)))
        with bar("reading the corpus", corpus.size) as shown:
            found += damaged_sets(corpus, arguments.treebank, arguments.documents, arguments.seed, shown.update)
    return found


def _scale(given: str | None) -> tuple[float, float] | None:
    from celadon.core import UsageError

    if given is None:
        return None
    low, _, high = given.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = (0.0, 0.0)
    if not ends[0] < ends[1]:
        raise UsageError(f"--scale {given}: is LOW:HIGH, for example 1:5")
    return ends


def _print(trained: TrainedQuality) -> None:
    from celadon.text.layout import printable, table

    for each in trained.model.trained_on:
        rated = ", ".join(f"{name} {many:,}" for name, many in each["ratings"].items())
        print(printable(f"{each['name']}: {each['texts']:,} texts; {rated}"))
    rows: dict[tuple[str, str], dict[str, Figure]] = {}
    for figure in trained.figures:
        rows.setdefault((figure.held_out, figure.rating), {})[figure.tasks] = figure
    shown = meta_tables.figure
    cells = [
        [
            printable(held_out),
            printable(rating),
            *(shown(value) for tasks in ("single", "multi") for value in (of[tasks].pearson, of[tasks].spearman)),
            f"{of['single'].n:,}",
        ]
        for (held_out, rating), of in rows.items()
    ]
    header = ["left out", "rating", "single r", "single rho", "multi r", "multi rho", "n"]
    print(f"\n{table(header, cells)}" if cells else "\nno rating is in two sets, so that none could be left out")


def _tell(output: str, trained: TrainedQuality) -> None:
    print(f"wrote {output}; use it with: celadon score FILE --metric 'sumqe[model={output}]'", file=sys.stderr)
    if trained.left_out:
        print(f"{trained.left_out:,} texts were left out: no words, or a script that is not known", file=sys.stderr)


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes this estimator, with files by their names."""
    given = [*file_names(arguments.ratings), "--output", Path(arguments.output).name]
    for name in ("rating", "lower_is_better"):
        given += [word for value in getattr(arguments, name) for word in (f"--{name.replace('_', '-')}", value)]
    for name in ("damaged", "treebank"):
        given += [word for path in getattr(arguments, name) for word in (f"--{name}", Path(path).name)]
    optional = ("scale", "set_field", "format", "text_field", "name", "about")
    given += given_options(arguments, [name for name in optional if getattr(arguments, name)])
    given += given_options(arguments, ("documents",) if arguments.damaged else ())
    given += given_options(arguments, ("tasks", "features", "likelihood", "encoder", "seed"))
    return shlex.join(["celadon", "train", "quality", *given])
