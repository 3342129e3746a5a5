"""Evidence is made from the same reading as the score, in reports, in the terminal and in the service."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from celadon.report.explained import evidence_of
from celadon.report.keep import Kept
from tests.cli.test_score import celadon, write_rows
from tests.conftest import missing_part
from tests.prose_share import NAME, ProseShare, register

TEXT = "The ferry runs every hour. It stops at the island."
COMMENT = f".. {TEXT}"


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_equal_texts_that_are_written_otherwise_are_explained_each() -> None:
    written_in = [("rst", ""), ("html", "en"), ("html", "en")]
    kept = [
        Kept(at, None, None, TEXT, (), (1.0,), ("",), markup=markup, language=language)
        for at, (markup, language) in enumerate(written_in)
    ]
    found = evidence_of(kept, [], [ProseShare()])
    told = [evidence.summary for at in range(3) for evidence in found[at]]
    assert told == ["written in rst, in whatever", "written in html, in en", "written in html, in en"]


def test_in_the_report(tmp_path: Path) -> None:
    path, page = write_rows(tmp_path / "in.jsonl", [{"text": TEXT, "l": "English"}]), tmp_path / "out.html"
    asked = ["score", str(path), "-m", NAME, "--markup", "html", "--language-field", "l", "--report", str(page)]
    assert celadon(*asked).returncode == 0
    assert "written in html, in en" in page.read_text(encoding="utf-8")


def test_in_the_terminal() -> None:
    done = celadon("explain", TEXT, "-m", NAME, "--markup", "rst", "--language", "English")
    assert done.stdout.startswith(f"{NAME}: 1.0000\n  written in rst, in en\n")
    assert "no score, data: " in celadon("explain", COMMENT, "-m", NAME, "--markup", "rst").stdout
    assert "text is Spanish" in celadon("explain", TEXT, "-m", NAME, "--language", "es").stdout
    wrong = celadon("explain", TEXT, "-m", NAME, "--language", "Klingonish")
    assert wrong.returncode == 2
    assert "--language: 'Klingonish' is no language that is known" in wrong.stderr


def test_in_the_service() -> None:
    if any(find_spec(name) is None for name in ("fastapi", "httptools", "uvicorn")):
        missing_part("the extra serve", "run: pip install 'celadon-text[serve]'")
    from tests.serve.conftest import started

    with started(metrics=(NAME,)) as running:

        def reasons(**body: object) -> list[str | None]:
            results = running.client.post("/v1/score", json=body).json()["results"]
            return [each["reasons"].get(NAME, "").partition(":")[0] for each in results]

        assert reasons(text=COMMENT) == [""]
        assert reasons(text=COMMENT, markup="rst") == ["data"]
        assert reasons(texts=[TEXT, COMMENT], markup="rst") == ["", "data"]
        assert reasons(texts=[TEXT], language="Spanish") == ["language"]
        assert reasons(samples=[{"text": COMMENT, "markup": "rst"}, {"text": COMMENT}]) == ["data", ""]
        long = {"text": f"{TEXT} " * 300, "markup": "html", "language": "en-GB"}
        evidence = running.client.post("/v1/explain", json=long).json()["evidence"][NAME]
        assert evidence["summary"] == "written in html, in en"
        refused = running.client.post("/v1/score", json={"text": TEXT, "markup": "latex"}).json()["error"]
        assert "'auto', 'markdown', 'rst', 'html' or 'plain'" in refused["message"]
