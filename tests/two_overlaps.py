"""A metric that is relative to the scored set and needs no model; also a package of its own, as users' metrics are."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from celadon.core import Components, Fitted, Metric, MetricInfo, MetricScores, Need
from celadon.metrics.overlap import RougeL
from celadon.metrics.standardized import StandardizedSum
from celadon.metrics.translation import Chrf
from celadon.scoring.batch import Batch


@dataclass(frozen=True)
class TwoOverlaps(StandardizedSum):
    """ROUGE-L and chrF, each standardised, added."""

    info: ClassVar[MetricInfo] = MetricInfo(
        name="two_overlaps",
        meaning="ROUGE-L and chrF, standardised",
        reading="0 is the average text",
        needs=frozenset({Need.REFERENCES}),
        low=-math.inf,
        high=math.inf,
        parts=("rougeL", "chrf"),
    )

    def members(self) -> Mapping[str, Metric]:
        return {"rougeL": RougeL(), "chrf": Chrf()}

    def combine(self, batch: Batch, components: Components, fitted: Fitted) -> MetricScores:
        # for a test that wants to meet the second pass while it runs
        if "TWO_OVERLAPS_PAUSE" in os.environ:
            sys.stderr.write("second pass\n")
            sys.stderr.flush()
            time.sleep(float(os.environ["TWO_OVERLAPS_PAUSE"]))
        return super().combine(batch, components, fitted)


def install(folder: Path) -> str:
    """Make a folder from which a process finds the metric through its entry point; returns its path."""
    facts = folder / "two_overlaps-1.0.dist-info"
    facts.mkdir(parents=True)
    (folder / "two_overlaps.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: two_overlaps\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[celadon.metrics]\ntwo_overlaps = two_overlaps:TwoOverlaps\n")
    return str(folder)
