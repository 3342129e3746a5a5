"""BLEU, chrF and TER through sacrebleu, on its scale of 0 to 100, with its signatures.

All references are given to sacrebleu together, as the literature does. The corpus score is not the mean of the texts:
it is computed from summed statistics, and equals sacrebleu's own corpus score.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, ClassVar, Protocol, cast

import numpy as np

from celadon import __version__
from celadon.core import Direction, FloatArray, Metric, MetricInfo, MetricScores, Need, UsageError
from celadon.metrics.references import null_reasons
from celadon.scoring.batch import Batch
from celadon.text.characters import character_overlaps

_WORDS = "surface"
_CHARACTER_ORDER = 6


class _Sacrebleu(Protocol):
    """What we use of a sacrebleu metric.

    The two underscored methods are those that sacrebleu's own significance tests are built on; there is no public way
    to the statistics of a text. The dependency is held below the next major version, and tests compare with the public
    scores.
    """

    def _extract_corpus_statistics(self, hypotheses: list[str], references: list[list[str]]) -> list[list[float]]: ...

    def _compute_score_from_stats(self, stats: list[float]) -> Any: ...

    def get_signature(self) -> Any: ...


@lru_cache(maxsize=64)
def _scorer(name: str, **options: Any) -> _Sacrebleu:
    """Return one of sacrebleu's metrics."""
    return cast("_Sacrebleu", getattr(import_module(f"sacrebleu.metrics.{name.lower()}"), name)(**options))


class _ThroughSacrebleu(Metric):
    """Takes each text's statistics from sacrebleu, and from them the scores of texts and corpus."""

    @abstractmethod
    def _for_text(self) -> _Sacrebleu:
        """The sacrebleu metric that scores one text."""

    def _for_corpus(self) -> _Sacrebleu:
        return self._for_text()

    @abstractmethod
    def _parts(self, result: Any) -> tuple[float, ...]:
        """The parts of a score, in the order of ``info.parts``."""

    def _statistics(self, batch: Batch) -> Iterator[tuple[int, list[float]]]:
        """The statistics of each row that has a usable reference."""
        scorer = self._for_text()
        for row, references in _usable_references(batch).items():
            yield row, _statistics(scorer, _encodable(batch.samples[row].text), references)

    def score(self, batch: Batch) -> MetricScores:
        scorer = self._for_text()
        values = np.full(len(batch), np.nan)
        parts = np.full((len(self.info.parts), len(batch)), np.nan)
        statistics: FloatArray = np.zeros((len(batch), len(_statistics(scorer, "a", ["a"]))))
        for row, found in self._statistics(batch):
            result = scorer._compute_score_from_stats(found)
            statistics[row] = found
            values[row] = min(max(result.score, self.info.low), self.info.high)
            parts[:, row] = self._parts(result)
        named = dict(zip(self.info.parts, parts, strict=True))
        return MetricScores(self.spec, values, named, null_reasons(batch.words(_WORDS)), statistics)

    def aggregate(self, statistics: FloatArray) -> float | None:
        """The corpus score."""
        return float(self._for_corpus()._compute_score_from_stats(statistics.tolist()).score)

    @property
    def signature(self) -> str:
        """sacrebleu's signature of the corpus score between our name and version; references vary by row."""
        scorer = self._for_corpus()
        _statistics(scorer, "a", ["a"])
        facts = str(scorer.get_signature()).replace("nrefs:1", "nrefs:var")
        return f"{self.info.name}|{facts.replace('version:', 'sacrebleu:')}|celadon:{__version__}"


def _usable_references(batch: Batch) -> dict[int, list[str]]:
    words = batch.words(_WORDS)
    usable: dict[int, list[str]] = {}
    for row, number in zip(words.pair_sample.tolist(), words.pair_reference.tolist(), strict=True):
        usable.setdefault(row, []).append(_encodable(batch.samples[row].references[number]))
    return usable


def _statistics(scorer: _Sacrebleu, text: str, references: list[str]) -> list[float]:
    return scorer._extract_corpus_statistics([text], [[reference] for reference in references])[0]


