"""``celadon train combine``: metrics combined into one by a regression on human ratings."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables
from celadon.cli.progress import CountProgress
from celadon.cli.train import ratings as rated

if TYPE_CHECKING:
    from celadon.io.weight_files import Combination
    from celadon.train.combinations.combine import Figure, Trained

# From here on the smaller of two features is as good as not there.
_UNEVEN = 10
_EPILOG = """\
The regression is the one of Kann et al. (2018): scikit-learn's SVR with default parameters (radial kernel, C 1,
epsilon 0.1) on the features as they are. --scale standard gives each feature the same weight at the start. --gamma auto
is the kernel's width by default in 2018; scale is the default since scikit-learn 0.22.

example:
  celadon train combine rated.jsonl --rating overall --features wpslor,rougeL --train 500 --output mine.json
  celadon score new.jsonl --metric 'combined[file=mine.json]'
"""


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    command = kinds.add_parser(
        "combine",
        help="fit metrics to human ratings by support vector regression; the result is a metric",
        description="Fit a support vector regression from metrics to a human rating. Features that the table has as "
        "columns are taken as they are; metrics that it lacks are computed. Needs the extra train.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    rated.add_ratings(command, references=True)
    command.add_argument(
        "--features",
        action="append",
        default=[],
        metavar="A,B",
        help="columns of the table, metrics, and parts of metrics (rougeL.precision)",
    )
    command.add_argument("--scale", choices=("none", "standard"), default="none", help="default: none, as in the paper")
    command.add_argument("--gamma", choices=("scale", "auto"), default="scale", help="of the kernel (default: scale)")
    command.add_argument("--name", metavar="NAME", help="of the combination (default: the rating's name)")
    command.add_argument("--plot", metavar="FILE", help="draw predicted against rated, as .png or .svg")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit, write, print."""
    from celadon.core import UsageError
    from celadon.io.weight_files import write_combination
    from celadon.report.plots.style import require_matplotlib
    from celadon.train.combinations.combine import train_combination

    features = meta_tables.named(arguments.features)
    if arguments.plot and not arguments.plot.lower().endswith((".png", ".svg")):
        raise UsageError(f"{arguments.plot}: a plot is written as .png or .svg")
    if arguments.plot:
        require_matplotlib()
    rated.check_outputs(arguments, arguments.output, arguments.plot)
    table, test = rated.tables_of(arguments)
    with CountProgress("texts") as progress:
        trained = train_combination(
            table,
            features,
            test=test,
            scale=arguments.scale,
            gamma=arguments.gamma,
            name=arguments.name,
            progress=progress,
            **rated.options_of(arguments, table.rating),
        )
    write_combination(arguments.output, trained.combination)
    if arguments.plot:
        _draw(arguments.plot, trained)
    if arguments.json:
        meta_tables.print_json(trained.combination.facts)
    else:
        _print(trained)
    _tell(arguments.output, trained, len(table.rows))
    return 0


def _print(trained: Trained) -> None:
    from celadon.text.layout import printable

    made = trained.combination
    names = ", ".join(feature.name for feature in made.features)
    print(printable(f"{made.name}: {names} to {made.rating}; {len(made.coefficients):,} support vectors"), end="\n\n")
    if trained.held_out:
        _print_figures(f"held out, {trained.held_out[0].n:,} rows", trained.held_out)
    _print_figures(f"trained on, {trained.training[0].n:,} rows", trained.training)
    if not trained.held_out:
        print("nothing was held out: these figures are of the rows trained on, and flatter the combination")


def _print_figures(title: str, figures: tuple[Figure, ...]) -> None:
    from celadon.text.layout import printable, table

    figure = meta_tables.figure
    cells = [[printable(row.name), figure(row.pearson), figure(row.spearman), figure(row.mse)] for row in figures]
    print(table([title, "pearson", "spearman", "mse"], cells), end="\n\n")


def _tell(output: str, trained: Trained, rows: int) -> None:
    print(f"wrote {output}; use it with: celadon score FILE --metric 'combined[file={output}]'", file=sys.stderr)
    notes = [rated.tell_left_out(trained.left_out, rows)]
    if trained.from_table:
        notes.append(f"{', '.join(trained.from_table)}: taken from the table here, computed when texts are scored")
    notes.append(_uneven(trained.combination))
    columns = [feature.name for feature in trained.combination.features if not feature.is_metric]
    if columns:
        notes.append(f"{', '.join(columns)}: no metric, so that every file to be scored must have it as a column")
    for note in filter(None, notes):
        print(note, file=sys.stderr)


def _uneven(made: Combination) -> str:
    """Say where one feature drowns another, which a radial kernel on features as they are lets it do."""
    least, most = (choice(made.features, key=lambda feature: feature.sd) for choice in (min, max))
    times = most.sd / least.sd
    if made.scale != "none" or times < _UNEVEN:
        return ""
    return f"{most.name} varies {times:,.0f} times as much as {least.name}, which hardly counts; try --scale standard"


def _draw(path: str, trained: Trained) -> None:
    from celadon.io.atomic import write_atomically
    from celadon.report.plots.figures import scatter
    from celadon.report.plots.style import png_bytes, svg_bytes

    made = trained.combination
    part = "held out" if trained.held_out else "trained on"
    drawn = scatter(trained.predicted, trained.rated, metric=f"predicted {made.rating} ({part})", human=made.rating)
    content = png_bytes(drawn) if path.lower().endswith(".png") else svg_bytes(drawn)
    with write_atomically(path) as file:
        file.write(content)
