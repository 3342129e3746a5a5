"""The features that `celadon` will be made of, on tiny models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from celadon.batch import Batch
from celadon.core import Sample
from celadon.metrics.reading.features import Features, ReadingModels, reading_features
from celadon.models.encoder import open_sentence_encoder
from tests.conftest import missing_part
from tests.tiny_encoder import make_encoder
from tests.tiny_models import make_bigrams

try:
    import onnx  # noqa: F401
    import torch  # noqa: F401
except ImportError:
    missing_part("torch or onnx", "run: pip install celadon[train]")

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
    assert found.bigrams[0] > found.bigrams[1] == 0
    assert found.pairs[0] > 0
    assert found.sentences[:3].tolist() == [3, 1, 2]


def test_likeness_is_the_cosine_of_meanings(found: Features, models: ReadingModels) -> None:
    cat, dog = open_sentence_encoder(models.encoder).encode([CAT, DOG]).meaning.astype(np.float64)
    # the third sentence is the first again, two before it
    assert found.likeness[0] == pytest.approx((cat @ dog + cat @ cat) / 2, abs=1e-5)
    assert found.least_likeness[0] == pytest.approx(cat @ dog, abs=1e-5)


def test_marks_and_openings(found: Features) -> None:
    assert found.unknown.tolist()[:4] == [0, 0, 0, 0.5]
    assert found.loose.tolist()[:4] == [0, 0, 0, 0.5]
    assert found.hanging.tolist()[:4] == [0, 0, 1, 0]


def test_one_sentence_has_nothing_to_compare_and_no_words_nothing_at_all(found: Features) -> None:
    assert np.isnan([found.likeness[1], found.order[1], found.meanings[1]]).all()
    assert not np.isnan(found.acceptability[1])
    assert set(found.reasons) == {4}
    assert np.isnan([found.acceptability[4], found.slor[4]]).all()
