"""``celadon explain``: what made a score, shown in the terminal."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from celadon.cli.scoring_options import add_markup_option

if TYPE_CHECKING:
    from celadon.core import Metric, MetricScores, Section

_DEFAULT = "simple_string_accuracy,generation_string_accuracy,rouge1,rouge2,rougeL,chrf,bleu"

_TREES = ["simple_tree_accuracy", "generation_tree_accuracy", "understandability_accuracy", "quality_accuracy"]


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.add_argument("text", help="the text")
    command.add_argument("-r", "--reference", action="append", default=[], metavar="TEXT", help="may be given again")
    command.add_argument("--source", metavar="TEXT", help="what the text was made from")
    command.add_argument(
        "-m",
        "--metric",
        action="append",
        default=[],
        metavar="A,B",
        help=f"default: {_DEFAULT}; without a reference celadon",
    )
    add_markup_option(command, "the text is written in")
    command.add_argument(
        "--language", default="", metavar="NAME", help="its language, as en or Spanish (default: identified)"
    )
    command.add_argument(
        "--trees", metavar="CONLLU", help="dependency trees of the references, in their order, for the tree accuracies"
    )
    command.add_argument("--svg", metavar="FILE", help="draw the tree, with the treelets that went wrong")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the scores and why."""
    from celadon.core import Sample
    from celadon.io.conllu import trees_in_order
    from celadon.metrics.registry import DEFAULTS_WITHOUT_REFERENCES, split_specs
    from celadon.report.terminal import Screen, evidence_lines
    from celadon.scoring.api import score

    specs = [spec for part in arguments.metric for spec in split_specs(part)]
    defaults = split_specs(_DEFAULT) if arguments.reference else list(DEFAULTS_WITHOUT_REFERENCES)
    if arguments.trees or arguments.svg:
        defaults = _TREES
    sample = Sample(
        arguments.text,
        tuple(arguments.reference),
        arguments.source,
        origin="the text",
        markup=arguments.markup,
        language=_language(arguments.language),
    )
    if arguments.trees:
        sample = replace(sample, trees=trees_in_order(arguments.trees))
    scores = score([sample], metrics=specs or defaults)
    screen = Screen(shutil.get_terminal_size((100, 24)).columns, _colored())
    seen: list[Section] = []
    for metric in scores.metrics:
        column = scores.columns[metric.spec]
        evidence = metric.evidence(sample)
        print(_headline(metric, column, parts=evidence is None or not evidence.aspects))
        if evidence is not None:
            values = {name: float(part[0]) for name, part in column.parts.items()}
            for line in evidence_lines(sample, evidence, screen, values, seen):
                print(line)
        print()
    if arguments.svg:
        _draw(arguments.svg, next((section for section in seen if section.kind == "tree"), None))
    return 0


def _language(name: str) -> str:
    from celadon.core import UsageError
    from celadon.io.written_in import language_named

    try:
        return language_named(name)
    except ValueError as error:
        raise UsageError(f"--language: {error}") from None


def _draw(path: str, tree: Section | None) -> None:
    from celadon.core import UsageError
    from celadon.io import atomic_write_text
    from celadon.report.html import tree_svg

    if tree is None:
        raise UsageError(f"{path}: there is no tree to draw: no tree accuracy was asked for, or none has a score")
    atomic_write_text(path, tree_svg(tree) + "\n")


def _colored() -> bool:
    """Whether the standard output wants colors."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _headline(metric: Metric, scores: MetricScores, *, parts: bool) -> str:
    from celadon.core import BoundMetric

    value = float(scores.values[0])
    if math.isnan(value):
        return f"{metric.spec}: no score, {scores.reasons[0]}"
    written = "".join(f"  {name} {float(column[0]):.4g}" for name, column in scores.parts.items()) if parts else ""
    if isinstance(metric, BoundMetric) and metric.fitted is not None and metric.fitted.origin == "set":
        return f"{metric.spec}: says how a text stands in a set, so one text has none; score a file{written}"
    return f"{metric.spec}: {value:.4f}{written}"
