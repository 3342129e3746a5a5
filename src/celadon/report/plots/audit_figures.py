"""The plots of an audit: intervals side by side, curves, and how judge and people use the scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from celadon.core import FloatArray
from celadon.report.plots.style import (
    BLUE,
    COLOURS,
    INK,
    MARKERS,
    SOFT,
    VERMILION,
    drawing,
    finished,
    name,
    one_axes,
    say_nothing_here,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS = 20
_MOST_LEVELS = 12


class IntervalRow(NamedTuple):
    """A figure with its interval; ``beside`` is another figure to compare it with, NaN for none.

    ``marked`` draws it in the color of what stands out.
    """

    label: str
    value: float
    low: float
    high: float
    beside: float = math.nan
    marked: bool = False


def interval_plot(
    rows: Sequence[IntervalRow], *, axis: str, beside: str = "", reference: float | None = None, marked: str = ""
) -> Figure:
    """Draw figures with their intervals, one below the other; a diamond is the figure beside it."""
    known = [row for row in rows if math.isfinite(row.value)]
    with drawing():
        figure, axes = one_axes(5.4, 1.25 + 0.24 * max(len(known), 1))
        if not known:
            say_nothing_here(axes, "nothing can be told")
            return finished(figure)
        for shown, color, label in ((False, BLUE, ""), (True, VERMILION, marked)):
            mine = [(place, row) for place, row in enumerate(known) if row.marked is shown]
            bounded = [(place, row) for place, row in mine if math.isfinite(row.low) and math.isfinite(row.high)]
            places = [place for place, _ in bounded]
            ends = [row.low for _, row in bounded], [row.high for _, row in bounded]
            axes.hlines(places, *ends, color=color, linewidth=1.6).set_gid("intervals")
            values = [row.value for _, row in mine]
            dots = axes.scatter(values, [place for place, _ in mine], s=22, color=color, linewidths=0, zorder=3)
            dots.set_gid("values")
            if label and mine:
                dots.set_label(label)
        other = [(place, row.beside) for place, row in enumerate(known) if math.isfinite(row.beside)]
        if other:
            values, places = [value for _, value in other], [place for place, _ in other]
            drawn = axes.scatter(values, places, s=26, marker="D", facecolors="none", edgecolors=INK, zorder=4)
            drawn.set_label(name(beside, 50))
        if reference is not None:
            axes.axvline(reference, color=INK, linewidth=0.9)
        axes.set_yticks(range(len(known)), [name(row.label, 34) for row in known], fontsize=8)
        axes.set_ylim(len(known) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(True, axis="x")
        axes.set_xlabel(axis)
        if other or (marked and any(row.marked for row in known)):
            figure.legend(loc="outside lower center", ncols=2)
        return finished(figure)


def curve_plot(
    places: Sequence[float], curves: Mapping[str, Sequence[float]], *, x: str, y: str, logarithmic: bool = False
) -> Figure:
    """Draw a few curves over the same places."""
    with drawing():
        figure, axes = one_axes(5.0, 3.0)
        if not places:
            say_nothing_here(axes, "nothing can be told")
            return finished(figure)
        for turn, (label, values) in enumerate(curves.items()):
            (line,) = axes.plot(
                places, values, color=COLOURS[turn], marker=MARKERS[turn], markersize=4.5, linewidth=1.6, label=label
            )
            line.set_gid("curve")
        if logarithmic:
            axes.set_xscale("log")
            axes.minorticks_off()
        axes.set_xticks(list(places), [f"{place:g}" for place in places], fontsize=7)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.grid(True)
        axes.legend()
        return finished(figure)


def distribution_plot(columns: Mapping[str, FloatArray], *, axis: str) -> Figure:
    """Draw how often each value is given, side by side; many different values are put into bins."""
    known = {label: values[np.isfinite(values)] for label, values in columns.items()}
    with drawing():
        figure, axes = one_axes(5.0, 2.8)
        everything = np.concatenate(list(known.values())) if known else np.empty(0)
        if not len(everything):
            say_nothing_here(axes, "there are no values")
            return finished(figure)
        levels = np.unique(everything)
        binned = len(levels) > _MOST_LEVELS
        edges = np.linspace(levels[0], levels[-1], _BINS + 1) if binned else _edges(levels)
        middles = (edges[1:] + edges[:-1]) / 2 if binned else levels
        step = float(np.diff(middles).min()) if len(middles) > 1 else 1.0
        for turn, (label, values) in enumerate(known.items()):
            shares = np.histogram(values, edges)[0] / max(len(values), 1)
            width = 0.84 * step / len(known)
            bars = axes.bar(middles + (turn - (len(known) - 1) / 2) * width, shares, width, color=COLOURS[turn])
            bars.set_label(name(label))
            for bar in bars.patches:
                bar.set_gid("bar")
        axes.set_xlabel(axis)
        axes.set_ylabel("share", color=SOFT)
        axes.grid(True, axis="y")
        axes.legend()
        return finished(figure)


def _edges(levels: FloatArray) -> FloatArray:
    """Edges half way between the levels."""
    if len(levels) == 1:
        return np.array([levels[0] - 0.5, levels[0] + 0.5])
    middle = (levels[1:] + levels[:-1]) / 2
    return np.concatenate([[2 * levels[0] - middle[0]], middle, [2 * levels[-1] - middle[-1]]])
