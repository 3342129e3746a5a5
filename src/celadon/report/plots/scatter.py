"""A metric against a rating, point by point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray
from celadon.report.plots.style import BLUE, SOFT, VERMILION, drawing, finished, name, one_axes, say_nothing_here

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_POINTS = 2_000


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

    Parameters
    ----------
    values, ratings
        One of each per row; rows where either is NaN are left out.
    metric, human
        The names of the axes.
    most
        Of more points than this so many are drawn at random, and the plot says so; the fit is to all.
    seed
        Of that draw.
    size
        Width and height in inches.
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
