"""Grammaticality: how likely and how acceptable each sentence is (GRUEN, Zhu and Bhat 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Evidence, FloatArray, MetricInfo, MetricScores, Section, Span, UsageError
from celadon.metrics.aspects import SENTENCE, WORST
from celadon.metrics.gruen.models import (
    ACCEPTABILITY_SHARE,
    OTHER_SCALE,
    SCALES,
    Scale,
    model_facts,
    model_names,
    tier_of,
)
from celadon.metrics.prose_metric import ProseMetric
from celadon.scoring.batch import Batch, Likelihoods
from celadon.scoring.batch.units import Units, least, means, same_units

PARTS = ("likelihood", "acceptability", "worst", "sentences")


@dataclass(frozen=True, eq=False)
class SentenceGrammar(Units):
    """How likely and how acceptable each sentence is, from 0 to 1."""

    likelihood: FloatArray
    acceptability: FloatArray


def sentence_grammar(batch: Batch, likelihood: str, acceptability: str) -> SentenceGrammar:
    """Judge each sentence with the two models, once for a batch."""
    key = ("sentence grammar", likelihood, acceptability)
    return batch.view(key, lambda: _judge(batch, likelihood, acceptability))


def _judge(batch: Batch, likelihood: str, acceptability: str) -> SentenceGrammar:
    read = batch.token_scores(likelihood, variant="l2r" if _is_masked(likelihood) else "")
    judged = batch.acceptability(acceptability)
    # sentences that one of the two models cannot read are left out
    of_read, of_judged = same_units(read, judged)
    reasons = {**judged.reasons, **read.reasons}
    left = set(range(len(batch))) - set(judged.owner[of_judged].tolist()) - set(reasons)
    reasons |= dict.fromkeys(left, "the language model and the encoder have no sentence of the text in common")
    return SentenceGrammar(
        owner=judged.owner[of_judged],
        starts=judged.starts[of_judged],
        ends=judged.ends[of_judged],
        likelihood=_bounded(read, SCALES.get(likelihood, OTHER_SCALE))[of_read],
        acceptability=judged.values[of_judged],
        reasons=dict(sorted(reasons.items())),
    )


def _is_masked(model: str) -> bool:
    from celadon.models.language.language_model import language_model

    return hasattr(language_model(model), "pseudo")


def _bounded(read: Likelihoods, scale: Scale) -> FloatArray:
    """The mean log-probability of a token, from 0 to 1."""
    return 1 / (1 + np.exp(-(read.logprobs / read.lengths - scale.centre) / scale.width))


@dataclass(frozen=True)
class GruenGrammaticality(ProseMetric):
    """The mean over sentences of likelihood and acceptability.

    Parameters
    ----------
    tier
        Which models judge: ``builtin``, ``standard`` or ``paper``.
    share
        How much of it is acceptability.
    """

    tier: str = "builtin"
    share: float = ACCEPTABILITY_SHARE
    explains: ClassVar[tuple[str, ...]] = ("grammaticality",)
    info: ClassVar[MetricInfo] = MetricInfo(
        name="gruen.grammaticality",
        meaning="how likely and how acceptable the sentences are, on average",
        reading="near 1 where all sentences are sound; a fifth of it is likelihood, lower for rare words",
        parts=PARTS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        tier_of(self.tier)
        if not 0 <= self.share <= 1:
            raise UsageError(f"gruen.grammaticality: share is from 0 to 1, not {self.share:g}")

    def score_prose(self, batch: Batch) -> MetricScores:
        found = self._judged(batch)
        values, samples = self._values(found), len(batch)
        parts = {
            "likelihood": means(found.owner, found.likelihood, samples),
            "acceptability": means(found.owner, found.acceptability, samples),
            "worst": least(found.owner, values, samples),
            "sentences": np.bincount(found.owner, minlength=samples).astype(np.float64),
        }
        parts["sentences"][list(found.reasons)] = np.nan
        return MetricScores(self.spec, means(found.owner, values, samples), parts, found.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        found = self._judged(batch)
        if found.reasons:
            return None
        values = self._values(found)
        columns = (found.starts, found.ends, values, found.likelihood, found.acceptability)
        worst = int(np.argmin(values)) if len(values) > 1 else -1
        spans = tuple(
            Span(
                start,
                end,
                WORST if at == worst else SENTENCE,
                f"{value:.3f}: likely {likely:.3f}, sound {sound:.3f}",
                value,
            )
            for at, (start, end, value, likely, sound) in enumerate(zip(*(c.tolist() for c in columns), strict=True))
        )
        many = "1 sentence" if len(values) == 1 else f"{len(values):,} sentences, the worst {values.min():.3f}"
        told = f"{many}; likelihood and acceptability of each, from 0 to 1"
        return Evidence(self.spec, told, (Section("sentences", "Sentences", spans),))

    def models(self) -> tuple[str, ...]:
        tier = tier_of(self.tier)
        return model_names(likelihood=tier.likelihood, acceptability=tier.acceptability)

    def details(self) -> Mapping[str, str]:
        tier = tier_of(self.tier)
        scale = SCALES.get(tier.likelihood, OTHER_SCALE)
        return model_facts(self.markup, acceptability=tier.acceptability) | {
            "scale": f"{scale.centre:g}/{scale.width:g}"
        }

    def _judged(self, batch: Batch) -> SentenceGrammar:
        tier = tier_of(self.tier)
        return sentence_grammar(batch, tier.likelihood, tier.acceptability)

    def _values(self, found: SentenceGrammar) -> FloatArray:
        return self.share * found.acceptability + (1 - self.share) * found.likelihood
