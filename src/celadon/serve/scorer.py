"""What the scoring thread does: scores, and explanations of them."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from celadon.core import Evidence, FloatArray, InputError, Metric, MetricScores, Sample, UsageError, is_set_relative
from celadon.metrics.registry import load, load_all, names
from celadon.report.escape import cut_at
from celadon.scoring.batch import Batch
from celadon.scoring.needs import missing
from celadon.scoring.scorer import Scorer
from celadon.serve.rendered import Rendered, render_text
from celadon.serve.settings import ServeSettings

_WARM_UP = Sample("The glaze is green. It shows every crack.", ("The green glaze shows cracks.",), "A green glaze.")
EXPLAINED = 10_000
"""Of a longer text, the beginning is explained."""
_RELATIVE = "says how a text stands in a whole set, so it cannot score requests; score a file with celadon score"

log = logging.getLogger("celadon.serve")


class Task(StrEnum):
    """What is asked of a text."""

    SCORE = "score"
    EXPLAIN = "explain"
    SHOW = "show"


class Kind(NamedTuple):
    """What is scored together: the same task under the same metrics."""

    task: Task
    specs: tuple[str, ...]


class TextRequest(NamedTuple):
    """A text to be scored; ``before`` is the text it is compared with, where it is to be shown."""

    sample: Sample
    before: str | None = None

    @property
    def characters(self) -> int:
        """How much there is to read."""
        sample = self.sample
        return len(sample.text) + sum(map(len, sample.references)) + len(sample.source or "")


class TextScores(NamedTuple):
    """All scores of one text, with their parts; where one is None, the reason."""

    scores: Mapping[str, float | None]
    parts: Mapping[str, Mapping[str, float | None]]
    reasons: Mapping[str, str]


class Explained(NamedTuple):
    """The scores of one text and why; the evidence is of so many characters of it."""

    scores: TextScores
    evidence: Mapping[str, Evidence]
    characters: int


class RenderedText(NamedTuple):
    """The scores of one text and how a page shows them."""

    scores: TextScores
    rendered: Rendered


Answer: TypeAlias = TextScores | Explained | RenderedText


class RequestScorer:
    """The metrics that are served.

    ``settings``: which metrics, and whether scores are kept.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._scorer = Scorer(settings.metrics, fit_on=settings.standardize_on, cache=settings.cache)
        for metric in self._scorer.unfitted:
            raise UsageError(f"{metric.spec} {_RELATIVE}, or give --standardize-on FILE")
        self.metrics: dict[str, Metric] = {metric.spec: metric for metric in self._scorer.metrics}
        # the notation that was given, where it says more than is needed, is understood too
        self._known = {spec: load_all([spec])[0].spec for spec in settings.metrics} | {m: m for m in self.metrics}
        self._signatures: dict[str, str] = {}

    def load(self) -> None:
        """Load every model, by scoring a text."""
        for metric in self.metrics.values():
            metric.score(Batch([_WARM_UP]))
            self._signatures[metric.spec] = metric.signature

    def close(self) -> None:
        """Let go of the cache."""
        self._scorer.close()

    def signature(self, spec: str) -> str:
        """How the scores of a metric are made."""
        return self._signatures[spec]

    def chosen(self, specs: Sequence[str] | None, samples: Sequence[Sample]) -> tuple[str, ...]:
        """The metrics that a request gets: those it asks for, else all whose needs the samples meet."""
        if specs is not None:
            return tuple(dict.fromkeys(map(self._spec, specs)))
        met = tuple(spec for spec, metric in self.metrics.items() if not missing(samples, [metric]))
        if not met:
            needs = sorted({need for metric in self.metrics.values() for need in metric.info.needs})
            raise UsageError(f"every metric that is served here needs {' or '.join(needs)}, and some text has none")
        return met

    def lacking(self, specs: Sequence[str], samples: Sequence[Sample]) -> dict[int, str]:
        """The samples that lack what a metric needs, each with a message."""
        return missing(samples, [self.metrics[spec] for spec in specs])

    def _spec(self, spec: str) -> str:
        # a stranger's notation is looked up and never loaded: its options could name files
        if (known := self._known.get(spec.strip())) is not None:
            return known
        name = spec.partition("[")[0].strip()
        if name in names() and is_set_relative(load(name)):
            raise UsageError(f"{name} {_RELATIVE}")
        raise UsageError(f"this metric is not served here; there are: {', '.join(self.metrics)}")

    def work(self, kind: Kind, requests: Sequence[TextRequest]) -> list[Answer | Exception]:
        """Do one batch; where it fails, each text on its own, so that only the faulty one fails."""
        try:
            return list(self._answers(kind, requests))
        except Exception as error:
            if len(requests) == 1:
                if not isinstance(error, InputError | UsageError):
                    log.exception("a text could not be scored")
                return [error]
            return [answer for each in requests for answer in self.work(kind, [each])]

    def _answers(self, kind: Kind, requests: Sequence[TextRequest]) -> Sequence[Answer]:
        samples = [each.sample for each in requests]
        metrics = [self.metrics[spec] for spec in kind.specs]
        columns = self._scorer.score_batch(samples, kind.specs)
        scores = texts_scores(columns, len(samples))
        if kind.task is Task.SCORE:
            return scores
        if kind.task is Task.EXPLAIN:
            return [_explained(*each, metrics) for each in zip(samples, scores, strict=True)]
        return [
            RenderedText(scores[at], render_text(each.sample, each.before, metrics, columns, at, EXPLAINED))
            for at, each in enumerate(requests)
        ]


def _explained(sample: Sample, scores: TextScores, metrics: Sequence[Metric]) -> Explained:
    cut = cut_at(sample.text, EXPLAINED)
    head = sample if cut == len(sample.text) else replace(sample, text=sample.text[:cut])
    evidences = {metric.spec: metric.evidence(head) for metric in metrics if scores.scores[metric.spec] is not None}
    return Explained(scores, {spec: each for spec, each in evidences.items() if each is not None}, cut)


def texts_scores(columns: Mapping[str, MetricScores], rows: int) -> list[TextScores]:
    """The scores of a batch, text by text."""
    values = {spec: _finite(scores.values) for spec, scores in columns.items()}
    parts = {spec: {name: _finite(column) for name, column in scores.parts.items()} for spec, scores in columns.items()}
    results = []
    for row in range(rows):
        of_row = {spec: column[row] for spec, column in values.items()}
        reasons = {
            spec: columns[spec].reasons.get(row, "it has no finite value")
            for spec, value in of_row.items()
            if value is None
        }
        inside = {spec: {name: column[row] for name, column in named.items()} for spec, named in parts.items()}
        results.append(TextScores(of_row, inside, reasons))
    return results


def _finite(values: FloatArray) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]
