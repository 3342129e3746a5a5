"""The page of a meta-evaluation in a real browser."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from lxml import html as lxml_html

from celadon.report.meta_report import meta_report
from tests.report.conftest import Opener
from tests.report.meta_studies import HUMANS, METRICS, made_study
from tests.report.test_browser import CONTRAST
from tests.report.test_meta_report import SECTIONS

OPEN = "document.querySelectorAll('details').forEach((part) => { part.open = true; })"
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of thirty metrics, four ratings and long texts."""
    study = made_study(tuple(METRICS), HUMANS, 2_000)
    assert study.table.texts
    long = dataclasses.replace(study.table, texts=tuple(text * 40 for text in study.table.texts))
    text = meta_report(dataclasses.replace(study, table=long), title="Trust", source_name="scored.jsonl")
    path = Path(tmp_path_factory.mktemp("meta")) / "report.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def address(path: Path) -> str:
    return path.as_uri()


def test_thirty_metrics_and_four_ratings_stay_under_five_megabytes(path: Path) -> None:
    assert path.stat().st_size < 5_000_000
    assert lxml_html.parse(path).xpath("//section/@id") == SECTIONS


def column(page: Any, place: int) -> list[str]:
    rows = "[...document.querySelector('#correlations table').tBodies[0].rows]"
    return page.evaluate(f"{rows}.map(row => row.cells[{place}].firstChild.textContent.trim())")


def colour(page: Any, selector: str, what: str = "fill") -> str:
    return page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{what}")


def test_it_loads_alone_and_without_complaint(open_page: Opener, address: str) -> None:
    page = open_page()
    page.wait_for_timeout(200)
    assert page.messages == []
    assert [url for url in page.requests if not url.startswith("data:")] == [address]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_phone_does_not_scroll_sideways(open_page: Opener, scripts: bool) -> None:
    page = open_page(viewport=PHONE, java_script_enabled=scripts)
    page.evaluate(OPEN)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    boxes = page.evaluate("[...document.querySelectorAll('.wide')].map(box => box.getBoundingClientRect().right)")
    assert boxes
    assert max(boxes) <= 360


def test_a_phone_shows_a_forest_plot_whole(open_page: Opener) -> None:
    page = open_page(viewport=PHONE)
    assert page.evaluate(
        "[...document.querySelectorAll('#forest .plot')].every(box => box.scrollWidth <= box.clientWidth)"
    )


def test_without_scripts_everything_is_there(open_page: Opener) -> None:
    page = open_page(java_script_enabled=False)
    assert page.locator("#correlations thead th button").count() == 0
    assert page.locator("#forest svg").count() == 4
    part = page.locator("#correlations details").nth(1)
    assert part.get_attribute("open") is None
    part.locator("summary").click()
    assert part.locator("table").is_visible()


def test_tables_sort_by_size_and_by_name(open_page: Opener) -> None:
    page = open_page()
    heads = page.locator("#correlations table").first.locator("thead th")
    first = [float(value) for value in column(page, 1)]
    assert first == sorted(first, reverse=True)
    heads.nth(1).locator("button").click()
    heads.nth(1).locator("button").click()
    assert [float(value) for value in column(page, 1)] == sorted(first)
    assert heads.nth(1).get_attribute("aria-sort") == "ascending"
    heads.nth(0).locator("button").click()
    # how a browser orders signs and digits is its own; letters are enough
    assert [name[0] for name in column(page, 0)] == sorted(name[0] for name in METRICS)


def test_p_values_sort_by_size_though_they_are_shortened(open_page: Opener) -> None:
    page = open_page()
    page.evaluate("""() => {
      const rows = document.querySelector('#correlations table').tBodies[0].rows;
      rows[0].cells[5].dataset.value = "0.04";
      rows[1].cells[5].dataset.value = "nan";
    }""")
    keyed = column(page, 0)
    page.locator("#correlations table").first.locator("thead th").nth(5).locator("button").click()
    assert column(page, 0)[-2:] == [keyed[0], keyed[1]]


def test_the_dark_has_its_own_colours(open_page: Opener) -> None:
    light, dark = open_page(color_scheme="light"), open_page(color_scheme="dark")
    for selector, what in (("#forest text", "fill"), ("#forest .values use", "fill"), (".plot", "backgroundColor")):
        assert colour(light, selector, what) != colour(dark, selector, what)
    # a cell keeps its colour in the dark, and so does the number on it
    assert colour(light, '#correlations text[fill="#101010"]') == colour(dark, '#correlations text[fill="#101010"]')


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read(open_page: Opener, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    for selector in (
        ".notes li",
        ".figures td small",
        ".figures thead th",
        ".matrix td.up",
        ".matrix td.down",
        ".words",
    ):
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector


def test_the_words_of_a_plot_stay_inside_it(open_page: Opener) -> None:
    page = open_page(viewport={"width": 1280, "height": 900})
    page.evaluate(OPEN)
    outside = page.evaluate("""() => [...document.querySelectorAll('.plot svg')].flatMap((svg) => {
      const box = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].filter((text) => {
        const own = text.getBoundingClientRect();
        const across = own.left >= box.left - 2 && own.right <= box.right + 2;
        return !(across && own.top >= box.top - 2 && own.bottom <= box.bottom + 2);
      }).map((text) => text.textContent);
    })""")
    assert outside == []
