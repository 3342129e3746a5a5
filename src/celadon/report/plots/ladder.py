"""A metric built up from its aspects, and how well each stage agrees with people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from celadon.report.meta_ladder import Rung
from celadon.report.plots.style import COLOURS, INK, drawing, finished, name, one_axes, say_nothing_here

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BAR = 0.2


def stage_words(rung: Rung) -> str:
    """Say what a stage is made of: its letters in the paper, and what it adds."""
    return f"{rung.letters}: {'' if len(rung.aspects) == 1 else '+ '}{rung.aspects[-1]}"


def ladder_bars(rungs: Sequence[Rung], *, title: str = "") -> Figure:
    """Draw for each rating the correlations of grammaticality, and of that with ever more aspects.

    Parameters
    ----------
    rungs
        Of one metric; intervals are drawn where they are known.
    title
        Above the plot.
    """
    humans = list(dict.fromkeys(rung.human for rung in rungs))
    stages = list(dict.fromkeys(rung.aspects for rung in rungs))
    group = _BAR * len(stages) + 0.18
    with drawing():
        figure, axes = one_axes(5.4, 1.2 + group * max(len(humans), 1), title)
        if not rungs:
            say_nothing_here(axes, "no metric with four aspects")
            return finished(figure)
        for turn, stage in enumerate(stages):
            mine = [rung for rung in rungs if rung.aspects == stage]
            places = [humans.index(rung.human) * group + turn * _BAR for rung in mine]
            drawn = axes.barh(places, [rung.value for rung in mine], height=_BAR * 0.86, color=COLOURS[turn])
            drawn.set_label(stage_words(mine[0]))
            for bar in drawn.patches:
                bar.set_gid("bar")
            known = [(place, rung) for place, rung in zip(places, mine, strict=True) if math.isfinite(rung.low)]
            axes.hlines(
                [place for place, _ in known],
                [rung.low for _, rung in known],
                [rung.high for _, rung in known],
                color=INK,
                linewidth=1.1,
            ).set_gid("intervals")
        middle = _BAR * (len(stages) - 1) / 2
        axes.set_yticks([at * group + middle for at in range(len(humans))], [name(h, 30) for h in humans], fontsize=8)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.grid(True, axis="x")
        axes.set_xlabel(f"{rungs[0].kind} correlation of {name(rungs[0].metric, 30)}")
        axes.legend(ncols=2, loc="upper left", bbox_to_anchor=(0, -0.42 / (group * len(humans))))
        return finished(figure)
