"""From the notation of a model to the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from celadon.core import InputError, UsageError
from celadon.models.language.language_model import (
    RecentScores,
    TokenScores,
    language_model,
    morcela_weights,
    open_language_model,
)
from tests.tiny_models import make_bigrams


def test_a_folder_is_opened_once_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_bigrams(tmp_path / "here" / "mine").folder
    other = make_bigrams(tmp_path / "there" / "mine", seed=5).folder
    monkeypatch.chdir(folder.parent)
    first = language_model("./mine")
    assert language_model(str(folder)) is first
    assert language_model("../here/mine/") is first
    monkeypatch.chdir(other.parent)
    assert language_model("./mine").digest != first.digest


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("", UsageError, "no model was named"),
        ("hf:", UsageError, "hf:NAME_OR_FOLDER"),
        ("ngram:", UsageError, "ngram:PATH"),
        ("no-such-model", UsageError, "no-such-model"),
        ("./no-such-folder", InputError, "no such folder"),
    ],
)
def test_what_is_no_model_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, error: type[Exception], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        open_language_model(spec)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is no language model"),
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"kind": "x"}', "'x', not onnx"),
    ],
)
def test_a_folder_that_holds_no_model(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "model.json").write_text(content)
    with pytest.raises(InputError, match=message):
        open_language_model(str(tmp_path))


def test_the_weights_that_come_with_a_model(tmp_path: Path) -> None:
    folder = make_bigrams(tmp_path / "mine").folder
    assert morcela_weights(str(folder)) is None
    (folder / "morcela.json").write_text('{"beta": 0.5, "gamma": 1}')
    weights = morcela_weights(str(folder))
    assert weights is not None
    assert (weights.beta, weights.gamma) == (0.5, 1.0)


def scores(tokens: int) -> TokenScores:
    column = np.zeros(tokens)
    return TokenScores(column, column, column.astype(np.int64), column.astype(np.int64), column > 0)


def test_recent_scores_are_bounded_and_the_oldest_go_first() -> None:
    recent = RecentScores(tokens=30)
    for number in range(10):
        recent.add([(("model", "", str(number)), scores(9))])
    assert [n for n in range(10) if recent.get(("model", "", str(n))) is not None] == [7, 8, 9]
    recent.add([(("model", "", "huge"), scores(100))])
    assert recent.get(("model", "", "huge")) is None
    assert recent.get(("model", "", "9")) is None
    again = scores(9)
    recent.add([(("model", "", "a"), scores(9)), (("model", "", "a"), again)])
    assert recent.get(("model", "", "a")) is again
