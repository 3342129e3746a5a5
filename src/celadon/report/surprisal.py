"""The surprisal of the tokens of shown texts, where a likelihood metric was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from celadon.core import Metric, Sample, Span
from celadon.metrics.likelihood import Likelihood
from celadon.metrics.likelihood_evidence import LABELS, LEVELS, LikelihoodEvidence, in_words
from celadon.report.escape import cut_at, escape, short
from celadon.report.keep import Kept
from celadon.report.spans import shade_class
from celadon.scoring.batch import Batch

# As much of a long text as is ever shown, and somewhat more, so that the last token shown is scored in its sentence.
HEAD = 1_600
_AT_A_TIME = 64
_WORD_LIMIT = 60
_SENTENCE_LIMIT = 160


@dataclass(frozen=True)
class Surprisals:
    """What is known of the shown texts, of their first ``head`` characters, by their positions, and from which metric;
    empty where there is none."""

    metric: str = ""
    found: Mapping[int, LikelihoodEvidence] = field(default_factory=dict)
    head: int = HEAD

    def spans(self, kept: Kept) -> tuple[Span, ...]:
        """Return the tokens of a text."""
        evidence = self.found.get(kept.position)
        return evidence.text_spans if evidence else ()

    def worst(self, kept: Kept) -> str:
        """List the least expected words of a text and, of several sentences, the worst."""
        evidence = self.found.get(kept.position)
        if evidence is None:
            return ""
        of = f"<i>of the first {self.head:,} characters</i>" if len(kept.text) > self.head else ""
        words = "; ".join(_word(kept.text, span) for span in evidence.words)
        lines = f'<b>Least expected</b><p class="why">{words}</p>{of}'
        for span in evidence.sentences:
            if span.label == "worst":
                sentence = short(kept.text[span.start : span.end], _SENTENCE_LIMIT)
                lines += f'<b>Worst sentence</b><p class="why"><bdi>{sentence}</bdi> {span.note}</p>'
        return lines

    def legend(self) -> str:
        """Say what the shades mean."""
        bounds = [f"{bits:g}" for bits in LEVELS]
        names = [f"under {bounds[0]} bits", *(f"{a} to {b}" for a, b in pairwise(bounds))]
        names.append(f"{bounds[-1]} and more")
        shades = "".join(f"<li>{_shade(label, name)}</li>" for label, name in zip(LABELS, names, strict=True))
        return (
            '<div class="legend"><h3>Surprisal</h3><p>Each token is shaded by how little the language model of '
            f"{escape(self.metric)} expected it there, in bits, which are shown when it is pointed at. A token of "
            f"10 bits had one chance in 1,024.</p><ul>{shades}</ul></div>"
        )


def _shade(label: str, name: str) -> str:
    shade = shade_class(label)
    return f"<u class={shade}>{name}</u>" if shade else f"<u>{name}</u>"


def _word(text: str, span: Span) -> str:
    return f"<bdi>{short(in_words(text, span), _WORD_LIMIT)}</bdi> {span.note}"


def surprisals(texts: Iterable[Kept], metrics: Sequence[Metric], head: int = HEAD) -> Surprisals:
    """Explain the first ``head`` characters of texts by the first likelihood metric there is."""
    metric = next((metric for metric in metrics if isinstance(metric, Likelihood)), None)
    if metric is None:
        return Surprisals()
    distinct = list({kept.position: kept for kept in texts}.values())
    found: dict[int, LikelihoodEvidence] = {}
    for at in range(0, len(distinct), _AT_A_TIME):
        part = distinct[at : at + _AT_A_TIME]
        batch = Batch([Sample(kept.text[: cut_at(kept.text, head)]) for kept in part])
        for kept, evidence in zip(part, metric.evidences(batch), strict=True):
            if evidence is not None:
                found[kept.position] = replace(evidence, summary="")
    return Surprisals(metric.spec, found, head)