def _encodable(text: str) -> str:
    """Lone surrogates as question marks: they cannot be written in any encoding, which sacrebleu relies on."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class _BleuOfOrder(_ThroughSacrebleu):
    """BLEU up to an order.

    Parameters
    ----------
    tokenize
        sacrebleu's tokenizer: 13a, intl, zh, char, none ...
    lowercase
        Whether case is ignored.
    """

    tokenize: str = "13a"
    lowercase: bool = False
    name: ClassVar[str]
    order: ClassVar[int]

    @property
    def info(self) -> MetricInfo:
        return MetricInfo(
            name=self.name,
            meaning=f"BLEU with n-grams up to {self.order}, all references together; its corpus score is not the mean",
            reading="0 to 100; 100 is the reference itself; of one text only a rough guide, trust the corpus score",
            needs=frozenset({Need.REFERENCES}),
            high=100.0,
            parts=("brevity_penalty", *(f"precision{n}" for n in range(1, self.order + 1))),
        )

    def __post_init__(self) -> None:
        from sacrebleu.metrics.bleu import BLEU

        if self.tokenize not in BLEU.TOKENIZERS:
            known = ", ".join(name for name in BLEU.TOKENIZERS if name)
            raise UsageError(f"metric {self.info.name!r}: unknown tokenizer {self.tokenize!r}; known: {known}")

    def _for_text(self) -> _Sacrebleu:
        # n-gram orders that a short text does not have are left out, as sacrebleu advises for single sentences
        return self._bleu(effective_order=True)

    def _for_corpus(self) -> _Sacrebleu:
        return self._bleu(effective_order=False)

    def _bleu(self, *, effective_order: bool) -> _Sacrebleu:
        options = {"max_ngram_order": self.order, "tokenize": self.tokenize, "lowercase": self.lowercase}
        return _scorer("BLEU", **options, effective_order=effective_order, force=True)

    def _parts(self, result: Any) -> tuple[float, ...]:
        return (result.bp, *result.precisions)


class Bleu(_BleuOfOrder):
    """BLEU."""

    name, order = "bleu", 4


class Bleu1(_BleuOfOrder):
    """BLEU-1."""

    name, order = "bleu1", 1


class Bleu2(_BleuOfOrder):
    """BLEU-2."""

    name, order = "bleu2", 2


class Bleu3(_BleuOfOrder):
    """BLEU-3."""

    name, order = "bleu3", 3


class Bleu4(_BleuOfOrder):
    """BLEU-4, which is BLEU."""

    name, order = "bleu4", 4


@dataclass(frozen=True)
class Chrf(_ThroughSacrebleu):
    """chrF, or chrF++ with ``word_order=2``.

    Parameters
    ----------
    word_order
        Word n-grams up to this order count too.
    lowercase
        Whether case is ignored.
    """

    word_order: int = 0
    lowercase: bool = False
    info: ClassVar[MetricInfo] = MetricInfo(
        name="chrf",
        meaning="F2 of shared character n-grams up to 6 with the best reference, in any script",
        reading="0 to 100; 100 is the reference itself; unrelated texts in one language reach about 15 to 20",
        needs=frozenset({Need.REFERENCES}),
        high=100.0,
    )

    def _for_text(self) -> _Sacrebleu:
        return _scorer("CHRF", word_order=self.word_order, lowercase=self.lowercase)

    def _statistics(self, batch: Batch) -> Iterator[tuple[int, list[float]]]:
        """The same counts as sacrebleu's, of all pairs at once where there are no word n-grams; it scores them."""
        if self.word_order:
            yield from super()._statistics(batch)
            return
        words = batch.words(_WORDS)
        strings = [_encodable(document.lower() if self.lowercase else document) for document in words.documents]
        totals, shared = character_overlaps(strings, words.pair_text, words.pair_document, _CHARACTER_ORDER)
        in_text, in_reference = totals[:, words.pair_text], totals[:, words.pair_document]
        # an order that the reference is too short for does not count, whatever the text has of it
        counts = np.stack([np.where(in_reference > 0, in_text, 0), in_reference, shared], axis=1)
        pairs: list[list[float]] = counts.reshape(3 * _CHARACTER_ORDER, -1).T.tolist()
        scorer = self._for_text()
        best: dict[int, tuple[float, list[float]]] = {}
        for row, found in zip(words.pair_sample.tolist(), pairs, strict=True):
            score = scorer._compute_score_from_stats(found).score
            if row not in best or score > best[row][0]:
                best[row] = (score, found)
        for row, (_, found) in best.items():
            yield row, found

    def _parts(self, result: Any) -> tuple[float, ...]:
        return ()


@dataclass(frozen=True)
class Ter(_ThroughSacrebleu):
    """Translation edit rate.

    Parameters
    ----------
    case_sensitive
        Whether case counts.
    """

    case_sensitive: bool = False
    info: ClassVar[MetricInfo] = MetricInfo(
        name="ter",
        meaning="edits (words inserted, deleted, replaced, blocks shifted) per 100 words of the references",
        reading="0 is the reference itself; 50 is an edit for every second word; may pass 100",
        needs=frozenset({Need.REFERENCES}),
        direction=Direction.LOWER,
        high=math.inf,
        parts=("edits", "reference_words"),
    )

    def _for_text(self) -> _Sacrebleu:
        return _scorer("TER", case_sensitive=self.case_sensitive)

    def _parts(self, result: Any) -> tuple[float, ...]:
        return (result.num_edits, result.ref_length)
