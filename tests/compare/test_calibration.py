"""Limits learned from texts that are good enough."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from celadon.cli import main
from celadon.compare.calibration import calibrate, read_gate, write_gate
from celadon.compare.columns import column_of
from celadon.core import InputError
from celadon.testing import assert_reads_well

RECALL = column_of("rougeL.recall")
TER = column_of("ter")


def test_the_share_of_false_alarms_is_what_was_asked_for_and_the_interval_holds_it() -> None:
    """Over many draws: texts like the good ones fall below the limit as often as the file says."""
    random = np.random.default_rng(0)
    shares, held = [], 0
    for _ in range(400):
        gate = calibrate([RECALL], {RECALL.name: random.random(200)}, false_alarms=0.05)
        limit = gate.limits[0]
        shares.append(limit.bound)  # of uniform values the share below a limit is the limit
        held += limit.false_alarms.low <= limit.bound <= limit.false_alarms.high
    assert np.mean(shares) == pytest.approx(0.05, abs=0.005)
    assert 0.92 <= held / 400 <= 0.98


def test_of_a_metric_where_less_is_better_the_limit_is_above() -> None:
    random = np.random.default_rng(1)
    good, bad = random.random(300), 2 + random.random(50)
    gate = calibrate([TER], {TER.name: good}, {TER.name: bad})
    assert not gate.limits[0].is_least
    assert np.quantile(good, 0.95) < gate.limits[0].bound <= good.max()
    assert gate.caught is not None
    assert gate.caught.share == 1.0


def test_several_limits_share_the_false_alarms_and_nulls_are_left_out() -> None:
    random = np.random.default_rng(2)
    values = {column.name: random.random(2000) for column in (RECALL, TER)}
    values[RECALL.name][:500] = np.nan
    gate = calibrate([RECALL, TER], values, false_alarms=0.1)
    assert [limit.false_alarms.share for limit in gate.limits] == pytest.approx([0.05, 0.05], abs=0.001)
    assert gate.false_alarms.share == pytest.approx(0.1, abs=0.03)
    (warning,) = gate.warnings
    assert warning.startswith("rougeL.recall: 500 of 2,000 good texts have no score and were left out; ")


def test_few_texts_are_warned_of_and_very_few_rejected() -> None:
    gate = calibrate([RECALL], {RECALL.name: np.linspace(0.5, 1, 30)})
    assert gate.limits[0].bound == 0.5
    assert "30 texts are too few for 0.02 false alarms" in gate.warnings[0]
    with pytest.raises(InputError, match="at least 20 are needed"):
        calibrate([RECALL], {RECALL.name: np.ones(19)})


def test_a_gate_can_be_read_back_and_another_signature_is_refused(tmp_path: Path) -> None:
    gate = calibrate([RECALL], {RECALL.name: np.linspace(0.5, 1, 500)})
    path = tmp_path / "gate.json"
    write_gate(str(path), gate)
    assert read_gate(str(path)).limits == gate.limits
    content = json.loads(path.read_text())
    assert content["limits"][0]["column"] == "rougeL.recall"
    content["limits"][0]["signature"] = content["limits"][0]["signature"].replace("celadon:", "celadon:9")
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="run celadon calibrate again"):
        read_gate(str(path)).checked_limits(str(path))


def _rows(path: Path, outputs: list[str]) -> Path:
    reference = "the old bridge was closed in march"
    path.write_text("".join(json.dumps({"text": text, "reference": reference}) + "\n" for text in outputs))
    return path


def test_calibrate_then_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "the old bridge was closed in march".split()
    good = _rows(tmp_path / "good.jsonl", [" ".join(words[: 4 + at % 4]) for at in range(200)])
    bad = _rows(tmp_path / "bad.jsonl", [" ".join(words[:2])] * 20)
    gate = tmp_path / "gate.json"
    command = ["calibrate", str(good), "--bad", str(bad), "--metric", "rougeL.recall", "--output", str(gate), "--quiet"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "learned from 200 good texts" in printed
    assert "1.000 (0.839 .. 1.000) of the 20 bad texts break a limit" in printed
    assert main(["check", str(good), "--gate", str(gate), "--quiet"]) == 0
    assert main(["check", str(bad), "--gate", str(gate), "--quiet"]) == 1
    assert main(["calibrate", str(good), "--output", str(good)]) == 2
    with pytest.raises(AssertionError, match=r"rougeL\.recall at least 0\.571429"):
        assert_reads_well("the old", references="the old bridge was closed in march", gate=str(gate))
    assert_reads_well(" ".join(words), references="the old bridge was closed in march", gate=str(gate))
