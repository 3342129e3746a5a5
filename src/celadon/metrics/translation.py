"""BLEU, chrF and TER, on sacrebleu's scale of 0 to 100, with its signatures and its numbers.

All references are given together, as the literature does. The corpus score is not the mean of the texts: it is computed
from summed statistics, those of empty texts included, and equals sacrebleu's own corpus score. The statistics are
counted here, many texts at once; sacrebleu makes scores of them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import count
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, cast

import numpy as np

from celadon import __version__
from celadon.core import Direction, FloatArray, IntArray, Metric, MetricInfo, MetricScores, Need, Sample, UsageError
from celadon.metrics.references import null_reasons
from celadon.scoring.batch import Batch
from celadon.text.characters import character_overlaps
from celadon.text.mteval_words import MtevalWords
from celadon.text.ngrams import clipped_overlap, make_grams
from celadon.text.shifted_edits import shifted_edits

_WORDS = "surface"
_MTEVAL_WORDS = MtevalWords()

_TextOf: TypeAlias = tuple[str, tuple[str, ...]]
"""A text and its references, of which there is at least one."""


class _Sacrebleu(Protocol):
    """What we use of a sacrebleu metric.

    The underscored methods are those that sacrebleu's own significance tests are built on; there is no public way
    to the statistics of a text. The dependency is held below the next major version, and tests compare with the public
    scores.
    """

    def _preprocess_segment(self, sent: str) -> str: ...

    def _extract_corpus_statistics(self, hypotheses: list[str], references: list[list[str]]) -> list[list[float]]: ...

    def _compute_score_from_stats(self, stats: list[float]) -> Any: ...

    def get_signature(self) -> Any: ...


@lru_cache(maxsize=64)
def _scorer(name: str, **options: Any) -> _Sacrebleu:
    """Return one of sacrebleu's metrics."""
    return cast("_Sacrebleu", getattr(import_module(f"sacrebleu.metrics.{name.lower()}"), name)(**options))


class _Documents(NamedTuple):
    """The distinct strings of texts with references, numbered: those of the texts, and those of all references."""

    strings: tuple[str, ...]
    text: IntArray
    sample: IntArray
    reference: IntArray

    @classmethod
    def of(cls, texts: Sequence[_TextOf]) -> _Documents:
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        text = np.array([numbers[text] for text, _ in texts], dtype=np.int64)
        reference = np.array([numbers[each] for _, several in texts for each in several], dtype=np.int64)
        sample = np.repeat(np.arange(len(texts)), [len(several) for _, several in texts])
        return cls(tuple(numbers), text, sample, reference)

    def numbered_words(self, split: Callable[[str], list[str]]) -> tuple[IntArray, IntArray, int]:
        """Return the words of all strings as numbers, where each string begins, and how many numbers there are."""
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        ids = [[numbers[word] for word in split(string)] for string in self.strings]
        starts = np.concatenate([[0], np.cumsum([len(words) for words in ids])]).astype(np.int64)
        return np.array([word for words in ids for word in words], dtype=np.int64), starts, len(numbers)


class _ThroughSacrebleu(Metric):
    """Counts each text's statistics, and lets sacrebleu make the scores of texts and corpus of them."""

    @abstractmethod
    def _for_text(self) -> _Sacrebleu:
        """The sacrebleu metric that scores one text."""

    def _for_corpus(self) -> _Sacrebleu:
        return self._for_text()

    @abstractmethod
    def _parts(self, result: Any) -> tuple[float, ...]:
        """The parts of a score, in the order of ``info.parts``."""

    @abstractmethod
    def _statistics(self, texts: Sequence[_TextOf]) -> FloatArray:
        """The statistics of each text, as sacrebleu counts them."""

    def score(self, batch: Batch) -> MetricScores:
        info = self.info
        reasons = null_reasons(batch.words(_WORDS))
        given = {row: _text_of(sample) for row, sample in enumerate(batch.samples) if sample.references}
        statistics: FloatArray = np.zeros((len(batch), self._width()))
        if given:
            statistics[list(given)] = self._statistics(list(given.values()))
        own = self._own_statistics(batch, statistics)
        scorer = self._for_text()
        values = np.full(len(batch), np.nan)
        parts = np.full((len(info.parts), len(batch)), np.nan)
        for row in set(range(len(batch))).difference(reasons):
            result = scorer._compute_score_from_stats(own[row].tolist())
            values[row] = min(max(result.score, info.low), info.high)
            parts[:, row] = self._parts(result)
        return MetricScores(self.spec, values, dict(zip(info.parts, parts, strict=True)), reasons, statistics)

    def _own_statistics(self, batch: Batch, statistics: FloatArray) -> FloatArray:
        """The statistics that texts are scored by: those of references without words do not count."""
        words = batch.words(_WORDS)
        usable = np.bincount(words.pair_sample, minlength=len(batch))
        fewer = [row for row, sample in enumerate(batch.samples) if 0 < usable[row] < len(sample.references)]
        if not fewer:
            return statistics
        own = statistics.copy()
        texts = []
        for row in fewer:
            text, references = _text_of(batch.samples[row])
            kept = words.pair_reference[words.pair_sample == row].tolist()
            texts.append((text, tuple(references[number] for number in kept)))
        own[fewer] = self._statistics(texts)
        return own

    @abstractmethod
    def _width(self) -> int:
        """The number of statistics of a text."""

    def aggregate(self, statistics: FloatArray) -> float | None:
        """The corpus score."""
        return float(self._for_corpus()._compute_score_from_stats(statistics.tolist()).score)

    @property
    def signature(self) -> str:
        """sacrebleu's signature of the corpus score between our name and version; references vary by row."""
        scorer = self._for_corpus()
        scorer._extract_corpus_statistics(["a"], [["a"]])
        facts = str(scorer.get_signature()).replace("nrefs:1", "nrefs:var").replace("version:", "sacrebleu:")
        return "|".join([self.info.name, *self._more_facts(), facts, f"celadon:{__version__}"])

    def _more_facts(self) -> tuple[str, ...]:
        """What sacrebleu's signature does not say."""
        return ()


