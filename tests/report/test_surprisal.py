"""The surprisal of tokens in the report: every number against the metric's own, and the page in a real browser."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from lxml import html as lxml_html

from celadon.core import Evidence, Metric, Sample
from celadon.metrics.likelihood_evidence import LABELS
from celadon.metrics.registry import load
from celadon.report.explained import HEAD
from tests.report.conftest import Opener
from tests.report.news import Ratio, collected, report
from tests.report.test_browser import CONTRAST
from tests.tiny_models import make_bigrams

WORDS = "the cat sat on a mat dog ran home left it unhappy zebra".split()
SHADES = "abcde"


@pytest.fixture(scope="session")
def slor(tmp_path_factory: pytest.TempPathFactory) -> Metric:
    return load(f"slor[model={make_bigrams(tmp_path_factory.mktemp('models') / 'bigrams').folder}]")


def sentence(dice: random.Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(3, 9))).capitalize() + "."


def samples(count: int, *, references: bool) -> list[Sample]:
    dice = random.Random(4)
    made = []
    for number in range(count):
        text = " ".join(sentence(dice) for _ in range(dice.randint(1, 4)))
        made.append(Sample(text, (sentence(dice),) if references else (), id=f"text-{number}", system="tiny"))
    return made


def row_of(page: Any, position: int) -> Any:
    return page.xpath(f'//tbody[@id="t{position}"]')[0]


def lines(row: Any) -> dict[str, Any]:
    """What stands beside each name of a text."""
    names = row.xpath('.//div[@class="pair"]/b')
    return {name.text: name.getnext() for name in names}


def check_tokens(element: Any, evidence: Evidence, text: str) -> None:
    tokens = element.xpath("./u")
    assert [token.text for token in tokens] == [text[span.start : span.end] for span in evidence.text_spans]
    assert [token.get("title") for token in tokens] == [span.note for span in evidence.text_spans]
    shades = [LABELS[" abcde".index(token.get("class") or " ")] for token in tokens]
    assert shades == [span.label for span in evidence.text_spans]
    assert element.text_content() == text


def test_without_references_the_text_itself_is_shaded(slor: Metric) -> None:
    texts = samples(5, references=False)
    page = lxml_html.fromstring(report(texts, [slor]))
    for position, sample in enumerate(texts):
        evidence = slor.evidence(sample)
        shown = lines(row_of(page, position))
        check_tokens(shown["Text"], evidence, sample.text)
        assert "Surprisal" not in shown
        words, sentences = (section.spans for section in evidence.of_kind("list"))
        for span in words:
            assert span.note in shown["Least expected"].text_content()
        assert ("Values of sentences" in shown) == (len(sentences) > 1)
        for span in sentences:
            if span.label == "worst":
                worst = f"{sample.text[span.start : span.end]} {span.note} (worst)"
                assert shown["Values of sentences"].text_content() == worst


def test_with_references_the_surprisal_has_a_line_of_its_own(slor: Metric) -> None:
    texts = samples(3, references=True)
    page = lxml_html.fromstring(report(texts, [Ratio(), slor]))
    for position, sample in enumerate(texts):
        shown = lines(row_of(page, position))
        assert list(shown)[:4] == ["Text", "Reference", "Surprisal", "Least expected"]
        assert not shown["Text"].xpath("./u")
        check_tokens(shown["Surprisal"], slor.evidence(sample), sample.text)
    assert len(page.xpath('//section[@id="texts"]/div[@class="legend"]')) == 2


def test_a_report_without_such_a_metric_has_none_of_it() -> None:
    assert not lxml_html.fromstring(report(samples(2, references=True), [Ratio()])).xpath("//u")


def test_a_text_without_a_score_has_no_shades_but_its_reason(slor: Metric) -> None:
    page = lxml_html.fromstring(
        report([Sample("Кот сидит на коврике у двери."), *samples(1, references=False)], [slor])
    )
    shown = lines(row_of(page, 0))
    assert list(shown) == ["Text", "Null"]
    assert "text is Russian" in shown["Null"].text_content()


def test_of_a_long_text_the_beginning_is_read(slor: Metric) -> None:
    dice = random.Random(1)
    text = " ".join(sentence(dice) for _ in range(200))
    page = lxml_html.fromstring(report([Sample(text)], [slor]))
    shown = row_of(page, 0)
    assert f"of the first {HEAD:,} characters" in shown.text_content()
    assert len(shown.xpath(".//u")) > 100


def test_many_texts_stay_within_the_size(slor: Metric) -> None:
    assert len(report(samples(1000, references=False), [slor]).encode()) < 2_000_000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, slor: Metric) -> str:
    texts = [*samples(6, references=False), Sample("The cat " + "sat on the mat and " * 60 + "left.", id="long")]
    collector, summary = collected(texts, [slor])
    path = Path(tmp_path_factory.mktemp("report")) / "report.html"
    path.write_text(collector.html(summary, title="Tiny texts", inputs=["a.jsonl"]), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shades_can_be_read_and_told_apart(open_page: Opener, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    grounds = []
    for shade in SHADES:
        assert page.evaluate(CONTRAST, f".legend u.{shade}") >= 4.5, shade
        style = "e => getComputedStyle(e).backgroundColor"
        grounds.append(page.locator(f".legend u.{shade}").first.evaluate(style))
    assert len(set(grounds)) == len(SHADES)
    assert page.evaluate(CONTRAST, ".pair p.why") >= 4.5
    assert page.messages == []


def test_the_bits_are_shown_when_pointed_at_and_are_spoken(open_page: Opener) -> None:
    page = open_page()
    token = page.locator("#t0 u[class]").first
    bits = token.get_attribute("title")
    assert re.fullmatch(r"\d+\.\d bits", bits)
    spoken = page.locator("#t0 p").first.aria_snapshot()
    assert f"{bits}: {token.inner_text()}" in spoken.replace("\u034f", "")


def test_shaded_words_are_broken_into_lines_as_plain_ones_are(open_page: Opener) -> None:
    """The page is as high as it would be without the marks: none glues words together, none parts a word."""
    page = open_page(viewport={"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    paragraph = page.locator("#t6 p").first
    height = "e => e.getBoundingClientRect().height"
    shaded = paragraph.evaluate(height)
    paragraph.evaluate("e => { e.textContent = e.textContent; }")
    assert paragraph.evaluate(height) == pytest.approx(shaded, abs=1)
