"""The features that `celadon` is made of, on tiny models."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from celadon.core import Sample
from celadon.metrics.reading.features import ALIKE, RELATED, Features, ReadingModels, reading_features
from celadon.models.encoders.encoder import open_sentence_encoder
from celadon.scoring.batch import Batch
from tests.conftest import missing_part
from tests.tiny_encoder import make_encoder
from tests.tiny_models import make_bigrams

try:
    import onnx  # noqa: F401
    import torch  # noqa: F401
except ImportError:
    missing_part("torch or onnx", "run: pip install 'celadon-text[train]'")

CAT, DOG = "The cat sat on a mat.", "The dog ran home."
TEXTS = [f"{CAT} {DOG} {CAT}", CAT, f"He ran home. {DOG}", f"The <unk> ran home and the. {DOG}", "..."]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> ReadingModels:
    folder: Path = tmp_path_factory.mktemp("models")
    return ReadingModels(str(make_bigrams(folder / "lm").folder), str(make_encoder(folder / "encoder")))


@pytest.fixture(scope="module")
def found(models: ReadingModels) -> Features:
    return reading_features(Batch([Sample(text) for text in TEXTS]), models)


def test_what_is_said_again_shows(found: Features) -> None:
    assert found.of_texts["bigrams"][0] > found.of_texts["bigrams"][1] == 0
    assert found.of_texts["pairs"][0] > 0
    assert np.bincount(found.owner).tolist() == [3, 1, 2, 2]


def test_likeness_is_the_cosine_of_meanings_unless_something_is_said_again() -> None:
    models = ReadingModels()
    cat, dog = open_sentence_encoder(models.encoder).encode([CAT, DOG]).meaning.astype(np.float64)
    assert 0 < cat @ dog < ALIKE
    found = reading_features(Batch([Sample(f"{CAT} {DOG} {CAT}"), Sample(f"{CAT} {CAT}")]), models)
    likeness = RELATED * math.tanh(cat @ dog / RELATED)
    # the third sentence is the first again, which says nothing of focus
    np.testing.assert_allclose(found.likeness, [np.nan, likeness, np.nan, np.nan, np.nan], atol=1e-5)
    for name in ("likeness", "least_likeness"):
        np.testing.assert_allclose(found.of_texts[name], [likeness, np.nan], atol=1e-5)
    np.testing.assert_allclose(found.of_texts["meanings"], [(1 - ALIKE) / 2, 1 - ALIKE], atol=1e-5)


def test_marks_are_of_sentences(found: Features) -> None:
    damaged = [TEXTS[owner][start:end] for owner, start, end in zip(found.owner, found.starts, found.ends, strict=True)]
    assert [text for text, mark in zip(damaged, found.of_sentences["unknown"], strict=True) if mark] == [
        "The <unk> ran home and the."
    ]
    assert found.of_sentences["loose"].tolist() == found.of_sentences["unknown"].tolist()


def test_an_opening_hangs_only_where_more_follows(found: Features, models: ReadingModels) -> None:
    np.testing.assert_array_equal(found.of_texts["hanging"], [0, np.nan, 1, 0, np.nan])
    alone = reading_features(Batch([Sample("He ran home.")]), models)
    assert np.isnan(alone.of_texts["hanging"][0])


def test_one_sentence_has_nothing_to_compare_and_no_words_nothing_at_all(found: Features) -> None:
    assert np.isnan([found.of_texts[name][1] for name in ("likeness", "order", "meanings")]).all()
    assert set(found.reasons) == {4}
    assert all(np.isnan(column[4]) for column in found.of_texts.values())
    assert 4 not in found.owner
