"""The model that ONNX Runtime runs, against an LSTM computed by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from celadon.core import InputError, UsageError
from celadon.models.language.onnx_lm import OnnxLanguageModel
from celadon.models.networks.windows import plan_windows
from celadon.models.store.manifest import FORMAT
from tests.models.tiny_lstm import BEGIN, END, UNKNOWN, VOCABULARY, TinyLstm, make_lstm

TEXTS = [
    "the cat sat on a mat .",
    "a dog ran .",
    "the",
    "mat the on sat cat the a a a ran dog . . the mat on the cat",
    "the zebra sat.",
    "",
    "  \t ",
    "a dog ran .",
]


@pytest.fixture(scope="module")
def lstm(tmp_path_factory: pytest.TempPathFactory) -> TinyLstm:
    return make_lstm(tmp_path_factory.mktemp("lstm"))


@pytest.fixture(scope="module")
def model(lstm: TinyLstm) -> OnnxLanguageModel:
    return OnnxLanguageModel.open(lstm.folder, "tiny", 1)


def ids_of(text: str) -> list[int]:
    words = text.replace(".", " .").split()
    return [VOCABULARY.index(word if word in VOCABULARY else UNKNOWN) for word in words]


def test_log_probabilities_are_those_of_the_model(lstm: TinyLstm, model: OnnxLanguageModel) -> None:
    for text, scores in zip(TEXTS, model.score(TEXTS), strict=True):
        ids = [*ids_of(text), 1] if text.strip() else []
        expected = [lstm.logprob([0, *ids[:at]], ids[at]) for at in range(len(ids))]
        np.testing.assert_allclose(scores.logprobs, expected, atol=1e-5)
        np.testing.assert_allclose(scores.unigrams, lstm.unigrams[ids], atol=1e-6)
        assert scores.known.tolist() == [token != 2 for token in ids]


def test_spans_are_characters_of_the_text_and_the_end_has_none(model: OnnxLanguageModel) -> None:
    text = "the  zebra\u3000sat."
    scores = model.score([text])[0]
    shown = [text[start:end] for start, end in zip(scores.starts, scores.ends, strict=True)]
    assert shown == ["the", "zebra", "sat", ".", ""]
    assert scores.starts[-1] == scores.ends[-1] == len(text)


def test_an_end_that_is_left_out_is_no_token(tmp_path: Path, model: OnnxLanguageModel) -> None:
    without = OnnxLanguageModel.open(make_lstm(tmp_path, end=None, end_id=None).folder, "tiny", 1)
    ours, whole = without.score(TEXTS[:1])[0], model.score(TEXTS[:1])[0]
    np.testing.assert_allclose(ours.logprobs, whole.logprobs[:-1], atol=1e-6)
    assert without.facts == {"begin": BEGIN, "end": "left-out"}
    assert model.facts == {"begin": BEGIN, "end": "counted"}


def test_neighbours_batches_and_threads_do_not_matter(tmp_path: Path, lstm: TinyLstm, model: OnnxLanguageModel) -> None:
    small = OnnxLanguageModel.open(make_lstm(tmp_path, batch_positions=1).folder, "tiny", 1)
    threads = OnnxLanguageModel.open(lstm.folder, "tiny", 2)
    together = model.score(TEXTS)
    for other in (small.score(TEXTS), threads.score(TEXTS), [model.score([text])[0] for text in TEXTS]):
        for one, two in zip(together, other, strict=True):
            np.testing.assert_allclose(one.logprobs, two.logprobs, atol=1e-6)


@pytest.mark.parametrize("window", [4, 5])
def test_a_long_text_is_scored_in_windows(tmp_path: Path, window: int) -> None:
    lstm = make_lstm(tmp_path, window=window)
    ids = [*ids_of(TEXTS[3]), 1]
    windows = plan_windows(len(ids), window)
    assert len(windows) > 3
    expected = [lstm.logprob([0, *ids[start:at]], ids[at]) for start, first, end in windows for at in range(first, end)]
    scores = OnnxLanguageModel.open(tmp_path, "tiny", 1).score([TEXTS[0], TEXTS[3]])[1]
    np.testing.assert_allclose(scores.logprobs, expected, atol=1e-5)
    assert len(scores) == len(scores.starts) == len(scores.known) == len(ids)


def test_marks_in_a_text_are_plain_characters(model: OnnxLanguageModel) -> None:
    scores = model.score([f"the {END} sat"])[0]
    # END is nothing but unknown words here; the only end is the true one
    assert not scores.known[1:-2].any()
    assert scores.starts[-1] == len(f"the {END} sat")
    assert len(scores) > 4


def test_lone_surrogates_keep_their_place(model: OnnxLanguageModel) -> None:
    text = "the \ud800 cat"
    scores = model.score([text])[0]
    assert [(int(start), int(end)) for start, end in zip(scores.starts, scores.ends, strict=True)] == [
        (0, 3),
        (4, 5),
        (6, 9),
        (9, 9),
    ]
    np.testing.assert_array_equal(scores.logprobs, model.score(["the \ufffd cat"])[0].logprobs)


def test_the_digest_is_of_the_files_and_is_read_where_it_is_noted(tmp_path: Path) -> None:
    folder = make_lstm(tmp_path).folder
    names = ["model.onnx", "tokenizer.json", "unigrams.npy"]
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    expected = hashlib.sha256("\n".join(f"{name}:{hashes[name]}" for name in names).encode()).hexdigest()
    assert OnnxLanguageModel.open(folder, "tiny").digest == expected
    noted = {"format": FORMAT, "files": {name: {"sha256": "0" * 64, "size": 1} for name in names}}
    (folder / "manifest.json").write_text(json.dumps(noted), encoding="utf-8")
    zeros = hashlib.sha256("\n".join(f"{name}:{'0' * 64}" for name in names).encode()).hexdigest()
    assert OnnxLanguageModel.open(folder, "tiny").digest == zeros


def test_name_and_scripts_are_told(model: OnnxLanguageModel) -> None:
    assert model.name == "tiny"
    assert model.scripts == ("Latin",)


BREAKAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no description": (lambda folder: (folder / "model.json").unlink(), r"model\.json"),
    "no json": (lambda folder: (folder / "model.json").write_text("{"), r"model\.json: is not JSON"),
    "a list": (lambda folder: (folder / "model.json").write_text("[]"), r"model\.json: does not describe"),
    "no window": (
        lambda folder: (folder / "model.json").write_text('{"format": "celadon-lm/1", "kind": "onnx"}'),
        "window: is missing",
    ),
    "another kind": (
        lambda folder: (folder / "model.json").write_text('{"format": "celadon-lm/1", "kind": "ngram"}'),
        "onnx is expected",
    ),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), r"tokenizer\.json: there is no such file"),
    "a bad tokenizer": (lambda folder: (folder / "tokenizer.json").write_text("{}"), r"tokenizer\.json: cannot be"),
    "no unigrams": (lambda folder: (folder / "unigrams.npy").unlink(), r"unigrams\.npy: cannot be loaded"),
    "short unigrams": (lambda folder: np.save(folder / "unigrams.npy", np.zeros(3)), r"unigrams\.npy: is no unigram"),
    "infinite unigrams": (lambda folder: np.save(folder / "unigrams.npy", np.full(12, -np.inf)), "finite"),
    "no graph": (lambda folder: (folder / "model.onnx").unlink(), r"model\.onnx: cannot be loaded"),
    "a bad graph": (lambda folder: (folder / "model.onnx").write_bytes(b"weights"), r"model\.onnx: cannot be loaded"),
}


@pytest.mark.parametrize("what", BREAKAGES)
def test_a_broken_folder_is_told_in_one_line(tmp_path: Path, what: str) -> None:
    folder = make_lstm(tmp_path).folder
    broken, message = BREAKAGES[what]
    broken(folder)
    with pytest.raises(InputError, match=message) as raised:
        OnnxLanguageModel.open(folder, "tiny", 1)
    assert "\n" not in str(raised.value)


def test_a_window_of_one_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too short"):
        OnnxLanguageModel.open(make_lstm(tmp_path, window=1).folder, "tiny")


def test_no_threads_are_refused(lstm: TinyLstm) -> None:
    with pytest.raises(UsageError, match="threads"):
        OnnxLanguageModel.open(lstm.folder, "tiny", 0)
