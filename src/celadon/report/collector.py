"""Takes a stream of scores and gives the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import numpy as np

from celadon.core import Direction, Metric, MetricScores, Need, Sample
from celadon.report import charts, page
from celadon.report.columns import Column, columns, system_name
from celadon.report.explained import aspects_of, evidence_of, explaining
from celadon.report.html import markup, render
from celadon.report.keep import Kept, Lowest, Reservoir
from celadon.report.texts import SCALES, TextView
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

    It lists ``texts`` texts, drawn at random from a longer stream, and shows ``extremes`` of the best and of the worst
    per metric. The same seed draws the same rows, however the stream is cut into batches. The page has at most
    ``most_bytes``, by default two megabytes for each thousand texts: long texts are shown in part, then fewer of them.
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        *,
        texts: int = 1000,
        extremes: int = 10,
        seed: int = DEFAULT_SEED,
        most_bytes: int | None = None,
    ) -> None:
        self.metrics = tuple(metrics)
        self.texts = texts
        self.most_bytes = int(page.BYTES * max(1.0, texts / 1000)) if most_bytes is None else most_bytes
        self._position = 0
        self._scored = [0] * len(self.metrics)
        self._reservoir = Reservoir(texts, seed)
        self._best = [Lowest(extremes) for _ in self.metrics]
        self._worst = [Lowest(extremes) for _ in self.metrics]
        self._explained = aspects_of(self.metrics)
        self._keeps_source = any(Need.SOURCE in metric.info.needs for metric in explaining(self.metrics).values())
        self._aspects = charts.AspectMeans(self.metrics, seed=seed)

    def add(self, samples: Sequence[Sample], scores: Mapping[str, MetricScores]) -> None:
        """Take the scores of the next samples of the stream, by the spec of their metric."""
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
                aspects=tuple(aspect.value(scores, row) for aspect in self._explained),
                trees=sample.trees,
                source=sample.source if self._keeps_source else None,
                markup=sample.markup,
                language=sample.language,
            )

        return keep

    def html(self, summary: Summary, *, title: str, inputs: Sequence[str], rejected: int = 0) -> str:
        """Return the report as one HTML file that needs nothing else; the same for the same stream."""
        headings = columns(self.metrics, summary)
        named = any(system is not None for system in summary.systems)
        ends = [self._ends(place) for place in range(len(self.metrics))]
        extreme = [kept for end in ends for texts in end for kept in texts]
        evidence = evidence_of(self._reservoir.drawn(self.texts), extreme, self.metrics)
        view = TextView(self.metrics, headings, self._explained, evidence)
        aspects = self._aspects.drawn()
        css = page.text_style(["Text", *(["System"] if named else []), *(column.spec for column in headings)])
        facts = [
            ("Texts scored", f"{self._position:,}"),
            ("Systems", f"{sum(system is not None for system in summary.systems):,}"),
            ("Metrics", f"{len(headings):,}"),
            ("Null scores", f"{sum(row.nulls for row in summary.rows):,}"),
            ("Rows rejected", f"{rejected:,}"),
        ]
        data = {
            "columns": headings,
            "named": named,
            "system": partial(system_name, alone=not named),
            "systems": summary.systems,
            "extremes": [
                _range(column, place, *end) for place, (column, end) in enumerate(zip(headings, ends, strict=True))
            ],
            "extremes_legend": view.legend(extreme),
            "scales": SCALES,
            "view": view,
        }
        upper = {
            "inputs": inputs,
            "summary": summary,
            "facts": facts,
            "places": {place: name for place, name in _SECTIONS.items() if aspects or place != "aspects"},
            "cards": [charts.card(column) for column in headings],
            "undrawn_systems": max((len(column.rows) for column in headings), default=0) - charts.SYSTEMS_DRAWN,
            "drawn": charts.SYSTEMS_DRAWN,
            "aspects": aspects,
            "distributions": [charts.distribution(column) for column in headings],
        }

        def rendered(limit: int, count: int) -> str:
            drawn = self._reservoir.drawn(count)
            listed = {kept.position for kept in drawn}
            texts = render(
                "texts.html", drawn=drawn, listed=listed, limit=limit, many=self._many(len(drawn)),
                texts_legend=view.legend(drawn), **data
            )  # fmt: skip
            return page.document("report.html", title=title, css=css, texts=markup(texts), **{**data, **upper})

        return page.fitted(rendered, min(self.texts, self._position), self.most_bytes)

    def _many(self, drawn: int) -> str:
        if drawn < self._position:
            return f"{drawn:,} of {self._position:,} texts, drawn at random"
        return f"All {drawn:,} texts" if drawn != 1 else "The one text"

    def _ends(self, place: int) -> tuple[list[Kept], list[Kept]]:
        """The best and worst texts of a metric; where texts are few, no text is in both lists."""
        best, worst = self._best[place].rows(), self._worst[place].rows()
        half = (self._scored[place] + 1) // 2
        best = best[:half]
        first = {kept.position for kept in best}
        return best, [kept for kept in worst if kept.position not in first]


def _range(
    column: Column, place: int, best: Sequence[Kept], worst: Sequence[Kept]
) -> tuple[Column, str, list[tuple[str, Sequence[Kept]]]]:
    """The best and worst texts of a metric, and their values in words."""
    lists = [(name, texts) for name, texts in (("Best", best), ("Worst", worst)) if texts]
    values = [column.number(texts[0].values[place]) for _, texts in lists]
    return column, ("no scores", "{} for every text", "best {}, worst {}")[len(values)].format(*values), lists
