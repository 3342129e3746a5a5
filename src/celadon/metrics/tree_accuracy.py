"""Tree accuracies (Bangalore, Rambow and Whittaker 2000): are the words of each treelet in the reference's order?

A treelet is a word of the reference's dependency tree with its daughters (:mod:`celadon.text.treelets`). The trees come
with the samples, from CoNLL-U, or else from the dependency parser of the extra ``parse``. A metric is told of given
trees only what its signature must say of them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from celadon.core import (
    BoundMetric,
    Evidence,
    FloatArray,
    IntArray,
    Metric,
    MetricInfo,
    MetricScores,
    MissingPartError,
    Need,
    Sample,
    UsageError,
    unbound,
)
from celadon.metrics.references import TOO_LONG, Best, best_reference, null_reasons
from celadon.metrics.string_accuracy import accuracy_info, aligned, operations_of
from celadon.metrics.tree_evidence import explain
from celadon.parsing.loading import DEPENDENCY, parser
from celadon.scoring.batch import Batch
from celadon.text.alignment import Ragged
from celadon.text.ngrams import expand
from celadon.text.treelets import Compared, compare_treelets
from celadon.text.words import splitter


class _Pairs(NamedTuple):
    """The pairs of text and reference that can be compared, and what came of it."""

    chosen: IntArray
    compared: Compared
    string_substitutions: IntArray


def _compared(batch: Batch, normalisation: str) -> _Pairs:
    return batch.view(("treelets", normalisation), lambda: _compare(batch, normalisation))


def _compare(batch: Batch, normalisation: str) -> _Pairs:
    words = batch.words(normalisation)
    counted, alignment = aligned(batch, normalisation)
    trees = batch.trees(normalisation, DEPENDENCY)
    known = np.diff(trees.starts) > 0
    chosen = np.flatnonzero(known & (counted.reference_words > 0))
    references = Ragged.chosen(words.ids, words.starts, words.pair_document[chosen])
    texts = Ragged.chosen(words.ids, words.starts, words.pair_text[chosen])
    partner = alignment.partner[expand(alignment.starts, chosen)[0]]
    heads = trees.heads[expand(trees.starts, chosen)[0]]
    compared = compare_treelets(references, texts, partner, heads, words.vocabulary)
    return _Pairs(chosen, compared, counted.substitutions[chosen])


class OfTrees(Metric):
    """A metric that rests on dependency trees of the references."""

    def details(self) -> Mapping[str, str]:
        try:
            return {"trees": DEPENDENCY, **parser(DEPENDENCY).facts}
        except MissingPartError:
            # without the parser there are no scores of its trees, of which more would have to be said
            return {"trees": DEPENDENCY}


def check_use_of_trees(metrics: Iterable[Metric]) -> None:
    """Raise ``UsageError`` for trees that no requested metric would look at."""
    if not any(
        isinstance(each, OfTrees) for metric in metrics for each in (unbound(metric), *metric.members().values())
    ):
        raise UsageError("trees were given, but no metric asked for rests on them: name one, as simple_tree_accuracy")


def bind_trees(metrics: Iterable[Metric], digest: str) -> tuple[Metric, ...]:
    """Return the metrics, those that rest on trees bound to the trees of this digest."""
    return tuple(
        BoundMetric(plain, trees=digest) if isinstance(plain := unbound(metric), OfTrees) else metric
        for metric in metrics
    )


@dataclass(frozen=True)
class TreeAccuracy(OfTrees):
    """What the tree accuracies have in common.

    Parameters
    ----------
    words
        The normalisation: surface (default), whitespace or rouge. Trees over other tokens are carried over to these.
    """

    words: str = "surface"

    explains: ClassVar[tuple[str, ...]] = ("tree",)

    def __post_init__(self) -> None:
        splitter(self.words)

    @abstractmethod
    def judged(self, pairs: _Pairs) -> tuple[FloatArray, Mapping[str, FloatArray | IntArray]]:
        """Return the value of each pair, and the parts that explain it."""

    def _best(self, batch: Batch) -> tuple[_Pairs, FloatArray, dict[str, FloatArray], Best]:
        pairs = _compared(batch, self.words)
        count = len(batch.words(self.words).pair_sample)
        values, parts = self.judged(pairs)
        every = {name: _spread(column, pairs.chosen, count) for name, column in parts.items()}
        value = _spread(values, pairs.chosen, count)
        return pairs, value, every, best_reference(batch.words(self.words).pair_sample, value, len(batch))

    def score(self, batch: Batch) -> MetricScores:
        _, values, parts, best = self._best(batch)
        reasons = null_reasons(batch.words(self.words))
        owner = batch.words(self.words).pair_sample
        for pair, reason in batch.trees(self.words, DEPENDENCY).reasons.items():
            if best.pair[row := int(owner[pair])] < 0:
                reasons.setdefault(row, reason)
        for row in np.flatnonzero(best.pair < 0).tolist():
            reasons.setdefault(row, TOO_LONG)
        return MetricScores(self.spec, best.take(values), {name: best.take(parts[name]) for name in parts}, reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        batch = Batch([sample])
        pairs, _, parts, best = self._best(batch)
        pair = int(best.pair[0])
        if pair < 0:
            return None
        number = int(batch.words(self.words).pair_reference[pair])
        trees = batch.trees(self.words, DEPENDENCY)
        heads = trees.heads[trees.starts[pair] : trees.starts[pair + 1]].tolist()
        told = {name: float(column[pair]) for name, column in parts.items()}
        at = int(np.flatnonzero(pairs.chosen == pair)[0])
        return explain(self.spec, told, sample, number, self.words, heads, pairs.compared, at)


def _spread(column: FloatArray | IntArray, chosen: IntArray, count: int) -> FloatArray:
    """Return values of some pairs in their places among all; NaN for the others."""
    spread = np.full(count, np.nan)
    spread[chosen] = column
    return spread


@dataclass(frozen=True)
class _OfOperations(TreeAccuracy):
    """One minus the operations over treelets per word of the reference."""

    moves: ClassVar[bool] = False
    """Whether a word deleted here and inserted there in its treelet is one move."""

    def judged(self, pairs: _Pairs) -> tuple[FloatArray, Mapping[str, FloatArray | IntArray]]:
        counted = pairs.compared.operations
        operations = operations_of(counted, moves=self.moves)
        accuracy = 1.0 - np.sum(list(operations.values()), axis=0) / counted.reference_words
        return accuracy, {**operations, "reference_words": counted.reference_words}


_READING = (
    "1 is the reference's order in every treelet; each {unit} costs 1/R (R words in the reference); below 0 is "
    "possible; trees from --trees, or the extra parse"
)


@dataclass(frozen=True)
class SimpleTreeAccuracy(_OfOperations):
    """1 - (I + D + S) / R, summed over treelets."""

    info: ClassVar[MetricInfo] = accuracy_info(
        name="simple_tree_accuracy",
        meaning="1 - (insertions + deletions + substitutions) / words, over each word of the tree with its daughters",
        reading=_READING.format(unit="word inserted, deleted or replaced in a treelet"),
    )


@dataclass(frozen=True)
class GenerationTreeAccuracy(_OfOperations):
    """1 - (M + I' + D' + S) / R, summed over treelets."""

    moves: ClassVar[bool] = True
    info: ClassVar[MetricInfo] = accuracy_info(
        name="generation_tree_accuracy",
        meaning="as simple_tree_accuracy, but a word deleted here and inserted there in its treelet is one move",
        reading=_READING.format(unit="word moved, inserted, deleted or replaced in a treelet"),
        moves=True,
    )


class Coefficients(NamedTuple):
    """The paper's regression on simple tree accuracy and the substitutions of the string alignment."""

    tree_accuracy: float
    substitution: float
    constant: float
    perfect: float


