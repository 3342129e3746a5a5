"""The page of an audit, read back by a parser that is not ours."""

from __future__ import annotations

import re
from typing import Any

import pytest
from lxml import html as lxml_html

import celadon.meta
from celadon.meta.judges import Audit
from celadon.report import meta_report
from celadon.report.audit_report import audit_report
from tests.meta.judged_texts import judged_texts

HOSTILE = '</td><script>alert("x")</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def result() -> Audit:
    rows: list[dict[str, Any]] = [
        {**row, HOSTILE: row["judge.run1"], "system": f"{row['system']}{HOSTILE}"} for row in judged_texts(40, 3)
    ]
    judges = {HOSTILE: HOSTILE, "judge": "judge.run*"}
    return celadon.meta.audit(rows, judge=judges, human="rater*.overall", gate=3.0, resamples=50)


def test_names_of_users_are_text(result: Audit) -> None:
    page = audit_report(result, source_name=HOSTILE)
    tree = lxml_html.document_fromstring(page)
    assert len(tree.xpath("//script")) == 1
    assert not tree.xpath("//img|//@onerror|//@src")
    assert not re.search(r"https?://(?!www\.w3\.org)", page)
    names = [element.text_content().replace("\u200b", "") for element in tree.xpath("//summary")]
    assert any(HOSTILE in name for name in names)
    # every figure has names of its own
    ids = tree.xpath("//svg//@id")
    assert len(ids) == len(set(ids))
    assert audit_report(result, source_name=HOSTILE) == page


def test_figures_of_the_page_are_those_of_the_audit(result: Audit) -> None:
    tree = lxml_html.document_fromstring(audit_report(result, source_name="scored.jsonl"))
    cells = [cell.text_content() for cell in tree.xpath('//section[@id="agreement"]//table')[1].xpath(".//td")]
    assert cells[0].split()[0] == f"{result.judges[1].agreement[0].value:.3f}"
    verdict = tree.xpath('string(//section[@id="verdict"])')
    for one in result.judges:
        assert one.verdict.headline in verdict
        assert all(line in verdict for line in (*one.verdict.may, *one.verdict.may_not, *one.verdict.next_steps))


def test_without_matplotlib_the_tables_are_there_and_it_says_so(result: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    why = "without plots: matplotlib is not installed"
    monkeypatch.setattr(meta_report, "missing_plots", lambda: why)
    monkeypatch.setattr("celadon.report.audit_report.missing_plots", lambda: why)
    tree = lxml_html.document_fromstring(audit_report(result, source_name="scored.jsonl"))
    assert not tree.xpath("//figure")
    assert len(tree.xpath("//table")) > 10
    assert why in tree.xpath('string(//section[@id="verdict"])')
