"""``celadon meta references``: how the correlation grows with the number of references."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.core import FloatArray, Metric, Sample
    from celadon.meta.study import ReferencesRow

_BATCH = 2048
_PATIENCE = 2.0


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "references",
        help="correlation against the number of references: each text is scored with each reference alone",
        description="Score each text with each of its different references alone, take the best of some of them drawn "
        "at random, and correlate that with the ratings. TABLE must have texts and references.",
    )
    meta_tables.add_table(command)
    command.add_argument(
        "-m", "--metric", action="append", default=[], metavar="A,B", help="metrics to score with (default: rougeL)"
    )
    meta_tables.add_correlation(command)
    add_references(command)
    command.add_argument(
        "--lower-is-better", action="append", default=[], metavar="A,B", help="ratings of which less is better"
    )
    command.add_argument("--plots", metavar="FOLDER", help="write the curves as SVG and PNG")
    command.add_argument("--seed", type=int, default=None, metavar="N", help="of what is drawn (default: fixed)")
    command.set_defaults(run=run)


def add_references(command: argparse.ArgumentParser) -> None:
    """Add what tells texts and references, and how many of them are tried."""
    command.add_argument(
        "--most",
        type=int,
        metavar="N",
        help="the greatest number of references; texts with fewer are left out (default: what half of the texts have)",
    )
    command.add_argument("--draws", type=int, default=100, metavar="N", help="subsets for each number (default: 100)")
    command.add_argument("--text-field", metavar="NAME", help="the text (default: text, output or prediction)")
    command.add_argument("--references-field", metavar="NAME", help="default: references, reference or ref0, ref1 ...")
    command.add_argument("--source-field", metavar="NAME", help="what the text was made from (default: source)")


class Curves(NamedTuple):
    """The points of all curves, and which texts they rest on."""

    points: list[ReferencesRow]
    texts: int
    left_out: int
    most: int


def run(arguments: argparse.Namespace) -> int:
    """Score, correlate, print."""
    from celadon.metrics.registry import load_all

    if arguments.plots:
        from celadon.report.plots import require_matplotlib

        require_matplotlib()
    metrics = load_all(meta_tables.named(arguments.metric) or ["rougeL"])
    curves = reference_curves(arguments, metrics)
    if arguments.json:
        figures = {"texts": curves.texts, "left_out": curves.left_out, "kind": arguments.correlation}
        meta_tables.print_json({**figures, "references": curves.points})
    else:
        _print(curves.points, arguments.correlation)
        print(
            f"{curves.texts:,} texts with {curves.most} references or more; {curves.left_out:,} with fewer are left out"
        )
    if arguments.plots:
        _draw(curves.points, arguments.plots)
    return 0


def reference_curves(arguments: argparse.Namespace, metrics: tuple[Metric, ...]) -> Curves:
    """Correlate metrics that are given some of the references with the ratings of the table."""
    from celadon.core import UsageError
    from celadon.io import TableRow
    from celadon.meta.table import make_humans

    humans = meta_tables.humans_of(arguments)
    samples = _samples(arguments)
    ratings = make_humans((TableRow(dict(s.extra), arguments.table, s.origin) for s in samples), humans)
    counts = [len(sample.references) for sample in samples]
    most = arguments.most or sorted(counts)[len(counts) // 2]
    if most < 2:
        raise UsageError(
            f"{arguments.table}: half of the texts have fewer than two different references: their number cannot vary; "
            "give --most N to use only the texts that have so many"
        )
    kept = [sample for sample, count in zip(samples, counts, strict=True) if count >= most]
    if len(kept) < 3:
        raise UsageError(f"{arguments.table}: {len(kept)} texts have {most} references; at least 3 are needed")
    rows = [count >= most for count in counts]
    scores = _scored(kept, metrics)
    points = [
        row
        for metric in metrics
        for human in humans
        for row in _points(arguments, metric, human, scores[metric.spec], ratings[human][rows], most)
    ]
    return Curves(points, len(kept), len(samples) - len(kept), most)


def _draw(points: list[ReferencesRow], folder: str) -> None:
    from celadon.meta.study import Study
    from celadon.meta.table import Table
    from celadon.report.plots import save_plots

    humans = tuple(dict.fromkeys(point.human for point in points))
    metrics = tuple(dict.fromkeys(point.metric for point in points))
    files = save_plots(Study(Table({}, metrics, humans), references=tuple(points)), folder)
    print(f"wrote {len(files)} files of plots in {folder}", file=sys.stderr)


def _samples(arguments: argparse.Namespace) -> list[Sample]:
    from celadon.core import InputError
    from celadon.io import BadRow, Fields, Reader

    def refuse(row: BadRow) -> None:
        raise InputError(str(row))

    fields = Fields(text=arguments.text_field, references=arguments.references_field, source=arguments.source_field)
    reader = Reader([arguments.table], fields, format=arguments.format, on_bad=refuse)
    # the same text given twice is one reference
    return [
        dataclasses.replace(sample, references=tuple(dict.fromkeys(sample.references)))
        for chunk in reader
        for sample in chunk.samples
    ]


def _scored(samples: list[Sample], metrics: tuple[Metric, ...]) -> dict[str, FloatArray]:
    """For each metric texts x references: the score with that reference alone, NaN where there is none."""
    import numpy as np
    from tqdm import tqdm

    from celadon.core import is_set_relative
    from celadon.scoring.api import score

    if any(map(is_set_relative, metrics)):
        # one set of constants for all numbers of references
        metrics = score(samples, metrics=metrics).metrics
    places = [(row, at) for row, sample in enumerate(samples) for at in range(len(sample.references))]
    width = max(len(sample.references) for sample in samples)
    values = {metric.spec: np.full((len(samples), width), np.nan) for metric in metrics}
    with tqdm(total=len(places), unit=" pairs", delay=_PATIENCE, disable=None, leave=False) as bar:
        for start in range(0, len(places), _BATCH):
            some = places[start : start + _BATCH]
            alone = [dataclasses.replace(samples[row], references=(samples[row].references[at],)) for row, at in some]
            scores = score(alone, metrics=metrics)
            for metric in metrics:
                rows, columns = zip(*some, strict=True)
                values[metric.spec][list(rows), list(columns)] = scores.columns[metric.spec].values
            bar.update(len(some))
    return values


def _points(
    arguments: argparse.Namespace, metric: Metric, human: str, scores: FloatArray, ratings: FloatArray, most: int
) -> list[ReferencesRow]:
    from celadon.core import Direction
    from celadon.meta.reference_count import correlation_by_references
    from celadon.meta.study import ReferencesRow
    from celadon.meta.table import less_is_better

    lower = human in meta_tables.named(arguments.lower_is_better) or less_is_better(human)
    good = -scores if metric.info.direction is Direction.LOWER else scores
    points = correlation_by_references(
        good,
        -ratings if lower else ratings,
        counts=range(1, most + 1),
        draws=arguments.draws,
        seed=meta_tables.seed_of(arguments),
        correlation=arguments.correlation,
    )
    return [ReferencesRow(metric.spec, human, point.references, point.correlation, point.sd) for point in points]


def _print(points: list[ReferencesRow], kind: str) -> None:
    from celadon.text.layout import printable, table

    for human in dict.fromkeys(point.human for point in points):
        chosen = [point for point in points if point.human == human]
        numbers = sorted({point.references for point in chosen})
        values = {(point.metric, point.references): point for point in chosen}
        metrics = list(dict.fromkeys(point.metric for point in chosen))
        print(printable(f"{human}, {kind} by the number of references (± spread over draws)"))
        cells = [[str(number), *(_cell(values[metric, number]) for metric in metrics)] for number in numbers]
        print(table(["references", *map(printable, metrics)], cells, left=0), end="\n\n")


def _cell(point: ReferencesRow) -> str:
    return f"{meta_tables.figure(point.value)} ± {point.sd:.3f}" if point.value == point.value else "-"
