"""What parsers made of shown texts, where a metric that asks them was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from celadon.core import Metric, Sample, Span
from celadon.metrics.aspects import WORST
from celadon.metrics.gleu import ParserMetric
from celadon.metrics.gleu_evidence import GleuEvidence
from celadon.report.escape import cut_at, escape, short
from celadon.report.keep import Kept
from celadon.scoring.batch import Batch

# As much of a long text as is ever shown
HEAD = 1_600
_AT_A_TIME = 64
_SENTENCES = 4
_TREE_LIMIT = 1_500


@dataclass(frozen=True)
class ParsedTexts:
    """What is known of the shown texts, of their first ``head`` characters, by their positions, and from which metric;
    empty where there is none."""

    metric: str = ""
    found: Mapping[int, GleuEvidence] = field(default_factory=dict)
    head: int = HEAD

    def lines(self, kept: Kept) -> str:
        """Show the worst sentences of a text: words without a use dotted, fragments, the tree in brackets."""
        evidence = self.found.get(kept.position)
        if evidence is None:
            return ""
        order = sorted(range(len(evidence.values)), key=lambda at: (evidence.values[at], at))
        lines = "".join(_sentence(kept.text, evidence, at) for at in sorted(order[:_SENTENCES]))
        left = len(order) - _SENTENCES
        more = f"<i>and {left:,} better ones</i>" if left > 0 else ""
        part = f"<i>of the first {self.head:,} characters</i>" if len(kept.text) > self.head else ""
        return f"<b>Parsers</b><div>{lines}{more}{part}</div>"

    def legend(self) -> str:
        """Say what is shown of the parsers."""
        return (
            f'<div class="legend"><h3>Parsers</h3><p>By {escape(self.metric)}: of each sentence its value and what '
            'counts most for or against it. Words that no linkage could use are <span class="o">dotted</span>; a '
            "sentence that falls into several trees has its fragments, each with its number; the tree in brackets is "
            "the most probable one.</p></div>"
        )


def _sentence(text: str, evidence: GleuEvidence, at: int) -> str:
    span = evidence.sentences[at]
    whole = _dotted(text, span, [word for word in evidence.text_spans if span.start <= word.start < span.end])
    worst = " (worst)" if span.label == WORST else ""
    fragments = "; ".join(
        f"{escape(run.label.rpartition(' ')[2])} <bdi>{escape(text[run.start : run.end])}</bdi>"
        for run in evidence.fragments[at]
    )
    broken = f'<p class="why">fragments: {fragments}</p>' if fragments else ""
    marks = "; ".join(
        f"<bdi>{escape(text[mark.start : mark.end])}</bdi> ({escape(mark.note)})"
        for mark in evidence.marks
        if span.start <= mark.start < span.end
    )
    broken += f'<p class="why">rules: {marks}</p>' if marks else ""
    tree = f'<p class="why"><code>{short(evidence.trees[at], _TREE_LIMIT)}</code></p>'
    return f'<p dir="auto">{whole}</p><p class="why">{escape(span.note)}{worst}</p>{broken}{tree}'


def _dotted(text: str, sentence: Span, words: Sequence[Span]) -> str:
    """The sentence with each of some words marked on its own."""
    pieces, done = [], sentence.start
    for word in words:
        title = escape(f"{word.label}: {word.note}")
        inside = escape(text[word.start : word.end])
        pieces += [escape(text[done : word.start]), f'<span class="o" title="{title}">{inside}</span>']
        done = word.end
    return "".join([*pieces, escape(text[done : sentence.end])])


def parsed_texts(texts: Iterable[Kept], metrics: Sequence[Metric], head: int = HEAD) -> ParsedTexts:
    """Explain the first ``head`` characters of texts by the first metric that asks parsers."""
    metric = next((metric for metric in metrics if isinstance(metric, ParserMetric)), None)
    if metric is None:
        return ParsedTexts()
    distinct = list({kept.position: kept for kept in texts}.values())
    found: dict[int, GleuEvidence] = {}
    for at in range(0, len(distinct), _AT_A_TIME):
        part = distinct[at : at + _AT_A_TIME]
        batch = Batch([Sample(kept.text[: cut_at(kept.text, head)]) for kept in part])
        for kept, evidence in zip(part, metric.evidences(batch), strict=True):
            if evidence is not None:
                found[kept.position] = evidence
    return ParsedTexts(metric.spec, found, head)
