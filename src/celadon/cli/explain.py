"""``celadon explain``: what made a score, shown in the terminal."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from celadon.cli.explain_aspects import Screen
    from celadon.core import Evidence, Metric, MetricScores, Sample, Span
    from celadon.metrics.likelihood_evidence import LikelihoodEvidence
    from celadon.metrics.tree_evidence import TreeEvidence

_MARKS = {"match": ".", "substitution": "s", "insertion": "i", "deletion": "d", "move": "m"}
_COLOURS = {"substitution": "35", "insertion": "34", "deletion": "31", "move": "36"}
# From pale yellow to red, of the 256 colours; the text on them is black.
_SHADES = ("", "230", "223", "216", "209", "203")
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
    command.add_argument(
        "--trees", metavar="CONLLU", help="dependency trees of the references, in their order, for the tree accuracies"
    )
    command.add_argument("--svg", metavar="FILE", help="draw the tree, with the treelets that went wrong")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the scores and why."""
    from celadon.core import Sample
    from celadon.io.tree_file import trees_in_order
    from celadon.metrics.registry import DEFAULTS_WITHOUT_REFERENCES, split_specs
    from celadon.metrics.tree_evidence import TreeEvidence
    from celadon.scoring.api import score

    given = [spec for part in arguments.metric for spec in split_specs(part)]
    defaults = split_specs(_DEFAULT) if arguments.reference else list(DEFAULTS_WITHOUT_REFERENCES)
    if arguments.trees or arguments.svg:
        defaults = _TREES
    sample = Sample(arguments.text, tuple(arguments.reference), arguments.source, origin="the text")
    if arguments.trees:
        sample = replace(sample, trees=trees_in_order(arguments.trees))
    scores = score([sample], metrics=given or defaults)
    shown: set[tuple[Any, ...]] = set()
    drawn: TreeEvidence | None = None
    for metric in scores.metrics:
        evidence = metric.evidence(sample)
        if isinstance(evidence, TreeEvidence):
            drawn = drawn or evidence
        if not _print_aspects(metric, scores.columns[metric.spec], sample, evidence):
            print(_headline(metric, scores.columns[metric.spec]))
            if evidence is not None:
                _print_evidence(metric, sample, evidence, shown)
        print()
    if arguments.svg:
        _draw(arguments.svg, drawn)
    return 0


def _draw(path: str, evidence: TreeEvidence | None) -> None:
    from celadon.core import UsageError
    from celadon.io import atomic_write_text
    from celadon.report.dependency_svg import dependency_svg

    if evidence is None:
        raise UsageError(f"{path}: there is no tree to draw: no tree accuracy was asked for, or none has a score")
    atomic_write_text(path, dependency_svg(evidence) + "\n")


def _print_aspects(metric: Metric, scores: MetricScores, sample: Sample, evidence: Evidence | None) -> bool:
    """Show a metric of several aspects, and say whether it is one."""
    from celadon.cli.explain_aspects import aspect_lines
    from celadon.metrics.aspects import AspectEvidence

    if not isinstance(evidence, AspectEvidence):
        return False
    print(f"{metric.spec}: {float(scores.values[0]):.4f}")
    values = {name: float(column[0]) for name, column in scores.parts.items()}
    for line in aspect_lines(sample.text, evidence, values, _screen()):
        print(line)
    return True


def _print_evidence(metric: Metric, sample: Sample, evidence: Evidence, shown: set[tuple[Any, ...]]) -> None:
    """Show why, what was ``shown`` before left out."""
    from celadon.cli.explain_aspects import one_line

    print(f"  {one_line(evidence.summary)}")
    key = (evidence.reference, evidence.text_spans, evidence.reference_spans)
    for line in _details(sample, evidence, shown):
        print(line)
    if metric.aligns and key not in shown:
        print(_alignment(sample, evidence))
        shown.add(key)
    _print_likelihood(sample, evidence, shaded=key not in shown)
    shown.add(key)


def _details(sample: Sample, evidence: Evidence, shown: set[tuple[Any, ...]]) -> Iterable[str]:
    """What the value rests on, in the way of the evidence's kind; equal treelets once."""
    from celadon.cli.explain_aspects import detail_lines
    from celadon.cli.explain_parses import parse_lines
    from celadon.cli.explain_trees import tree_lines
    from celadon.metrics.gleu_evidence import GleuEvidence
    from celadon.metrics.tree_evidence import TreeEvidence

    if isinstance(evidence, GleuEvidence):
        return parse_lines(sample.text, evidence, _screen())
    if isinstance(evidence, TreeEvidence):
        treelets = (evidence.reference, evidence.place, evidence.treelets)
        if treelets in shown:
            return ()
        shown.add(treelets)
        return tree_lines(evidence, _screen())
    return detail_lines(sample.text, evidence, _screen())


def _print_likelihood(sample: Sample, evidence: Evidence, *, shaded: bool) -> None:
    """Show the surprisal of tokens, where the evidence is of that kind; the text is shaded once for equal tokens."""
    from celadon.metrics.likelihood_evidence import LikelihoodEvidence

    if isinstance(evidence, LikelihoodEvidence):
        if shaded and _coloured():
            print(_shaded(sample.text, evidence))
        print(_worst(sample.text, evidence))


