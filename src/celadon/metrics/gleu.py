"""`gleu`: fluency from how well parsers make sense of a sentence (Mutton, Dras, Wan and Dale 2007).

A linear support vector machine tells real sentences from sequences of words; the score of a sentence is its signed
distance to the hyperplane, in units of the margin. A text has the mean of its sentences. This is neither the GLEU of
grammatical error correction nor Google's.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, MetricInfo, MetricScores
from celadon.metrics.gleu_evidence import explain
from celadon.metrics.gleu_features import (
    DICTIONARY,
    ENCODER,
    LIKELIHOOD,
    SentenceFeatures,
    all_features,
    parser_features,
    rule_features,
)
from celadon.metrics.gleu_weights import (
    FEATURES_OF,
    GLEU,
    GLEU_PAPER,
    GLEU_PLUS,
    GLEU_PLUS_RULES,
    PAPER,
    STRUCTURE,
    GleuWeights,
    check_variant,
    weights_of,
)
from celadon.metrics.gruen.models import model_names
from celadon.metrics.prose_metric import ProseMetric, relocated
from celadon.parsing.loading import DEPENDENCY, LINK, RULES, chart_name, parser
from celadon.scoring.batch import Batch
from celadon.scoring.batch.prose import reading_facts
from celadon.scoring.batch.units import least, means

_READING = "above 0 where a sentence is rather real than words at random; 1 is the margin; for English (extra parse)"


@dataclass(frozen=True)
class ParserMetric(ProseMetric):
    """A metric that asks parsers: what both have in common.

    Parameters
    ----------
    weights
        A file that ``celadon train gleu`` made; by default the weights that come with the package.
    grammar
        A grammar for the chart parser: a folder that ``celadon train parser`` made, or a plain-text grammar of the
        Stanford parser; by default the one that comes with the package, which the package's weights are fitted to.
    """

    weights: str = ""
    grammar: str = field(default="", kw_only=True)

    general: ClassVar[MetricInfo]
    explains: ClassVar[tuple[str, ...]] = ("parses",)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.used_weights()

    @property
    def info(self) -> MetricInfo:
        features = FEATURES_OF[self.kind]
        parts = ("sentences", "worst", *features, *(f"from_{name}" for name in features))
        return dataclasses.replace(self.general, parts=parts)

    @abstractmethod
    def features(self, batch: Batch, *, recent: bool = False) -> SentenceFeatures:
        """Return what is known of each sentence; ``recent`` as for :meth:`celadon.scoring.batch.Batch.parses`."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Return the metric whose weights are used, in the notation of their file."""

    def used_weights(self) -> GleuWeights:
        """Return the weights: those of the file that was given, or the metric's own."""
        return weights_of(self.kind, self.weights)

    def score_prose(self, batch: Batch) -> MetricScores:
        found, weights, samples = self.features(batch), self.used_weights(), len(batch)
        features = weights.normalised(found.columns)
        added = weights.contributions(features)
        values = weights.scores(added)
        many = np.bincount(found.owner, minlength=samples).astype(np.float64)
        many[list(found.reasons)] = np.nan
        parts = {"sentences": many, "worst": least(found.owner, values, samples)}
        parts |= {name: means(found.owner, column, samples) for name, column in features.items()}
        parts |= {f"from_{name}": means(found.owner, column, samples) for name, column in added.items()}
        return MetricScores(self.spec, means(found.owner, values, samples), parts, found.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        return self._explained(batch)[0]

    def evidences(self, batch: Batch) -> list[Evidence | None]:
        """Show why, for many texts at once."""
        prose = self.prose(batch)
        return relocated(prose, self._explained(prose))

    def _explained(self, batch: Batch) -> list[Evidence | None]:
        found = self.features(batch, recent=True)
        return explain(self.spec, batch, found, self.used_weights(), chart_name(self.grammar))

    def details(self) -> Mapping[str, str]:
        facts = {"weights": self.used_weights().sha256[:8], **reading_facts(self.markup)}
        for name in (chart_name(self.grammar), DEPENDENCY, LINK):
            facts |= parser(name).facts
        return facts


@dataclass(frozen=True)
class Gleu(ParserMetric):
    """Fluency by three parsers.

    Parameters
    ----------
    weights
        A file that ``celadon train gleu`` made, of the same variant; by default the weights that come with the package.
    grammar
        As for every :class:`ParserMetric`.
    variant
        ``structure``: the tree's log-probability is against that of a chain of tags, the dependency parser's certainty
        stands beside its fragments, and words left out count by their square root. ``paper``: log-probability,
        fragments, words left out and invalid linkages, as the paper has them, and nothing else.
    """

    variant: str = STRUCTURE

    general = MetricInfo(
        name=GLEU,
        meaning="fluency by three parsers (Mutton et al. 2007); neither the GLEU of error correction nor Google's",
        reading=f"{_READING}; with variant=paper by the paper's own four features",
        low=-math.inf,
        high=math.inf,
    )

    def __post_init__(self) -> None:
        check_variant(self.variant)
        super().__post_init__()

    @property
    def kind(self) -> str:
        return GLEU_PAPER if self.variant == PAPER else GLEU

    def features(self, batch: Batch, *, recent: bool = False) -> SentenceFeatures:
        """Return what the parsers tell."""
        return parser_features(batch, recent, chart_name(self.grammar))


@dataclass(frozen=True)
class GleuPlus(ParserMetric):
    """The same with what has become available since.

    Parameters
    ----------
    weights
        A file that ``celadon train gleu --metric gleu_plus`` made; by default the weights that come with the package.
    grammar
        As for every :class:`ParserMetric`.
    rules
        Whether the matches of a rule checker count too (extra rules). Weights are trained with them or without.
    """

    rules: bool = False

    general = MetricInfo(
        name=GLEU_PLUS,
        meaning="gleu with SLOR, acceptability, costs of linkages, unknown and repeated words; none of the other GLEUs",
        reading=_READING,
        low=-math.inf,
        high=math.inf,
    )

    @property
    def kind(self) -> str:
        return GLEU_PLUS_RULES if self.rules else GLEU_PLUS

    def features(self, batch: Batch, *, recent: bool = False) -> SentenceFeatures:
        """Return what parsers, the language model and the words themselves tell, and the rules if asked for."""
        read = rule_features if self.rules else all_features
        return read(batch, recent, chart_name(self.grammar))

    def details(self) -> Mapping[str, str]:
        return {**super().details(), **(parser(RULES).facts if self.rules else {})}

    def models(self) -> tuple[str, ...]:
        from celadon.models.words.word_vectors import word_vectors

        dictionary = word_vectors(DICTIONARY)
        return (*model_names(LIKELIHOOD, ENCODER), f"vectors:{dictionary.name}@{dictionary.digest[:8]}")
