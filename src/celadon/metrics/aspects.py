"""What a metric of several aspects shows: the evidence of each aspect."""

from __future__ import annotations

from collections.abc import Sequence

from celadon.core import Evidence

SENTENCE, WORST = "sentence", "worst"
"""The labels of a sentence, and of the worst of several."""


def aspect_evidence(metric: str, evidence: Sequence[Evidence | None]) -> Evidence | None:
    """Put the evidence of aspects together; None where one of them has none."""
    aspects = tuple(each for each in evidence if each is not None)
    if len(aspects) < len(evidence):
        return None
    # gruen.focus[model=x] is focus
    names = [each.metric.partition("[")[0].rpartition(".")[2] for each in aspects]
    summary = "; ".join(f"{name}: {each.summary}" for name, each in zip(names, aspects, strict=True))
    return Evidence(metric, summary, aspects=aspects)
