"""Takes a stream of scores and gives the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from celadon.core import Direction, Metric, MetricScores, Sample
from celadon.report import page, sections
from celadon.report import texts as lower
from celadon.report.aspect_charts import AspectMeans
from celadon.report.aspects import aspects, explained
from celadon.report.columns import columns
from celadon.report.keep import Kept, Lowest, Reservoir
from celadon.report.parsed import parsed_texts
from celadon.report.surprisal import surprisals
from celadon.report.tree_drawings import tree_drawings
from celadon.scoring.summary import DEFAULT_SEED, Summary

_SECTIONS = {
    "systems": "Systems",
    "aspects": "Aspects",
    "distributions": "Distributions",
    "extremes": "Best and worst",
    "texts": "Texts",
}


class ReportCollector:
    """Keeps of a stream of scores what a report shows, in constant memory.

    Parameters
    ----------
    metrics
        The metrics whose scores will come.
    texts
        How many texts the report lists; of a longer stream, so many are drawn at random.
    extremes
        How many of the best and of the worst texts are shown per metric.
    seed
        Of the draw; the same seed draws the same rows, however the stream is cut into batches.
    """

    def __init__(
        self, metrics: Sequence[Metric], *, texts: int = 1000, extremes: int = 10, seed: int = DEFAULT_SEED
    ) -> None:
        self.metrics = tuple(metrics)
        self.texts = texts
        self._position = 0
        self._scored = [0] * len(self.metrics)
        self._reservoir = Reservoir(texts, seed)
        self._best = [Lowest(extremes) for _ in self.metrics]
        self._worst = [Lowest(extremes) for _ in self.metrics]
        self._explained = explained(self.metrics)
        self._aspects = AspectMeans(self.metrics, seed=seed)

    def add(self, samples: Sequence[Sample], scores: Mapping[str, MetricScores]) -> None:
        """Take the scores of the next samples of the stream.

        Parameters
        ----------
        samples
            The samples, in the order of the stream.
        scores
            Each metric's scores of these samples, under its spec.
        """
        results = [scores[metric.spec] for metric in self.metrics]
        keep = self._keeper(samples, results, scores)
        self._aspects.add(samples, scores)
        self._reservoir.add(self._position, len(samples), keep)
        for place, (metric, result) in enumerate(zip(self.metrics, results, strict=True)):
            rising = result.values if metric.info.direction is Direction.LOWER else -result.values
            self._best[place].add(rising, self._position, keep)
            self._worst[place].add(-rising, self._position, keep)
            self._scored[place] += int(np.isfinite(result.values).sum())
        self._position += len(samples)

    def _keeper(
        self, samples: Sequence[Sample], results: Sequence[MetricScores], scores: Mapping[str, MetricScores]
    ) -> Callable[[int], Kept]:
        start = self._position

        @cache
        def keep(row: int) -> Kept:
            sample = samples[row]
            return Kept(
                position=start + row,
                id=sample.id,
                system=sample.system,
                text=sample.text,
                references=sample.references,
                values=tuple(float(result.values[row]) for result in results),
                reasons=tuple(result.reasons.get(row, "") for result in results),
                aspects=self._explained.values(scores, row),
                trees=sample.trees,
            )

        return keep

    def html(self, summary: Summary, *, title: str, inputs: Sequence[str], rejected: int = 0) -> str:
        """Return the report as one HTML file that needs nothing else.

        Parameters
        ----------
        summary
            Of the same stream.
        title
            The report's heading.
        inputs
            Names of what was read.
        rejected
            How many rows could not be read.

        Returns
        -------
        str
            The file's content, to be written as UTF-8; the same for the same stream.
        """
        shown = columns(self.metrics, summary)
        named = any(system is not None for system in summary.systems)
        ends = [self._ends(place) for place in range(len(self.metrics))]
        extreme = [kept for end in ends for texts in end for kept in texts]
        seen = [*self._reservoir.drawn(self.texts), *extreme]
        explaining = (
            surprisals(seen, self.metrics),
            aspects(seen, self.metrics),
            parsed_texts(seen, self.metrics),
            tree_drawings(extreme, self.metrics),
        )
        view = lower.TextView(self.metrics, shown, named, *explaining)
        bars = self._aspects.section(alone=not named)
        upper = (
            sections.header(title, inputs, summary, shown, rows=self._position, rejected=rejected)
            + page.navigation({place: name for place, name in _SECTIONS.items() if bars or place != "aspects"})
            + "<main>"
            + sections.systems(shown, alone=not named)
            + bars
            + sections.distributions(shown, alone=not named)
        )
        labels = lower.label_rules(view.labels())

        def render(limit: int, count: int) -> str:
            drawn = self._reservoir.drawn(count)
            best_and_worst = lower.Extremes(view, {kept.position for kept in drawn}, limit).section(ends)
            table = lower.texts(view, drawn, self._position, summary.systems, limit)
            body = f"{upper}{best_and_worst}{table}</main>"
            return page.document(title, body, style=page.text_style(len(view.labels()), labels))

        most = int(page.BYTES * max(1.0, self.texts / 1000))
        return page.fitted(render, min(self.texts, self._position), most)

    def _ends(self, place: int) -> tuple[list[Kept], list[Kept]]:
        """The best and worst texts of a metric; where texts are few, no text is in both lists."""
        best, worst = self._best[place].rows(), self._worst[place].rows()
        half = (self._scored[place] + 1) // 2
        best = best[:half]
        first = {kept.position for kept in best}
        return best, [kept for kept in worst if kept.position not in first]
