"""``celadon score --window``: a shorthand for the option of the metrics that have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from celadon.cli import main
from celadon.core import UsageError
from celadon.metrics.registry import with_option
from tests.conftest import builtin_is_there, missing_part


def test_each_metric_that_has_it_and_was_not_given_one() -> None:
    found = with_option(["wmd", "rougeL", "smd[window=7]", "wmd[idf=set]", "s_wmd[window=1000]"], "window", 50)
    assert found == ["wmd[window=50]", "rougeL", "smd[window=7]", "wmd[idf=set,window=50]", "s_wmd"]


def test_none_has_it() -> None:
    with pytest.raises(UsageError, match=r"no metric .* window"):
        with_option(["rougeL", "chrf"], "window", 50)


def test_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not builtin_is_there():
        missing_part("the builtin word vectors", "train them, or check out their weights")
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "river boat judge", "references": ["judge boat river"]}))
    command = ["score", str(tmp_path / "in.jsonl"), "--quiet", "--json", "--resamples", "2", "--metric"]
    assert main([*command, "wmd,rougeL", "--window", "1"]) == 0
    rows = {row["metric"]: row["mean"] for row in json.loads(capsys.readouterr().out)["scores"]}
    assert rows["wmd[window=1]"] < 1
    assert main([*command, "wmd"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"][0]["mean"] == pytest.approx(1.0)
    assert main([*command, "rougeL", "--window", "9"]) == 2
    assert "option window" in capsys.readouterr().err
