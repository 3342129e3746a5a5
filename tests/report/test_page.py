"""The report as two independent parsers see it."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html

from celadon.core import Sample
from celadon.report.collector import ReportCollector
from celadon.report.escape import clean
from celadon.scoring.batch import Batch
from tests.report.news import METRICS, Lengthy, Precision, Ratio, collected, news, report

ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)
NASTY = st.one_of(
    ANY,
    st.sampled_from(
        ["<script>alert(1)</script>", "</p></td></table>", '"><img src=x onerror=alert(1)>', "&amp;", "a\0b", "\ud800x"]
    ),
)
VOID = {"meta", "link", "input", "wbr", "line", "circle", "path"}


class Balance(HTMLParser):
    """Fails where a tag is left open or closed twice."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def parsed(page: str) -> Any:
    balance = Balance()
    balance.feed(page)
    balance.close()
    assert balance.open == []
    return lxml_html.document_fromstring(page.encode(), parser=lxml_html.HTMLParser(encoding="utf-8", huge_tree=True))


def text_of(element: Any) -> str:
    return " ".join(element.text_content().split())


@pytest.fixture(scope="module")
def stream() -> list[Sample]:
    samples = news(20)
    samples[4] = Sample("", samples[4].references, id="empty", system="extractive")
    return samples


def test_the_numbers_are_the_summarys(stream: list[Sample]) -> None:
    collector, summary = collected(stream)
    page = parsed(collector.html(summary, title="T", inputs=["a.jsonl", "b<c>.csv"], rejected=1234))
    facts = {text_of(div[0]): text_of(div[1]) for div in page.xpath('//dl[@class="facts"]/div')}
    nulls = sum(row.nulls for row in summary.rows)
    assert facts == {
        "Texts scored": "60", "Systems": "3", "Metrics": "6", "Null scores": str(nulls), "Rows rejected": "1,234",
    }  # fmt: skip
    assert "From a.jsonl, b<c>.csv" in text_of(page.xpath("//header")[0])
    cards = page.xpath('//article[@class="card"]')
    for metric, card in zip(METRICS, cards, strict=True):
        digits = 1 if metric.info.high >= 100 else 3
        for system, line in zip(summary.systems, card.xpath(".//tbody/tr"), strict=True):
            row = summary.row(system, metric.spec)
            low, high = row.mean_interval
            cells = {cell.get("data-label"): text_of(cell) for cell in line.xpath("td[@data-label]")}
            assert text_of(line.find("th")) == system
            assert cells["Mean"] == f"{row.mean:.{digits}f}{low:.{digits}f} to {high:.{digits}f}"
            assert cells["Scored"] == str(row.count)
            with_wordless = "" if row.mean_with_wordless is None else f"{row.mean_with_wordless:.{digits}f}"
            assert cells["Nulls"] == (f"{row.nulls}{row.null_share:.1%}" if row.nulls else "0") + with_wordless
            assert ("Corpus" in cells) == (row.corpus is not None)
            if row.corpus is not None:
                assert cells["Corpus"].startswith(f"{row.corpus:.1f}")
            assert f"mean {row.mean:.{digits}f}" in line.xpath(".//svg/@aria-label")[0]


def test_signatures_seed_and_resamples_are_told(stream: list[Sample]) -> None:
    making = text_of(parsed(report(stream)).xpath('//details[@class="making"]')[0])
    assert "50 resamples and seed 20000601" in making
    for metric in METRICS:
        assert metric.signature in making


def test_each_text_is_shown_with_its_scores_and_reasons(stream: list[Sample]) -> None:
    page = parsed(report(stream, METRICS[:3]))
    bodies = page.xpath('//table[@class="texts"]/tbody')
    assert [body.get("id") for body in bodies] == [f"t{place}" for place in range(60)]
    scores = [metric.score(Batch(stream)).values for metric in METRICS[:3]]
    for place, (body, sample) in enumerate(zip(bodies, stream, strict=True)):
        cells = [text_of(cell) for cell in body[0]]
        assert cells[:2] == [sample.id, sample.system]
        if sample.text:
            assert cells[2:] == [f"{scores[0][place]:.3f}", f"{scores[1][place]:.1f}", f"{scores[2][place]:.1f}"]
            assert text_of(body.xpath(".//p")[0]) == sample.text
            assert text_of(body.xpath(".//b")[1]) in {"Reference 1 of 2", "Reference 2 of 2"}
        else:
            assert cells[2:] == ["–", "–", "0.0"]
            assert "ratio, precision: the text has no words" in text_of(body[1])
    heads = [text_of(head) for head in page.xpath('//table[@class="texts"]/thead//th')]
    assert heads == [
        "Text",
        "System",
        "ratio ↑(higher is better)",
        "precision ↑(higher is better)",
        "length ↓(lower is better)",
    ]


