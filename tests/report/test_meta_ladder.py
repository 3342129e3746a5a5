"""Metrics built up from their aspects: every number against scipy and a formula of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from lxml import html as lxml_html
from scipy import stats

from celadon.meta.bootstrap import bootstrap
from celadon.meta.study import Study, make_study
from celadon.meta.table import make_table
from celadon.metrics import registry
from celadon.report import plots
from celadon.report.meta_ladder import Rung, ladder
from celadon.report.meta_report import meta_report
from celadon.report.plots import svg_bytes
from tests.tiny_aspects import COSTS, make_weights

NAMES = ("grammaticality", "redundancy", "focus", "coherence")
STAGES = (
    ("grammaticality",),
    ("grammaticality", "focus"),
    ("grammaticality", "focus", "redundancy"),
    ("grammaticality", "focus", "redundancy", "coherence"),
)
SVG = "{http://www.w3.org/2000/svg}"


def gruen_of(parts: dict[str, float], some: tuple[str, ...] = NAMES) -> float:
    weights = {"grammaticality": 1.0, "redundancy": 1.0, "focus": 1.0, "coherence": 0.1}
    return min(1.0, max(0.0, sum(weights[name] * parts[name] for name in some)))


def celadon_of(parts: dict[str, float], some: tuple[str, ...] = NAMES) -> float:
    lost = 0.0
    for name in some:
        fault = -math.log(parts[name]) if name == "redundancy" else 1 - parts[name]
        slope, steepness, level = COSTS[name].values()
        lost += slope * fault + math.log((1 + math.exp(level + steepness * fault)) / (1 + math.exp(level)))
    return math.exp(-lost)


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(registry._OURS, "celadon", "reading.celadon:Celadon")
    make_weights(tmp_path / "weights.json")
    return f"celadon[weights={tmp_path / 'weights.json'}]"


def made_rows(spec: str, rows: int = 60) -> list[dict[str, Any]]:
    """Rows of random aspects; edits are the fewer the better the text is, and one row lacks an aspect."""
    random = np.random.default_rng(3)
    made: list[dict[str, Any]] = []
    for row in range(rows):
        ours = dict(zip(NAMES, random.uniform(0.05, 0.95, 4).tolist(), strict=True))
        penalties = (-0.1 * random.integers(0, 8), -0.1 * random.integers(0, 3), -random.uniform(0, 2))
        theirs = dict(zip(NAMES, (float(random.uniform(0, 1)), *map(float, penalties)), strict=True))
        people = celadon_of(ours) + gruen_of(theirs) + random.normal() * 0.2
        one = {"id": f"item {row // 2}", "overall": people, "edits": -people + random.normal() * 0.2}
        one |= {"gruen": gruen_of(theirs), **{f"gruen.{name}": value for name, value in theirs.items()}}
        one |= {spec: celadon_of(ours), **{f"{spec}.{name}": value for name, value in ours.items()}}
        made.append(one)
    made[0]["gruen.coherence"] = made[0]["gruen"] = None
    return made


def made_study(rows: list[dict[str, Any]], spec: str, **options: Any) -> Study:
    table = make_table(rows, humans=["overall", "edits"], metrics=["gruen", spec], lower_is_better=["edits"])
    return make_study(table, **{"resamples": 100, "seed": 5, "parts": ["correlations", "ablations"], **options})


@pytest.mark.parametrize(
    ("kind", "statistic"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)]
)
def test_every_stage_is_the_correlation_of_the_combined_aspects(
    spec: str, kind: str, statistic: Callable[..., Any]
) -> None:
    rows = made_rows(spec)
    rungs = ladder(made_study(rows, spec, kind=kind))
    assert len(rungs) == 2 * 2 * len(STAGES)
    for metric, combine, used in (("gruen", gruen_of, rows[1:]), (spec, celadon_of, rows)):
        for human, sign in (("overall", 1), ("edits", -1)):
            mine = [rung for rung in rungs if (rung.metric, rung.human) == (metric, human)]
            assert [rung.aspects for rung in mine] == list(STAGES)
            assert [rung.letters for rung in mine] == ["G", "GU", "GRU", "GRUEN"]
            people = [sign * row[human] for row in used]
            for rung in mine:
                values = [combine({name: row[f"{metric}.{name}"] for name in NAMES}, rung.aspects) for row in used]
                assert rung.value == pytest.approx(statistic(values, people).statistic)
                assert (rung.kind, rung.used) == (kind, len(used))


def test_the_last_stage_is_the_metric_itself_with_the_same_interval(spec: str) -> None:
    study = made_study(made_rows(spec), spec)
    for rung in ladder(study):
        if len(rung.aspects) == len(NAMES):
            (whole,) = [
                row
                for row in study.correlations
                if (row.metric, row.human, row.level, row.group) == (rung.metric, rung.human, "instance", "")
            ]
            assert rung[4:7] == pytest.approx((whole.value, whole.low, whole.high))


def test_intervals_are_those_of_the_bootstrap_over_items(spec: str) -> None:
    rows = made_rows(spec)
    (first, *_) = [rung for rung in ladder(made_study(rows, spec)) if rung.metric == spec]
    expected = bootstrap(
        [celadon_of({"grammaticality": row[f"{spec}.grammaticality"]}, ("grammaticality",)) for row in rows],
        [row["overall"] for row in rows],
        items=[row["id"] for row in rows],
        resamples=100,
        seed=5,
    )
    assert (first.low, first.high) == pytest.approx((expected.low, expected.high))
    assert first.low < first.value < first.high


def test_without_resamples_there_are_no_intervals(spec: str) -> None:
    assert all(math.isnan(rung.low) for rung in ladder(made_study(made_rows(spec), spec, resamples=0)))


def test_a_table_without_all_four_aspects_or_the_weights_has_no_ladder(spec: str) -> None:
    rows = made_rows(spec)
    for row in rows:
        del row["gruen.focus"]
    lost = spec.replace("weights.json", "lost.json")
    renamed = [{name.replace(spec, lost): value for name, value in row.items()} for row in rows]
    assert ladder(made_study(renamed, lost)) == ()


def powers_of(parts: dict[str, float], some: tuple[str, ...] = NAMES) -> float:
    powers = dict(zip(NAMES, (1.0, 0.5, 0.25, 0.75), strict=True))
    return math.prod(parts[name] ** powers[name] for name in some)


def test_the_ablations_are_combined_as_the_metrics_are(spec: str) -> None:
    rows = made_rows(spec)
    for row in rows:
        parts = {name: row[f"{spec}.{name}"] for name in NAMES}
        row |= {"mine": powers_of(parts), **{f"mine.{name}": value for name, value in parts.items()}}
    study = make_study(make_table(rows, humans=["overall"], metrics=["gruen", spec, "mine"]), resamples=20)
    ways = {row.metric: row.combination for row in study.ablations}
    assert ways == {"gruen": "weighted sum within 0 and 1", spec: "best fit", "mine": "product of powers"}
    for metric, combine, used in (("gruen", gruen_of, rows[1:]), ("mine", powers_of, rows)):
        kept = tuple(name for name in NAMES if name != "redundancy")
        values = [combine({name: row[f"{metric}.{name}"] for name in NAMES}, kept) for row in used]
        (found,) = [row for row in study.ablations if row[:3] == (metric, "overall", "redundancy")]
        assert found.value == pytest.approx(stats.pearsonr(values, [row["overall"] for row in used]).statistic)


def test_a_penalty_alone_is_correlated_as_it_is(spec: str) -> None:
    rows = made_rows(spec)[1:]
    (found,) = [
        row for row in made_study(rows, spec).ablations if row[:3] == ("gruen", "overall", "all but redundancy")
    ]
    expected = stats.pearsonr([row["gruen.redundancy"] for row in rows], [row["overall"] for row in rows]).statistic
    assert found.value == pytest.approx(expected)


def test_parts_of_parts_are_not_parts(spec: str) -> None:
    rows = [{**row, "gruen.redundancy.pairs": float(at)} for at, row in enumerate(made_rows(spec))]
    table = make_table(rows, humans=["overall"], metrics=["gruen"])
    assert table.parts("gruen") == tuple(f"gruen.{name}" for name in NAMES)
    assert table.parts("gruen.redundancy") == ("gruen.redundancy.pairs",)


def bar_ends(rungs: list[Rung]) -> tuple[list[float], list[str]]:
    """How far each bar reaches in the drawing, in the order in which they are drawn, and the words of the plot."""
    tree = ElementTree.fromstring(svg_bytes(plots.ladder_bars(rungs)))
    ends = []
    for group in tree.iter(f"{SVG}g"):
        if group.get("id") == "bar":
            numbers = [float(part) for part in group.find(f"{SVG}path").get("d").split() if part[-1].isdigit()]
            ends.append(max(numbers[::2]) - min(numbers[::2]))
    return ends, ["".join(text.itertext()) for text in tree.iter(f"{SVG}text")]


def test_the_plot_has_a_bar_for_every_stage_as_long_as_its_value() -> None:
    rungs = [
        Rung("gruen", human, aspects, "spearman", value, value - 0.05, value + 0.05, 40)
        for human, values in (("overall", (0.2, 0.3, 0.5, 0.55)), ("grammar", (0.4, 0.4, 0.41, 0.42)))
        for aspects, value in zip(STAGES, values, strict=True)
    ]
    ends, words = bar_ends(rungs)
    drawn = sorted(rungs, key=lambda rung: (len(rung.aspects), rung.human == "grammar"))
    assert [end / ends[0] for end in ends] == pytest.approx([rung.value / 0.2 for rung in drawn], rel=1e-3)
    assert {"G: grammaticality", "GU: + focus", "GRU: + redundancy", "GRUEN: + coherence"} <= set(words)
    assert {"overall", "grammar", "spearman correlation of gruen"} <= set(words)
    assert any(word.startswith("no metric") for word in bar_ends([])[1])


def test_the_page_and_the_folder_have_it(spec: str, tmp_path: Path) -> None:
    study = made_study(made_rows(spec), spec, parts=["ablations"])
    page = lxml_html.fromstring(meta_report(study, title="<b>", source_name="t.jsonl"))
    section = page.xpath('//section[@id="ablation"]')[0]
    assert len(section.xpath('.//figure[contains(.//@aria-label, "ever more aspects")]')) == 2
    for rung in ladder(study):
        assert f"{rung.value:.3f} {rung.low:.3f} to {rung.high:.3f}" in section.text_content()
    names = [path.name for path in plots.save_plots(study, tmp_path / "plots", ["svg"])]
    assert "aspects-gruen.svg" in names
