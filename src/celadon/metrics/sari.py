"""SARI: what a simplification kept, deleted and added, against its source and its references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

import numpy as np

from celadon.core import NO_WORDS, Metric, MetricInfo, MetricScores, Need, Sample, UsageError
from celadon.metrics.references import NO_REFERENCE
from celadon.scoring.batch import Batch

NO_SOURCE = "the source has no words"
ORDERS = (1, 2, 3, 4)

Grams: TypeAlias = Counter[tuple[str, ...]]


class Operations(NamedTuple):
    """How well each operation was done, from 0 to 1."""

    keep: float
    delete: float
    add: float


@dataclass(frozen=True)
class Sari(Metric):
    """SARI (Xu, Napoles, Pavlick, Chen and Callison-Burch 2016), from 0 to 100.

    Words are those of sacrebleu's ``13a`` tokenizer on the lower-cased text. For n-grams of one to four words: *keep*
    is the F1 of the source's n-grams that the text kept, *add* the F1 of its new n-grams, *delete* the precision alone
    of those it dropped. An n-gram's right to be kept or dropped is the share of references that have it or have it not:
    counts in source and text are multiplied by the number of references and compared with the counts in all references
    together. *Add* asks only whether an n-gram is there. Each operation is averaged over the four lengths, and the
    score is the mean of the three. A corpus score is the mean of its texts.

    Attributes
    ----------
    variant
        ``xu``: as the authors' own program has it. Keep's recall is the mean over n-grams of the part of each that was
        kept. A ratio of nothing to nothing is 0: a text that rightly deletes or adds nothing gets 0 for that, a length
        for which no text is long enough counts as 0, and a text equal to its only reference can be below 100.

        ``evaluate``: as in Hugging Face ``evaluate``. Keep's recall is one ratio of summed counts, and nothing to
        nothing is 1, so that a text equal to its only reference has 100, unless it dropped one of several like words
        (which in both variants is never right, as long as the reference has the others).
    """

    variant: str = "xu"

    info: ClassVar[MetricInfo] = MetricInfo(
        name="sari",
        meaning="how well a simplification keeps, deletes and adds words, against its source and its references",
        reading="0 to 100; systems and people mostly score 30 to 50; look at keep, delete and add as well",
        needs=frozenset({Need.SOURCE, Need.REFERENCES}),
        high=100.0,
        parts=("keep", "delete", "add"),
    )

    def __post_init__(self) -> None:
        if self.variant not in ("xu", "evaluate"):
            raise UsageError(f"sari: variant must be xu or evaluate, not {self.variant!r}")

    def details(self) -> dict[str, str]:
        """Say which words are compared."""
        return {"tokens": "13a", "case": "lower"}

    def score(self, batch: Batch) -> MetricScores:
        """Score every text against its source and all its references together."""
        words = batch.view(("sari words",), lambda: _split(batch.samples))
        values = np.full(len(batch), np.nan)
        parts = {name: np.full(len(batch), np.nan) for name in self.info.parts}
        reasons: dict[int, str] = {}
        for row, sample in enumerate(batch.samples):
            text, source = words[sample.text], words[sample.source or ""]
            references = [words[reference] for reference in sample.references if words[reference]]
            if not (text and references and source):
                reasons[row] = NO_WORDS if not text else NO_REFERENCE if not references else NO_SOURCE
                continue
            done = self.operations(source, text, references)
            values[row] = 100.0 * sum(done) / len(done)
            for name, value in zip(done._fields, done, strict=True):
                parts[name][row] = 100.0 * value
        return MetricScores(self.spec, values, parts, reasons)

    def operations(self, source: Sequence[str], text: Sequence[str], references: Sequence[Sequence[str]]) -> Operations:
        """Rate what was kept, deleted and added, averaged over the lengths of n-grams."""
        rated = []
        for order in ORDERS:
            wanted: Grams = Counter()
            for reference in references:
                wanted.update(_grams(reference, order))
            rated.append(self._rate(_grams(source, order), _grams(text, order), wanted, len(references)))
        keep, delete, add = (sum(column) / len(ORDERS) for column in zip(*rated, strict=True))
        return Operations(keep, delete, add)

    def _rate(self, source: Grams, text: Grams, wanted: Grams, references: int) -> Operations:
        keep_precision, keep_recall, good, due = [], [], 0, 0
        delete_precision = []
        for gram, count in source.items():
            had, has, should = count * references, text[gram] * references, wanted[gram]
            kept, right = min(had, has), min(had, has, should)
            if kept:
                keep_precision.append(right / kept)
            if should:
                keep_recall.append(right / min(had, should))
                good, due = good + right, due + min(had, should)
            if had > has:
                delete_precision.append(max(0, had - has - should) / (had - has))
        recall = self._ratio(sum(keep_recall), len(keep_recall)) if self.variant == "xu" else self._ratio(good, due)
        added, to_add = text.keys() - source.keys(), wanted.keys() - source.keys()
        both = len(added & to_add)
        return Operations(
            keep=_f1(self._ratio(sum(keep_precision), len(keep_precision)), recall),
            delete=self._ratio(sum(delete_precision), len(delete_precision)),
            add=_f1(self._ratio(both, len(added)), self._ratio(both, len(to_add))),
        )

    def _ratio(self, part: float, whole: float) -> float:
        if whole:
            return part / whole
        return 0.0 if self.variant == "xu" else 1.0


def _f1(precision: float, recall: float) -> float:
    return 2.0 * precision * recall / (precision + recall) if precision + recall else 0.0


def _grams(words: Sequence[str], order: int) -> Grams:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


@cache
def _tokenizer() -> Callable[[str], str]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenizer: Callable[[str], str] = cast(Any, Tokenizer13a)()
    return tokenizer


def _split(samples: Iterable[Sample]) -> dict[str, list[str]]:
    """Split every distinct text, source and reference once."""
    tokenize = _tokenizer()
    documents = dict.fromkeys(document for s in samples for document in (s.text, s.source or "", *s.references))
    return {document: tokenize(document.lower()).split() for document in documents}
