"""How a correlation grows with the number of references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from celadon.meta.study import ReferencesRow
from celadon.report.plots.style import COLOURS, MARKERS, SOFT, drawing, finished, name, one_axes, say_nothing_here

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reference_curves(rows: Sequence[ReferencesRow], *, title: str = "") -> Figure:
    """Draw each metric's correlation against the number of references it is given, with one standard deviation.

    Parameters
    ----------
    rows
        Of one rating. The six metrics that end highest are coloured and named, others are grey.
    title
        Above the plot.
    """
    curves: dict[str, list[ReferencesRow]] = {}
    for row in sorted(rows, key=lambda row: row.references):
        curves.setdefault(row.metric, []).append(row)
    ordered = sorted(curves.items(), key=lambda item: -item[1][-1].value)
    with drawing():
        figure, axes = one_axes(5.4, 3.4, title)
        if not ordered:
            say_nothing_here(axes, "no metric was given fewer references")
            return finished(figure)
        for place, (metric, points) in enumerate(ordered):
            named = place < len(COLOURS)
            drawn = axes.errorbar(
                [point.references for point in points],
                [point.value for point in points],
                yerr=[point.sd if point.sd == point.sd else 0.0 for point in points],
                color=COLOURS[place] if named else SOFT,
                marker=MARKERS[place] if named else "",
                markersize=4.5,
                linewidth=1.5 if named else 0.7,
                capsize=2,
                label=name(metric) if named else None,
                zorder=3 if named else 1,
            )
            drawn[0].set_gid("curve")
        axes.set_xticks(sorted({row.references for row in rows}))
        axes.set_xlabel("references")
        axes.set_ylabel(f"correlation with {name(rows[0].human)}")
        axes.grid(True)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        return finished(figure)
