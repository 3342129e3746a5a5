"""The encoder that ONNX Runtime runs, against the network in torch that it was made from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import CeladonError, InputError, MissingPartError, UsageError
from celadon.models.encoders import encoder as encoders
from celadon.models.encoders.encoder import Encoded, OnnxEncoder, SentenceEncoder, order_logits, sentence_encoder
from celadon.models.encoders.word_findings import FINDING_KINDS
from celadon.models.networks.windows import plan_windows
from tests.conftest import missing_part
from tests.tiny_encoder import CLS, SEP, VOCABULARY, make_encoder, tiny_network

try:
    import onnx  # noqa: F401
    import torch
except ImportError:
    missing_part("torch or onnx", "run: pip install 'celadon-text[train]'")

TEXTS = [
    "The cat sat on a mat.",
    "he ran home",
    "It",
    "a dog, a cat, a mat!",
    "",
    "  \t ",
    "unhappy zebras",
    "he ran home",
]
LONG = "the cat sat on a mat . he ran home , the dog sat . it ran ! un unhappy cats sat on the mat a dog home"


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> OnnxEncoder:
    return OnnxEncoder.open(make_encoder(tmp_path_factory.mktemp("exact") / "e", precision="fp32"), "tiny", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(tmp_path_factory.mktemp("bytes") / "e")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> OnnxEncoder:
    return OnnxEncoder.open(folder, "tiny", 1)


def ids_of(text: str) -> list[int]:
    """By hand: words and marks, lower case; all but one of the words are one piece."""
    for mark in ".,!":
        text = text.replace(mark, f" {mark} ")
    words = text.lower().replace("unhappy", "un ##happy").split()
    return [VOCABULARY.index(word if word in VOCABULARY else "[UNK]") for word in words]


def by_hand(ids: list[int]) -> list[np.ndarray]:
    row = torch.tensor([[CLS, *ids, SEP]])
    with torch.no_grad():
        return [part[0].numpy() for part in tiny_network()(row, torch.tensor([row.shape[1]]))[:4]]


def parts_of(encoded: Encoded, row: int) -> list[np.ndarray]:
    return [getattr(encoded, name)[row] for name in ("acceptability", "meaning", "before", "after")]


def test_results_are_those_of_the_network(exact: OnnxEncoder) -> None:
    encoded = exact.encode(TEXTS)
    assert len(encoded) == len(TEXTS)
    for at, text in enumerate(TEXTS):
        for ours, expected in zip(parts_of(encoded, at), by_hand(ids_of(text)), strict=True):
            np.testing.assert_allclose(ours, expected, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(encoded.meaning, axis=1), 1, atol=1e-5)


def test_order_is_that_of_the_network(exact: OnnxEncoder) -> None:
    encoded, network = exact.encode(TEXTS), tiny_network()
    weight, offset = network.order_weight.detach().numpy(), network.order_offset.detach().numpy()
    pairs = [(0, 1), (1, 0), (2, 6), (3, 3)]
    before, after = encoded.before, encoded.after
    expected = [
        weight @ np.maximum(before[a] + after[b] + offset, 0) - weight @ np.maximum(before[b] + after[a] + offset, 0)
        for a, b in pairs
    ]
    ours = order_logits(encoded, *zip(*pairs, strict=True))
    np.testing.assert_allclose(ours, expected, atol=1e-5)
    assert ours[0] == -ours[1] != 0
    assert ours[3] == 0
    from celadon.train.encoders.network import Heads

    heads = [Heads(*(torch.from_numpy(np.asarray(part)[None]) for part in parts_of(encoded, row))) for row in (0, 1)]
    np.testing.assert_allclose(network.order_logits(*heads).detach().numpy(), ours[:1], atol=1e-5)


def test_neighbours_batches_and_threads_do_not_matter(tmp_path: Path, folder: Path, encoder: OnnxEncoder) -> None:
    texts = [*TEXTS, LONG, *(f"{a} {b} {c}" for a in VOCABULARY[4:9] for b in "a.," for c in ("cat", "dog ran"))]
    together = encoder.encode(texts)
    small = OnnxEncoder.open(make_encoder(tmp_path / "e", batch_positions=1), "tiny", 1).encode(texts)
    threads = OnnxEncoder.open(folder, "tiny", 2).encode(texts)
    backwards = encoder.encode(texts[::-1]).take(range(len(texts))[::-1])
    for other in (small, threads, backwards):
        for name in ("acceptability", "meaning", "before", "after"):
            np.testing.assert_allclose(getattr(together, name), getattr(other, name), rtol=0, atol=2e-6)
    for at in (0, 5, 8):
        for one, two in zip(parts_of(encoder.encode([texts[at]]), 0), parts_of(together, at), strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=2e-6)


def test_the_same_call_gives_the_same_bytes(encoder: OnnxEncoder) -> None:
    one, two = encoder.encode(TEXTS), encoder.encode(TEXTS)
    for at in range(len(TEXTS)):
        for a, b in zip(parts_of(one, at), parts_of(two, at), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("window", [6, 9])
def test_a_long_text_is_read_in_windows_to_its_end(tmp_path: Path, window: int) -> None:
    opened = OnnxEncoder.open(make_encoder(tmp_path / "e", window=window, precision="fp32"), "tiny", 1)
    ids = ids_of(LONG)
    windows = plan_windows(len(ids), window - 2)
    assert len(windows) > 3
    parts = [by_hand(ids[start:end]) for start, _, end in windows]
    own = [end - first for _, first, end in windows]
    assert sum(own) == len(ids)
    mean = np.average([part[1] for part in parts], axis=0, weights=own)
    expected = [
        np.average([part[0] for part in parts], weights=own),
        mean / np.linalg.norm(mean),
        parts[-1][2],
        parts[0][3],
    ]
    encoded = opened.encode([TEXTS[2], LONG, TEXTS[1]])
    for ours, wanted in zip(parts_of(encoded, 1), expected, strict=True):
        np.testing.assert_allclose(ours, wanted, atol=1e-4)
    for ours, wanted in zip(parts_of(encoded, 2), by_hand(ids_of(TEXTS[1])), strict=True):
        np.testing.assert_allclose(ours, wanted, atol=1e-4)


@pytest.mark.parametrize("window", [64, 9])
def test_words_are_judged_by_their_first_token(tmp_path: Path, window: int) -> None:
    made = make_encoder(tmp_path / "e", window=window, precision="fp32", findings=len(FINDING_KINDS))
    texts = ["he ran home", LONG, "", "unhappy, zebras"]
    words = OnnxEncoder.open(made, "tiny", 1).encode([*texts, texts[1]]).words
    assert words is not None
    assert [len(each) for each in words] == [3, len(LONG.split()), 0, 3, len(LONG.split())]
    network = tiny_network(findings=len(FINDING_KINDS))
    for text, found in zip(texts, words, strict=False):
        assert [text[start:end] for start, end in found.spans] == text.replace(",", " ,").split()
        logits = np.zeros((0, len(FINDING_KINDS)))
        ids = ids_of(text)
        for start, first, end in plan_windows(len(ids), window - 2):
            row = torch.tensor([[CLS, *ids[start:end], SEP]])
            with torch.no_grad():
                own = network(row, torch.tensor([row.shape[1]])).findings[0, 1 + first - start : -1]
            logits = np.concatenate([logits, own.double().numpy()])
        happy = [at for at, number in enumerate(ids) if VOCABULARY[number].startswith("##")]
        logits = np.delete(logits, happy, axis=0)
        expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found.probabilities, expected, atol=1e-5)
    np.testing.assert_array_equal(words[1].probabilities, words[4].probabilities)


def test_an_encoder_without_findings_tells_of_no_words(encoder: OnnxEncoder) -> None:
    assert encoder.encode(TEXTS).words is None


def test_findings_of_other_kinds_are_refused(tmp_path: Path) -> None:
    made = make_encoder(tmp_path / "e", findings=len(FINDING_KINDS))
    described = json.loads((made / "model.json").read_text()) | {"findings": ["ok", "spelling"]}
    (made / "model.json").write_text(json.dumps(described))
    with pytest.raises(InputError, match="of other kinds"):
        OnnxEncoder.open(made, "tiny", 1)


def test_nothing_is_encoded_as_nothing(encoder: OnnxEncoder) -> None:
    encoded = encoder.encode([])
    assert len(encoded) == 0
    assert encoded.meaning.shape == (0, 32)
    assert encoded.before.shape == encoded.after.shape == (0, 8)
    assert order_logits(encoded, [], []).shape == (0,)


@given(st.lists(st.text(st.characters(), max_size=30), max_size=4))
def test_any_text_has_finite_results(encoder: OnnxEncoder, texts: list[str]) -> None:
    encoded = encoder.encode(texts)
    assert len(encoded) == len(texts)
    for at in range(len(texts)):
        assert all(np.isfinite(part).all() for part in parts_of(encoded, at))


def test_lone_surrogates_are_replacement_characters(encoder: OnnxEncoder) -> None:
    encoded = encoder.encode(["the \ud800 cat", "the \ufffd cat"])
    np.testing.assert_array_equal(encoded.meaning[0], encoded.meaning[1])


def test_marks_in_a_text_are_plain_characters(exact: OnnxEncoder) -> None:
    """``[SEP]`` is three unknown pieces here, not the mark."""
    unknown = VOCABULARY.index("[UNK]")
    expected = by_hand([VOCABULARY.index("the"), *[unknown] * 3, VOCABULARY.index("cat")])
    np.testing.assert_allclose(exact.encode(["the [SEP] cat"]).meaning[0], expected[1], atol=1e-4)


def test_what_a_signature_needs_is_told(folder: Path, encoder: SentenceEncoder) -> None:
    assert encoder.name == "tiny"
    assert encoder.scripts == ("Latin",)
    assert encoder.facts == {"window": "64"}
    assert len(encoder.digest) == 64
    before = encoder.digest
    order = np.load(folder / "order.npy")
    try:
        (folder / "manifest.json").rename(folder / "manifest.away")
        assert OnnxEncoder.open(folder, "tiny", 1).digest == before
        np.save(folder / "order.npy", order + 1)
        assert OnnxEncoder.open(folder, "tiny", 1).digest != before
    finally:
        np.save(folder / "order.npy", order)
        (folder / "manifest.away").rename(folder / "manifest.json")


def test_one_encoder_is_shared_however_its_path_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    encoders.forget_encoders()
    one = sentence_encoder(str(folder))
    monkeypatch.chdir(folder.parent)
    assert sentence_encoder(f"./{folder.name}") is one
    monkeypatch.chdir(tmp_path)
    assert len(one.digest) == 64
    encoders.forget_encoders()
    assert sentence_encoder(str(folder)) is not one
    encoders.forget_encoders()


def test_the_builtin_one_is_that_of_the_catalog(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path) -> None:
    for at, is_there in ((folder, True), (tmp_path / "nowhere", False)):
        encoders.forget_encoders()
        extra = tmp_path / "catalog.json"
        entry = {"kind": "encoder", "about": "a", "license": "MIT", "builtin": str(at)}
        extra.write_text(json.dumps({"format": "celadon-catalog/1", "models": {"builtin-encoder": entry}}))
        monkeypatch.setenv("CELADON_CATALOG", str(extra))
        if is_there:
            assert sentence_encoder().name == "builtin"
        else:
            with pytest.raises(MissingPartError, match="install celadon again"):
                sentence_encoder()
    encoders.forget_encoders()


@pytest.mark.parametrize("name", ["", "no-such-encoder", "./nothing", "hf:bert-base-cased", "a\0b"])
def test_an_unknown_encoder_is_told(name: str) -> None:
    with pytest.raises(CeladonError):
        sentence_encoder(name)


BREAKAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no description": (lambda folder: (folder / "model.json").unlink(), r"model\.json: cannot be read"),
    "no json": (lambda folder: (folder / "model.json").write_text("{"), r"model\.json: is not JSON"),
    "a list": (lambda folder: (folder / "model.json").write_text("[]"), r"model\.json: does not describe"),
    "a language model": (
        lambda folder: (folder / "model.json").write_text('{"format": "celadon-lm/1"}'),
        "celadon-encoder/1 is expected",
    ),
    "no window": (
        lambda folder: (folder / "model.json").write_text('{"format": "celadon-encoder/1"}'),
        "window: is missing",
    ),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), r"tokenizer\.json: there is no such file"),
    "no order": (lambda folder: (folder / "order.npy").unlink(), r"order\.npy: cannot be loaded"),
    "short order": (lambda folder: np.save(folder / "order.npy", np.zeros((2, 3))), "two rows of 8"),
    "no graph": (lambda folder: (folder / "model.onnx").unlink(), r"model\.onnx: cannot be loaded"),
    "a bad graph": (lambda folder: (folder / "model.onnx").write_bytes(b"weights"), r"model\.onnx: cannot be loaded"),
}


@pytest.mark.parametrize("what", BREAKAGES)
def test_a_broken_folder_is_told_in_one_line(tmp_path: Path, folder: Path, what: str) -> None:
    shutil.copytree(folder, tmp_path / "e")
    broken, message = BREAKAGES[what]
    broken(tmp_path / "e")
    with pytest.raises(InputError, match=message) as raised:
        OnnxEncoder.open(tmp_path / "e", "tiny", 1)
    assert "\n" not in str(raised.value)


def test_a_graph_of_another_kind_is_refused(tmp_path: Path, folder: Path) -> None:
    from tests.models.tiny_lstm import make_lstm

    shutil.copytree(folder, tmp_path / "e")
    shutil.copy(make_lstm(tmp_path / "lstm").folder / "model.onnx", tmp_path / "e" / "model.onnx")
    with pytest.raises(InputError, match="no sentence encoder of ours"):
        OnnxEncoder.open(tmp_path / "e", "tiny", 1)


def test_too_small_numbers_are_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(UsageError, match="threads"):
        OnnxEncoder.open(folder, "tiny", 0)
    with pytest.raises(InputError, match="too short"):
        OnnxEncoder.open(make_encoder(tmp_path / "e", window=3), "tiny", 1)
