"""The report in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from celadon.core import Sample
from tests.report.conftest import Opener
from tests.report.news import collected, news

# The contrast of WCAG 2, from the colours the browser computed.
CONTRAST = """(selector) => {
  const seen = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((part) => {
    const light = part / 255;
    return light <= 0.04045 ? light / 12.92 : ((light + 0.055) / 1.055) ** 2.4;
  });
  const luminance = (colour) => {
    const [red, green, blue] = seen(colour);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" ? ground(element.parentElement) : colour;
  };
  const element = document.querySelector(selector);
  const pair = [luminance(getComputedStyle(element).color), luminance(ground(element))].sort((a, b) => b - a);
  return (pair[0] + 0.05) / (pair[1] + 0.05);
}"""
MARKS = [".legend mark:not(.m)", ".legend mark.m", ".legend ins", ".legend del"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    samples = news(12)
    samples[4] = Sample("", samples[4].references, id="nothing", system="pointer-generator")
    samples[5] = Sample("ذهب الولد إلى المدرسة", ("ذهب الولد إلى البيت",), id="arabic", system="transformer-large")
    samples[6] = Sample("x" * 3000, ("y" * 200,), id="i" * 100, system="extractive")
    collector, summary = collected(samples)
    path = Path(tmp_path_factory.mktemp("report")) / "report.html"
    path.write_text(collector.html(summary, title="News summaries", inputs=["a.jsonl"]), encoding="utf-8")
    return path.as_uri()


def column(page: Any, place: int) -> list[str]:
    cells = f"[...document.querySelectorAll('.texts tbody')].map(b => b.rows[0].cells[{place}].textContent)"
    return page.evaluate(cells)


def test_it_loads_alone_and_without_complaint(open_page: Opener, address: str) -> None:
    page = open_page()
    page.wait_for_timeout(200)
    assert page.messages == []
    assert [url for url in page.requests if not url.startswith("data:")] == [address]


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize("width", [320, 360, 600, 740, 1000, 1100, 1280])
def test_the_page_never_scrolls_sideways(open_page: Opener, width: int, script: bool) -> None:
    page = open_page(viewport={"width": width, "height": 800}, java_script_enabled=script)
    page.locator("summary").first.click()
    for summary in page.locator(".ends > summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_header_sorts_and_says_so(open_page: Opener) -> None:
    page = open_page()
    head = page.locator(".texts thead th").nth(2)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    values = column(page, 2)
    assert values[-1] == "–"
    numbers = [float(value) for value in values[:-1]]
    assert numbers == sorted(numbers, reverse=True)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, 2) == [*[f"{number:.3f}" for number in sorted(numbers)], "–"]
    lower = page.locator(".texts thead th").nth(4)
    lower.get_by_role("button").click()
    assert lower.get_attribute("aria-sort") == "ascending"
    assert head.get_attribute("aria-sort") is None


def test_the_systems_sort_too_and_the_axis_stays_below(open_page: Opener) -> None:
    page = open_page()
    card = page.locator(".card").first
    card.get_by_role("button", name="Mean").click()
    means = [float(re.match(r"[\d.]+", text)[0]) for text in card.locator('td[data-label="Mean"]').all_inner_texts()]
    assert means == sorted(means, reverse=True)
    assert card.locator("table > *").last.evaluate("element => element.tagName") == "TFOOT"


def test_texts_are_filtered_and_a_link_shows_its_text_again(open_page: Opener) -> None:
    page = open_page()
    shown = page.locator(".texts tbody:not([hidden])")
    page.get_by_label("System").select_option("extractive")
    assert shown.count() == 12
    page.get_by_label("Search").fill("NEWS-0001")
    assert shown.count() == 1
    assert page.locator(".filters output").inner_text() == "1 of 36 shown"
    page.locator(".ends > summary").first.click()
    page.locator('.ends a:not([href="#t0"])').first.click()
    page.wait_for_function("document.querySelectorAll('.texts tbody[hidden]').length === 0")


def test_without_script_everything_is_there(open_page: Opener) -> None:
    page = open_page(java_script_enabled=False)
    assert page.locator(".texts tbody .pair").first.is_visible()
    assert page.locator(".texts tbody .pair").count() == 36
    assert not page.locator(".filters").is_visible()
    assert page.locator("button").count() == 0
    entry = page.locator(".ends li").first
    assert not entry.is_visible()
    page.locator(".ends > summary").first.click()
    assert entry.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(open_page: Opener, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    red, green, blue = map(
        int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]
    )
    assert (red + green + blue < 150) == (scheme == "dark")
    others = [
        ".facts dt",
        ".meaning",
        "thead th",
        "nav a",
        ".pair b",
        ".pair b ~ b + p",
        ".n small",
        ".legend p",
        ".arrow",
    ]
    for selector in [*MARKS, *others, ".arrow"]:
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector


def test_the_marks_differ_without_colour_and_are_spoken(open_page: Opener) -> None:
    page = open_page()
    lines = [
        page.locator(mark).first.evaluate(
            "e => [getComputedStyle(e).textDecorationLine, getComputedStyle(e).textDecorationStyle].join()"
        )
        for mark in MARKS
    ]
    assert len(set(lines)) == 4
    spoken = page.locator(".legend ul").first.aria_snapshot()
    for name in ("substitution: ", "moved: ", "insertion: ", "deletion: "):
        assert name in spoken.replace("\u2060", "")


def test_arabic_runs_from_the_right(open_page: Opener) -> None:
    page = open_page()
    text = page.locator("#t5 p").first
    assert text.evaluate("e => getComputedStyle(e).direction") == "rtl"


def test_print_opens_everything_on_white(open_page: Opener) -> None:
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 42, 38)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
