"""The plots: their marks and words read back from the SVG, their pixels from the PNG."""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from celadon.core import OutputError, UsageError
from celadon.meta.study import AblationRow, CorrelationRow, LevelRow, ReferencesRow, Study
from celadon.meta.table import Table
from celadon.report import plots
from tests.report.meta_studies import HUMANS, METRICS, made_study

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("$x^2$")</script>'
X = np.arange(40.0)
Y = 2 * X + np.sin(X)


def tree(figure: Any) -> ElementTree.Element:
    return ElementTree.fromstring(plots.svg_bytes(figure))


def words(figure: Any) -> list[str]:
    return ["".join(text.itertext()) for text in tree(figure).iter(f"{SVG}text")]


def marks(figure: Any, gid: str, tag: str = "use") -> list[ElementTree.Element]:
    return [mark for group in tree(figure).iter(f"{SVG}g") if group.get("id") == gid for mark in group.iter(SVG + tag)]


def correlation(metric: str, value: float, reason: str = "") -> CorrelationRow:
    half = 0.05 if math.isfinite(value) else math.nan
    bounds = (value - half, value + half)
    return CorrelationRow(metric, "overall", "instance", "pearson", "", value, *bounds, 0.01, 1.0, 40, 0, reason)


FOREST = [correlation("low", 0.2), correlation("high", 0.7), correlation("none", math.nan, "constant")]
LEVELS = [
    LevelRow("bleu", "overall", str(n), 10 + n, float(n), (n - 1.0, n - 0.5, n, n + 0.5, n + 1.0)) for n in (1, 2)
]
PARTS = [AblationRow("gruen", "overall", part, value, value - 0.6) for part, value in (("", 0.6), ("focus", 0.5))]
CURVES = [ReferencesRow(metric, "overall", n, 0.1 * n, 0.01) for metric in ("bleu", "chrf") for n in (1, 2, 4)]
PEOPLE = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0}
TURNED = {"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0}
ALL: dict[str, Callable[[], Any]] = {
    "scatter": lambda: plots.scatter(X, Y, metric="bleu", human="overall"),
    "heat_map": lambda: plots.heat_map([[0.5, -0.25], [math.nan, 1]], ["bleu", "chrf"], ["overall", "grammar"]),
    "forest": lambda: plots.forest(FOREST, ceiling=0.9),
    "ablation": lambda: plots.ablation_bars(PARTS),
    "references": lambda: plots.reference_curves(CURVES),
    "ranks": lambda: plots.rank_agreement(PEOPLE, {"bleu": TURNED}, human="overall"),
    "levels": lambda: plots.level_boxes(LEVELS),
}
EMPTY: list[tuple[Callable[[], Any], str]] = [
    (lambda: plots.scatter([math.nan], [1.0], metric="bleu", human="overall"), "no row has both"),
    (lambda: plots.forest([]), "no correlations"),
    (lambda: plots.ablation_bars([]), "nothing was left out"),
    (lambda: plots.reference_curves([]), "no metric was given fewer"),
    (lambda: plots.rank_agreement({"a": 1.0}, {"bleu": {"a": 2.0}}, human="overall"), "fewer than two systems"),
    (lambda: plots.level_boxes([]), "no levels"),
]


def pixels(png: bytes) -> np.ndarray[Any, Any]:
    """The pixels of an RGBA file without interlacing, decoded here; filters are undone row by row."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    assert (depth, colour) == (8, 6)
    data, place = b"", 8
    while place < len(png):
        (length,), kind = struct.unpack(">I", png[place : place + 4]), png[place + 4 : place + 8]
        if kind == b"IDAT":
            data += png[place + 8 : place + 8 + length]
        place += length + 12
    raw = np.frombuffer(zlib.decompress(data), np.uint8)
    return raw.reshape(height, 1 + 4 * width)


@pytest.mark.parametrize("kind", ALL)
def test_the_same_data_give_the_same_bytes(kind: str) -> None:
    assert plots.svg_bytes(ALL[kind]()) == plots.svg_bytes(ALL[kind]())
    figure = ALL[kind]()
    png = plots.png_bytes(figure)
    assert png == plots.png_bytes(ALL[kind]()) == plots.png_bytes(figure)
    assert pixels(png)[:, 1:].std() > 0
    assert b"Date" not in plots.svg_bytes(figure)


@pytest.mark.parametrize(("draw", "reason"), EMPTY)
def test_where_there_is_nothing_to_draw_it_says_why(draw: Callable[[], Any], reason: str) -> None:
    assert any(word.startswith(reason) for word in words(draw()))


def test_the_users_settings_are_neither_used_nor_changed() -> None:
    import matplotlib

    before = plots.svg_bytes(ALL["forest"]())
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path"}):
        assert plots.svg_bytes(ALL["forest"]()) == before
        assert matplotlib.rcParams["font.size"] == 30


def test_a_scatter_has_a_mark_for_each_row_with_both() -> None:
    values = X.copy()
    values[:3] = math.nan
    figure = plots.scatter(values, Y, metric="bleu", human="overall")
    assert len(marks(figure, "points")) == 37
    assert {"37 rows", "bleu", "overall"} <= set(words(figure))


def test_many_points_are_drawn_in_part_and_it_says_so() -> None:
    values = np.random.default_rng(0).normal(size=2_500)
    figure = plots.scatter(values, values, metric="bleu", human="overall")
    assert len(marks(figure, "points")) == 2_000
    assert "2,000 of 2,500 rows, drawn at random" in words(figure)
    assert len(marks(plots.scatter(values[:2_000], values[:2_000], metric="m", human="h"), "points")) == 2_000


def test_the_line_and_its_band_are_those_of_statsmodels() -> None:
    import statsmodels.api as sm

    random = np.random.default_rng(3)
    x = random.normal(size=30)
    y = x + random.normal(size=30)
    axes = plots.scatter(x, y, metric="bleu", human="overall").axes[0]
    line = next(line for line in axes.lines if line.get_gid() == "fit")
    fit = stats.linregress(x, y)
    assert np.allclose(line.get_ydata(), fit.intercept + fit.slope * np.asarray(line.get_xdata()))
    band = next(item for item in axes.collections if item.get_gid() == "band")
    corners = band.get_paths()[0].vertices
    model = sm.OLS(y, sm.add_constant(x)).fit()
    expected = model.get_prediction(sm.add_constant(np.array([x.min(), x.max()]))).conf_int()
    for place, bounds in zip((x.min(), x.max()), expected, strict=True):
        heights = corners[np.isclose(corners[:, 0], place), 1]
        assert np.allclose([heights.min(), heights.max()], bounds)


@pytest.mark.parametrize("values", [np.ones(9), np.arange(9.0)])
def test_a_constant_column_or_a_perfect_line_is_drawn(values: np.ndarray[Any, Any]) -> None:
    figure = plots.scatter(values, np.arange(9.0), metric="m", human="h")
    assert len(marks(figure, "points")) == 9


def test_a_forest_has_the_best_above_and_the_ceiling() -> None:
    figure = plots.forest(FOREST, ceiling=0.9)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["high", "low", "none"]
    assert len(marks(figure, "values")) == 2
    assert len(marks(figure, "intervals", "path")) == 2
    assert len(marks(figure, "ceiling", "path")) == 1
    assert {"human ceiling 0.90", "constant"} <= set(words(figure))
    assert not marks(plots.forest(FOREST), "ceiling", "path")


def test_a_heat_map_writes_its_numbers_and_leaves_nulls_empty() -> None:
    figure = ALL["heat_map"]()
    assert {"0.50", "-0.25", "1.00", "bleu", "chrf", "overall", "grammar"} <= set(words(figure))
    assert not {"nan", "--"} & set(words(figure))
    wide = plots.heat_map(np.eye(20), [f"m{n}" for n in range(20)], [f"m{n}" for n in range(20)])
    assert "1.00" not in words(wide)


def test_ablation_has_a_bar_for_each_part_and_rating() -> None:
    rows = [*PARTS, *(row._replace(human="grammar") for row in PARTS), PARTS[1]._replace(without="all but focus")]
    figure = plots.ablation_bars(rows)
    assert len(marks(figure, "bar", "path")) == 5
    assert {"all parts", "without focus", "only focus", "overall", "grammar"} <= set(words(figure))


def test_reference_curves_are_named_up_to_six() -> None:
    rows = [ReferencesRow(f"m{m}", "overall", n, 0.1 * n + 0.01 * m, math.nan) for m in range(9) for n in (1, 2)]
    shown = words(plots.reference_curves(rows))
    assert [f"m{m}" for m in range(9) if f"m{m}" in shown] == [f"m{m}" for m in range(3, 9)]


def test_systems_that_a_metric_moves_far_are_marked() -> None:
    figure = ALL["ranks"]()
    lines = [line for line in figure.axes[0].lines if line.get_gid() == "system"]
    assert [list(line.get_ydata()) for line in lines] == [[1, 4], [2, 3], [3, 2], [4, 1]]
    assert len({line.get_color() for line in lines}) == 2
    tied = plots.rank_agreement({"a": 1.0, "b": 1.0}, {"m": {"a": 2.0, "b": 3.0}}, human="h")
    assert list(tied.axes[0].lines[0].get_ydata()) == [1.5, 2]


def test_boxes_have_the_quartiles_they_are_given() -> None:
    axes = plots.level_boxes(LEVELS).axes[0]
    boxes = [line for line in axes.lines if line.get_gid() == "box"]
    assert [sorted({float(y) for y in box.get_ydata()}) for box in boxes] == [[0.5, 1.5], [1.5, 2.5]]
    assert {"1", "11"} <= {part for word in words(plots.level_boxes(LEVELS)) for part in word.split()}


def test_hostile_names_stay_words() -> None:
    figures = [
        plots.scatter(X, Y, metric=HOSTILE, human="a\0b\ud800\n$\\frac{1}{0}$"),
        plots.heat_map([[1.0]], [HOSTILE], ["$x"]),
        plots.forest([correlation(HOSTILE, 0.5)]),
        plots.rank_agreement({HOSTILE: 1, "$": 2}, {"$$": {HOSTILE: 1, "$": 2}}, human="h"),
        plots.level_boxes([LEVELS[0]._replace(metric=HOSTILE, label="$_$")]),
    ]
    for place, figure in enumerate(figures):
        plain = plots.svg_bytes(figure).decode()
        assert "<script" not in plain
        assert plots.png_bytes(figure)
        inline = plots.inline_svg(figure, key=f"k{place}-", label=HOSTILE)
        assert "<script" not in inline
        assert "style=" not in inline
        if place < 3:
            assert any(word.startswith("<script>alert(") for word in words(figure))
    assert "a␀b� $\\frac{1}{0}$" in words(figures[0])


def test_inline_svg_is_small_and_its_names_are_its_own() -> None:
    figure = ALL["scatter"]()
    first, second = (plots.inline_svg(figure, key=key, label="A & B") for key in ("a-", "b-"))
    assert len(first) < 0.6 * len(plots.svg_bytes(figure))
    for key, text in (("a-", first), ("b-", second)):
        root = ElementTree.fromstring(text)
        ids = [item.get("id") for item in root.iter() if item.get("id")]
        assert len(ids) == len(set(ids))
        assert all(str(name).startswith(key) for name in ids)
        used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
        assert used == set(ids)
        group = next(item for item in root.iter("g") if item.get("class") == "points")
        assert len(list(group.iter("use"))) == 40
        assert root.get("aria-label") == "A & B"


def test_plots_are_saved_in_both_formats(tmp_path: Path) -> None:
    study = made_study(tuple(METRICS[:2]), HUMANS[:1], 40)
    written = plots.save_plots(study, tmp_path / "new" / "folder")
    kinds = {path.name.split("-")[0].split(".")[0] for path in written}
    assert kinds == {"correlations", "between", "forest", "scatter", "ranks", "levels", "ablation", "references"}
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == sorted(
        path.name for path in written
    )
    assert len([path for path in written if path.suffix == ".svg"]) * 2 == len(written)
    for path in written:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG") if path.suffix == ".png" else ElementTree.fromstring(content) is not None


def test_names_that_look_alike_in_files_are_kept_apart(tmp_path: Path) -> None:
    names = ("a/b", "a:b", "../../etc")
    columns = {name: X + place * np.cos(X) for place, name in enumerate(names)} | {"h": Y}
    rows = tuple(correlation(name, 0.5)._replace(human="h") for name in names)
    study = Study(Table(columns, names, ("h",)), correlations=rows)
    written = plots.save_plots(study, tmp_path, formats=("svg",))
    assert len(set(written)) == len(written) == len(list(tmp_path.iterdir()))
    assert [path.name for path in written if path.name.startswith("scatter")] == [
        "scatter-h-a-b.svg",
        "scatter-h-a-b-2.svg",
        "scatter-h-etc.svg",
    ]


def test_what_cannot_be_saved_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="svg or png"):
        plots.save_plots(made_study(), tmp_path, formats=("pdf",))
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        plots.save_plots(made_study(), tmp_path / "file")
