"""The aspects of shown texts, where a metric with aspects was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from celadon.core import Evidence, Metric, MetricScores, Sample
from celadon.metrics.aspects import AspectEvidence, SentenceEvidence
from celadon.metrics.gruen.coherence import GruenCoherence
from celadon.metrics.gruen.focus import GruenFocus
from celadon.metrics.gruen.grammaticality import GruenGrammaticality
from celadon.metrics.gruen.gruen import Gruen
from celadon.metrics.gruen.redundancy import GruenRedundancy
from celadon.metrics.reading.celadon import ASPECT_METRICS, Celadon
from celadon.report import aspect_html
from celadon.report.escape import cut_at
from celadon.report.keep import Kept
from celadon.scoring.batch import Batch

WHOLE = (Gruen, Celadon)
"""The metrics that are made of aspects."""
_ALONE = (GruenGrammaticality, GruenRedundancy, GruenFocus, GruenCoherence, *ASPECT_METRICS)

# As much of a long text as is ever shown, and somewhat more, so that the last sentence shown is judged whole.
HEAD = 1_600
_AT_A_TIME = 64


class Explained(NamedTuple):
    """Whose aspects are shown: those of one metric that has several, or metrics that are one aspect each."""

    metrics: tuple[Metric, ...]
    names: tuple[str, ...]

    def values(self, results: Mapping[str, MetricScores], row: int) -> tuple[float, ...]:
        """The aspects of one text of a batch, in the order of their names."""
        scores = [results[metric.spec] for metric in self.metrics]
        if len(self.metrics) == 1 and isinstance(self.metrics[0], WHOLE):
            return tuple(float(scores[0].parts[name][row]) for name in self.names)
        return tuple(float(each.values[row]) for each in scores)


_NOTHING = Explained((), ())


def explained(metrics: Sequence[Metric]) -> Explained:
    """Choose what explains the texts: the first metric of several aspects, else the first of each single one."""
    for metric in metrics:
        if isinstance(metric, WHOLE):
            return Explained((metric,), metric.info.parts)
    alone: dict[str, Metric] = {}
    for metric in metrics:
        if isinstance(metric, _ALONE):
            alone.setdefault(metric.info.name.rpartition(".")[2], metric)
    return Explained(tuple(alone.values()), tuple(alone))


@dataclass(frozen=True)
class Aspects:
    """What is known of the shown texts, of their first ``head`` characters, by their positions; empty where there is
    no such metric."""

    of: Explained = _NOTHING
    found: Mapping[int, tuple[Evidence, ...]] = field(default_factory=dict)
    head: int = HEAD

    def shaded(self, kept: Kept, limit: int) -> str:
        """Show a text with each sentence on a ground of its grammaticality; nothing where that is not known."""
        for evidence in self.found.get(kept.position, ()):
            if isinstance(evidence, SentenceEvidence):
                return aspect_html.sentences(kept.text, evidence, self.found[kept.position], limit)
        return ""

    def lines(self, kept: Kept, limit: int) -> str:
        """List the aspects of a text, and what is wrong with it."""
        shown = self.found.get(kept.position)
        if shown is None:
            return ""
        values = [
            f"{name} {value:.3f}"
            for name, value in zip(self.of.names, kept.aspects, strict=True)
            if math.isfinite(value)
        ]
        part = f"<i>what follows is of the first {self.head:,} characters</i>" if len(kept.text) > self.head else ""
        faults = aspect_html.faults(kept.text, shown, limit)
        return f'<b>Aspects</b><p class="why">{", ".join(values)}</p>{part if faults else ""}{faults}'

    def legend(self) -> str:
        """Say what the grounds of sentences and the marks in pairs mean."""
        shaded = "grammaticality" in self.of.names
        return aspect_html.legend(" and ".join(metric.spec for metric in self.of.metrics), shaded=shaded)


def aspects(texts: Iterable[Kept], metrics: Sequence[Metric], head: int = HEAD) -> Aspects:
    """Explain the first ``head`` characters of texts; equal ones once."""
    chosen = explained(metrics)
    if not chosen.metrics:
        return Aspects()
    heads = {
        kept.position: kept.text[: cut_at(kept.text, head)] for kept in texts if any(map(math.isfinite, kept.aspects))
    }
    distinct = list(dict.fromkeys(heads.values()))
    known: dict[str, tuple[Evidence, ...]] = {}
    for at in range(0, len(distinct), _AT_A_TIME):
        part = distinct[at : at + _AT_A_TIME]
        shown = [_evidences(metric, [Sample(text) for text in part]) for metric in chosen.metrics]
        known.update({text: _single(of_text) for text, *of_text in zip(part, *shown, strict=True)})
    return Aspects(chosen, {position: known[text] for position, text in heads.items() if known[text]}, head)


def _evidences(metric: Metric, samples: Sequence[Sample]) -> Sequence[Evidence | None]:
    """Explain many texts at a time where the metric can, as those do whose models read many at a time."""
    at_once: Callable[[Batch], Sequence[Evidence | None]] | None = getattr(metric, "evidences", None)
    return [metric.evidence(sample) for sample in samples] if at_once is None else at_once(Batch(samples))


def _single(found: Iterable[Evidence | None]) -> tuple[Evidence, ...]:
    """The evidence of single aspects."""
    shown: list[Evidence] = []
    for evidence in found:
        if isinstance(evidence, AspectEvidence):
            shown += evidence.aspects
        elif evidence is not None:
            shown.append(evidence)
    return tuple(shown)
