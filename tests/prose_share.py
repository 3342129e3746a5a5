"""A metric that reads prose and needs no model: its value is the share of the words that are judged."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import ClassVar

import numpy as np
import pytest

from celadon.core import Evidence, Metric, MetricInfo, MetricScores, Sample, Section
from celadon.metrics import registry
from celadon.scoring.batch import Batch

NAME = "prose_share"


@dataclass(frozen=True)
class ProseShare(Metric):
    """The share of words in sentences."""

    info: ClassVar[MetricInfo] = MetricInfo(name=NAME, meaning="share of words that are judged", reading="of 1")
    explains: ClassVar[tuple[str, ...]] = ("prose",)

    def score(self, batch: Batch) -> MetricScores:
        prose = batch.prose()
        values = np.array([each.source.share for each in prose.proses])
        values[list(prose.nothing)] = np.nan
        return MetricScores(self.spec, values, reasons=prose.nothing)

    def evidence(self, sample: Sample) -> Evidence:
        how = f"written in {sample.markup}, in {sample.language or 'whatever'}"
        return Evidence(self.spec, how, (Section("reading", "reading", lines=(how,)),))


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the metric be found by its name in this process."""
    point = EntryPoint(NAME, "tests.prose_share:ProseShare", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "_installed", lambda: {NAME: point})
