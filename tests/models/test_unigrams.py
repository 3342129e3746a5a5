"""Unigram tables: counts, smoothing, and where they go."""

from __future__ import annotations

import gzip
import json
import lzma
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import InputError, UsageError
from celadon.models.language.unigrams import count_tokens, estimate_unigrams, smoothed
from celadon.models.store import folder_of, home, import_model, read_manifest, unigram_path, write_manifest
from tests.conftest import missing_part

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WORDS = ["[UNK]", "</s>", "the", "cat", "sat", ".", "never", "seen"]
PARAGRAPHS = ["the cat sat . The dog barked .", "", "the cat ."]
SENTENCES = ["the cat sat .", "The dog barked .", "the cat ."]


def words_tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return tokenizer


def expected(end: bool, size: int = len(WORDS)) -> list[float]:
    """The formula of the documentation, over sentences split by hand."""
    counts = Counter(word if word in WORDS else "[UNK]" for sentence in SENTENCES for word in sentence.split())
    if end:
        counts["</s>"] = len(SENTENCES)
    total = sum(counts.values())
    words = WORDS + ["(none)"] * (size - len(WORDS))
    return [math.log((counts[word] + 1) / (total + size)) for word in words]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "words"
    folder.mkdir()
    facts = {"format": "celadon-lm/1", "kind": "onnx", "name": "words", "end": "</s>", "end_id": 1}
    (folder / "model.json").write_text(json.dumps(facts))
    (folder / "model.onnx").write_bytes(b"graph")
    words_tokenizer().save(str(folder / "tokenizer.json"))
    np.save(folder / "unigrams.npy", np.full(len(WORDS), -1, dtype=np.float32))
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    """Three paragraphs in two files, compressed in two ways."""
    first, second = tmp_path / "a.txt.xz", tmp_path / "b.txt.gz"
    first.write_bytes(lzma.compress("\n".join(PARAGRAPHS[:2]).encode()))
    second.write_bytes(gzip.compress((PARAGRAPHS[2] + "\n").encode()))
    return [str(first), str(second)]


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=50))
def test_smoothed_is_a_finite_distribution_by_the_formula(counts: list[int]) -> None:
    table = smoothed(np.array(counts, dtype=np.int64))
    assert table.dtype == np.float32
    assert np.isfinite(table).all()
    assert np.exp(table.astype(np.float64)).sum() == pytest.approx(1, abs=1e-5)
    for at, count in enumerate(counts):
        assert table[at] == pytest.approx(math.log((count + 1) / (sum(counts) + len(counts))), rel=1e-6)


@given(st.lists(st.lists(st.sampled_from([*WORDS[2:], "unknown"]), max_size=6), max_size=9))
def test_counting_agrees_with_counting_by_hand(sentences: list[list[str]]) -> None:
    counts = count_tokens((" ".join(words) for words in sentences), words_tokenizer(), end_id=1)
    by_hand = Counter(word for words in sentences for word in words)
    assert counts[2:].tolist() == [by_hand[word] for word in WORDS[2:]]
    assert counts[0] == by_hand["unknown"]
    assert counts[1] == len(sentences)


def test_a_table_smaller_than_the_tokens_is_told() -> None:
    with pytest.raises(InputError, match="the token 5"):
        count_tokens(["the cat ."], words_tokenizer(), vocabulary=4)


def test_a_cached_model_gets_its_table_and_stays_verified(model: Path, corpus: list[str]) -> None:
    import_model(model)
    folder = folder_of("words")
    older = folder / "unigrams.npy"
    with older.open("rb") as reading:
        path, tokens = estimate_unigrams("words", corpus)
        reading.seek(0)
        assert np.load(reading)[0] == -1
    assert path == folder / "unigrams.npy" == unigram_path("words")
    assert tokens == 4 + 4 + 3 + 3
    np.testing.assert_allclose(np.load(path), expected(end=True), rtol=1e-6)
    assert folder_of("words") == folder
    assert read_manifest(folder).added == ("unigrams.npy",)
    assert (folder / "model.onnx").read_bytes() == b"graph"


def test_a_folder_gets_its_table_and_a_new_manifest(model: Path, corpus: list[str]) -> None:
    write_manifest(model)
    path, _ = estimate_unigrams(str(model), corpus)
    assert path == model / "unigrams.npy"
    assert folder_of(str(model)) == model
    np.testing.assert_allclose(np.load(path), expected(end=True), rtol=1e-6)


def test_output_leaves_the_model_alone(model: Path, corpus: list[str], tmp_path: Path) -> None:
    path, _ = estimate_unigrams(str(model), corpus, tmp_path / "table.npy")
    assert path == tmp_path / "table.npy"
    assert np.load(model / "unigrams.npy")[0] == -1


def test_a_table_has_an_entry_for_every_row_of_the_model(model: Path, corpus: list[str]) -> None:
    np.save(model / "unigrams.npy", np.full(12, -1, dtype=np.float32))
    path, _ = estimate_unigrams(str(model), corpus)
    np.testing.assert_allclose(np.load(path), expected(end=True, size=12), rtol=1e-6)


def test_bad_corpora_are_told(model: Path, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text("\n \n")
    (tmp_path / "bad.txt").write_bytes(b"fine\n\xff\n")
    (tmp_path / "cut.txt.xz").write_bytes(lzma.compress(b"the cat\n" * 1000)[:-20])
    for name, told in (
        ("blank.txt", "no words"),
        ("bad.txt", "bad.txt:2: not valid UTF-8"),
        ("cut.txt.xz", "truncated"),
        ("nothing.txt", "no such file"),
    ):
        with pytest.raises(InputError, match=told):
            estimate_unigrams(str(model), [str(tmp_path / name)])
    assert np.load(model / "unigrams.npy")[0] == -1


def test_a_model_of_the_package_keeps_its_table(
    model: Path, corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_manifest(model)
    entry = {"kind": "language model", "about": "a", "license": "MIT", "builtin": str(model)}
    raw = {"format": "celadon-catalog/1", "models": {"ours": entry}}
    (tmp_path / "catalog.json").write_text(json.dumps(raw))
    monkeypatch.setenv("CELADON_CATALOG", str(tmp_path / "catalog.json"))
    with pytest.raises(UsageError, match="--output FILE"):
        estimate_unigrams("ours", corpus)
    estimate_unigrams("ours", corpus, tmp_path / "table.npy")
    np.testing.assert_allclose(np.load(tmp_path / "table.npy"), expected(end=True), rtol=1e-6)


def test_a_checkpoint_of_transformers_gets_its_table_in_the_store(corpus: list[str], tmp_path: Path) -> None:
    try:
        import transformers  # noqa: F401
        from safetensors.numpy import save_file
    except ImportError:
        missing_part("transformers", "celadon install hf")
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text(
        json.dumps({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 10})
    )
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    words_tokenizer().save(str(folder / "tokenizer.json"))
    save_file({"weight": np.zeros(1, dtype=np.float32)}, folder / "model.safetensors")
    path, _ = estimate_unigrams(f"hf:{folder}", corpus)
    assert path == unigram_path(f"hf:{folder}")
    assert path.parent == home() / "unigrams"
    np.testing.assert_allclose(np.load(path), expected(end=False, size=10), rtol=1e-6)
    assert estimate_unigrams(str(folder), corpus)[0] == path
