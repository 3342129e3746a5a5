"""What is lost when parts of a metric are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from celadon.meta.study import AblationRow
from celadon.report.plots.style import COLOURS, INK, drawing, finished, name, one_axes, say_nothing_here

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BAR = 0.17
_ALL_BUT = "all but "


def kept_words(without: str) -> str:
    """Say what an ablation left of a metric."""
    if not without:
        return "all parts"
    alone = without.removeprefix(_ALL_BUT)
    return f"without {without}" if alone == without else f"only {alone}"


def ablation_bars(rows: Sequence[AblationRow], *, title: str = "") -> Figure:
    """Draw the correlation of one metric without some of its parts, a bar for each rating.

    Parameters
    ----------
    rows
        Of one metric; a row that leaves nothing out is the whole metric, and a tick on the other bars.
    title
        Above the plot.
    """
    parts = list(dict.fromkeys(row.without for row in rows))
    humans = list(dict.fromkeys(row.human for row in rows))[: len(COLOURS)]
    group = _BAR * len(humans) + 0.14
    with drawing():
        figure, axes = one_axes(5.4, 1.2 + group * max(len(parts), 1), title)
        if not rows:
            say_nothing_here(axes, "nothing was left out")
            return finished(figure)
        for turn, human in enumerate(humans):
            mine = [row for row in rows if row.human == human]
            places = [parts.index(row.without) * group + turn * _BAR for row in mine]
            drawn = axes.barh(places, [row.value for row in mine], height=_BAR * 0.86, color=COLOURS[turn])
            drawn.set_label(name(human))
            for bar in drawn.patches:
                bar.set_gid("bar")
            whole = [row.value - row.change for row in mine]
            axes.vlines(
                whole, [y - _BAR / 2 for y in places], [y + _BAR / 2 for y in places], color=INK, linewidth=1.2
            ).set_gid("whole")
        middle = _BAR * (len(humans) - 1) / 2
        labels = [name(kept_words(part), 44) for part in parts]
        axes.set_yticks([place * group + middle for place in range(len(parts))], labels, fontsize=8)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.grid(True, axis="x")
        axes.set_xlabel(f"correlation of {name(rows[0].metric, 24)} (the upright tick: with all parts)")
        axes.legend(ncols=3, loc="upper left", bbox_to_anchor=(0, -0.42 / (group * len(parts))))
        return finished(figure)