def _text_of(sample: Sample) -> _TextOf:
    return _encodable(sample.text), tuple(map(_encodable, sample.references))


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
    smooth_method
        What an n-gram order without a match counts: exp (default), floor, add-k or none.
    smooth_value
        The value of floor (default 0.1) and of add-k (default 1).
    """

    tokenize: str = "13a"
    lowercase: bool = False
    smooth_method: str = "exp"
    smooth_value: float | None = None
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
        if self.smooth_method not in BLEU.SMOOTH_DEFAULTS:
            known = ", ".join(BLEU.SMOOTH_DEFAULTS)
            raise UsageError(f"metric {self.info.name!r}: unknown smooth_method {self.smooth_method!r}; known: {known}")
        if self.smooth_value is not None:
            if BLEU.SMOOTH_DEFAULTS[self.smooth_method] is None:
                raise UsageError(
                    f"metric {self.info.name!r}: smooth_value is of floor and add-k, set smooth_method too"
                )
            if not 0 <= self.smooth_value < math.inf:
                raise UsageError(f"metric {self.info.name!r}: smooth_value must be 0 or more, not {self.smooth_value}")

    def _for_text(self) -> _Sacrebleu:
        # n-gram orders that a short text does not have are left out, as sacrebleu advises for single sentences
        return self._bleu(effective_order=True)

    def _for_corpus(self) -> _Sacrebleu:
        return self._bleu(effective_order=False)

    def _bleu(self, *, effective_order: bool) -> _Sacrebleu:
        options = {"max_ngram_order": self.order, "tokenize": self.tokenize, "lowercase": self.lowercase}
        smoothing = {"smooth_method": self.smooth_method, "smooth_value": self.smooth_value}
        return _scorer("BLEU", **options, **smoothing, effective_order=effective_order, force=True)

    def _width(self) -> int:
        return 2 + 2 * self.order

    def _statistics(self, texts: Sequence[_TextOf]) -> FloatArray:
        """The lengths of text and closest reference, and of each order the n-grams that match, and all."""
        documents = _Documents.of(texts)
        ids, starts, vocabulary = documents.numbered_words(self._split())
        lengths = np.diff(starts)
        in_text, in_reference = lengths[documents.text], lengths[documents.reference]
        apart = np.abs(in_text[documents.sample] - in_reference)
        order = np.lexsort((in_reference, apart, documents.sample))
        closest = in_reference[order[np.flatnonzero(np.diff(documents.sample[order], prepend=-1))]]
        columns = [in_text, closest]
        for n in range(1, self.order + 1):
            grams = make_grams(ids, starts, vocabulary, n)
            columns.append(clipped_overlap(grams, documents.text, documents.sample, documents.reference))
        columns += [np.maximum(in_text - n, 0) for n in range(self.order)]
        return np.stack(columns, axis=1).astype(np.float64)

    def _split(self) -> Callable[[str], list[str]]:
        scorer = self._for_text()
        if self.tokenize != "13a":
            return lambda text: scorer._preprocess_segment(text).split()
        split = _MTEVAL_WORDS.split
        return (lambda text: split(text.lower())) if self.lowercase else split

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
    char_order
        Character n-grams up to this order count.
    beta
        How many times as much recall counts as precision.
    whitespace
        Whether white space counts as a character.
    eps_smoothing
        Whether the F of each order is averaged, with a tiny value where an order has no n-grams, as in chrF++.py, NLTK
        and Moses; otherwise precision and recall are averaged over the orders that both have.
    """

    word_order: int = 0
    lowercase: bool = False
    char_order: int = 6
    beta: float = 2.0
    whitespace: bool = False
    eps_smoothing: bool = False

    @property
    def info(self) -> MetricInfo:
        return MetricInfo(
            name="chrf",
            meaning=f"F{self.beta:g} of shared character n-grams up to {self.char_order} with the best reference, "
            "in any script",
            reading="0 to 100; 100 is the reference itself; unrelated texts in one language reach about 15 to 20",
            needs=frozenset({Need.REFERENCES}),
            high=100.0,
        )

    def __post_init__(self) -> None:
        if self.char_order < 1 or self.word_order < 0:
            raise UsageError("metric 'chrf': char_order must be 1 or more, word_order 0 or more")
        if not 0 < self.beta < math.inf:
            raise UsageError(f"metric 'chrf': beta must be greater than 0, not {self.beta:g}")

    def _for_text(self) -> _Sacrebleu:
        return _scorer("CHRF", **self.options)

    def _width(self) -> int:
        return 3 * (self.char_order + self.word_order)

    def _statistics(self, texts: Sequence[_TextOf]) -> FloatArray:
        """The n-grams of text, of the best reference and of both, order by order."""
        scorer = self._for_text()
        if self.word_order or self.whitespace:
            counted = [
                scorer._extract_corpus_statistics([text], [[reference] for reference in references])[0]
                for text, references in texts
            ]
            return np.array(counted, dtype=np.float64)
        documents = _Documents.of(texts)
        strings = [string.lower() if self.lowercase else string for string in documents.strings]
        of_text = documents.text[documents.sample]
        totals, shared = character_overlaps(strings, of_text, documents.reference, self.char_order)
        in_text, in_reference = totals[:, of_text], totals[:, documents.reference]
        # an order that the reference is too short for does not count, whatever the text has of it
        counts = np.stack([np.where(in_reference > 0, in_text, 0), in_reference, shared], axis=1)
        pairs = counts.reshape(3 * self.char_order, -1).T
        if len(pairs) == len(texts):
            return pairs.astype(np.float64)
        scores = np.array([scorer._compute_score_from_stats(pair).score for pair in pairs.tolist()])
        # the first of the best ones
        order = np.lexsort((np.arange(len(pairs)), -scores, documents.sample))
        return pairs[order[np.flatnonzero(np.diff(documents.sample[order], prepend=-1))]].astype(np.float64)

    def _parts(self, result: Any) -> tuple[float, ...]:
        return ()

    def _more_facts(self) -> tuple[str, ...]:
        return () if self.beta == 2 else (f"beta:{self.beta:g}",)


