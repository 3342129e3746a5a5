"""The plots of a study as files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from celadon.core import UsageError
from celadon.io.atomic import output_errors, write_atomically
from celadon.meta.study import Study
from celadon.report.plots.style import png_bytes, require_matplotlib, svg_bytes

if TYPE_CHECKING:
    from celadon.report.plots.of_study import Plot

_MAKERS = {"svg": svg_bytes, "png": png_bytes}
_NAME_LIMIT = 60


def save_plots(study: Study, folder: str | Path, formats: Sequence[str] = ("svg", "png")) -> tuple[Path, ...]:
    """Draw everything the study calls for into a folder, which is made where it is missing.

    Parameters
    ----------
    study
        The results; scatter plots are drawn for the six best metrics of each rating.
    folder
        Where the files go; those of the same name are replaced.
    formats
        ``svg``, ``png`` or both.

    Returns
    -------
    tuple of Path
        The files, in the order they were drawn.
    """
    from celadon.report.plots.of_study import all_plots

    require_matplotlib()
    for kind in formats:
        if kind not in _MAKERS:
            raise UsageError(f"{kind!r} is not a format of plots; choose svg or png")
    target = Path(folder)
    with output_errors(str(target)):
        target.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    taken: set[str] = set()
    for plot in all_plots(study):
        stem = _stem(plot, taken)
        figure = plot.draw()
        for kind in formats:
            path = target / f"{stem}.{kind}"
            _write(path, _MAKERS[kind](figure))
            written.append(path)
    return tuple(written)


def _stem(plot: Plot, taken: set[str]) -> str:
    """Name a file after its plot, in characters that every file system has; no name twice."""
    parts = (re.sub(r"[^A-Za-z0-9_.]+", "-", part).strip("-.") for part in (plot.kind, plot.human, plot.metric))
    plain = "-".join(part for part in parts if part)[:_NAME_LIMIT]
    stem, turn = plain, 1
    while stem.lower() in taken:
        turn += 1
        stem = f"{plain}-{turn}"
    taken.add(stem.lower())
    return stem


def _write(path: Path, content: bytes) -> None:
    with write_atomically(str(path)) as file:
        file.write(content)
