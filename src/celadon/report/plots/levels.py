"""How a metric's values are spread at each level of a rating."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from celadon.meta.study import LevelRow
from celadon.report.plots.style import BLUE, SOFT, VERMILION, drawing, finished, name, new_figure, say_nothing_here

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 3


def level_boxes(rows: Sequence[LevelRow], *, title: str = "") -> Figure:
    """Draw boxes of quartiles with whiskers to the ends and a diamond at the mean, one small plot per metric.

    Parameters
    ----------
    rows
        Of one rating, its levels in order.
    title
        Above the plots.
    """
    metrics: dict[str, list[LevelRow]] = {}
    for row in rows:
        metrics.setdefault(row.metric, []).append(row)
    across = min(_ACROSS, max(len(metrics), 1))
    down = math.ceil(max(len(metrics), 1) / across)
    with drawing():
        figure = new_figure(max(2.45 * across, 3.4), 2.05 * down + 0.35)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        if not metrics:
            say_nothing_here(figure.add_subplot(), "no levels")
        else:
            figure.supxlabel(f"level of {name(rows[0].human)}, below it the number of rows", fontsize=8, color=SOFT)
        for place, (metric, levels) in enumerate(metrics.items(), start=1):
            axes = figure.add_subplot(down, across, place)
            axes.set_title(name(metric, 26), fontsize=8)
            _boxes(axes, levels)
        return finished(figure)


def _boxes(axes: Axes, levels: Sequence[LevelRow]) -> None:
    known = [(place, level) for place, level in enumerate(levels) if all(map(math.isfinite, level.quartiles))]
    stats: list[dict[str, Any]] = [
        {
            "med": level.quartiles[2],
            "q1": level.quartiles[1],
            "q3": level.quartiles[3],
            "whislo": level.quartiles[0],
            "whishi": level.quartiles[4],
            "mean": level.mean,
            "fliers": [],
        }
        for _, level in known
    ]
    drawn = axes.bxp(
        stats,
        positions=[place for place, _ in known],
        widths=0.6,
        showmeans=True,
        showfliers=False,
        showcaps=False,
        manage_ticks=False,
        boxprops={"color": BLUE, "linewidth": 1.1},
        whiskerprops={"color": BLUE, "linewidth": 1.1},
        medianprops={"color": BLUE, "linewidth": 2.2},
        meanprops={"marker": "D", "markersize": 3.2, "markerfacecolor": VERMILION, "markeredgewidth": 0},
    )
    for box in drawn["boxes"]:
        box.set_gid("box")
    labels = [f"{name(level.label, 9)}\n{level.count:,}" for level in levels]
    axes.set_xticks(range(len(levels)), labels, fontsize=7)
    axes.tick_params(axis="y", labelsize=7, labelcolor=SOFT)
    axes.set_xlim(-0.6, len(levels) - 0.4)
    axes.grid(True, axis="y")
