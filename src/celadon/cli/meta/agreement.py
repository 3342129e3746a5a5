"""``celadon meta agreement``: how far people agree with each other."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.core import FloatArray
    from celadon.meta.correlation import Kind
    from celadon.meta.study import AgreementRow

_NUMBERS_OF_RATERS = (1, 2, 3, 5, 10)


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "agreement",
        help="how far raters agree, how reliable their mean is, and what a perfect metric could reach",
        description="Agreement of raters. Single ratings are found as ratings.NAME or NAME (a list) or NAME.1, NAME.2.",
    )
    meta_tables.add_table(command)
    command.add_argument(
        "--raters", action="append", default=[], metavar="A,B", help="columns that each hold one person's ratings"
    )
    command.add_argument(
        "--normalise",
        choices=("none", "z", "range", "magnitude"),
        default="none",
        help="per rater, before anything else: z scores, 0..1, or magnitude estimates (default: none)",
    )
    meta_tables.add_correlation(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compute the agreement and print it."""
    from celadon.io import read_table_rows
    from celadon.meta.raters import normalise
    from celadon.meta.study.people import agreement
    from celadon.meta.table import make_ratings

    raters = meta_tables.named(arguments.raters)
    humans = meta_tables.named(arguments.human) if raters else meta_tables.humans_of(arguments)
    matrices = make_ratings(read_table_rows(arguments.table, format=arguments.format), humans=humans, raters=raters)
    ratings = {name: normalise(matrix, arguments.normalise) for name, matrix in matrices.items()}
    rows = [agreement(name, matrix, arguments.correlation) for name, matrix in ratings.items()]
    if arguments.json:
        figures = [
            {**row._asdict(), **_more(ratings[row.human], arguments.correlation)} if row.ceiling == row.ceiling else row
            for row in rows
        ]
        meta_tables.print_json({"agreement": figures})
    else:
        _print(rows, ratings)
    return 0


def _more(ratings: FloatArray, kind: Kind) -> dict[str, Any]:
    """What does not fit in a table: all intraclass correlations, each rater against the others, more raters."""
    from celadon.core import InputError
    from celadon.meta.agreement import leave_one_out, pairwise_kappa
    from celadon.meta.reliability import intraclass_correlations

    try:
        six: Any = intraclass_correlations(ratings).rows
    except InputError:  # no text was rated by all
        six = None
    return {
        "icc": six,
        "kappas": pairwise_kappa(ratings),
        "each_against_the_others": leave_one_out(ratings, correlation=kind).correlations,
        "reliability_of_mean_of": _reliabilities(ratings),
    }


def _reliabilities(ratings: FloatArray) -> dict[str, float]:
    from celadon.meta.reliability import reliability_of_mean

    return {str(k): reliability_of_mean(ratings, k=k).mean for k in _NUMBERS_OF_RATERS}


def _print(rows: list[AgreementRow], ratings: dict[str, FloatArray]) -> None:
    from celadon.text.layout import printable, table

    figure = meta_tables.figure
    pairs = ["rating", "raters", "texts", "mean r", "lowest", "highest", "sd", "kappa", "alpha", "ordinal alpha"]
    print("agreement of pairs of raters: correlation, quadratic kappa, Krippendorff's alpha")
    cells = [
        [printable(row.human), f"{row.raters:.3g}", f"{row.items:,}"]
        + [figure(value) for value in (row.pairwise_mean, row.pairwise_low, row.pairwise_high, row.pairwise_sd)]
        + [figure(value) for value in (row.kappa, row.alpha_interval, row.alpha_ordinal)]
        for row in rows
    ]
    print(table(pairs, cells), end="\n\n")
    print("reliability of the mean rating (intraclass correlation), by the number of raters")
    header = ["rating", "one rater", "all raters", *(f"mean of {k}" for k in _NUMBERS_OF_RATERS[1:]), "ceiling"]
    cells = []
    for row in rows:
        more = _reliabilities(ratings[row.human]) if row.ceiling == row.ceiling else {}
        several = [figure(more.get(str(k), float("nan"))) for k in _NUMBERS_OF_RATERS[1:]]
        cells.append(
            [printable(row.human), figure(row.icc_single), figure(row.icc_mean), *several, figure(row.ceiling)]
        )
    print(table(header, cells), end="\n\n")
    notes = [f"{row.human}: {row.reason}" for row in rows if row.reason]
    meta_tables.print_notes([*notes, "the ceiling is the correlation that a metric without any error would reach"])
