"""Why parsers find a text fluent or not: words without a use, fragments, the tree of each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from celadon.core import Evidence, FloatArray, Span
from celadon.metrics.aspects import SENTENCE, WORST
from celadon.metrics.gleu_features import SentenceFeatures
from celadon.metrics.gleu_weights import GleuWeights
from celadon.parsing import LinkParse
from celadon.parsing.chart_parser import ChartParse
from celadon.parsing.dependency_parser import DependencyParse
from celadon.parsing.loading import CHART, DEPENDENCY, LINK, RULES
from celadon.parsing.rule_checker import RuleCheck
from celadon.scoring.batch import Batch

UNUSED = "unused"
"""The label of a word that no linkage could use."""


@dataclass(frozen=True)
class GleuEvidence(Evidence):
    """What the parsers made of each sentence: ``text_spans`` are words that no linkage could use.

    Attributes
    ----------
    sentences
        Each with its value, and what counts most for or against it, as the note; the worst has its own label.
    values
        The values as numbers.
    fragments
        Of each sentence that falls into several trees, the runs of words of each tree; else nothing.
    trees
        The chart parser's tree of each sentence, in brackets.
    marks
        What the rule checker marks, where it was asked: the label is the rule, the note its message. They may overlap.
    """

    sentences: tuple[Span, ...] = ()
    values: tuple[float, ...] = ()
    fragments: tuple[tuple[Span, ...], ...] = ()
    trees: tuple[str, ...] = ()
    marks: tuple[Span, ...] = ()


def explain(
    metric: str, batch: Batch, found: SentenceFeatures, weights: GleuWeights, chart: str = CHART
) -> list[GleuEvidence | None]:
    """Show why, for each text of a batch; None for one without a score."""
    added = weights.contributions(weights.normalised(found.columns))
    values = weights.scores(added)
    notes = [
        _note(float(value), {name: column[at] for name, column in added.items()}) for at, value in enumerate(values)
    ]
    asked = (chart, DEPENDENCY, LINK, *((RULES,) if "rules" in weights.terms else ()))
    views = [batch.parses(name, recent=True) for name in asked]
    parsed = np.flatnonzero(~np.isin(views[0].owner, list(found.reasons)))
    shown: list[GleuEvidence | None] = []
    for row in range(len(batch)):
        places = np.flatnonzero(found.owner == row)
        spans = [Span(int(found.starts[at]), int(found.ends[at]), SENTENCE, notes[at]) for at in places]
        parses = [[view.results[at] for at in parsed[places]] for view in views]
        shown.append(_evidence(metric, spans, values[places], *parses) if spans else None)
    return shown


def _note(value: float, added: dict[str, float]) -> str:
    most = max(added, key=lambda name: abs(added[name]))
    return f"{value:.2f}: most by {most} ({added[most]:+.2f})"


def _evidence(
    metric: str,
    sentences: list[Span],
    values: FloatArray,
    charts: list[ChartParse],
    dependencies: list[DependencyParse],
    links: list[LinkParse],
    checks: Sequence[RuleCheck] = (),
) -> GleuEvidence:
    if len(sentences) > 1:
        worst = int(np.argmin(values))
        sentences[worst] = sentences[worst]._replace(label=WORST)
    unused = [word for span, link in zip(sentences, links, strict=True) for word in _unused(link, span.start)]
    fragments = tuple(_fragments(each, span.start) for span, each in zip(sentences, dependencies, strict=True))
    told = [_counted(len(sentences), "sentence"), f"{_counted(len(unused), 'word')} that no linkage could use"]
    if broken := sum(len(each) > 0 for each in fragments):
        told.append(f"{_counted(broken, 'sentence')} in several trees")
    marks = [
        mark._replace(start=span.start + mark.start, end=span.start + mark.end)
        for span, check in zip(sentences, checks, strict=False)
        for mark in check.matches
    ]
    if checks:
        told.append(_counted(len(marks), "mark") + " of the rule checker")
    return GleuEvidence(
        metric,
        "; ".join(told),
        tuple(unused),
        sentences=tuple(sentences),
        values=tuple(values.tolist()),
        fragments=fragments,
        trees=tuple(each.tree for each in charts),
        marks=tuple(marks),
    )


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _unused(parse: LinkParse, start: int) -> Iterable[Span]:
    """The words left out; what has no characters of its own is not shown."""
    last = 0
    for first, end in sorted(parse.words[at] for at in parse.unused):
        if first >= last and end > first:
            yield Span(start + first, start + end, UNUSED, "no linkage could use it")
            last = end


def _fragments(parse: DependencyParse, start: int) -> tuple[Span, ...]:
    """The runs of words of each tree, labelled by its number; nothing where there is one tree."""
    if parse.fragments < 2:
        return ()
    numbers: dict[int, int] = {}
    of_word = [numbers.setdefault(_root(parse, word), len(numbers) + 1) for word in range(len(parse.words))]
    spans = []
    for number, run in groupby(range(len(of_word)), key=of_word.__getitem__):
        words = list(run)
        spans.append(Span(start + parse.words[words[0]][0], start + parse.words[words[-1]][1], f"fragment {number}"))
    return tuple(spans)


def _root(parse: DependencyParse, word: int) -> int:
    while parse.heads[word] != word:
        word = parse.heads[word]
    return word
