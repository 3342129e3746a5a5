"""What metrics have in common that judge the prose of a text: sentences, not list marks, code or headings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from celadon.core import Evidence, Metric, MetricScores, Sample, UsageError
from celadon.scoring.batch import Batch
from celadon.scoring.batch.prose import MARKUPS


@dataclass(frozen=True)
class ProseMetric(Metric):
    """A metric of the prose of texts.

    Parameters
    ----------
    markup
        ``auto``: what is judged are the sentences of paragraphs, quotations, verse and long items of lists. ``plain``:
        all of the text as it stands, as in the papers.
    """

    markup: str = field(default="auto", kw_only=True)

    def __post_init__(self) -> None:
        if self.markup not in MARKUPS:
            raise UsageError(f"{self.info.name}: unknown markup {self.markup!r}; known: {', '.join(MARKUPS)}")

    @property
    def any_language(self) -> bool:
        """Return whether texts in other languages than English can be judged."""
        return False

    def prose(self, batch: Batch) -> Batch:
        """Return what is judged of the texts of a batch."""
        return batch.prose(self.markup, any_language=self.any_language)

    def score(self, batch: Batch) -> MetricScores:
        return self.score_prose(self.prose(batch))

    @abstractmethod
    def score_prose(self, batch: Batch) -> MetricScores:
        """Score every text of a batch of prose."""

    def evidence(self, sample: Sample) -> Evidence | None:
        batch = self.prose(_shared_batch(sample.text, sample.markup, sample.language))
        return relocated(batch, [self.prose_evidence(batch)])[0]

    @abstractmethod
    def prose_evidence(self, batch: Batch) -> Evidence | None:
        """Show why the one text of a batch of prose got its score; None where it has none."""


def relocated(batch: Batch, evidence: Sequence[Evidence | None]) -> list[Evidence | None]:
    """Return the evidence of each text of a batch of prose with its spans where they stand in the original."""
    if not batch.proses:
        return list(evidence)
    return [each and prose.relocated(each) for each, prose in zip(evidence, batch.proses, strict=True)]


@lru_cache(maxsize=4)
def _shared_batch(text: str, markup: str, language: str) -> Batch:
    """One text as a batch, which all aspects of a metric share, so that the models read it once."""
    return Batch([Sample(text, markup=markup, language=language)])
