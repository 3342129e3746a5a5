"""Intervals of correlations under each other, best first, with the human ceiling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from celadon.meta.study import CorrelationRow
from celadon.report.meta_choice import by_value, level_name
from celadon.report.plots.style import BLUE, SOFT, VERMILION, drawing, finished, name, one_axes, say_nothing_here

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def forest(rows: Sequence[CorrelationRow], *, ceiling: float = math.nan, title: str = "") -> Figure:
    """Draw each metric's correlation with its 95% interval, the best above.

    Parameters
    ----------
    rows
        Of one rating, level and kind; those without a value come last and say so.
    ceiling
        What a perfect metric could reach, drawn as an upright line; NaN where not known.
    title
        Above the plot.
    """
    ordered = sorted(rows, key=by_value)
    with drawing():
        figure, axes = one_axes(4.8, 1.15 + 0.21 * max(len(ordered), 1), title)
        if not ordered:
            say_nothing_here(axes, "no correlations")
            return finished(figure)
        _intervals(axes, ordered)
        places = range(len(ordered))
        axes.set_yticks(list(places), [name(row.metric, 30) for row in ordered], fontsize=8)
        axes.set_ylim(len(ordered) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(True, axis="x")
        if math.isfinite(ceiling):
            line = axes.axvline(ceiling, color=VERMILION, linewidth=1.4, linestyle=(0, (5, 2)))
            line.set_gid("ceiling")
            axes.annotate(
                f"human ceiling {ceiling:.2f}",
                (ceiling, 1),
                xycoords=("data", "axes fraction"),
                xytext=(-4, 2),
                textcoords="offset points",
                ha="right",
                fontsize=8,
                color=VERMILION,
            )
        row = ordered[0]
        # under the whole figure, where there is more room than under the axes
        figure.supxlabel(f"{row.kind} correlation with {name(row.human, 26)}, {level_name(row.level)}", fontsize=9)
        return finished(figure)


def _intervals(axes: Axes, ordered: Sequence[CorrelationRow]) -> None:
    bounded = [(place, row) for place, row in enumerate(ordered) if math.isfinite(row.low) and math.isfinite(row.high)]
    lines = axes.hlines(
        [place for place, _ in bounded],
        [row.low for _, row in bounded],
        [row.high for _, row in bounded],
        color=BLUE,
        linewidth=1.6,
    )
    lines.set_gid("intervals")
    known = [(place, row.value) for place, row in enumerate(ordered) if math.isfinite(row.value)]
    dots = axes.scatter([value for _, value in known], [place for place, _ in known], s=20, color=BLUE, linewidths=0)
    dots.set_gid("values")
    # a row without a value has no place on the axis; its reason stands where the axis begins
    for place, row in enumerate(ordered):
        if not math.isfinite(row.value):
            axes.annotate(
                name(row.reason or "no value", 48),
                (0, place),
                xycoords=("axes fraction", "data"),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color=SOFT,
            )
