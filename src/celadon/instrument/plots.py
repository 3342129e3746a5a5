"""The pictures of an instrument: each a function from figures to a matplotlib figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from celadon.instrument.figures import Genre, Instrument, Length
from celadon.report.plots.style import (
    BLUE,
    COLOURS,
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# narrow, so that words can be read on a phone
_WIDTH = 4.4
_ROW = 0.21
# above which share of sound passages a stretch of the scale is shaded how deeply
_SHADES = {"0.03": 0.14, "0.1": 0.3, "0.25": 0.48, "0.5": 0.7, "0.75": 1.0}
_NAME = 28


class Dots(NamedTuple):
    """Values in rows, with intervals where they are known."""

    values: Sequence[float]
    lows: Sequence[float] = ()
    highs: Sequence[float] = ()


def scale_bands(figures: Instrument) -> Figure:
    """Draw what a score means: a band per genre, the deeper the more of its sound passages lie below the score."""
    genres = figures.genres
    with drawing():
        figure, axes = one_axes(_WIDTH, 1.5 + _ROW * max(len(genres), 1))
        if not genres:
            say_nothing_here(axes, "no passage has a score")
            return finished(figure)
        ends = [float(score) for score in genres[0].below]
        low, high = min(ends), max(ends)
        for level, (share, shade) in enumerate(_SHADES.items()):
            for place, genre in enumerate(genres):
                left, right = _stretch(genre, level, high)
                (bar,) = axes.barh(place, right - left, left=left, height=0.72, color=BLUE, alpha=shade, linewidth=0)
                bar.set_gid("band")
                if not place:
                    bar.set_label(f"{float(share):.0%} or more")
        _label_rows(axes, [f"{genre.genre}{'' if genre.counted else ' (spoken)'}" for genre in genres])
        axes.set_xlim(low, high)
        _upright(axes, figures.gate, f"gate {figures.gate:.2f}", VERMILION)
        axes.set_xlabel(f"score of {name(figures.metric, 30)}")
        figure.legend(
            *axes.get_legend_handles_labels(),
            ncols=3,
            loc="outside lower left",
            title="sound passages below the score",
            title_fontsize=8,
            alignment="left",
        )
        return finished(figure)


def _stretch(genre: Genre, level: int, high: float) -> tuple[float, float]:
    """Return where the shade of a level begins and ends."""
    starts = [genre.quantiles[share] for share in _SHADES]
    return starts[level], starts[level + 1] if level + 1 < len(starts) else high


def dot_rows(
    names: Sequence[str],
    series: Mapping[str, Dots],
    *,
    label: str,
    line: float = math.nan,
    line_label: str = "",
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw values in rows as dots, with their intervals; an upright line is what they are compared with."""
    with drawing():
        figure, axes = one_axes(_WIDTH, 1.15 + _ROW * max(len(names), 1))
        for turn, (title, dots) in enumerate(series.items()):
            rows = zip(range(len(names)), dots.lows, dots.highs, strict=False)
            bounded = [row for row in rows if math.isfinite(row[1]) and math.isfinite(row[2])]
            if bounded:
                places, lows, highs = zip(*bounded, strict=True)
                axes.hlines(places, lows, highs, color=COLOURS[turn], linewidth=1.6).set_gid("intervals")
            known = [(place, value) for place, value in enumerate(dots.values) if math.isfinite(value)]
            marks = axes.scatter(
                [value for _, value in known],
                [place for place, _ in known],
                s=20,
                color=COLOURS[turn],
                marker=MARKERS[turn],
                linewidths=0,
                label=title,
            )
            marks.set_gid("values")
        _label_rows(axes, names)
        if limits:
            axes.set_xlim(*limits)
        _upright(axes, line, line_label, SOFT)
        axes.set_xlabel(label)
        if len(series) > 1:
            figure.legend(*axes.get_legend_handles_labels(), ncols=2, loc="outside lower left")
        return finished(figure)


def length_curve(lengths: Sequence[Length], metric: str) -> Figure:
    """Draw the median and the middle half of the scores of sound passages against their length."""
    with drawing():
        figure, axes = one_axes(_WIDTH, 3)
        if not lengths:
            say_nothing_here(axes, "no passage has a score")
            return finished(figure)
        words = [(each.shortest + each.longest) / 2 for each in lengths]
        lower, upper = [each.lower for each in lengths], [each.upper for each in lengths]
        axes.fill_between(words, lower, upper, color=BLUE, alpha=0.25, linewidth=0).set_gid("band")
        (curve,) = axes.plot(
            words, [each.median for each in lengths], color=BLUE, linewidth=1.6, marker="o", markersize=4
        )
        curve.set_gid("curve")
        low, high = axes.get_ylim()
        if min(lower) >= 0 and max(upper) <= 1:
            low, high = 0.0, 1.0
        axes.set_ylim(low, high)
        axes.set_xlim(left=0)
        axes.grid(True)
        axes.set_xlabel("words of the passage")
        axes.set_ylabel(f"score of {name(metric, 24)}")
        return finished(figure)


def _label_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [name(each, _NAME) for each in names], fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="x")


def _upright(axes: Axes, place: float, label: str, color: str) -> None:
    if math.isfinite(place):
        axes.axvline(place, color=color, linewidth=1.4, linestyle=(0, (5, 2))).set_gid("gate")
        axes.annotate(
            label,
            (place, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=SOFT,
        )
