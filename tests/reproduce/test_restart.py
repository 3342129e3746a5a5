"""Scores are kept: a second run makes none again, and a killed run goes on to the same file."""

from __future__ import annotations

import ast
import gzip
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from celadon.core import Metric
from celadon.metrics.registry import load
from celadon.reproduce import scoring, store
from celadon.reproduce.store import ScoreStore
from celadon.scoring import Scorer
from celadon.scoring.batch import Batch
from celadon.scoring.cache.score_cache import FirstPass
from tests import processes

SOME = ("--metric", "rouge1,rougeL,bleu1")


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The metrics that were really run, in their order."""
    seen: list[str] = []
    original = Scorer._compute

    def counted(self: Scorer, batch: Batch, metrics: Sequence[Metric]) -> FirstPass:
        seen.extend(metric.spec for metric in metrics)
        return original(self, batch, metrics)

    monkeypatch.setattr(Scorer, "_compute", counted)
    return seen


def _state(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in sorted(folder.rglob("*.npz"))}


def test_a_second_run_scores_nothing(reproduce: Callable[..., int], tmp_path: Path, scored: list[str]) -> None:
    assert reproduce(*SOME) == 0
    first, files, made = len(scored), _state(tmp_path / "work"), (tmp_path / "out.md").read_bytes()
    assert first == len(files) == 4 * 3 + 3
    assert reproduce(*SOME) == 0
    assert len(scored) == first
    assert _state(tmp_path / "work") == files
    assert (tmp_path / "out.md").read_bytes() == made
    assert reproduce(*SOME, "--fresh") == 0
    assert len(scored) == 2 * first
    assert (tmp_path / "out.md").read_bytes() == made


def test_only_what_is_new_is_scored(reproduce: Callable[..., int], data: Path, scored: list[str]) -> None:
    assert reproduce(*SOME, "--only", "gruen3") == 0
    scored.clear()
    assert reproduce("--metric", "rouge1,rougeL,bleu1,rougeW[weight=1.5]", "--only", "gruen3") == 0
    assert set(scored) == {"rougeW[weight=1.5]"}
    scored.clear()
    file = data / "judgements" / "novikova2017_bagel.jsonl.gz"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b"house", b"barn")))
    assert reproduce(*SOME, "--only", "gruen3") == 0
    assert sorted(scored) == ["bleu1", "rouge1", "rougeL", "rougeL"]


def test_scores_of_another_signature_or_state_and_damaged_files_are_not_taken(tmp_path: Path) -> None:
    scores, values = ScoreStore(tmp_path), np.array([0.5, np.nan, 1.0])
    scores.write("bagel", "rouge1", "rouge1|v1", "d" * 64, values)
    found = scores.read("bagel", "rouge1", "rouge1|v1", "d" * 64, 3)
    assert found is not None
    np.testing.assert_array_equal(found, values)
    assert scores.read("bagel", "rouge1", "rouge1|v2", "d" * 64, 3) is None
    # the same file by its name, but not by the whole hash
    assert scores.read("bagel", "rouge1", "rouge1|v1", "d" * 63 + "e", 3) is None
    assert scores.read("bagel", "rouge1", "rouge1|v1", "d" * 64, 4) is None
    (file,) = tmp_path.rglob("*.npz")
    file.write_bytes(file.read_bytes()[:40])
    assert scores.read("bagel", "rouge1", "rouge1|v1", "d" * 64, 3) is None


SLOW = """
import sys, time
from tests.reproduce.test_restart import slow_main
slow_main(sys.argv[1:])
"""


def slow_main(options: list[str]) -> None:
    """The command with small pieces and a pause before each."""
    import argparse

    from celadon.cli.meta import reproduce as meta_reproduce

    original = Scorer._compute

    def paused(self: Scorer, batch: Batch, metrics: Sequence[Metric]) -> FirstPass:
        time.sleep(0.03)
        return original(self, batch, metrics)

    Scorer._compute = paused  # type: ignore[method-assign]
    scoring.PIECE_ROWS = 4
    top = argparse.ArgumentParser()
    meta_reproduce.add_parser(top.add_subparsers())
    arguments = top.parse_args(["reproduce", *options])
    sys.exit(arguments.run(arguments))


def test_a_killed_run_goes_on_to_the_same_file(
    reproduce: Callable[..., int], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "PIECE_ROWS", 4)

    def start() -> subprocess.Popen[bytes]:
        paths = ["--data", str(data), "--work", str(tmp_path / "killed"), "--output", str(tmp_path / "killed.md")]
        root = Path(__file__).resolve().parents[2]
        return subprocess.Popen(
            [sys.executable, "-c", SLOW, *paths, *SOME], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    assert reproduce(*SOME, work="whole", output="whole.md") == 0
    kept = 0
    for _ in range(2):
        run = start()
        deadline = time.monotonic() + 60
        while len(_state(tmp_path / "killed")) < kept + 8 and time.monotonic() < deadline:
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
        assert run.wait(timeout=processes.LIMIT) == -signal.SIGKILL
        files = _state(tmp_path / "killed")
        assert len(files) >= kept + 8
        kept = len(files)
        assert not (tmp_path / "killed.md").exists()
    assert reproduce(*SOME, work="killed", output="killed.md") == 0
    after = _state(tmp_path / "killed")
    assert {file: after[file] for file in files} == files
    assert (tmp_path / "killed.md").read_bytes() == (tmp_path / "whole.md").read_bytes()
    assert len(after) == len(_state(tmp_path / "whole"))


def test_scores_of_changed_code_are_made_again(
    reproduce: Callable[..., int], scored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change in a module that a metric imports counts; one in another metric's module does not."""
    options = ("--metric", "rouge1,bleu1", "--only", "gruen3")
    assert reproduce(*options) == 0
    scored.clear()
    known = store._tree
    added = ast.parse("CHANGED = True")

    def changed(name: str) -> ast.Module | None:
        return added if name == "celadon.metrics.overlap" else known(name)

    monkeypatch.setattr(store, "_tree", changed)
    assert reproduce(*options) == 0
    assert set(scored) == {"rouge1"}


def test_the_fingerprint_follows_imports() -> None:
    seen = set()
    original = store._tree

    def noted(name: str) -> ast.Module | None:
        seen.add(name)
        return original(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_tree", noted)
        store.fingerprint(load("rougeL"))
    assert {"celadon.metrics.overlap", "celadon.metrics.references", "celadon.text.subsequences"} <= seen
    assert "celadon.scoring.batch.words" in seen
    assert "celadon.metrics.meteor" not in seen
    assert "celadon.metrics.registry" not in seen
