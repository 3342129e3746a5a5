"""The projection to meaning: fitted to what another encoder says of the same sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import missing_part
from tests.tiny_encoder import VOCABULARY, tiny_network, tiny_tokenizer

try:
    import torch
except ImportError:
    missing_part("torch", "run: pip install 'celadon-text[train]'")

WIDTH = 6


def examples_of(network: Any, known: int) -> tuple[Any, Any]:
    """Random sentences whose meaning is a linear map of the network's features; unknown from ``known`` on."""
    from celadon.train.corpus import EncodedSentences
    from celadon.train.encoders.classifiers import padded_rows
    from celadon.train.encoders.examples import Examples

    draw = np.random.default_rng(0)
    lengths = draw.integers(4, 20, size=400)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    sentences = EncodedSentences(draw.integers(4, len(VOCABULARY), size=starts[-1]).astype(np.uint16), starts, 0)
    rows = len(lengths)
    with torch.no_grad():
        features = network.meaning_features(*padded_rows(sentences, np.arange(rows), 64).tensors()).double().numpy()
    meant = features @ draw.normal(size=(features.shape[1], WIDTH)) + draw.normal(size=WIDTH)
    meant /= np.linalg.norm(meant, axis=1, keepdims=True)
    stored = np.where(np.arange(rows)[:, None] < known, meant, np.nan).astype(np.float16)
    nothing = np.full(rows, np.nan, dtype=np.float32)
    labels = np.zeros(starts[-1], dtype=np.int8)
    return Examples(sentences, np.ones(rows, np.float32), ("",) * rows, 0, 0, nothing, labels, stored), meant


def test_a_linear_meaning_is_found_on_other_sentences() -> None:
    from celadon.train.encoders.classifiers import padded_rows
    from celadon.train.encoders.meaning import fit_meaning

    network = tiny_network(meaning=WIDTH)
    examples, meant = examples_of(network, 300)
    others = np.arange(300, 400)
    padded = padded_rows(examples.sentences, others, 64)

    def likeness() -> float:
        with torch.no_grad():
            return float((network(*padded.tensors()).meaning.numpy() * meant[others]).sum(axis=1).mean())

    before = likeness()
    fit_meaning(network, examples, 300, 64)
    assert likeness() > 0.9 > before
    assert not network.training


def test_ridge_regression_is_that_of_the_augmented_problem() -> None:
    from celadon.train.encoders.meaning import _ridge

    draw = np.random.default_rng(1)
    features, targets = draw.normal(size=(50, 4)) * [1, 5, 0.1, 2] + 3, draw.normal(size=(50, 2))
    weights, offsets = _ridge(features, targets)
    center, spread = features.mean(axis=0), features.std(axis=0)
    scaled = np.vstack([(features - center) / spread, np.sqrt(50 / 3) * np.eye(4)])
    expected, *_ = np.linalg.lstsq(scaled, np.vstack([targets - targets.mean(axis=0), np.zeros((4, 2))]), rcond=None)
    predicted = (features - center) / spread @ expected + targets.mean(axis=0)
    np.testing.assert_allclose(features @ weights.T + offsets, predicted, atol=1e-4)


def test_without_a_projection_or_a_meaning_nothing_is_fitted() -> None:
    from celadon.train.encoders.meaning import fit_meaning

    network = tiny_network(meaning=WIDTH)
    examples, _ = examples_of(network, 300)
    before = network.meaning.weight.clone()
    fit_meaning(network, replace(examples, meant=np.full_like(examples.meant, np.nan)), 300, 64)
    assert torch.equal(network.meaning.weight, before)
    plain = tiny_network()
    fit_meaning(plain, examples, 300, 64)
    assert plain.meaning is None


def test_meanings_are_those_of_the_base(tmp_path: Path) -> None:
    try:
        from transformers import BertConfig, BertModel
    except ImportError:
        missing_part("transformers", "run: pip install 'celadon-text[hf]'")
    from tokenizers import Tokenizer

    from celadon.train.encoders.meaning import minilm_meanings

    size: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    torch.manual_seed(0)
    model = BertModel(BertConfig(vocab_size=len(VOCABULARY), intermediate_size=48, **size)).eval()
    model.save_pretrained(tmp_path)
    tokenizer = Tokenizer.from_str(tiny_tokenizer())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = ["the cat sat", "he ran home .", "a dog"]
    done: list[int] = []
    vectors = minilm_meanings(done.append, str(tmp_path))(texts)
    assert sum(done) == len(texts)
    for text, vector in zip(texts, vectors, strict=True):
        marked = [VOCABULARY.index(mark) for mark in ("[CLS]", "[SEP]")]
        ids = torch.tensor([[marked[0], *(VOCABULARY.index(word) for word in text.split()), marked[1]]])
        with torch.no_grad():
            mean = model(ids).last_hidden_state.mean(dim=1)[0].numpy()
        assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
