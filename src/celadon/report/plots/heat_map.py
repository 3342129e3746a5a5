"""A matrix of correlations in colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from celadon.report.plots.style import drawing, finished, name, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Not the colour of other words: a cell keeps its colour in the dark, and so must the number on it.
_ON_LIGHT, _ON_DARK = "#101010", "#fafafa"
_NUMBERED = 12


def heat_map(values: npt.ArrayLike, rows: Sequence[str], columns: Sequence[str], *, title: str = "") -> Figure:
    """Draw correlations from -1 (red) over 0 (white) to 1 (blue); a NaN is left empty.

    Parameters
    ----------
    values
        Rows by columns. With up to twelve columns each cell also shows its number.
    rows, columns
        Their names.
    title
        Above the plot.
    """
    matrix = np.asarray(values, float).reshape(len(rows), len(columns))
    numbered = len(columns) <= _NUMBERED
    cell = 0.52 if numbered else 0.22
    longest = max((len(name(row, 30)) for row in rows), default=0)
    width = max(3.6, 0.3 + 0.068 * longest + cell * len(columns))
    top = 0.45 + 0.055 * max((len(name(column, 24)) for column in columns), default=0)
    with drawing():
        figure = new_figure(width, top + 0.24 * len(rows) + 0.5)
        axes = figure.add_subplot()
        if title:
            figure.suptitle(title, x=0.02, ha="left", fontsize=10, fontweight="bold")
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
