"""The plots a study calls for, each drawn when it is asked for, and as files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from celadon.core import UsageError
from celadon.io.atomic import output_errors, write_atomically
from celadon.meta.study import Study
from celadon.report import meta_choice as choice
from celadon.report.meta_ladder import Rung, by_metric, ladder
from celadon.report.plots.figures import (
    MOST_POINTS,
    ablation_bars,
    forest,
    heat_map,
    ladder_bars,
    level_boxes,
    rank_agreement,
    reference_curves,
    scatter,
)
from celadon.report.plots.style import png_bytes, require_matplotlib, svg_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCATTERS = 6
RANKED = 3
BOXED = 9
_MAKERS = {"svg": svg_bytes, "png": png_bytes}
_NAME_LIMIT = 60


class Plot(NamedTuple):
    """A plot not drawn yet: what kind, of what rating and metric, in words, and how to draw it."""

    kind: str
    human: str
    metric: str
    label: str
    draw: Callable[[], Figure]


def against_ratings(study: Study) -> Iterator[Plot]:
    """A heat map of metrics against ratings."""
    values, metrics, humans = choice.against_ratings(study)
    if metrics and humans:
        label = f"Heat map of the correlations of {len(metrics)} metrics with {len(humans)} ratings"
        yield Plot("correlations", "", "", label, partial(heat_map, values, metrics, humans))


def between_metrics(study: Study) -> Iterator[Plot]:
    """A heat map of metrics against each other."""
    matrix, names = choice.between_metrics(study)
    if len(names) > 1:
        label = f"Heat map of the correlations of {len(names)} metrics with each other"
        yield Plot("between-metrics", "", "", label, partial(heat_map, matrix, names, names))


def forests(study: Study) -> Iterator[Plot]:
    """One forest plot per rating."""
    for human in study.table.humans:
        rows = choice.main_rows(study, human)
        if rows:
            best = f"best {rows[0].metric}, {rows[0].value:.3f}"
            label = f"Forest plot of {len(rows)} metrics' correlations with {human}; {best}"
            top = choice.ceiling(study, human)
            yield Plot("forest", human, "", label, partial(forest, rows, ceiling=top))


def scatters(study: Study, per_human: int = SCATTERS, most: int = MOST_POINTS) -> Iterator[Plot]:
    """The best metrics of each rating against it."""
    for human in study.table.humans:
        for row in choice.main_rows(study, human)[:per_human]:
            if math.isfinite(row.value):
                label = f"Scatter plot of {row.metric} against {human}, {row.kind} correlation {row.value:.3f}"
                draw = partial(
                    scatter,
                    study.column(row.metric),
                    study.column(human),
                    metric=row.metric,
                    human=human,
                    most=most,
                    seed=study.seed,
                )
                yield Plot("scatter", human, row.metric, label, draw)


def ranks(study: Study) -> Iterator[Plot]:
    """The systems by people and by the best metrics, one plot per rating."""
    for human in study.table.humans:
        people = choice.system_means(study, human)
        metrics = choice.best_metrics(study, human, RANKED)
        if len(people) > 1 and metrics:
            means = {metric: choice.system_means(study, metric) for metric in metrics}
            label = f"{len(people)} systems ranked by {human} and by {', '.join(metrics)}"
            yield Plot("ranks", human, "", label, partial(rank_agreement, people, means, human=human))


def boxes(study: Study) -> Iterator[Plot]:
    """The distributions of the best metrics at each level of each rating."""
    for human in study.table.humans:
        rows = [row for row in study.levels if row.human == human]
        best = choice.best_of(study, human, [row.metric for row in rows])[:BOXED]
        kept = [row for metric in best for row in rows if row.metric == metric]
        if kept:
            label = f"Box plots of {', '.join(best)} at each level of {human}"
            yield Plot("levels", human, "", label, partial(level_boxes, kept))


def ablations(study: Study) -> Iterator[Plot]:
    """One plot per metric that was taken apart."""
    for metric in dict.fromkeys(row.metric for row in study.ablations):
        rows = [row for row in study.ablations if row.metric == metric]
        label = f"Correlations of {metric} without some of its parts"
        yield Plot("ablation", "", metric, label, partial(ablation_bars, rows))


def ladders(rungs: Sequence[Rung]) -> Iterator[Plot]:
    """One plot per metric that was built up from its aspects."""
    for metric, mine in by_metric(rungs).items():
        label = f"Correlations of {metric} with grammaticality alone, and with ever more aspects"
        yield Plot("aspects", "", metric, label, partial(ladder_bars, mine))


def curves(study: Study) -> Iterator[Plot]:
    """One plot of reference numbers per rating."""
    for human in dict.fromkeys(row.human for row in study.references):
        rows = [row for row in study.references if row.human == human]
        label = f"Correlations with {human} against the number of references"
        yield Plot("references", human, "", label, partial(reference_curves, rows))


def all_plots(study: Study) -> Iterator[Plot]:
    """Every plot the study calls for."""
    for plots_of in (against_ratings, between_metrics, forests, scatters, ranks, boxes, ablations):
        yield from plots_of(study)
    yield from ladders(ladder(study))
    yield from curves(study)


def save_plots(study: Study, folder: str | Path, formats: Sequence[str] = ("svg", "png")) -> tuple[Path, ...]:
    """Draw everything the study calls for into a folder, replacing files of the same name; return the paths."""
    require_matplotlib()
    for kind in formats:
        if kind not in _MAKERS:
            raise UsageError(f"{kind!r} is not a format of plots; choose svg or png")
    target = Path(folder)
    with output_errors(str(target)):
        target.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    taken: set[str] = set()
    for plot in all_plots(study):
        stem = _stem(plot, taken)
        figure = plot.draw()
        for kind in formats:
            path = target / f"{stem}.{kind}"
            content = _MAKERS[kind](figure)
            with write_atomically(str(path)) as file:
                file.write(content)
            written.append(path)
    return tuple(written)


def _stem(plot: Plot, taken: set[str]) -> str:
    """Name a file after its plot, in characters that every file system has; no name twice."""
    parts = (re.sub(r"[^A-Za-z0-9_.]+", "-", part).strip("-.") for part in (plot.kind, plot.human, plot.metric))
    plain = "-".join(part for part in parts if part)[:_NAME_LIMIT]
    stem, turn = plain, 1
    while stem.lower() in taken:
        turn += 1
        stem = f"{plain}-{turn}"
    taken.add(stem.lower())
    return stem
