"""The plots of the meta-evaluation: each a function from plain data to a matplotlib figure."""

from celadon.report.plots.figures import (
    ablation_bars,
    forest,
    heat_map,
    ladder_bars,
    level_boxes,
    rank_agreement,
    reference_curves,
    scatter,
)
from celadon.report.plots.inline import inline_svg
from celadon.report.plots.of_study import save_plots
from celadon.report.plots.style import png_bytes, require_matplotlib, svg_bytes

__all__ = [
    "ablation_bars",
    "forest",
    "heat_map",
    "inline_svg",
    "ladder_bars",
    "level_boxes",
    "png_bytes",
    "rank_agreement",
    "reference_curves",
    "require_matplotlib",
    "save_plots",
    "scatter",
    "svg_bytes",
]