def _shaded(text: str, evidence: LikelihoodEvidence) -> str:
    """The text with its tokens on a ground of their surprisal, and what the grounds mean."""
    from celadon.metrics.likelihood_evidence import LABELS, LEVELS
    from celadon.text.layout import printable

    def painted(shown: str, label: str) -> str:
        shade = _SHADES[LABELS.index(label)]
        return f"\033[38;5;16;48;5;{shade}m{shown}\033[0m" if shade else shown

    pieces, done = [], 0
    for span in evidence.text_spans:
        pieces.append(_lines(text[done : span.start]))
        pieces.append(painted(printable(text[span.start : span.end]), span.label))
        done = span.end
    pieces.append(_lines(text[done:]))
    scale = " ".join(painted(f" {bits:g} ", label) for bits, label in zip(LEVELS, LABELS[1:], strict=True))
    return f"\n  {''.join(pieces)}\n\n  bits from {scale} on"


def _lines(text: str) -> str:
    from celadon.text.layout import printable

    return "\n  ".join(printable(line) for line in text.split("\n"))


def _worst(text: str, evidence: LikelihoodEvidence) -> str:
    """The least expected words, and of several sentences each with its value."""
    from celadon.metrics.likelihood_evidence import in_words
    from celadon.text.layout import printable, width

    def shown(span: Span) -> str:
        return printable(in_words(text, span))

    wide = max((width(shown(span)) for span in evidence.words), default=0)
    lines = ["  least expected:"]
    lines += [f"    {shown(span)}{' ' * (wide - width(shown(span)))}  {span.note}" for span in evidence.words]
    if len(evidence.sentences) > 1:
        room = max(shutil.get_terminal_size((100, 24)).columns - 24, 20)
        lines.append("  sentences:")
        for span in evidence.sentences:
            sentence = shown(span)
            cut = sentence if len(sentence) <= room else f"{sentence[: room - 1]}…"
            lines.append(f"    {span.note:>10}  {cut}{'  (worst)' if span.label == 'worst' else ''}")
    return "\n".join(lines)


def _screen() -> Screen:
    from celadon.cli.explain_aspects import Screen

    return Screen(shutil.get_terminal_size((100, 24)).columns, _coloured())


def _coloured() -> bool:
    """Whether the standard output wants colours."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _headline(metric: Metric, scores: MetricScores) -> str:
    from celadon.core import BoundMetric

    value = float(scores.values[0])
    if math.isnan(value):
        return f"{metric.spec}: no score, {scores.reasons[0]}"
    parts = "".join(f"  {name} {float(column[0]):.4g}" for name, column in scores.parts.items())
    if isinstance(metric, BoundMetric) and metric.fitted is not None and metric.fitted.origin == "set":
        return f"{metric.spec}: says how a text stands in a set, so one text has none; score a file{parts}"
    return f"{metric.spec}: {value:.4f}{parts}"


class _Column(NamedTuple):
    reference: str
    text: str
    label: str


def _columns(sample: Sample, evidence: Evidence) -> list[_Column]:
    """Pair the words of both sides: aligned ones come in the same order in both."""
    reference_text = sample.references[evidence.reference or 0]
    above, below = list(evidence.reference_spans), list(evidence.text_spans)
    columns: list[_Column] = []

    def cut(text: str, span: Span) -> str:
        from celadon.text.layout import printable

        return printable(text[span.start : span.end])

    while above or below:
        if above and above[0].label in ("deletion", "move"):
            span = above.pop(0)
            columns.append(_Column(cut(reference_text, span), "", span.label))
        elif below and below[0].label in ("insertion", "move"):
            span = below.pop(0)
            columns.append(_Column("", cut(sample.text, span), span.label))
        else:
            span, other = above.pop(0), below.pop(0)
            columns.append(_Column(cut(reference_text, span), cut(sample.text, other), span.label))
    return columns


def _alignment(sample: Sample, evidence: Evidence) -> str:
    """Reference, text and operations under each other, broken to the terminal's width."""
    from celadon.text.layout import width

    room = max(shutil.get_terminal_size((100, 24)).columns - 14, 20)
    paint = _coloured()
    number = f" {evidence.reference + 1}" if evidence.reference is not None and len(sample.references) > 1 else ""
    names = (f"reference{number}", "text", "")
    blocks: list[list[list[str]]] = [[[], [], []]]
    used = 0
    for column in _columns(sample, evidence):
        wide = max(width(column.reference), width(column.text), 1)
        if used and used + wide + 1 > room:
            blocks.append([[], [], []])
            used = 0
        cells = (column.reference, column.text, _MARKS[column.label])
        for line, cell in zip(blocks[-1], cells, strict=True):
            padded = cell + " " * (wide - width(cell))
            colour = _COLOURS.get(column.label)
            line.append(f"\033[{colour}m{padded}\033[0m" if paint and colour else padded)
        used += wide + 1
    return "\n\n".join(
        "\n".join(f"  {name:<12}{' '.join(line)}".rstrip() for name, line in zip(names, block, strict=True))
        for block in blocks
    )
