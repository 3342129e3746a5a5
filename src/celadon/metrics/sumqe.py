"""`sumqe`: a trained estimator of linguistic quality, in the way of SUM-QE (Xenouleas et al. 2019).

The paper fine-tunes BERT with linear heads for the five questions of DUC. Here what reads stays as it is, and linear
heads rest on its vectors and on the features of how a text reads. The heads that come with the package learnt from
documents damaged by known amounts, not from people; ``celadon train sumqe`` makes others from any ratings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from celadon.core import Evidence, FloatArray, InputError, MetricInfo, MetricScores, Section
from celadon.io.weight_files import STATISTICS, Head, QualityModel, read_quality
from celadon.metrics.gruen.models import model_facts, model_names
from celadon.metrics.prose_metric import ProseMetric
from celadon.metrics.reading.features import (
    LIKELIHOODS,
    SENTENCE_FEATURES,
    TEXT_FEATURES,
    ReadingModels,
    reading_features,
)
from celadon.scoring.batch import Batch
from celadon.scoring.batch.units import least, means

BUILTIN = "builtin"
OVERALL = "overall"
"""Where there is a head of this name the value is its, else the mean of all."""
QUESTIONS = ("Q1_grammaticality", "Q2_non_redundancy", "Q3_referential_clarity", "Q4_focus", "Q5_coherence")
"""The heads that come with the package: DUC's five questions."""
_BUILTIN_INFO = MetricInfo(
    name="sumqe",
    meaning="DUC's five questions by linear heads, as SUM-QE; builtin: trained on damaged Wikipedia, not on people",
    reading="the mean of the heads, 0 very poor to 1 very good; each part is on the scale of its ratings (1 to 5)",
    parts=QUESTIONS,
)
_BETTER_HIGH = frozenset({"acceptability", *LIKELIHOODS})
NAMED = (*(f"{name}.{part}" for name in SENTENCE_FEATURES for part in ("mean", "worst")), *TEXT_FEATURES)
"""The features that have a name: of the sentences the mean and the worst, and those of the text."""
_NOTHING_READ = "the language model and the encoder have no sentence of the text in common"
PULLS = (*NAMED, *(f"meaning.{name}" for name in STATISTICS))
_SHOWN = 3
_LEAST_PULL = 5e-4


class Pull(NamedTuple):
    """How far a feature moves the value from what is usual; its own value and the usual one, NaN for vectors."""

    feature: str
    amount: float
    value: float
    usual: float


@dataclass(frozen=True)
class Sumqe(ProseMetric):
    """Linear heads on the features of a text.

    Parameters
    ----------
    model
        ``builtin``, or a file that ``celadon train sumqe`` wrote.
    """

    model: str = BUILTIN

    def __post_init__(self) -> None:
        super().__post_init__()
        self.estimator()

    @cached_property
    def info(self) -> MetricInfo:
        """The ratings that the heads predict."""
        if self.model == BUILTIN:
            return _BUILTIN_INFO
        used = self.estimator()
        names = tuple(used.heads)
        value = "the overall rating" if OVERALL in names else "the mean of the ratings" if names[1:] else names[0]
        return dataclasses.replace(
            _BUILTIN_INFO,
            meaning=f"{used.name}: ratings of {', '.join(names)} by linear heads"[:118],
            reading=f"{value}, 0 the worst to 1 the best of the scale; each part is on the scale of its ratings",
            parts=names,
        )

    def estimator(self) -> QualityModel:
        """Return the heads: those of the file that was given, or those of the package."""
        path = str(Path(__file__).with_name("sumqe.json")) if self.model == BUILTIN else self.model
        found = read_quality(path)
        if set(found.centre.named) != set(NAMED):
            raise InputError(f"{path}: was trained on other features than this version has; train it again")
        return found

    def score_prose(self, batch: Batch) -> MetricScores:
        used = self.estimator()
        seen = self._features(batch, used)
        parts = {name: head.bias + contributions(used, head, seen).sum(axis=1) for name, head in used.heads.items()}
        for column in parts.values():
            column[list(seen.reasons)] = np.nan
        return MetricScores(self.spec, value_of(used, parts), parts, seen.reasons)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        used = self.estimator()
        seen = self._features(batch, used)
        if seen.reasons:
            return None
        counted = counting(used).values()
        pulls = sum(_direction(head) * contributions(used, head, seen)[0] for head in counted) / len(counted)
        unknown = [np.nan] * len(STATISTICS)
        found = [
            Pull(*each)
            for each in zip(
                PULLS,
                np.asarray(pulls).tolist(),
                [*seen.named[0].tolist(), *unknown],
                [*(used.centre.named[name] for name in NAMED), *unknown],
                strict=True,
            )
        ]
        found.sort(key=lambda pull: -abs(pull.amount))
        table = Section("table", "Pulls", values={"columns": Pull._fields, "rows": tuple(found)})
        return Evidence(self.spec, _told(found), (table,))

    def models(self) -> tuple[str, ...]:
        used = self.estimator()
        return (f"sumqe:{used.name}@{used.sha256[:8]}", *_readers(used))

    def details(self) -> Mapping[str, str]:
        """Name the training data; and, where the models are not those of the training any more, that they changed."""
        used = self.estimator()
        told = "+".join(f"{each['name']}@{each['sha256'][:8]}" for each in used.trained_on)
        changed = used.facts.get("read_by", list(_readers(used))) != list(_readers(used))
        return {"trained-on": told, **({"changed": "models"} if changed else {}), **model_facts(self.markup)}

    def _features(self, batch: Batch, used: QualityModel) -> QualityFeatures:
        seen = quality_features(batch, ReadingModels(**msgspec.structs.asdict(used.models)))
        width = used.centre.vectors.shape[-1]
        if width and width != seen.vectors.shape[-1]:
            raise InputError(
                f"{self.spec}: was trained on vectors of {width} numbers, and those of {used.models.encoder} have "
                f"{seen.vectors.shape[-1]}; train it again"
            )
        return seen


