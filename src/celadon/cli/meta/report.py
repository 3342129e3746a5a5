"""``celadon meta report``: everything a table of scores and ratings has to say, printed and as one HTML page."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import references
from celadon.cli.meta import tables as meta_tables
from celadon.cli.meta.correlate import add_best_of, best_of, print_best
from celadon.cli.meta.tables import bounds, chance, figure

if TYPE_CHECKING:
    from celadon.meta.study import Study

_EPILOG = """\
examples:
  celadon meta report scored.jsonl --human overall,grammar --report meta.html
  celadon meta report ratings.csv --human overall --metric rougeL,chrf,my_metric --plots figures --json
"""


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "report",
        help="everything at once: tables and words here, a self-contained HTML page, a folder of plots",
        description="Compare metrics with ratings in every way. Positive is agreement, whichever way a metric counts.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    meta_tables.add_table(command)
    meta_tables.add_metrics(command)
    meta_tables.add_correlation(command)
    add_best_of(command)
    meta_tables.add_drawing(command)
    command.add_argument(
        "--references",
        action="store_true",
        help="also score each text with each of its references alone, and show how their number matters",
    )
    references.add_references(command)
    command.add_argument("--report", metavar="HTML", help="write a self-contained HTML page")
    command.add_argument("--plots", metavar="FOLDER", help="write the plots as SVG and PNG")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the study, print it, write it."""
    from celadon.meta.study import make_study

    if arguments.plots:
        from celadon.report.plots import require_matplotlib

        require_matplotlib()
    if arguments.report:
        check_writable(arguments.report, arguments.table)
    study = make_study(
        meta_tables.table_of(arguments),
        kind=arguments.correlation,
        resamples=arguments.resamples,
        seed=meta_tables.seed_of(arguments),
    )
    if arguments.references:
        study = _with_references(study, arguments)
    written = _write(study, arguments)
    best = best_of(arguments, study)
    if arguments.json:
        meta_tables.print_json(_as_json(study) | {"best_of": best})
    else:
        _print(study)
        print_best(best)
    for what in written:
        print(f"wrote {what}", file=sys.stderr)
    return 0


def _with_references(study: Study, arguments: argparse.Namespace) -> Study:
    """Add the curves of those metrics of the table that we can score with."""
    from celadon.core import Need
    from celadon.metrics.registry import load

    known = [name for name in study.table.metrics if meta_tables.known_metric(name) is not None]
    metrics = tuple(metric for metric in map(load, known) if Need.REFERENCES in metric.info.needs)
    return dataclasses.replace(study, references=tuple(references.reference_curves(arguments, metrics).points))


def check_writable(path: str, table: str) -> None:
    """Complain before the work is done, not after it."""
    from celadon.io import check_distinct
    from celadon.io.atomic import Draft

    check_distinct(path, [table])
    draft = Draft(path)
    draft.open()
    draft.abort()


def _write(study: Study, arguments: argparse.Namespace) -> list[str]:
    written = []
    if arguments.plots:
        from celadon.report.plots import save_plots

        files = save_plots(study, arguments.plots)
        written.append(f"{len(files)} files of plots in {arguments.plots}")
    if arguments.report:
        from celadon.io import atomic_write_text
        from celadon.report.meta_report import meta_report, missing_plots

        count = len(study.table.metrics)
        title = f"How far {count} metrics can be trusted" if count != 1 else "How far the metric can be trusted"
        name = "standard input" if arguments.table == "-" else Path(arguments.table).name
        atomic_write_text(arguments.report, meta_report(study, title=title, source_name=name))
        why = missing_plots()
        written.append(f"{arguments.report} {why}" if why else arguments.report)
    return written


def _as_json(study: Study) -> dict[str, Any]:
    from celadon.report.meta_ladder import ladder

    table = study.table
    same = ("correlations", "comparisons", "accuracies", "agreements", "disagreements", "levels", "ablations")
    return {
        "rows": table.rows,
        "metrics": table.metrics,
        "humans": table.humans,
        "lower_is_better": sorted(table.lower_is_better & {*table.metrics, *table.humans}),
        "seed": study.seed,
        "resamples": study.resamples,
        **{name: getattr(study, name) for name in same},
        "aspects": ladder(study),
        "references": study.references,
        "between_metrics": [
            {"first": first, "second": second, "value": value}
            for (first, second), value in study.between_metrics.items()
        ],
        "notes": study.notes,
    }


def _print(study: Study) -> None:
    """The main tables, best metrics first, then everything in words."""
    from celadon.meta.study.notes import LEVEL_WORDS
    from celadon.report.meta_choice import by_value
    from celadon.text.layout import printable, table

    ceilings = {row.human: row.ceiling for row in study.agreements}
    whole = [row for row in study.correlations if not row.group]
    for human, level in dict.fromkeys((row.human, row.level) for row in whole):
        rows = sorted((row for row in whole if (row.human, row.level) == (human, level)), key=by_value)
        ceiling = ceilings.get(human, float("nan")) if level == "instance" else float("nan")
        print(printable(f"{human}, {LEVEL_WORDS.get(level, level)}"))
        header = ["metric", rows[0].kind, "95% interval", "ceiling", "p", "rows", "nulls", ""]
        cells = [
            [
                *(printable(row.metric), figure(row.value), bounds(row.low, row.high), figure(ceiling)),
                *(chance(row.pvalue), f"{row.used:,}", f"{row.nulls:,}", printable(row.reason)),
            ]
            for row in rows
        ]
        print(table(header, cells), end="\n\n")
    if study.agreements:
        header = ["raters of", "raters", "items", "pairwise", "kappa", "alpha", "icc", "ceiling", ""]
        cells = [
            [
                *(printable(row.human), "-" if row.raters != row.raters else f"{row.raters:g}", f"{row.items:,}"),
                *map(figure, (row.pairwise_mean, row.kappa, row.alpha_interval, row.icc_mean, row.ceiling)),
                printable(row.reason),
            ]
            for row in study.agreements
        ]
        print(table(header, cells), end="\n\n")
    meta_tables.print_notes(study.notes)
