"""ROUGE-LM (Kann et al. 2018): overlap with references and likelihood under a language model, put together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from celadon.core import Evidence, Metric, MetricInfo, Need, Sample
from celadon.metrics.overlap import RougeL
from celadon.metrics.standardized import StandardizedSum
from celadon.scoring.batch.prose import PLAIN


@dataclass(frozen=True)
class RougeLm(StandardizedSum):
    """ROUGE-L with the best reference plus WPSLOR, each standardised over the scored set.

    Parameters
    ----------
    context
        Of WPSLOR: ``sentence`` or ``document``.
    """

    context: str = "sentence"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="rouge_lm",
        meaning="ROUGE-L with the best reference plus WPSLOR, each standardised over the scored set",
        reading="0 is the average text of the set, and each part counts in its standard deviations; compare texts of "
        "one set, or fix the constants with --standardize-on",
        needs=frozenset({Need.REFERENCES}),
        low=-math.inf,
        high=math.inf,
        parts=("rougeL", "wpslor"),
    )

    def __post_init__(self) -> None:
        self.members()  # complains of a wrong context

    def members(self) -> Mapping[str, Metric]:
        from celadon.metrics.likelihood import Wpslor

        return {"rougeL": RougeL(), "wpslor": Wpslor(context=self.context, markup=PLAIN)}

    def evidence(self, sample: Sample) -> Evidence | None:
        found = RougeL().evidence(sample)
        return None if found is None else replace(found, metric=self.spec)

    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(model for metric in self.members().values() for model in metric.models()))

    def details(self) -> Mapping[str, str]:
        return {**self.members()["wpslor"].details(), **super().details()}
