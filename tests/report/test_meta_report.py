"""The page of a meta-evaluation, read back by a parser that is not ours."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import math
import re
from typing import Any

import pytest
from lxml import html as lxml_html

from celadon.meta.study import Study
from celadon.meta.table import Table
from celadon.report.meta_report import meta_report
from tests.report.meta_studies import made_study

HOSTILE = '</td><script>alert("x")</script><img src=x onerror=alert(1)>'
SECTIONS = (
    "words correlations forest scatter compare systems domains reliable raters accuracy levels ablation references "
    "texts making"
).split()


def page(study: Study) -> str:
    return meta_report(study, title="Trust", source_name="scored.jsonl")


def parsed(text: str) -> Any:
    return lxml_html.document_fromstring(text)


def rows_of(tree: Any, section: str, place: int = 0) -> list[list[str]]:
    table = tree.xpath(f'//section[@id="{section}"]//table')[place]
    return [[cell.text_content().strip() for cell in row.xpath("./th|./td")] for row in table.xpath("./tbody/tr")]


@pytest.fixture(scope="module")
def study() -> Study:
    return made_study()


@pytest.fixture(scope="module")
def text(study: Study) -> str:
    return page(study)


@pytest.fixture(scope="module")
def tree(text: str) -> Any:
    return parsed(text)


def test_every_section_is_there_in_order_and_linked(tree: Any) -> None:
    assert tree.xpath("//section/@id") == SECTIONS
    assert [link.removeprefix("#") for link in tree.xpath("//nav//a/@href")] == SECTIONS


def test_the_words_come_first(tree: Any, study: Study) -> None:
    assert [item.text_content() for item in tree.xpath('//section[@id="words"]//li')] == list(study.notes)


def test_many_words_are_folded_but_there() -> None:
    notes = tuple(f"note {place}" for place in range(60))
    tree = parsed(page(Study(made_study(rows=40).table, notes=notes)))
    assert [item.text_content() for item in tree.xpath('//section[@id="words"]//li')] == list(notes)
    assert 0 < len(tree.xpath('//section[@id="words"]/ul/li')) < 20


def test_correlations_are_the_studys_beside_the_ceiling(tree: Any, study: Study) -> None:
    for place, human in enumerate(study.table.humans):
        shown = rows_of(tree, "correlations", place)
        main = [row for row in study.correlations if (row.human, row.level, row.group) == (human, "instance", "")]
        main.sort(key=lambda row: -row.value)
        assert [cells[0] for cells in shown] == [row.metric for row in main]
        for cells, row in zip(shown, main, strict=True):
            assert cells[1] == f"{row.value:.3f} {row.low:.3f} to {row.high:.3f}"
            system = next(
                other
                for other in study.correlations
                if (other.metric, other.human, other.level, other.group) == (row.metric, human, "system", "")
            )
            assert cells[2].startswith(f"{system.value:.3f}")
            assert cells[4] == f"0.866 {100 * row.value / 0.866:.0f}% reached"
            assert cells[5:7] == ["<0.001", "0.7312"]
            assert cells[7:] == [f"{row.used:,}", f"{row.nulls:,}"]


def test_groups_are_the_studys(tree: Any, study: Study) -> None:
    names = [name.text_content() for name in tree.xpath('(//section[@id="systems"]//table)[1]/thead//bdi')]
    values = {(row.metric, row.group): row for row in study.correlations if row.human == "overall"}
    for cells in rows_of(tree, "systems"):
        for system, cell in zip(names, cells[2:], strict=True):
            assert cell.startswith(f"{values[cells[0], f'system={system}'].value:.3f}")
    assert len(rows_of(tree, "domains")[0]) == 5
    assert len(rows_of(tree, "reliable")[0]) == 3


def test_comparisons_say_what_is_and_is_not_shown(tree: Any, study: Study) -> None:
    rows = [row for row in study.comparisons if row.human == "overall"]
    said = tree.xpath('(//section[@id="compare"]//p[@class="words"])[1]')[0].text_content()
    assert f"Of {len(rows)} pairs of metrics tested, {sum(row.shown for row in rows)} differ" in said
    assert "not thereby shown to be equal" in said
    order = [re.sub(r"^\d+ ", "", cells[0]) for cells in rows_of(tree, "compare")]
    cells = {(order[r], order[c - 1]): line[c] for r, line in enumerate(rows_of(tree, "compare")) for c in range(1, 6)}
    for row in rows:
        p = f"{row.adjusted:.3f}".removeprefix("0") if row.adjusted < 0.9995 else "1"
        for metric, other in ((row.first, row.second), (row.second, row.first)):
            better = order.index(metric) < order.index(other)
            number = "" if row.adjusted < 0.001 else p
            assert cells[metric, other] == (f"{'▲' if better else '▽'}{number}" if row.shown else p)


def test_untested_pairs_and_a_clear_winner_are_said() -> None:
    study = made_study(rows=40)
    # drawing what else a study has takes long
    study = Study(study.table, correlations=study.correlations, comparisons=study.comparisons)
    won = tuple(row._replace(shown=True, adjusted=0.0001) for row in study.comparisons)
    assert "better than every other metric" in page(dataclasses.replace(study, comparisons=won))
    none = tuple(row._replace(shown=False, adjusted=math.nan, reason="three rows") for row in study.comparisons)
    assert "10 pairs could not be tested: three rows" in page(dataclasses.replace(study, comparisons=none))


def test_raters_accuracies_levels_parts_and_references_are_the_studys(tree: Any, study: Study) -> None:
    assert rows_of(tree, "raters")[0][:4] == ["overall", "3", "120", "0.500 0.450 to 0.550, sd 0.050"]
    best = max((row for row in study.accuracies if row.human == "overall"), key=lambda row: row.pairwise)
    assert rows_of(tree, "accuracy")[0] == [best.metric, f"{best.pairwise:.3f}", "0.01", "0.800", "0.750"]
    level = study.levels[2]
    assert rows_of(tree, "levels")[0][3].startswith(f"{level.quartiles[2]:.4g} {level.quartiles[1]:.4g} to")
    assert rows_of(tree, "ablation")[1] == ["without grammar", "overall", "0.450", "-0.150"]
    assert rows_of(tree, "references")[0][1] == f"{study.references[0].value:.3f} sd 0.020"


def test_disagreements_are_shown_with_their_texts(tree: Any, study: Study) -> None:
    assert study.table.texts
    shown = tree.xpath('//section[@id="texts"]//li')
    assert len(shown) == len(study.disagreements)
    texts = {item.xpath("./p")[1].text_content() for item in shown}
    assert texts == {study.table.texts[row.row] for row in study.disagreements}


def test_it_says_how_it_was_made(tree: Any, study: Study) -> None:
    said = tree.xpath('//section[@id="making"]')[0].text_content()
    assert "120 rows; seed 11; 500 resamples" in said
    assert [study.table.metrics[-1], "metric", "113", "7"] in rows_of(tree, "making")


def test_it_is_the_same_every_time(study: Study, text: str) -> None:
    assert page(study) == text


def test_the_policy_admits_only_its_own_style_and_script(tree: Any) -> None:
    policy = tree.xpath('//meta[@http-equiv="Content-Security-Policy"]/@content')[0]
    for tag in ("style", "script"):
        (element,) = tree.xpath(f"//{tag}")
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not tree.xpath("//@style")
    assert not [link for link in tree.xpath("//@src|//@href") if not link.startswith(("#", "data:"))]


def test_no_two_elements_share_an_id(tree: Any) -> None:
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))


def test_hostile_names_and_texts_stay_text() -> None:
    study = made_study(("bleu", HOSTILE, "$x_1$\0\ud800"), (HOSTILE + "h",), 60)
    table = study.table
    nasty = dataclasses.replace(
        table,
        systems=tuple(HOSTILE + str(row % 3) for row in range(60)),
        domains=(HOSTILE,) * 60,
        items=(HOSTILE,) * 60,
        texts=(HOSTILE,) * 60,
        references=((HOSTILE,),) * 60,
    )
    rows = tuple(row._replace(group=row.group and f"system={HOSTILE}") for row in study.correlations)
    marked = dataclasses.replace(study, table=nasty, notes=(HOSTILE,), correlations=rows)
    text = meta_report(marked, title=HOSTILE, source_name=HOSTILE)
    text.encode("utf-8")
    tree = parsed(text)
    assert len(tree.xpath("//script")) == 1
    assert not tree.xpath("//img")
    assert tree.xpath("//h1")[0].text_content() == HOSTILE
    assert tree.xpath('//section[@id="words"]//li')[0].text_content() == HOSTILE


def test_a_study_of_little_is_still_a_page() -> None:
    empty = Table(columns={}, metrics=(), humans=())
    tree = parsed(page(Study(empty)))
    assert tree.xpath("//section/@id") == ["making"]
    whole = made_study(rows=40)
    bare = dataclasses.replace(
        whole.table, systems=None, domains=None, items=None, texts=None, references=None, ratings={}
    )
    void = tuple(
        row._replace(value=math.nan, low=math.nan, high=math.nan, pvalue=math.nan, error=math.nan, reason="constant")
        for row in whole.correlations
        if not row.group
    )
    shown = page(Study(bare, correlations=void, disagreements=whole.disagreements))
    assert "constant" in shown
    assert "nan" not in parsed(shown).xpath("//main")[0].text_content().split()
