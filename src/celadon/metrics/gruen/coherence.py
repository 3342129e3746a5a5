"""Coherence: whether the sentences stand in a natural order (GRUEN, Zhu and Bhat 2020).

A text is split between every two sentences. A model of sentence order sees the two parts as they stand and swapped; the
logistic loss of both answers, averaged over the splits, is how wrong the order looks. Coherence is its negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, MetricInfo, MetricScores, Section, Span
from celadon.metrics.gruen.models import model_facts, model_names, tier_of
from celadon.metrics.prose_metric import ProseMetric
from celadon.scoring.batch import Batch, Orders
from celadon.scoring.batch.units import least

PARTS = ("splits", "doubted", "worst")
DOUBTED, IN_ORDER = "doubted order", "in order"
"""The labels of a sentence that looks as if it stood before what it follows, and of any other."""


@dataclass(frozen=True)
class GruenCoherence(ProseMetric):
    """Minus the mean loss of sentence-order prediction.

    Parameters
    ----------
    tier
        Which model judges: ``builtin``, ``standard`` or ``paper``.
    """

    tier: str = "builtin"
    explains: ClassVar[tuple[str, ...]] = ("coherence",)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="gruen.coherence",
        meaning="minus the loss of a model that tells the order of a text's parts",
        reading="0 is certainty of the order, -0.69 a guess, less a suspicion of the wrong one; one sentence has 0",
        low=-math.inf,
        high=0.0,
        parts=PARTS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        tier_of(self.tier)

    def score_prose(self, batch: Batch) -> MetricScores:
        found = batch.order(tier_of(self.tier).order)
        samples = len(batch)
        splits = np.bincount(found.owner, minlength=samples).astype(np.float64)
        losses = (np.logaddexp(0, -found.kept) + np.logaddexp(0, found.swapped)) / 2
        total = np.bincount(found.owner, weights=losses, minlength=samples)
        values = 0.0 - np.divide(total, splits, out=np.zeros(samples), where=splits > 0)
        parts = {
            "splits": splits,
            "doubted": np.bincount(found.owner[found.kept < 0], minlength=samples).astype(np.float64),
            # a text of one sentence has no split
            "worst": least(found.owner, found.kept, samples),
        }
        for column in (values, *parts.values()):
            column[list(found.reasons)] = np.nan
        return MetricScores(self.spec, values, parts, found.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        found = batch.order(tier_of(self.tier).order)
        return None if found.reasons else order_evidence(self.spec, found)

    def models(self) -> tuple[str, ...]:
        return model_names(order=tier_of(self.tier).order)

    def details(self) -> Mapping[str, str]:
        return model_facts(self.markup, order=tier_of(self.tier).order)


def order_evidence(metric: str, found: Orders) -> Evidence:
    """Show for each sentence of one text, the first left out, how sure it is in its place."""
    spans = []
    for (_, _, start, end), logit in zip(found.borders.tolist(), found.kept.tolist(), strict=True):
        sure = 1 / (1 + math.exp(-logit))
        spans.append(Span(start, end, DOUBTED if logit < 0 else IN_ORDER, f"in its place: {sure:.0%}"))
    return Evidence(metric, _summary(found), (Section("marks", "Out of place", tuple(spans)),))


def _summary(found: Orders) -> str:
    if not len(found.owner):
        return "one sentence, so there is no order to judge"
    doubted = int((found.kept < 0).sum())
    many = "the 1 split" if len(found.owner) == 1 else f"{len(found.owner):,} splits"
    return f"{doubted:,} of {many} of the text into two parts would rather be the other way round"