@dataclass(frozen=True)
class Ter(_ThroughSacrebleu):
    """Translation edit rate.

    Parameters
    ----------
    case_sensitive
        Whether case counts.
    normalized
        Whether punctuation is split from words and XML entities are read, as Tercom's normalization does.
    no_punct
        Whether punctuation is removed.
    asian_support
        Whether ``normalized`` splits Chinese and Japanese characters, and ``no_punct`` removes their punctuation.
    """

    case_sensitive: bool = False
    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
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
        return _scorer("TER", **self.options)

    def _width(self) -> int:
        return 2

    def _statistics(self, texts: Sequence[_TextOf]) -> FloatArray:
        """The edits to the nearest reference, and the mean length of the references."""
        scorer = self._for_text()
        documents = _Documents.of(texts)
        ids, starts, _ = documents.numbered_words(lambda text: scorer._preprocess_segment(text).split())
        words = np.split(ids, starts[1:-1])
        pairs = list(zip(documents.text[documents.sample].tolist(), documents.reference.tolist(), strict=True))
        edits = {(text, other): shifted_edits(words[text], words[other]) for text, other in set(pairs)}
        of_pairs = np.array([edits[pair] for pair in pairs])
        firsts = np.flatnonzero(np.diff(documents.sample, prepend=-1))
        lengths = np.add.reduceat(np.diff(starts)[documents.reference], firsts) / np.bincount(documents.sample)
        return np.stack([np.minimum.reduceat(of_pairs, firsts), lengths], axis=1)

    def _parts(self, result: Any) -> tuple[float, ...]:
        return (result.num_edits, result.ref_length)
