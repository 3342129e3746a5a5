"""The plots of the meta-evaluation: each a function from plain data to a matplotlib figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray
from celadon.meta.study import AblationRow, CorrelationRow, LevelRow, ReferencesRow
from celadon.report.meta_choice import by_value, level_name
from celadon.report.meta_ladder import Rung
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
    new_figure,
    one_axes,
    say_nothing_here,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Not the colour of other words: a cell keeps its colour in the dark, and so must the number on it.
_ON_LIGHT, _ON_DARK = "#101010", "#fafafa"
_NUMBERED = 12
_ACROSS = 3
_MOVED = 3
MOST_POINTS = 2_000
_ALL_BUT = "all but "


def kept_words(without: str) -> str:
    """Say what an ablation left of a metric."""
    if not without:
        return "all parts"
    alone = without.removeprefix(_ALL_BUT)
    return f"without {without}" if alone == without else f"only {alone}"


def ablation_bars(rows: Sequence[AblationRow]) -> Figure:
    """Draw the correlation of one metric without some parts, a bar for each rating, with a tick for the whole."""
    parts = list(dict.fromkeys(row.without for row in rows))
    humans = list(dict.fromkeys(row.human for row in rows))[: len(COLOURS)]
    bars = _GroupedBars(0.17, 0.14, len(parts), len(humans))
    with drawing():
        figure, axes = one_axes(5.4, bars.height)
        if not rows:
            say_nothing_here(axes, "nothing was left out")
            return finished(figure)
        for turn, human in enumerate(humans):
            mine = [row for row in rows if row.human == human]
            places = bars.draw(
                axes, turn, [parts.index(row.without) for row in mine], [row.value for row in mine], name(human)
            )
            half = bars.thickness / 2
            whole = [row.value - row.change for row in mine]
            ends = [y - half for y in places], [y + half for y in places]
            axes.vlines(whole, *ends, color=INK, linewidth=1.2).set_gid("whole")
        label = f"correlation of {name(rows[0].metric, 24)} (the upright tick: with all parts)"
        bars.label(axes, [name(kept_words(part), 44) for part in parts], label, columns=3)
        return finished(figure)


def ladder_bars(rungs: Sequence[Rung]) -> Figure:
    """Draw for each rating one metric's correlations of grammaticality, and of that with ever more aspects."""
    humans = list(dict.fromkeys(rung.human for rung in rungs))
    stages = list(dict.fromkeys(rung.aspects for rung in rungs))
    bars = _GroupedBars(0.2, 0.18, len(humans), len(stages))
    with drawing():
        figure, axes = one_axes(5.4, bars.height)
        if not rungs:
            say_nothing_here(axes, "no metric with four aspects")
            return finished(figure)
        for turn, stage in enumerate(stages):
            mine = [rung for rung in rungs if rung.aspects == stage]
            groups, values = [humans.index(rung.human) for rung in mine], [rung.value for rung in mine]
            added = f"{mine[0].letters}: {'' if len(stage) == 1 else '+ '}{stage[-1]}"
            places = bars.draw(axes, turn, groups, values, added)
            known = [(place, rung) for place, rung in zip(places, mine, strict=True) if math.isfinite(rung.low)]
            ends = [rung.low for _, rung in known], [rung.high for _, rung in known]
            lines = axes.hlines([place for place, _ in known], *ends, color=INK, linewidth=1.1)
            lines.set_gid("intervals")
        label = f"{rungs[0].kind} correlation of {name(rungs[0].metric, 30)}"
        bars.label(axes, [name(human, 30) for human in humans], label, columns=2)
        return finished(figure)


class _GroupedBars(NamedTuple):
    """Horizontal bars in groups: how thick a bar and how wide a gap is, how many groups there are, and bars in each."""

    thickness: float
    gap: float
    groups: int
    turns: int

    @property
    def step(self) -> float:
        return self.thickness * self.turns + self.gap

    @property
    def height(self) -> float:
        return 1.2 + self.step * max(self.groups, 1)

    def draw(self, axes: Axes, turn: int, groups: Sequence[int], values: Sequence[float], label: str) -> list[float]:
        """Draw one bar of some groups, and return where they are."""
        places = [group * self.step + turn * self.thickness for group in groups]
        drawn = axes.barh(places, values, height=self.thickness * 0.86, color=COLOURS[turn])
        drawn.set_label(label)
        for bar in drawn.patches:
            bar.set_gid("bar")
        return places

    def label(self, axes: Axes, names: Sequence[str], label: str, columns: int) -> None:
        """Name the groups, the axis and the colors."""
        middle = self.thickness * (self.turns - 1) / 2
        axes.set_yticks([group * self.step + middle for group in range(self.groups)], names, fontsize=8)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.grid(True, axis="x")
        axes.set_xlabel(label)
        axes.legend(ncols=columns, loc="upper left", bbox_to_anchor=(0, -0.42 / (self.step * self.groups)))


def reference_curves(rows: Sequence[ReferencesRow]) -> Figure:
    """Draw each metric's correlation against its number of references, with one standard deviation; six are named."""
    curves: dict[str, list[ReferencesRow]] = {}
    for row in sorted(rows, key=lambda row: row.references):
        curves.setdefault(row.metric, []).append(row)
    ordered = sorted(curves.items(), key=lambda item: -item[1][-1].value)
    with drawing():
        figure, axes = one_axes(5.4, 3.4)
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


def forest(rows: Sequence[CorrelationRow], *, ceiling: float = math.nan) -> Figure:
    """Draw each metric's correlation with its 95% interval, the best above; the ceiling is an upright line."""
    ordered = sorted(rows, key=by_value)
    with drawing():
        figure, axes = one_axes(4.8, 1.15 + 0.21 * max(len(ordered), 1))
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


