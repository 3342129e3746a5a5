"""What a metric of several aspects shows: the evidence of each aspect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from celadon.core import Evidence, Sample, Span
from celadon.scoring.batch import Batch

SENTENCE, WORST = "sentence", "worst"
"""The labels of a sentence, and of the worst of several."""


@dataclass(frozen=True)
class SentenceEvidence(Evidence):
    """How sound each sentence is.

    Attributes
    ----------
    sentences
        Each with its value as the note; the worst has its own label.
    values
        The same as numbers.
    """

    sentences: tuple[Span, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class AspectEvidence(Evidence):
    """What each aspect shows, in their order; an aspect that is switched off shows nothing."""

    aspects: tuple[Evidence, ...] = ()


@lru_cache(maxsize=4)
def batch_of(text: str) -> Batch:
    """One text as a batch, which all aspects of a metric share, so that the models read it once."""
    return Batch([Sample(text)])


def aspect_evidence(metric: str, shown: Sequence[Evidence | None]) -> AspectEvidence | None:
    """Put the evidence of aspects together; None where one of them has none."""
    found = tuple(each for each in shown if each is not None)
    if len(found) < len(shown):
        return None
    spans = tuple(span for each in found for span in each.text_spans)
    summary = "; ".join(f"{_aspect(each.metric)}: {each.summary}" for each in found)
    return AspectEvidence(metric, summary, spans, aspects=found)


def _aspect(spec: str) -> str:
    """The name of an aspect of a metric: ``gruen.focus[model=x]`` is focus."""
    return spec.partition("[")[0].rpartition(".")[2]
