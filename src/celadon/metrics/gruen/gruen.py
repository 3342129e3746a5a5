"""GRUEN (Zhu and Bhat 2020): grammaticality, less what redundancy, lack of focus and disorder cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, Metric, MetricInfo, MetricScores, Sample, UsageError
from celadon.metrics.aspects import aspect_evidence
from celadon.metrics.gruen.coherence import GruenCoherence
from celadon.metrics.gruen.focus import GruenFocus
from celadon.metrics.gruen.grammaticality import GruenGrammaticality
from celadon.metrics.gruen.models import WEIGHTS, tier_of
from celadon.metrics.gruen.redundancy import GruenRedundancy
from celadon.scoring.batch import Batch

PARTS = ("grammaticality", "redundancy", "focus", "coherence")


@dataclass(frozen=True)
class Gruen(Metric):
    """The sum of the four parts, from 0 to 1.

    Parameters
    ----------
    tier
        Which models judge: ``builtin``, ``standard`` or ``paper``.
    grammaticality, redundancy, focus, coherence
        Whether the part counts.
    markup
        As for every :class:`celadon.metrics.prose_metric.ProseMetric`.
    """

    tier: str = "builtin"
    grammaticality: bool = True
    redundancy: bool = True
    focus: bool = True
    coherence: bool = True
    markup: str = "auto"
    explains: ClassVar[tuple[str, ...]] = PARTS
    info: ClassVar[MetricInfo] = MetricInfo(
        name="gruen",
        meaning="linguistic quality without references: grammaticality, non-redundancy, focus, coherence",
        reading="the parts added, from 0 to 1; each part is a metric of its own, gruen.redundancy and so on",
        parts=PARTS,
    )

    def __post_init__(self) -> None:
        tier_of(self.tier)
        self.members()  # complains of an unknown markup
        if not any(getattr(self, part) for part in PARTS):
            raise UsageError("gruen: all four parts are switched off")

    def members(self) -> dict[str, Metric]:
        vectors = tier_of(self.tier).vectors
        every: dict[str, Metric] = {
            "grammaticality": GruenGrammaticality(self.tier, markup=self.markup),
            "redundancy": GruenRedundancy(markup=self.markup),
            "focus": GruenFocus(vectors, markup=self.markup),
            "coherence": GruenCoherence(self.tier, markup=self.markup),
        }
        return {name: metric for name, metric in every.items() if getattr(self, name)}

    def score(self, batch: Batch) -> MetricScores:
        parts = {name: np.full(len(batch), np.nan) for name in PARTS}
        total, reasons = np.zeros(len(batch)), dict[int, str]()
        for name, metric in self.members().items():
            found = metric.score(batch)
            parts[name] = found.values
            total = total + getattr(WEIGHTS, name) * found.values
            reasons = {**found.reasons, **reasons}
        return MetricScores(self.spec, np.clip(total, 0.0, 1.0), parts, dict(sorted(reasons.items())))

    def evidence(self, sample: Sample) -> Evidence | None:
        return aspect_evidence(self.spec, [metric.evidence(sample) for metric in self.members().values()])

    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for metric in self.members().values() for name in metric.models()))

    def details(self) -> Mapping[str, str]:
        weights = "/".join(f"{weight:g}" for weight in WEIGHTS)
        told = {key: value for metric in self.members().values() for key, value in metric.details().items()}
        return {"weights": weights, **told}