def heat_map(values: npt.ArrayLike, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Draw correlations from -1 (red) over 0 (white) to 1 (blue), with numbers up to twelve columns; NaN is empty."""
    matrix = np.asarray(values, float).reshape(len(rows), len(columns))
    numbered = len(columns) <= _NUMBERED
    cell = 0.52 if numbered else 0.22
    longest = max((len(name(row, 30)) for row in rows), default=0)
    width = max(3.6, 0.3 + 0.068 * longest + cell * len(columns))
    top = 0.45 + 0.055 * max((len(name(column, 24)) for column in columns), default=0)
    with drawing():
        figure = new_figure(width, top + 0.24 * len(rows) + 0.5)
        axes = figure.add_subplot()
        mesh = axes.pcolormesh(np.ma.masked_invalid(matrix), cmap="RdBu", vmin=-1, vmax=1, edgecolors="none")
        mesh.set_gid("cells")
        _name_sides(axes, rows, columns)
        if numbered:
            _write_numbers(axes, matrix)
        bar = figure.colorbar(mesh, ax=axes, location="bottom", shrink=0.6, aspect=30, ticks=[-1, -0.5, 0, 0.5, 1])
        bar.outline.set_visible(False)
        return finished(figure)


def _name_sides(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.set_yticks(np.arange(len(rows)) + 0.5, [name(row, 30) for row in rows], fontsize=8)
    axes.set_xticks(np.arange(len(columns)) + 0.5, [name(column, 24) for column in columns], fontsize=8)
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for label in axes.get_xticklabels():
        label.set(rotation=40, ha="left", rotation_mode="anchor")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _write_numbers(axes: Axes, matrix: npt.NDArray[np.float64]) -> None:
    for (row, column), value in np.ndenumerate(matrix):
        if np.isfinite(value):
            colour = _ON_DARK if abs(value) > 0.62 else _ON_LIGHT
            axes.text(column + 0.5, row + 0.5, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)


def level_boxes(rows: Sequence[LevelRow]) -> Figure:
    """Draw boxes of quartiles with whiskers to the ends and a diamond at the mean, one small plot per metric."""
    metrics: dict[str, list[LevelRow]] = {}
    for row in rows:
        metrics.setdefault(row.metric, []).append(row)
    across = min(_ACROSS, max(len(metrics), 1))
    down = math.ceil(max(len(metrics), 1) / across)
    with drawing():
        figure = new_figure(max(2.45 * across, 3.4), 2.05 * down + 0.35)
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


def rank_agreement(people: Mapping[str, float], metrics: Mapping[str, Mapping[str, float]], *, human: str) -> Figure:
    """Draw the systems' ranks by people and by each metric as a slope chart; crossing lines are disagreements.

    A system that one metric lacks is left out; more is better.
    """
    columns = [people, *metrics.values()]
    systems = [system for system in people if all(math.isfinite(column.get(system, math.nan)) for column in columns)]
    with drawing():
        figure, axes = one_axes(max(3.8, 2.6 + 1.05 * len(metrics)), 1.1 + 0.2 * max(len(systems), 3))
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
    ranks = {}
    for system in systems:
        above = sum(means[other] > means[system] for other in systems)
        same = sum(means[other] == means[system] for other in systems)
        ranks[system] = above + (same + 1) / 2
    return ranks


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


def scatter(
    values: npt.ArrayLike,
    ratings: npt.ArrayLike,
    *,
    metric: str,
    human: str,
    most: int = MOST_POINTS,
    seed: int = 0,
    size: tuple[float, float] = (4.2, 3.4),
) -> Figure:
    """Draw a metric against a rating with the linear fit and its 95% confidence band.

    Rows where either is NaN are left out. Of more than ``most`` points so many are drawn at random, and the plot says
    so; the fit is to all.
    """
    x, y = np.asarray(values, float), np.asarray(ratings, float)
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    with drawing():
        figure, axes = one_axes(*size)
        axes.set_xlabel(name(metric))
        axes.set_ylabel(name(human))
        if not len(x):
            say_nothing_here(axes, "no row has both a score and a rating")
            return finished(figure)
        drawn = _drawn(len(x), most, seed)
        points = axes.scatter(x[drawn], y[drawn], s=9, color=BLUE, alpha=0.35, linewidths=0)
        points.set_gid("points")
        _fit(axes, x, y)
        many = f"{len(x):,} rows" if len(drawn) == len(x) else f"{len(drawn):,} of {len(x):,} rows, drawn at random"
        axes.set_title(many, fontsize=8, fontweight="normal", color=SOFT)
        axes.grid(True)
        return finished(figure)


def _drawn(rows: int, most: int, seed: int) -> npt.NDArray[np.int64]:
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def _fit(axes: Axes, x: FloatArray, y: FloatArray) -> None:
    """Draw the least-squares line with the confidence band of its height, where there is one."""
    from scipy.stats import t

    spread = float(((x - x.mean()) ** 2).sum())
    if len(x) < 3 or spread <= 0:
        return
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    places = np.linspace(x.min(), x.max(), 40)
    heights = y.mean() + slope * (places - x.mean())
    left = y - y.mean() - slope * (x - x.mean())
    noise = float((left**2).sum()) / (len(x) - 2)
    half = float(t.ppf(0.975, len(x) - 2)) * np.sqrt(noise * (1 / len(x) + (places - x.mean()) ** 2 / spread))
    band = axes.fill_between(places, heights - half, heights + half, color=VERMILION, alpha=0.25, linewidth=0)
    band.set_gid("band")
    (line,) = axes.plot(places[[0, -1]], heights[[0, -1]], color=VERMILION, linewidth=1.6)
    line.set_gid("fit")
