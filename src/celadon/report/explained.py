"""Which metrics explain the texts of a report, and their evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from celadon.core import Evidence, Metric, MetricScores, Need, Sample
from celadon.report.escape import cut_at
from celadon.report.keep import Kept
from celadon.scoring.batch import Batch

HEAD = 1_600
"""As much of a long text as is ever shown, and somewhat more, so that the last sentence shown is judged whole."""
ALIGNED = 4_000
"""How many characters are aligned: aligning is quadratic at worst, and of a long text only the beginning is shown."""
_AT_A_TIME = 64
# A drawing takes some thousand bytes: the best and worst texts have one, and of these the shorter.
_DRAWINGS = 60
_DRAWN_WORDS = 60


def has_aspects(metric: Metric) -> bool:
    """Whether the parts of a metric are aspects that its evidence explains one by one."""
    return len(metric.explains) > 1 and set(metric.explains) <= set(metric.info.parts)


class Aspect(NamedTuple):
    """An aspect of texts: its name and the metric that rates it, alone or as one of its parts."""

    name: str
    metric: Metric

    def value(self, results: Mapping[str, MetricScores], row: int) -> float:
        """The value of one text of a batch."""
        scores = results[self.metric.spec]
        return float((scores.parts[self.name] if has_aspects(self.metric) else scores.values)[row])


def explaining(metrics: Sequence[Metric]) -> dict[str, Metric]:
    """Choose what explains the texts: metrics of several aspects before others, then the first; the last that aligns.

    Of the two string accuracies, asked for in their usual order, the last is the one that shows moves.
    """
    chosen: dict[str, Metric] = {}
    for metric in sorted(metrics, key=lambda metric: -len(metric.explains)):
        for name in metric.explains:
            chosen.setdefault(name, metric)
    aligning = [metric for metric in metrics if "alignment" in metric.explains]
    return chosen | ({"alignment": aligning[-1]} if aligning else {})


def aspects_of(metrics: Sequence[Metric]) -> tuple[Aspect, ...]:
    """Return the aspects that are shown with each text: of a metric that has several, or single ones."""
    return tuple(
        Aspect(name, metric)
        for name, metric in explaining(metrics).items()
        if has_aspects(metric) or metric.info.name.endswith(f".{name}")
    )


def is_aligned_in_part(kept: Kept) -> bool:
    """Whether only the beginnings of a text and its references are aligned."""
    return any(len(text) > ALIGNED for text in (kept.text, *kept.references))


def alignment(kept: Kept, metrics: Sequence[Metric]) -> Evidence | None:
    """Align a text with a reference by the metric that does, or by generation string accuracy; None without one."""
    if not kept.references:
        return None
    from celadon.metrics.string_accuracy import GenerationStringAccuracy

    text, *references = (text[: cut_at(text, ALIGNED)] for text in (kept.text, *kept.references))
    sample = Sample(text, tuple(references), id=kept.id, system=kept.system)
    return explaining(metrics).get("alignment", GenerationStringAccuracy()).evidence(sample)


def evidence_of(
    texts: Iterable[Kept], extremes: Iterable[Kept], metrics: Sequence[Metric], head: int = HEAD
) -> dict[int, tuple[Evidence, ...]]:
    """Explain the first ``head`` characters of texts, by their positions; trees are drawn of the extremes only."""
    evidences: dict[int, tuple[Evidence, ...]] = {}
    chosen = [metric for name, metric in explaining(metrics).items() if name != "alignment"]
    for metric in dict.fromkeys(chosen):
        place = list(metrics).index(metric)
        draws = metric.explains == ("tree",)
        distinct = {kept.position: kept for kept in (extremes if draws else (*texts, *extremes))}
        scored = [kept for kept in distinct.values() if math.isfinite(kept.values[place])]
        samples: dict[tuple[object, ...], Sample] = {}
        keys: dict[int, tuple[object, ...]] = {}
        for kept in scored:
            sample = _sample(kept, metric, len(kept.text) if draws else head)
            # equal texts are explained once
            same = (sample.text, sample.references, sample.source, sample.markup, sample.language)
            keys[kept.position] = (*same, kept.position if draws else None)
            samples.setdefault(keys[kept.position], sample)
        known = dict(zip(samples, _evidence(metric, list(samples.values()), draws=draws), strict=False))
        for position, key in keys.items():
            if (evidence := known.get(key)) is not None:
                evidences[position] = (*evidences.get(position, ()), evidence)
    return evidences


def _sample(kept: Kept, metric: Metric, head: int) -> Sample:
    """As much of a text as is explained, with what the metric needs."""
    references = kept.references if Need.REFERENCES in metric.info.needs else ()
    trees = kept.trees if references else ()
    return Sample(
        kept.text[: cut_at(kept.text, head)],
        references,
        kept.source,
        kept.id if trees else None,
        trees=trees,
        markup=kept.markup,
        language=kept.language,
    )


def _evidence(metric: Metric, samples: Sequence[Sample], *, draws: bool) -> Iterator[Evidence | None]:
    """Explain many texts at a time where the metric can, as those do whose models read many at a time."""
    at_once: Callable[[Batch], Sequence[Evidence | None]] | None = getattr(metric, "evidences", None)
    drawings = 0
    for start in range(0, len(samples), _AT_A_TIME):
        part = samples[start : start + _AT_A_TIME]
        for evidence in map(metric.evidence, part) if at_once is None else at_once(Batch(part)):
            if drawings == _DRAWINGS:
                return
            small = not draws or (evidence is not None and _is_small(evidence))
            drawings += draws and small
            yield evidence if small else None


def _is_small(evidence: Evidence) -> bool:
    sizes = [len(tree.values[name]) for tree in evidence.of_kind("tree") for name in ("words", "text_words")]
    return max(sizes, default=0) <= _DRAWN_WORDS
