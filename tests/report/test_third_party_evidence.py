"""The evidence of a stranger's metric, found through its entry point: in the terminal, the report and the service."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from lxml import html as lxml_html

from tests import long_words, processes
from tests.cli.test_score import CELADON
from tests.conftest import missing_part

TEXT = "The <b>unquestionable</b> incompatibility was short & sweet."
LONG = ["unquestionable", "incompatibility"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the metric is installed."""
    folder = tmp_path_factory.mktemp("site")
    facts = folder / "long_words-1.0.dist-info"
    facts.mkdir()
    source = Path(long_words.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) < 80
    (folder / "strange_words.py").write_text(source, encoding="utf-8")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: long_words\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[celadon.metrics]\nlong_words = strange_words:LongWords\n")
    return folder


def celadon(site: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site), "COLUMNS": "100"}
    done = processes.run([*CELADON, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def lines(page: Any) -> dict[str, Any]:
    """What stands beside each name of the text."""
    return {name.text: name.getnext() for name in page.xpath('(//div[@class="pair"])[last()]/b')}


def check_rows(page: Any) -> None:
    """What a page shows of the text: marks in it, the list, the table and the lines of an unknown kind."""
    shown = lines(page)
    assert shown["Text"].text_content() == TEXT
    marks = shown["Text"].xpath('./span[@class="o"]')
    assert [(mark.text, mark.get("title")) for mark in marks] == [
        (word, f"long word: {len(word)} letters") for word in LONG
    ]
    assert [name.text for name in shown["Long words"].xpath("./bdi")] == LONG
    assert "15 letters" in shown["Long words"].text_content()
    assert [row.text_content() for row in shown["Lengths"].xpath(".//tr")][:2] == ["letterswords", "151"]
    assert shown["Advice"].text_content() == "prefer <short> words\nlongest: 15"
    assert not page.xpath('//div[@class="pair"]//b/b')


def test_in_the_terminal(site: Path) -> None:
    shown = celadon(site, "explain", TEXT, "-m", "long_words")
    assert shown.startswith("long_words: 0.2500\n  2 of 8 words have more than 9 letters\n  long words:\n")
    assert "\n    14 letters  The <b>unquestionable\n    15 letters  " in shown
    assert "\n  lengths:\n    letters  words\n" in shown
    assert "\n  advice:\n    prefer <short> words\n    longest: 15\n" in shown


def test_in_the_report(site: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": TEXT}) + "\n")
    celadon(site, "score", str(tmp_path / "in.jsonl"), "-m", "long_words", "--report", str(tmp_path / "out.html"))
    check_rows(lxml_html.fromstring((tmp_path / "out.html").read_text(encoding="utf-8")))


def test_in_the_service(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if any(find_spec(name) is None for name in ("fastapi", "httptools", "uvicorn")):
        missing_part("the extra serve", "run: pip install 'celadon-text[serve]'")
    from tests.serve.conftest import started

    monkeypatch.syspath_prepend(str(site))
    with started(metrics=("long_words",)) as running:
        page = running.client.post("/", data={"text": TEXT}, headers={"x-fragment": "1"})
        check_rows(lxml_html.fromstring(page.text))
        answer = running.client.post("/v1/explain", json={"text": TEXT}).json()["evidence"]["long_words"]
    assert [section["kind"] for section in answer["sections"]] == ["marks", "table", "advice"]
    assert [TEXT[span["start"] : span["end"]] for span in answer["text_spans"]] == LONG
    assert [span["value"] for span in answer["text_spans"]] == [14.0, 15.0]
    assert answer["sections"][1]["values"]["rows"][0] == [15, 1]
    assert answer["sections"][2]["lines"] == ["prefer <short> words"]
