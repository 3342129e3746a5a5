"""The aspects in the report: every number against the metric's own, and the page in a real browser."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import html as lxml_html

from celadon.core import Metric, Sample, Section
from celadon.metrics.gruen.focus import GruenFocus
from celadon.metrics.gruen.redundancy import GruenRedundancy
from celadon.report.evidence import SENTENCE_LEVELS
from celadon.report.explained import HEAD
from celadon.scoring.batch import Batch
from tests.conftest import missing_part
from tests.report.conftest import Opener
from tests.report.news import SENTENCES, Ratio, collected, report
from tests.report.test_browser import CONTRAST

try:
    import onnx  # noqa: F401
    import torch  # noqa: F401
except ImportError:
    missing_part("torch or onnx", "run: pip install 'celadon-text[train]'")

HOSTILE = 'He said <script>alert("x")</script> & left. He said <script>alert("x")</script> & left again.'
BROKEN = "He sat on a mat. The dog ran home and left the <unk> there and the <unk>, which is the. The cat sat on a mat."
TWICE = " ".join(f"The cat with the number {number} sat on it." for number in range(5))
APART = f"{SENTENCES[0]} {SENTENCES[13]} {SENTENCES[5]} {SENTENCES[0]}"
TEXTS = [APART, BROKEN, TWICE, HOSTILE, "A dog ran."]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Metric]]:
    from tests.tiny_aspects import name_tiny_tier

    with pytest.MonkeyPatch.context() as patch:
        gruen, celadon = name_tiny_tier(patch, tmp_path_factory.mktemp("models"))
        yield {"gruen": gruen, "celadon": celadon}


@pytest.fixture(scope="module", params=["gruen", "celadon"])
def metric(request: pytest.FixtureRequest, both: dict[str, Metric]) -> Metric:
    return both[request.param]


@pytest.fixture(scope="module")
def page(metric: Metric) -> Any:
    return lxml_html.fromstring(report([Sample(text) for text in TEXTS], [metric]))


def shown(metric: Metric, text: str, kind: str) -> list[Section]:
    evidence = metric.evidence(Sample(text))
    assert evidence is not None
    return [section for aspect in evidence.aspects for section in aspect.of_kind(kind)]


def lines(page: Any, position: int) -> dict[str, Any]:
    """What stands beside each name of a text."""
    names = page.xpath(f'//tbody[@id="t{position}"]//div[@class="pair"]/b')
    return {name.text: name.getnext() for name in names}


@pytest.mark.parametrize("position", range(len(TEXTS)))
def test_each_sentence_is_on_the_ground_of_its_value(page: Any, metric: Metric, position: int) -> None:
    text = TEXTS[position]
    (section,) = shown(metric, text, "sentences")
    element = lines(page, position)["Text"]
    assert element.text_content() == text
    found = element.xpath("./u")
    assert [each.text_content() for each in found] == [text[span.start : span.end] for span in section.spans]
    for each, span in zip(found, section.spans, strict=True):
        assert span.note in each.get("title")
        assert float(re.search(r"\d\.\d+", each.get("title"))[0]) == pytest.approx(span.value, abs=0.006)
        assert each.get("title").startswith("worst sentence, ") == (span.label == "worst")
        assert (each.get("class") or "") == ["e", "d", "c", "b", "a", ""][
            sum(span.value >= level for level in SENTENCE_LEVELS)
        ]


@pytest.mark.parametrize("position", range(len(TEXTS)))
def test_each_aspect_has_its_value(page: Any, metric: Metric, position: int) -> None:
    parts = metric.score(Batch([Sample(TEXTS[position])])).parts
    expected = ", ".join(f"{name} {float(parts[name][0]):.3f}" for name in metric.explains)
    assert lines(page, position)["Aspects"].text_content() == expected


@pytest.mark.parametrize("position", range(len(TEXTS)))
def test_repeated_sentences_are_side_by_side_with_what_they_share(page: Any, metric: Metric, position: int) -> None:
    text, pairs = TEXTS[position], shown(metric, TEXTS[position], "pair")
    beside = lines(page, position).get("Said twice")
    if not pairs:
        assert beside is None
        return
    divisions = beside.xpath("./div")
    assert len(divisions) == min(5, len(pairs))
    for drawn, pair in zip(divisions, pairs, strict=False):
        passages, shared = pair.spans[:2], pair.spans[2:]
        for side, passage in zip(drawn.xpath("./p"), passages, strict=True):
            start, end = passage.start, passage.end
            assert side.text_content() == f"{passage.label} {text[start:end]}"
            inside = [text[span.start : span.end] for span in shared if start <= span.start < end]
            assert [each.text for each in side.xpath("./em")] == inside
    left = len(pairs) - 5
    assert beside.xpath("string(./i)") == (f"and {left} more" if left > 0 else "")


def test_ten_pairs_are_not_all_shown(page: Any, metric: Metric) -> None:
    assert len(shown(metric, TWICE, "pair")) == 10
    assert lines(page, TEXTS.index(TWICE))["Said twice"].xpath("count(./div)") == 5


@pytest.mark.parametrize("position", range(len(TEXTS)))
def test_weak_transitions_are_named_the_weakest_first(page: Any, metric: Metric, position: int) -> None:
    text = TEXTS[position]
    weak = [section.spans[1].value for section in shown(metric, text, "transition")]
    beside = lines(page, position).get("Weak transitions")
    assert (beside is None) == (not weak)
    if beside is not None:
        values = [float(value) for value in re.findall(r"^(-?\d\.\d{3}) between ", beside.text_content(), re.MULTILINE)]
        assert values == sorted(round(value, 3) for value in weak)[:5]
        for name in beside.xpath("./bdi"):
            assert name.text.strip("…") in text


def test_the_focus_of_real_vectors_shows_a_change_of_topic() -> None:
    metric = GruenFocus(threshold=0.14)
    page = lxml_html.fromstring(report([Sample(APART)], [metric]))
    evidence = metric.evidence(Sample(APART))
    assert evidence is not None
    weak = evidence.of_kind("transition")
    assert 0 < len(weak) < 3
    assert lines(page, 0)["Weak transitions"].text_content().count(" between ") == len(weak)


@pytest.mark.parametrize("position", range(len(TEXTS)))
def test_sentences_out_of_place_are_named(page: Any, metric: Metric, position: int) -> None:
    text = TEXTS[position]
    evidence = metric.evidence(Sample(text))
    assert evidence is not None
    spans = evidence.aspects[3].text_spans
    doubted = [f"{text[span.start : span.end]} {span.note}" for span in spans if span.label == "doubted order"]
    beside = lines(page, position).get("Out of place")
    assert (beside.text_content().split("\n") if beside is not None else []) == doubted
    hanging = [span for span in spans if span.label == "hanging opening"]
    assert ("Hanging opening" in lines(page, position)) == bool(hanging)
    sure = [span.note for span in spans if span.label in ("in order", "doubted order")]
    titles = " ".join(each.get("title") for each in lines(page, position)["Text"].xpath("./u"))
    assert re.findall(r"in its place: \d+%", titles) == sure


def test_some_text_of_each_kind_is_wrong(both: dict[str, Metric]) -> None:
    """The tests above compare lists; here they are seen not to be empty."""
    page = lxml_html.fromstring(report([Sample(text) for text in TEXTS], [both["celadon"]]))
    names = {name for position in range(len(TEXTS)) for name in lines(page, position)}
    assert {"Marks", "Said twice", "Out of place", "Hanging opening"} <= names


def test_marks_of_one_kind_are_each_their_own(both: dict[str, Metric]) -> None:
    page = lxml_html.fromstring(report([Sample(BROKEN)], [both["celadon"]]))
    marked = lines(page, 0)["Text"].xpath('.//span[@class="o"]')
    assert [each.text for each in marked if each.get("title") == "unknown word"] == ["<unk>", "<unk>"]
    assert [each.text for each in marked if each.get("title").startswith("loose end")] == ["the"]
    assert "ends on 'the'" in lines(page, 0)["Marks"].text_content()


def test_nothing_of_a_text_is_taken_for_html(page: Any) -> None:
    assert len(page.xpath("//script")) == 1
    assert 'alert("x")' not in page.xpath("//script")[0].text
    assert any("<script>" in each.text for each in page.xpath("//em"))


def test_the_bars_are_the_means_of_each_system(metric: Metric) -> None:
    dice = random.Random(5)
    samples = [
        Sample(" ".join(dice.choices(SENTENCES[:6], k=3)), system=system) for system in ("a", "b") for _ in range(6)
    ]
    samples.append(Sample("...", system="b"))
    scored = metric.score(Batch(samples)).parts
    parts = {name: scored[name] for name in metric.explains}
    page = lxml_html.fromstring(report(samples, [metric]))
    assert page.xpath('//nav//a[@href="#aspects"]')
    cards = page.xpath('//section[@id="aspects"]//article')
    assert [card.findtext("h4") for card in cards] == ["a", "b"]
    ticks = [float(tick.text) for tick in cards[0].xpath(".//tfoot//text")]
    places = [float(tick.get("x").rstrip("%")) for tick in cards[0].xpath(".//tfoot//text")]
    slope, offset = np.polyfit(ticks, places, 1)
    for card, rows in zip(cards, (slice(0, 6), slice(6, 12)), strict=True):
        assert card.xpath(".//tbody//th/text()") == list(parts)
        for row, column in zip(card.xpath(".//tbody/tr"), parts.values(), strict=True):
            mean = float(column[rows].mean())
            interval = [float(end) for end in re.findall(r"-?\d+\.\d+", row.xpath("string(.//small)"))]
            # equal values of an aspect, whose range is not known, have none
            assert bool(interval) == (np.ptp(column[rows]) > 0)
            assert not interval or interval[0] - 1e-3 <= mean <= interval[1] + 1e-3
            assert float(row.xpath("string(./td[2]/text())")) == pytest.approx(mean, abs=6e-4)
            (bar,) = row.xpath(".//rect")
            begin, wide = (float(bar.get(name).rstrip("%")) for name in ("x", "width"))
            assert sorted([begin, begin + wide]) == pytest.approx(sorted([offset, offset + slope * mean]), abs=0.05)
            assert row.xpath("string(./td[3])") == "6"


def test_without_such_a_metric_there_is_nothing_of_it() -> None:
    page = lxml_html.fromstring(report([Sample("The cat sat.", ("A cat sat.",))], [Ratio()]))
    assert not page.xpath('//section[@id="aspects"] | //a[@href="#aspects"] | //em')
    assert "Aspects" not in lines(page, 0)


def test_one_aspect_alone_is_shown_without_bars() -> None:
    page = lxml_html.fromstring(report([Sample(TWICE)], [GruenRedundancy()]))
    assert not page.xpath('//section[@id="aspects"]')
    assert lines(page, 0)["Aspects"].text_content() == "redundancy -2.000"
    assert lines(page, 0)["Said twice"].xpath("count(./div)") == 5
    assert not page.xpath("//u")


def test_with_references_the_sentences_have_a_line_of_their_own(both: dict[str, Metric]) -> None:
    samples = [Sample(BROKEN, ("The dog ran home.",))]
    page = lxml_html.fromstring(report(samples, [Ratio(), both["gruen"]]))
    assert list(lines(page, 0))[:4] == ["Text", "Reference", "Sentences", "Aspects"]
    assert lines(page, 0)["Sentences"].text_content() == BROKEN
    assert not lines(page, 0)["Text"].xpath("./u")


def test_a_text_without_words_has_its_reason(both: dict[str, Metric]) -> None:
    page = lxml_html.fromstring(report([Sample("..."), Sample(BROKEN)], [both["celadon"]]))
    assert list(lines(page, 0)) == ["Text", "Null"]


def test_of_a_long_text_the_beginning_is_explained(both: dict[str, Metric]) -> None:
    text = " ".join(SENTENCES) + f" {SENTENCES[0]}"
    assert len(text) > HEAD
    page = lxml_html.fromstring(report([Sample(text)], [both["gruen"]]))
    assert "Said twice" not in lines(page, 0)
    assert lines(page, 0)["Text"].text_content().endswith("more characters")
    listed = page.xpath('//tbody[@id="t0"]')[0].text_content()
    assert ("of the first 1,600 characters" in listed) == (len(lines(page, 0)) > 2)
    parts = both["gruen"].score(Batch([Sample(text)])).parts
    assert f"redundancy {float(parts['redundancy'][0]):.3f}" in listed


def test_many_texts_stay_within_the_size(both: dict[str, Metric]) -> None:
    dice = random.Random(6)
    few = [" ".join(dice.choices(SENTENCES, k=12)) for _ in range(12)] + [TWICE * 6]
    samples = [Sample(few[row % len(few)], id=f"text-{row}") for row in range(1000)]
    made = report(samples, [both["celadon"]])
    assert len(made.encode()) < 2_000_000
    page = lxml_html.fromstring(made)
    assert page.xpath('count(//tbody[starts-with(@id, "t")])') == 1000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, both: dict[str, Metric]) -> str:
    samples = [Sample(text, id="x" * 60, system=f"system {row % 2}") for row, text in enumerate(TEXTS)]
    samples.append(Sample("The " + "w" * 200 + " sat. The " + "w" * 200 + " sat.", id="long word", system="system 1"))
    collector, summary = collected(samples, [both["celadon"], both["gruen"]])
    path = Path(tmp_path_factory.mktemp("report")) / "report.html"
    path.write_text(collector.html(summary, title="Aspects", inputs=["a.jsonl"]), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_both_schemes(open_page: Opener, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    for selector in ["#t0 em", ".legend em", ".twice small", ".pair p.why", ".card h4", "#t1 u .o", ".legend .o"]:
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector
    grounds = set()
    for ground in "abcde":
        assert page.evaluate(CONTRAST, f".legend u.{ground}") >= 4.5, ground
        grounds.add(page.locator(f".legend u.{ground}").first.evaluate("e => getComputedStyle(e).backgroundColor"))
    assert len(grounds) == 5
    assert page.messages == []


@pytest.mark.parametrize("width", [320, 740, 1280])
def test_the_page_never_scrolls_sideways(open_page: Opener, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 800})
    for summary in page.locator(".ends > summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_pairs_are_beside_each_other_where_there_is_room(open_page: Opener) -> None:
    wide, narrow = (
        [side.bounding_box() for side in open_page(viewport={"width": w, "height": 800}).locator("#t0 .twice p").all()]
        for w in (1280, 320)
    )
    assert wide[0]["y"] == wide[1]["y"]
    assert wide[0]["x"] + wide[0]["width"] <= wide[1]["x"]
    assert narrow[0]["y"] + narrow[0]["height"] <= narrow[1]["y"]


def test_values_and_shared_parts_are_spoken_and_bars_are_named(open_page: Opener) -> None:
    page = open_page()
    sentence = page.locator("#t0 u[class]").first
    spoken = page.locator("#t0 p").first.aria_snapshot().replace("\u034f", "")
    assert f"{sentence.get_attribute('title')}: " in spoken
    assert "shared: " in page.locator("#t0 .twice p").first.aria_snapshot().replace("\u034f", "")
    label = page.locator("#aspects svg[role=img]").first.get_attribute("aria-label")
    assert re.fullmatch(r"grammaticality: mean \d\.\d+, 95% interval .+", label)
    boxes = [bar.bounding_box() for bar in page.locator("#aspects rect").all()]
    assert all(box is not None and box["height"] > 5 and not math.isnan(box["width"]) for box in boxes)
