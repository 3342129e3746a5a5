"""A stranger's metric with evidence of its own, as a package of its own would have it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Direction, Evidence, Metric, MetricInfo, MetricScores, Sample, Section, Span
from celadon.scoring.batch import Batch


@dataclass(frozen=True)
class LongWords(Metric):
    """The share of words with more than ``most`` letters."""

    most: int = 9
    explains: ClassVar[tuple[str, ...]] = ("long words",)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="long_words",
        meaning="the share of long words",
        reading="0 where all words are short",
        direction=Direction.LOWER,
    )

    def score(self, batch: Batch) -> MetricScores:
        """Count the long words."""
        values = np.full(len(batch), np.nan)
        reasons = {}
        for row, sample in enumerate(batch.samples):
            words = re.findall(r"\w+", sample.text)
            if words:
                values[row] = sum(len(word) > self.most for word in words) / len(words)
            else:
                reasons[row] = "the text has no words"
        return MetricScores(self.spec, values, reasons=reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        """Mark the long words, list them, and show how lengths are spread."""
        words = [(found.start(), found.end()) for found in re.finditer(r"\w+", sample.text)]
        if not words:
            return None
        long = tuple(
            Span(start, end, "long word", f"{end - start} letters", float(end - start))
            for start, end in words
            if end - start > self.most
        )
        lengths = [end - start for start, end in words]
        rows = tuple((length, lengths.count(length)) for length in sorted(set(lengths), reverse=True))
        return Evidence(
            self.spec,
            f"{len(long)} of {len(words)} words have more than {self.most} letters",
            (
                Section("marks", "Long words", long),
                Section("table", "Lengths", values={"columns": ("letters", "words"), "rows": rows}),
                Section("advice", "Advice", lines=("prefer <short> words",), values={"longest": max(lengths)}),
            ),
        )
