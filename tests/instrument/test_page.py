"""The page and the picture of an instrument, read back by parsers that are not ours, and their command."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from lxml import html as lxml_html

from celadon.core import InputError
from celadon.instrument.figures import Cell, Corrections, Instrument, System, read_figures
from celadon.instrument.measure import measure
from celadon.instrument.page import instrument_page, verdict
from celadon.instrument.plots import scale_bands
from celadon.report.plots import svg_bytes
from tests.cli.test_score import celadon, write_rows
from tests.instrument.test_cells import LONG, Made
from tests.report.conftest import Opener, open_page  # noqa: F401
from tests.report.test_meta_report import HOSTILE, rows_of

SECTIONS = ["words", "scale", "alarms", "length", "hits", "corrections", "systems"]
EDITS = [{"before": "0", "after": "1", "kind": "spelling", "file": "a.md"}]


@pytest.fixture(scope="module")
def figures() -> Instrument:
    made = Made()
    measured = measure("made", made.score, made.passages, EDITS, gate=0.1)
    # copies have no score here
    hits = tuple(
        dataclasses.replace(hit, copies=9, auc=0.9 - at / 20, caught=0.5) for at, hit in enumerate(measured.hits)
    )
    return dataclasses.replace(measured, hits=hits)


@pytest.fixture(scope="module")
def tree(figures: Instrument) -> Any:
    return lxml_html.document_fromstring(instrument_page(figures, source_name="docs.jsonl"))


def test_every_section_has_a_picture_and_a_table_and_is_linked(tree: Any) -> None:
    assert tree.xpath("//section/@id") == SECTIONS
    assert [link.removeprefix("#") for link in tree.xpath("//nav//a/@href")] == SECTIONS
    for section in SECTIONS[1:]:
        assert tree.xpath(f'//section[@id="{section}"]//svg[@aria-label]')
        assert tree.xpath(f'//section[@id="{section}"]//table')
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert not tree.xpath('//*[starts-with(@src, "http") or starts-with(@href, "http")]')


def test_the_tables_hold_the_figures(tree: Any, figures: Instrument) -> None:
    alarms = rows_of(tree, "alarms")
    assert [row[:4] for row in alarms] == [
        [cell.cell, str(cell.size or "reply"), "yes" if cell.counted else "no", str(cell.passages)]
        for cell in figures.cells
    ]
    assert [row[-1].split()[0] for row in alarms] == [f"{cell.below:.3f}" for cell in figures.cells]
    assert [row[0] for row in rows_of(tree, "hits")] == [hit.kind for hit in figures.hits]
    assert [row[3] for row in rows_of(tree, "hits")] == [f"{hit.auc:.3f}" for hit in figures.hits]
    scale = rows_of(tree, "scale")
    assert [row[2:] for row in scale] == [
        [f"{genre.below[f'{tenth / 10:.2f}']:.2f}" for tenth in range(11)] for genre in figures.genres
    ]
    # a dot in the picture for every cell, a line for every interval
    for mark in ("values", "intervals"):
        marks = tree.xpath(f'//section[@id="alarms"]//*[@class="{mark}"]//*[self::use or self::path[@d and not(@id)]]')
        assert len(marks) == len(figures.cells)


def test_the_verdict_comes_first_and_says_what_is_wrong(tree: Any, figures: Instrument) -> None:
    notes = [note.text_content() for note in tree.xpath('//section[@id="words"]//li')]
    assert notes == verdict(figures)
    cells = len(figures.counted)
    alarms = f"{100 * figures.false_alarms:.1f}".removesuffix(".0")
    assert notes[0] == (
        f"At a gate of 0.100, made rejects {alarms} % of sound passages and catches 50 % of damaged copies "
        f"(means of {cells} cells and 9 kinds)."
    )
    often = Cell("pep", 80, True, 60, 0, 0.5, 0.5, 0.38, 0.62)
    spoken = dataclasses.replace(often, cell="gum:vlog", counted=False)
    bad = verdict(dataclasses.replace(figures, cells=(often, spoken)))
    assert "More than 5 % false alarms, beyond chance, in 1 cell: pep, 80 words (50 %)." in bad
    good = verdict(dataclasses.replace(figures, cells=(dataclasses.replace(often, low=0.04), spoken)))
    assert "No cell has more than 5 % false alarms beyond chance." in good


def test_names_are_escaped_everywhere(figures: Instrument) -> None:
    hostile = dataclasses.replace(
        figures,
        metric=HOSTILE,
        cells=tuple(dataclasses.replace(cell, cell=HOSTILE) for cell in figures.cells),
        genres=tuple(dataclasses.replace(genre, genre=HOSTILE) for genre in figures.genres),
        corrections=(Corrections(HOSTILE, 1, 0.5),),
        systems=(System(HOSTILE, 1, 0, 0.5, 0.4, 0.6), System("b", 1, 0, 0.4, 0.3, 0.5)),
    )
    tree = lxml_html.document_fromstring(instrument_page(hostile, source_name=HOSTILE))
    assert len(tree.xpath("//script")) == 1
    assert not tree.xpath("//img | //*[@onerror]")
    assert rows_of(tree, "systems")[0][0].startswith("</td><script>")
    etree.fromstring(svg_bytes(scale_bands(hostile)))


def test_without_passages_there_is_a_page_that_says_so() -> None:
    empty = measure("made", Made().score, [])
    tree = lxml_html.document_fromstring(instrument_page(empty, source_name="none.jsonl"))
    assert tree.xpath("//section/@id") == ["words", "hits"]
    assert "nothing can be said of false alarms" in tree.xpath("//section//li")[0].text_content()
    etree.fromstring(svg_bytes(scale_bands(empty)))


def test_bands_are_where_the_quantiles_are(figures: Instrument) -> None:
    (axes,) = scale_bands(figures).axes
    for place, genre in enumerate(figures.genres):
        bars = [bar for bar in axes.patches if round(bar.get_y() + bar.get_height() / 2) == place]
        starts = [genre.quantiles[share] for share in ("0.03", "0.1", "0.25", "0.5", "0.75")]
        assert [bar.get_x() for bar in bars] == pytest.approx(starts)
        assert [bar.get_x() + bar.get_width() for bar in bars] == pytest.approx([*starts[1:], 1.0])
        shades = [bar.get_alpha() for bar in bars]
        assert shades == sorted(set(shades))
    assert axes.get_xlim() == (0, 1)


def test_the_command_writes_all_and_draws_it_again_without_scoring(tmp_path: Path) -> None:
    rows = [{"id": f"d{at}", "genre": "docs", "text": LONG} for at in range(6)]
    rows += [{"id": f"a{at}", "system": "s", "kind": "list", "prompt": f"p{at}", "output": LONG} for at in range(6)]
    sound = write_rows(tmp_path / "sound.jsonl", rows)
    page, picture, again = tmp_path / "page.html", tmp_path / "scale.svg", tmp_path / "again.svg"
    # a metric without a model
    done = celadon(
        "meta", "instrument", "gruen.redundancy", "--sound", str(sound), "--half", "all", "--json",
        "--report", str(page), "--scale", str(picture),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    saved = tmp_path / "figures.json"
    saved.write_text(done.stdout)
    content = json.loads(done.stdout)
    assert {cell["cell"] for cell in content["cells"]} == {"docs", "s:list"}
    assert "wrote" in done.stderr
    tree = lxml_html.parse(page)
    assert tree.xpath("//section/@id") == [section for section in SECTIONS if section != "corrections"]
    redrawn = celadon("meta", "instrument", "--figures", str(saved), "--scale", str(again), "--json")
    assert redrawn.returncode == 0, redrawn.stderr
    assert json.loads(redrawn.stdout) == content
    assert again.read_bytes() == picture.read_bytes()
    assert etree.parse(again).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_what_cannot_be_done_is_refused(tmp_path: Path, figures: Instrument) -> None:
    saved = tmp_path / "figures.json"
    content = json.loads(json.dumps(figures.as_dict()).replace("NaN", "null"))
    saved.write_text(json.dumps(content))
    assert repr(read_figures(str(saved))) == repr(figures)
    sound = write_rows(tmp_path / "sound.jsonl", [{"id": "a", "text": LONG}])
    for options, message in (
        (["--figures", str(saved), "--gate", "0.5"], "--gate has no effect with --figures"),
        (["gruen", "--figures", str(saved)], "has the figures of made, not of gruen"),
        (["--sound", str(sound)], "no metric"),
        (["slor", "--sound", str(sound), "--report", str(sound)], "sound.jsonl"),
        (["slor", "--sound", str(sound), "--scale", str(tmp_path / "none" / "s.svg")], "none"),
    ):
        done = celadon("meta", "instrument", *options)
        assert done.returncode in (2, 4)
        assert message in done.stderr
        assert "Traceback" not in done.stderr
    assert json.loads(sound.read_text())["text"] == LONG
    for wrong, message in (
        ({**content, "format": "celadon-gate/1"}, "its format is not celadon-instrument/1"),
        ({**content, "gate": "high"}, "gate: expected a number"),
        ({key: value for key, value in content.items() if key != "cells"}, "cells: is missing"),
        ({**content, "genres": [{**content["genres"][0], "quantiles": {}}]}, "genre answers:list: its quantiles"),
        ({**content, "genres": [{**content["genres"][0], "below": {"low": 0.1}}]}, "genre answers:list: below must"),
    ):
        saved.write_text(json.dumps(wrong))
        with pytest.raises(InputError, match=message) as error:
            read_figures(str(saved))
        assert "figures.json" in str(error.value)


@pytest.fixture(scope="module")
def address(figures: Instrument, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = Path(tmp_path_factory.mktemp("instrument")) / "page.html"
    path.write_text(instrument_page(figures, source_name="docs.jsonl"), encoding="utf-8")
    return path.as_uri()


def test_a_phone_shows_the_pictures_whole(open_page: Opener) -> None:  # noqa: F811
    page = open_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
    assert page.messages == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate("[...document.querySelectorAll('.plot')].every(box => box.scrollWidth <= box.clientWidth)")
    ground, ink = (
        page.evaluate(f"getComputedStyle(document.querySelector('#scale svg {what}')).fill")
        for what in ('[fill="#ffffff"]', "text")
    )
    assert (ground, ink) == ("rgb(24, 34, 32)", "rgb(226, 235, 230)")
