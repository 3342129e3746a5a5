"""The check of a graph when it is loaded: what counts as equal, what is signed, what is refused, what is replaced."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import celadon
from celadon.core import CeladonError, InputError
from celadon.models.encoders.encoder import OnnxEncoder
from celadon.models.encoders.token_encoder import OnnxTokenEncoder
from celadon.models.language.onnx_lm import OnnxLanguageModel
from celadon.models.networks.self_check import CHECK_FILE, signed_name

WEIGHTS = Path(celadon.__file__).parent / "weights"
TEXTS = ["The cat sat on the mat.", "A dog.", "He is a citizen of France and likes to read in the evening."]


def change_expected(folder: Path, by: float) -> None:
    path = folder / CHECK_FILE
    stored = json.loads(path.read_text())
    stored["expected"][3] += by
    path.write_text(json.dumps(stored))
    (folder / "manifest.json").unlink()


@pytest.fixture
def lm(tmp_path: Path) -> Path:
    return shutil.copytree(WEIGHTS / "builtin-word", tmp_path / "lm")


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    return shutil.copytree(WEIGHTS / "encoder", tmp_path / "encoder")


@pytest.fixture
def wrong_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ONNX Runtime be wrong in batches of 8 rows and more, as some versions are on processors with AMX."""
    run: Callable[..., Any] = onnxruntime.InferenceSession.run

    def wrong(self: Any, names: Any, feed: Any, *rest: Any) -> Any:
        values = run(self, names, feed, *rest)
        return [value + np.float32(0.28) for value in values] if len(feed["ids"]) >= 8 else values

    monkeypatch.setattr(onnxruntime.InferenceSession, "run", wrong)


@pytest.mark.parametrize("name", ["builtin", "builtin-word"])
def test_this_machine_passes_with_every_language_model(name: str) -> None:
    for threads in (1, 2):
        assert OnnxLanguageModel.open(WEIGHTS / name, name, threads).runtime == ""


def test_this_machine_passes_with_the_encoder() -> None:
    assert OnnxEncoder.open(WEIGHTS / "encoder", "builtin").runtime == ""
    assert OnnxTokenEncoder.open("builtin", WEIGHTS / "encoder").runtime == ""


def test_a_small_difference_makes_the_runtime_part_of_the_signature(lm: Path) -> None:
    before = OnnxLanguageModel.open(lm, "mine")
    assert signed_name(before) == f"mine@{before.digest[:8]}"
    change_expected(lm, 0.005)
    after = OnnxLanguageModel.open(lm, "mine")
    assert after.digest == before.digest
    assert signed_name(after).startswith(f"mine@{before.digest[:8]}~onnxruntime-{onnxruntime.__version__}-")
    signature = celadon.load(f"slor[model={lm}]").signature
    assert signed_name(after).partition("~")[2] in signature


def test_a_folder_without_stored_rows_is_not_checked(lm: Path) -> None:
    (lm / CHECK_FILE).unlink()
    assert OnnxLanguageModel.open(lm, "mine").runtime == ""


def test_rows_of_another_graph_are_told(lm: Path) -> None:
    change_expected(lm, 0.5)
    with pytest.raises(InputError, match=r"check\.json: belongs to another graph; fetch or train the model again"):
        OnnxLanguageModel.open(lm, "mine")


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"format": "celadon-check/1"}', '{"format": "celadon-check/1", "ids": [[1]], "expected": 1}'],
)
def test_a_bad_file_is_told_in_one_line(lm: Path, content: str) -> None:
    (lm / CHECK_FILE).write_text(content)
    with pytest.raises(InputError, match=r"check\.json: ") as raised:
        OnnxLanguageModel.open(lm, "mine")
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("wrong_in_batches")
def test_a_wrong_runtime_that_was_never_tested_is_refused(lm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "__version__", "1.24.4")
    with pytest.raises(
        CeladonError, match=r"onnxruntime 1\.24\.4 .*off by 0\.28.* pip install 'onnxruntime>=1\.25,<1\.32'"
    ):
        OnnxLanguageModel.open(lm, "mine")


def test_on_a_wrong_processor_the_reference_kernels_take_over(
    lm: Path, encoder: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    right = OnnxLanguageModel.open(lm, "mine").score(TEXTS)
    heads = OnnxEncoder.open(encoder, "mine").encode(TEXTS)
    states = OnnxTokenEncoder.open("mine", encoder)
    tokens = states.tokens(TEXTS)
    layers = states._run([tokens[0]], [3])
    request.getfixturevalue("wrong_in_batches")
    model = OnnxLanguageModel.open(lm, "mine")
    assert "wrongly on this processor; using numpy" in capsys.readouterr().err
    assert model.runtime == ""
    for one, two in zip(model.score(TEXTS), right, strict=True):
        np.testing.assert_allclose(one.logprobs, two.logprobs, atol=0.02)
        assert abs(one.logprobs.mean() - two.logprobs.mean()) < 1e-3
    encoded = OnnxEncoder.open(encoder, "mine").encode(TEXTS)
    np.testing.assert_allclose(encoded.acceptability, heads.acceptability, atol=1e-4)
    np.testing.assert_allclose(encoded.meaning, heads.meaning, atol=1e-4)
    again = OnnxTokenEncoder.open("mine", encoder)
    np.testing.assert_allclose(again._run([tokens[0]], [3]), layers, atol=1e-4)
