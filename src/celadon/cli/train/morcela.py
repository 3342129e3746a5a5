"""``celadon train morcela``: how much length and word frequency weigh in a model's likelihood, from ratings."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables
from celadon.cli.progress import CountProgress
from celadon.cli.train import ratings as rated

if TYPE_CHECKING:
    from celadon.train.combinations.morcela import Figure, Learned

_EPILOG = """\
MORCELA (Tjuatja et al. 2024) is (ln p_M - beta * ln p_u + gamma) / |S|; SLOR is beta 1 and gamma 0. Each text is one
sequence: give sentences. Ratings are fitted by least squares, two labels by logistic regression.

example:
  celadon train morcela in_domain_train.tsv --model builtin --output weights.json
  celadon score new.jsonl --metric 'morcela[weights=weights.json]'
"""


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    command = kinds.add_parser(
        "morcela",
        help="learn MORCELA's weights of length and word frequency for a language model",
        description="Learn beta and gamma of MORCELA from sentences with human ratings or labels. A TSV file of CoLA, "
        "which has no header, is known by its first line.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    rated.add_ratings(command, references=False)
    command.add_argument("--model", default="builtin", metavar="NAME", help="the language model (default: builtin)")
    command.add_argument(
        "--kind", choices=("auto", "linear", "logistic"), default="auto", help="of regression (default: auto)"
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Learn, write, print."""
    from celadon.io import atomic_write_text
    from celadon.models.language.loading import language_model
    from celadon.train.combinations.morcela import learn_morcela

    rated.check_outputs(arguments, arguments.output)
    table, test = rated.tables_of(arguments)
    model = language_model(arguments.model)
    with CountProgress("texts") as progress:
        learned = learn_morcela(
            table,
            model,
            kind=arguments.kind,
            test=test,
            progress=progress,
            **rated.options_of(arguments, table.rating),
        )
    atomic_write_text(arguments.output, json.dumps(learned.content, indent=2, ensure_ascii=False) + "\n")
    if arguments.json:
        meta_tables.print_json(learned.content)
    else:
        _print(learned, arguments.model)
    shown = f"morcela[model={arguments.model},weights={arguments.output}]"
    print(f"wrote {arguments.output}; use it with: celadon score FILE --metric '{shown}'", file=sys.stderr)
    if note := rated.tell_left_out(learned.left_out, len(table.rows)):
        print(note, file=sys.stderr)
    return 0


def _print(learned: Learned, model: str) -> None:
    from celadon.text.layout import printable, table
    from celadon.train.combinations.morcela import interval

    weights = learned.weights
    print(printable(f"{model}, {weights.kind} regression on {weights.rows:,} texts"), end="\n\n")
    cells = [
        [name, f"{value:.4f}", f"{error:.4f}", meta_tables.bounds(*interval(value, error)), usual]
        for name, value, error, usual in (
            ("beta", weights.beta, weights.beta_error, "1"),
            ("gamma", weights.gamma, weights.gamma_error, "0"),
        )
    ]
    print(table(["weight", "value", "error", "95% interval", "of SLOR"], cells), end="\n\n")
    if learned.held_out:
        _print_figures(f"held out, {learned.held_out[0].n:,} texts", learned.held_out)
    _print_figures(f"trained on, {learned.training[0].n:,} texts", learned.training)
    if interval(weights.coefficients[1], weights.errors[1])[0] <= 0:
        print("the likelihood hardly tells the ratings apart here, so that the weights mean little")


def _print_figures(title: str, figures: tuple[Figure, ...]) -> None:
    from celadon.text.layout import table

    figure = meta_tables.figure
    header, cells = [title, "pearson", "spearman"], [[r.name, figure(r.pearson), figure(r.spearman)] for r in figures]
    if any(row.auc == row.auc for row in figures):
        header += ["auc", "mcc"]
        cells = [[*cell, figure(r.auc), figure(r.mcc)] for cell, r in zip(cells, figures, strict=True)]
    print(table(header, cells), end="\n\n")