def contributions(used: QualityModel, head: Head, seen: QualityFeatures) -> FloatArray:
    """What each of ``PULLS`` adds to a head's bias, texts x pulls; a feature that a text lacks adds nothing."""
    centre, weights = (np.array([each[name] for name in NAMED]) for each in (used.centre.named, head.named))
    named = np.nan_to_num((seen.named - centre) * weights)
    if head.vectors.size:
        # no matrix product: its rounding may depend on the number of texts
        vectors = ((seen.vectors - used.centre.vectors) * head.vectors).sum(axis=2)
    else:
        vectors = np.zeros((len(named), len(STATISTICS)))
    return np.concatenate([named, np.nan_to_num(vectors)], axis=1)


def counting(used: QualityModel) -> Mapping[str, Head]:
    """The heads that the value is made of."""
    return {OVERALL: used.heads[OVERALL]} if OVERALL in used.heads else used.heads


def value_of(used: QualityModel, parts: Mapping[str, FloatArray]) -> FloatArray:
    """The mean of the heads, each from 0, the worst end of its scale, to 1."""
    shares = [np.clip(share_of(head, parts[name]), 0, 1) for name, head in counting(used).items()]
    return np.asarray(np.mean(shares, axis=0), dtype=np.float64)


def share_of(head: Head, ratings: FloatArray) -> FloatArray:
    """Ratings as shares of their scale, 1 being the better end."""
    worst = head.high if head.lower_is_better else head.low
    return (ratings - worst) * _direction(head)


def _direction(head: Head) -> float:
    """What a unit of the rating is worth on the scale from 0 to 1."""
    return (-1.0 if head.lower_is_better else 1.0) / (head.high - head.low)


def _readers(used: QualityModel) -> tuple[str, ...]:
    return model_names(likelihood=used.models.likelihood, acceptability=used.models.encoder)


def _told(pulls: list[Pull]) -> str:
    """The strongest pulls either way, in words."""
    found = []
    for way, sign in (("down", -1), ("up", 1)):
        some = [pull for pull in pulls if sign * pull.amount >= _LEAST_PULL][:_SHOWN]
        if some:
            found.append(f"pulled {way} most by {', '.join(map(_clause, some))}")
    return "; ".join(found) or "nothing about it is unusual"


def _clause(pull: Pull) -> str:
    known = f"{pull.value:.3g}, usually {pull.usual:.3g}: " if pull.value == pull.value else ""
    return f"{pull.feature} ({known}{pull.amount:+.3f})"


@dataclass(frozen=True, eq=False)
class QualityFeatures:
    """The features of the texts of a batch.

    ``named`` is texts x ``NAMED``, with NaN where a text of one sentence has none; ``vectors`` is texts x statistics x
    width: the mean, the least and the greatest of the sentences' meanings.
    """

    named: FloatArray
    vectors: FloatArray
    reasons: Mapping[int, str]


def quality_features(batch: Batch, models: ReadingModels) -> QualityFeatures:
    """Look at all texts, once for a batch."""
    return batch.view(("quality", models), lambda: _look(batch, models))


def _look(batch: Batch, models: ReadingModels) -> QualityFeatures:
    found, samples = reading_features(batch, models), len(batch)
    columns = []
    for name in SENTENCE_FEATURES:
        values = found.of_sentences[name]
        sign = 1.0 if name in _BETTER_HIGH else -1.0
        columns += [means(found.owner, values, samples), sign * least(found.owner, sign * values, samples)]
    named = np.stack([*columns, *(found.of_texts[name] for name in TEXT_FEATURES)], axis=1)
    reasons = dict(found.reasons)
    for row in np.flatnonzero(np.isnan(columns[0])).tolist():
        reasons.setdefault(row, _NOTHING_READ)
    return QualityFeatures(named, _vectors(batch, models.encoder), dict(sorted(reasons.items())))


def _vectors(batch: Batch, encoder: str) -> FloatArray:
    read = batch.encodings(encoder)
    meaning = read.encoded.meaning.astype(np.float64)
    found = np.full((len(batch), len(STATISTICS), meaning.shape[1]), np.nan)
    rows, begins = np.unique(read.owner, return_index=True)
    for row, sentences in zip(rows, np.split(meaning, begins[1:]), strict=False):
        found[row] = sentences.mean(axis=0), sentences.min(axis=0), sentences.max(axis=0)
    return found