def test_the_extremes_link_to_the_table_or_carry_their_text() -> None:
    samples = news(40)
    page = parsed(report(samples, METRICS[:2], texts=15))
    assert "15 of 120 texts, drawn at random" in text_of(page.xpath('//section[@id="texts"]')[0])
    ids = set(page.xpath("//@id"))
    entries = page.xpath('//details[@class="ends"]//li')
    assert len(entries) == 2 * 2 * 10
    for entry in entries:
        links = entry.xpath(".//a/@href")
        assert all(link[1:] in ids for link in links)
        assert bool(links) != bool(entry.xpath('.//div[@class="pair"]'))
    assert any(entry.xpath(".//a") for entry in entries)
    ratios = [float(value) for value in page.xpath('(//details[@class="ends"])[1]//strong/text()')]
    assert ratios[:10] == sorted(ratios[:10], reverse=True)
    assert ratios[10:] == sorted(ratios[10:])


@settings(max_examples=60, deadline=None)
@given(NASTY, NASTY, NASTY, NASTY, NASTY)
def test_nothing_a_user_writes_leaves_its_place(text: str, reference: str, name: str, system: str, title: str) -> None:
    samples = [Sample(text, (reference, "a b"), id=name, system=system), Sample("a b", ("a c",), id=name, system="s")]
    collector, summary = collected(samples, [Lengthy()])
    page = parsed(collector.html(summary, title=title, inputs=[name]))
    assert len(page.xpath("//script")) == 1
    assert page.xpath("//img | //iframe | //*[@onerror] | //*[@style]") == []
    first = page.xpath('//table[@class="texts"]/tbody')[0]
    assert first.xpath("tr[1]/th")[0].text_content() == clean(name)
    assert first.xpath("tr[1]/td[1]")[0].text_content() == clean(system)
    assert page.xpath("//h1")[0].text_content() == clean(title)
    shown = first.xpath(".//p")[0].text_content().replace("\n", "")
    assert shown == (clean(text).replace("\n", "") or ("empty" if not text else ""))
    assert page.xpath("//option")[1].get("value").split() == clean(system).split()


def test_the_policy_allows_our_script_and_style_only(stream: list[Sample]) -> None:
    page = report(stream)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(r"""(?:src|href)=["'](?!#|data:,)""", page)


def test_the_same_input_gives_the_same_bytes(stream: list[Sample]) -> None:
    assert report(stream) == report(stream)


def test_a_thousand_texts_stay_under_two_megabytes() -> None:
    samples = [sample for sample in news(1000, sentences=3) if sample.system != "extractive"]
    assert sum(len(sample.text.split()) for sample in samples) / len(samples) > 50
    page = report(samples)
    assert len(page.encode()) < 2_000_000
    assert page.count("<tbody id=") == 1000
    assert "1,000 of 2,000 texts, drawn at random" in page
    assert "more characters" not in page.partition('id="texts"')[2]


def test_long_texts_are_shown_shorter_when_they_would_not_fit() -> None:
    long = " ".join(sample.text for sample in news(2)[:4])
    samples = [Sample(long, (f"{long} end",), id=str(n)) for n in range(100)]
    whole = report(samples, [Ratio()])
    assert len(whole.encode()) > 180_000
    assert "more characters" not in whole.partition('id="texts"')[2]
    page = report(samples, [Ratio()], most_bytes=180_000)
    assert 120_000 < len(page.encode()) <= 180_000
    assert page.count("<tbody id=") == 100
    assert page.partition('id="texts"')[2].count("more characters") == 200


def test_fewer_texts_are_shown_when_nothing_else_helps() -> None:
    metrics = [Precision(start=n) for n in range(15)]
    samples = [Sample("a b", ("a c",), id=f"{n}", system="x" * 100) for n in range(120)]
    most = len(report(samples, metrics).encode()) - 1
    page = report(samples, metrics, most_bytes=most)
    assert len(page.encode()) <= most
    assert "60 of 120 texts, drawn at random" in page
    assert page.count("<tbody id=") == 60


def test_a_page_may_have_two_megabytes_for_each_thousand_texts() -> None:
    for texts, megabytes in ((10, 2), (1000, 2), (5000, 10)):
        assert 0.95 < ReportCollector([Ratio()], texts=texts).most_bytes / (megabytes * 1_000_000) < 1


@pytest.mark.parametrize(
    "samples",
    [[], [Sample("")], [Sample("a", ("a",))], [Sample("a b", ("a b",)) for _ in range(30)]],
    ids=["none", "empty", "one", "alike"],
)
def test_little_data(samples: list[Sample]) -> None:
    page = parsed(report(samples, [Ratio(), Precision(), Lengthy()]))
    assert len(page.xpath('//table[@class="texts"]/tbody')) == len(samples)
    assert page.xpath("//select") == []
