"""On the real judgements, where they are: how many rows there are, and the paper's figures that we should meet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def found(judgements: Path, reproduce: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The figures of a run with ROUGE, and with BLEU over characters, on the real data."""
    options = (
        "--metric",
        "rouge1,rouge2,rouge3,rouge4,rougeL,bleu4[tokenize=char]",
        "--only",
        "gruen2,gruen3,gruen9",
        "--json",
    )
    assert reproduce("--data", str(judgements), *options) == 0
    outcome: dict[str, Any] = json.loads(capsys.readouterr().out)
    return outcome


def test_rows_and_published_figures(found: dict[str, Any]) -> None:
    assert {name: facts["rows"] for name, facts in found["sets"].items()} == {
        "cnndm": 2085,
        "bagel": 404,
        "sfhotel": 875,
        "sfrest": 1181,
    }
    # one reference each: ROUGE is then ROUGE, whoever computes it
    summaries = [f for f in found["figures"] if f["table"] == "gruen2" and f["theirs"] is not None]
    assert len(summaries) == (1 + 5 + 1) * 8
    for figure in summaries:
        assert figure["ours"] == pytest.approx(figure["theirs"], abs=0.025)
    reliable = [f for f in found["figures"] if f["table"] == "gruen9" and f["theirs"] is not None]
    assert {f["count"] for f in reliable} == {1051}
    for figure in reliable:
        assert figure["ours"] == pytest.approx(figure["theirs"], abs=0.03)
