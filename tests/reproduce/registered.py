"""A metric that needs nothing but the text, under the name of one that the papers have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Metric, MetricInfo, MetricScores
from celadon.scoring.batch import Batch


@dataclass(frozen=True)
class Gruen(Metric):
    """The share of distinct words."""

    info: ClassVar[MetricInfo] = MetricInfo(name="gruen", meaning="distinct words", reading="more is more varied")

    def score(self, batch: Batch) -> MetricScores:
        words = [sample.text.split() for sample in batch.samples]
        return MetricScores(self.spec, np.array([len(set(some)) / max(len(some), 1) for some in words]))
