"""The plots of the meta-evaluation: each a function from plain data to a matplotlib figure."""

from celadon.report.plots.bars import ablation_bars
from celadon.report.plots.curves import reference_curves
from celadon.report.plots.forest import forest
from celadon.report.plots.heat_map import heat_map
from celadon.report.plots.inline import inline_svg
from celadon.report.plots.ladder import ladder_bars
from celadon.report.plots.levels import level_boxes
from celadon.report.plots.ranks import rank_agreement
from celadon.report.plots.save import save_plots
from celadon.report.plots.scatter import scatter
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
