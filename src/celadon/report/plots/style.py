"""What all plots share: colours that colour-blind people tell apart, one canvas, and files with the same bytes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from celadon.core import MissingExtraError
from celadon.report.escape import clean, cut_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The style sheet of the report knows these by their value and gives them their dark counterparts.
INK, SOFT, GRID, SHEET = "#1c2a26", "#55655f", "#d9e2dc", "#ffffff"
# The colours of Okabe and Ito, in the order in which they are used.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
BLUE, VERMILION = COLOURS[0], COLOURS[1]

NAME_LIMIT = 36
_DOTS = 150
# typed loosely: the keys matplotlib knows differ between its versions
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "celadon",
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "axes.formatter.useoffset": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": SHEET,
    "axes.facecolor": SHEET,
    "savefig.facecolor": SHEET,
    "legend.frameon": False,
    "legend.fontsize": 8,
}


def require_matplotlib() -> None:
    """Raise MissingExtraError where nothing can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("matplotlib, which draws plots,", "plots") from None


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with our settings whatever the user's are, and leave the user's as they were."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        # A name in a script that the font lacks is still right in the SVG, where it is text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message=".*constrained_layout not applied.*")
        matplotlib.rcParams.update(_SETTINGS)
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def one_axes(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure with one set of axes."""
    figure = new_figure(width, height)
    return figure, figure.add_subplot()


def finished(figure: Figure) -> Figure:
    """Settle the figure: a dollar is a dollar, not mathematics, and drawing it again moves nothing."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if isinstance(text, Text):
            text.set_parse_math(False)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def name(text: str, limit: int = NAME_LIMIT) -> str:
    """Write a name on one line that a plot can hold."""
    line = " ".join(clean(text).split())
    cut = cut_at(line, limit)
    return line if cut == len(line) else f"{line[:cut].rstrip()}…"


def say_nothing_here(axes: Axes, reason: str) -> None:
    """Say why there is no plot."""
    axes.text(0.5, 0.5, reason, ha="center", va="center", transform=axes.transAxes, color=SOFT)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def svg_bytes(figure: Figure) -> bytes:
    """Return the figure as an SVG file whose words are words; the same bytes for the same figure."""
    return _bytes(figure, format="svg", metadata={"Date": None, "Creator": "celadon"})


def png_bytes(figure: Figure) -> bytes:
    """Return the figure as a PNG file; the same bytes for the same figure."""
    return _bytes(figure, format="png", dpi=_DOTS, metadata={"Software": None})


def _bytes(figure: Figure, **options: Any) -> bytes:
    buffer = BytesIO()
    with drawing():
        figure.savefig(buffer, **options)
    return buffer.getvalue()
