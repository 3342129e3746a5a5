"""Why parsers find a text fluent or not: words without a use, fragments, the tree of each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from celadon.core import Evidence, Section, Span
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


def explain(
    metric: str, batch: Batch, found: SentenceFeatures, weights: GleuWeights, chart: str = CHART
) -> list[Evidence | None]:
    """Show why, for each text of a batch; None for one without a score.

    Words that no linkage could use are marked in the text. Each sentence is a passage with its value and what counts
    most for or against it; where it falls into several trees, the runs of words of each tree; what the rule checker
    marks, where it was asked; the chart parser's tree in brackets.
    """
    added = weights.contributions(weights.normalised(found.columns))
    values = weights.scores(added)
    asked = (chart, DEPENDENCY, LINK, *((RULES,) if "rules" in weights.terms else ()))
    views = [batch.parses(name, recent=True) for name in asked]
    parsed = np.flatnonzero(~np.isin(views[0].owner, list(found.reasons)))
    evidence: list[Evidence | None] = []
    for row, sample in enumerate(batch.samples):
        places = np.flatnonzero(found.owner == row)
        worst = int(places[np.argmin(values[places])]) if len(places) > 1 else -1
        sentences = [
            Span(
                int(found.starts[at]),
                int(found.ends[at]),
                WORST if at == worst else SENTENCE,
                _note(float(values[at]), {name: column[at] for name, column in added.items()}),
                float(values[at]),
            )
            for at in places
        ]
        parses = [[view.results[at] for at in parsed[places]] for view in views]
        evidence.append(_evidence(metric, sample.text, sentences, *parses) if sentences else None)
    return evidence


def _note(value: float, added: dict[str, float]) -> str:
    most = max(added, key=lambda name: abs(added[name]))
    return f"{value:.2f}: most by {most} ({added[most]:+.2f})"


def _evidence(
    metric: str,
    text: str,
    sentences: list[Span],
    charts: list[ChartParse],
    dependencies: list[DependencyParse],
    links: list[LinkParse],
    checks: Sequence[RuleCheck] = (),
) -> Evidence:
    def written(span: Span) -> str:
        return " ".join(text[span.start : span.end].split())

    passages: list[Section] = []
    unused: list[Span] = []
    broken = marks = 0
    for at, sentence in enumerate(sentences):
        words = tuple(_unused(links[at], sentence.start))
        fragments = _fragments(dependencies[at], sentence.start)
        matches = [
            mark._replace(start=sentence.start + mark.start, end=sentence.start + mark.end)
            for mark in (checks[at].matches if checks else ())
        ]
        lines = [f"no linkage could use: {', '.join(map(written, words))}"] if words else []
        if fragments:
            lines.append(f"fragments: {' | '.join(f'{run.label} {written(run)}' for run in fragments)}")
        lines += [f"rule: {written(mark)}: {' '.join(mark.note.split())}" for mark in matches]
        passages.append(Section("passage", "Parsers", (sentence, *words), tuple(lines), {"tree": charts[at].tree}))
        unused += words
        broken += len(fragments) > 0
        marks += len(matches)
    summary = [_counted(len(sentences), "sentence"), f"{_counted(len(unused), 'word')} that no linkage could use"]
    if broken:
        summary.append(f"{_counted(broken, 'sentence')} in several trees")
    if checks:
        summary.append(_counted(marks, "mark") + " of the rule checker")
    return Evidence(metric, "; ".join(summary), (Section("marks", spans=tuple(unused)), *passages))


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
        spans.append(Span(start + parse.words[words[0]][0], start + parse.words[words[-1]][1], str(number)))
    return tuple(spans)


def _root(parse: DependencyParse, word: int) -> int:
    while parse.heads[word] != word:
        word = parse.heads[word]
    return word