UNDERSTANDABILITY = Coefficients(1.3147, -0.1039, -0.4458, 0.8689)
QUALITY = Coefficients(1.0192, -0.0869, -0.3553, 0.6639)


@dataclass(frozen=True)
class _Regression(TreeAccuracy):
    """What people would say of a sentence, by simple tree accuracy and substitutions."""

    name: ClassVar[str]
    adverb: ClassVar[str]
    coefficients: ClassVar[Coefficients]

    @property
    def info(self) -> MetricInfo:
        return MetricInfo(
            name=self.name,
            meaning=f"how {self.adverb}, by its tree accuracy and its replaced words",
            reading="1 is the reference itself; below 0 is possible; the coefficients are of 24 judged sentences of "
            "news, so compare systems, not data sets; trees from --trees, or the extra parse",
            needs=frozenset({Need.REFERENCES}),
            low=-math.inf,
            parts=("simple_tree_accuracy", "string_substitutions"),
        )

    def judged(self, pairs: _Pairs) -> tuple[FloatArray, Mapping[str, FloatArray | IntArray]]:
        accuracy, _ = SimpleTreeAccuracy(self.words).judged(pairs)
        fitted, substitutions = self.coefficients, pairs.string_substitutions
        value = fitted.tree_accuracy * accuracy + fitted.substitution * substitutions + fitted.constant
        parts: dict[str, FloatArray | IntArray] = {
            "simple_tree_accuracy": accuracy,
            "string_substitutions": substitutions,
        }
        # rounding alone can take a perfect text above 1
        return np.minimum(value / fitted.perfect, 1.0), parts


class UnderstandabilityAccuracy(_Regression):
    """How easily the sentence is understood."""

    name, adverb, coefficients = "understandability_accuracy", "easily a sentence is understood", UNDERSTANDABILITY


class QualityAccuracy(_Regression):
    """How well the sentence is written."""

    name, adverb, coefficients = "quality_accuracy", "well a sentence is written", QUALITY
