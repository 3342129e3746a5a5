"""How a metric ranks the systems beside how people do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from celadon.report.plots.style import BLUE, SOFT, VERMILION, drawing, finished, name, one_axes, say_nothing_here

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOVED = 3


def rank_agreement(
    people: Mapping[str, float], metrics: Mapping[str, Mapping[str, float]], *, human: str, title: str = ""
) -> Figure:
    """Draw the systems' ranks by people and by each metric as a slope chart; crossing lines are disagreements.

    Parameters
    ----------
    people
        Each system's mean rating, more being better.
    metrics
        Each metric's mean score of each system, more being better. A system that one of them lacks is left out.
    human
        The rating's name.
    title
        Above the plot.
    """
    columns = [people, *metrics.values()]
    systems = [system for system in people if all(math.isfinite(column.get(system, math.nan)) for column in columns)]
    with drawing():
        figure, axes = one_axes(max(3.8, 2.6 + 1.05 * len(metrics)), 1.1 + 0.2 * max(len(systems), 3), title)
        if len(systems) < 2:
            say_nothing_here(axes, "fewer than two systems have both scores and ratings")
            return finished(figure)
        ranks = [_ranks(column, systems) for column in columns]
        for system in systems:
            _slope(axes, system, [rank[system] for rank in ranks])
        axes.set_xticks(range(len(columns)), [name(human, 18), *(name(metric, 18) for metric in metrics)], fontsize=8)
        axes.xaxis.tick_top()
        axes.set_yticks([])
        axes.tick_params(length=0)
        axes.set_xlim(-0.1, len(columns) - 1 + 0.1)
        axes.set_ylim(len(systems) + 0.6, 0.4)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_xlabel(
            f"best above; squares: {_MOVED} places or more from where people put it", fontsize=8, color=SOFT
        )
        return finished(figure)


def _ranks(means: Mapping[str, float], systems: Sequence[str]) -> dict[str, float]:
    """Rank from 1, the best; systems that tie share the middle of their places."""
    found = {}
    for system in systems:
        above = sum(means[other] > means[system] for other in systems)
        same = sum(means[other] == means[system] for other in systems)
        found[system] = above + (same + 1) / 2
    return found


def _slope(axes: Axes, system: str, ranks: Sequence[float]) -> None:
    far = any(abs(rank - ranks[0]) >= _MOVED for rank in ranks[1:])
    colour, marker = (VERMILION, "s") if far else (BLUE, "o")
    (line,) = axes.plot(range(len(ranks)), ranks, color=colour, linewidth=1.4, marker=marker, markersize=4)
    line.set_gid("system")
    for place, offset, side in ((0, -7, "right"), (len(ranks) - 1, 7, "left")):
        axes.annotate(
            name(system, 22),
            (place, ranks[place]),
            xytext=(offset, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=8,
            annotation_clip=False,
        )
