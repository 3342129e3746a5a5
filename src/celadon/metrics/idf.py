"""Metrics that may weigh words or tokens by their inverse document frequency: the option ``idf``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from celadon.core import Components, Evidence, Fitted, InputError, MetricScores, Sample, SetRelativeMetric
from celadon.scoring.batch import Batch
from celadon.text.inverse_frequency import DocumentCounts

NONE, SET = "none", "set"
WINDOW = 1_000
_ROWS_AT_ONCE = 512


class Counts(NamedTuple):
    """In how many documents each word stands: those that weigh a text's words, and those that weigh a reference's.

    The pieces of a set may be merged in any order.
    """

    texts: DocumentCounts
    references: DocumentCounts

    @classmethod
    def of(cls, both: DocumentCounts) -> Counts:
        """Return the same counts for texts and references."""
        return cls(both, both)

    def merged(self, other: Counts) -> Counts:
        """Return the counts of both together."""
        if self.texts is self.references and other.texts is other.references:
            return Counts.of(self.texts.merged(other.texts))
        return Counts(self.texts.merged(other.texts), self.references.merged(other.references))

    @property
    def digest(self) -> str:
        """A hash to tell counts apart."""
        one, other = self.texts.digest, self.references.digest
        return one[:8] if one == other else f"{one[:4]}{other[:4]}"


class IdfMetric(SetRelativeMetric[Counts]):
    """A metric with the option ``idf``; with ``idf=set`` it is relative to the scored set."""

    idf: str
    unit: ClassVar[str]
    """What is weighed: ``words`` or ``tokens``."""
    known: ClassVar[str]
    """Which documents count, for messages: those ``that the word vectors know``."""

    @abstractmethod
    def scores(self, batch: Batch, counts: Counts | None) -> MetricScores:
        """Score a batch; without counts all words weigh alike."""

    @abstractmethod
    def explain(self, sample: Sample, counts: Counts | None) -> Evidence | None:
        """Explain a sample's score; without counts all words weigh alike."""

    @abstractmethod
    def set_counts(self, batch: Batch) -> Counts:
        """Return what a batch adds to the counts of the scored set."""

    @abstractmethod
    def file_counts(self) -> DocumentCounts:
        """Return the counts of the file that ``idf`` names."""

    @abstractmethod
    def facts(self) -> Mapping[str, str]:
        """Return what the signature says beyond the options, whatever the set is."""

    @property
    def is_relative(self) -> bool:
        return self.idf == SET

    def counts(self) -> Counts | None:
        """Return what the weights come from; None where all weigh alike, or before the set is known."""
        return None if self.idf in (NONE, SET) else Counts.of(self.file_counts())

    def score(self, batch: Batch) -> MetricScores:
        return super().score(batch) if self.is_relative else self.scores(batch, self.counts())

    def evidence(self, sample: Sample) -> Evidence | None:
        return self.explain(sample, self.counts())

    def components(self, batch: Batch) -> Components:
        return Components()

    def statistics(self, batch: Batch, components: Components) -> Counts:
        return self.set_counts(batch)

    def constants_of(self, statistics: Counts, origin: str) -> Fitted:
        references = statistics.references
        if origin != "set" and not references.documents:
            raise InputError(f"there is no reference in it {self.known}, so it gives no idf")
        constants = {"references": float(references.documents), self.unit: float(len(references.counts))}
        return Fitted(constants, references.documents, origin, statistics)

    def combine(self, batch: Batch, components: Components, fitted: Fitted) -> MetricScores:
        return self.scores(batch, fitted.counts)

    def fitted_evidence(self, sample: Sample, fitted: Fitted) -> Evidence | None:
        return self.explain(sample, fitted.counts)

    def details(self) -> Mapping[str, str]:
        return {**self.facts(), **(super().details() if self.is_relative else {})}

    def idf_facts(self) -> dict[str, str]:
        """Return what the signature says of the file that ``idf`` names."""
        if self.idf in (NONE, SET):
            return {}
        counts = self.file_counts()
        return {"idf-counts": f"{counts.documents}-texts-{counts.digest[:8]}"}


def counts_of_file(
    path: str, documents: Callable[[Sequence[str]], Iterable[Iterable[str]]], reader: str
) -> DocumentCounts:
    """Count in how many texts of a file each word stands; the file is any that can be scored.

    ``documents`` returns the words of each text that can be read; ``reader`` names who reads them in messages. Raises
    ``InputError`` where the file cannot be read or has no known text.
    """
    from celadon.io import BadRow, Fields, Reader

    def refuse(row: BadRow) -> None:
        raise InputError(str(row))

    counts = DocumentCounts(0, {})
    for chunk in Reader([path], Fields(), chunk_rows=_ROWS_AT_ONCE, on_bad=refuse):
        counts = counts.merged(DocumentCounts.of(documents([sample.text for sample in chunk.samples])))
    if not counts.documents:
        raise InputError(f"{path}: there is no text in it that {reader} know, so it gives no idf")
    return counts
