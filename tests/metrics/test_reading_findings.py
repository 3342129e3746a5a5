"""The words that `celadon` doubts, against what its encoder says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from celadon.core import Sample
from celadon.metrics.reading.celadon import CeladonGrammaticality
from celadon.metrics.reading.features import ReadingModels
from celadon.metrics.reading.rates import DOUBTFUL, reading_rates
from celadon.metrics.reading.weights import TIERS
from celadon.models.encoders.encoder import sentence_encoder
from celadon.models.encoders.word_findings import FINDING_KINDS
from celadon.scoring.batch import Batch
from tests.conftest import missing_part
from tests.tiny_aspects import make_weights
from tests.tiny_encoder import make_encoder
from tests.tiny_models import make_bigrams

try:
    import onnx  # noqa: F401
    import torch  # noqa: F401
except ImportError:
    missing_part("torch or onnx", "run: pip install 'celadon-text[train]'")

TEXT = "- The cat sat on a mat and ran home unhappy.\n- He sat on the dog, and it ran home with a cat"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> ReadingModels:
    folder: Path = tmp_path_factory.mktemp("models")
    encoder = make_encoder(folder / "encoder", findings=len(FINDING_KINDS), seed=3)
    return ReadingModels(str(make_bigrams(folder / "lm").folder), str(encoder))


def test_findings_are_the_words_that_the_encoder_doubts(models: ReadingModels) -> None:
    rates = reading_rates(Batch([Sample(TEXT)]).prose(), models)
    # a mark is added to the second item, which has none
    sentences = [TEXT[2:44], f"{TEXT[47:]}."]
    encoded = sentence_encoder(models.encoder).encode(sentences)
    assert encoded.words is not None
    total = 0
    for at, words in enumerate(encoded.words):
        start = int(rates.starts[at])
        expected = {
            (start + first, start + last): FINDING_KINDS[int(row[1:].argmax()) + 1]
            for (first, last), row in zip(words.spans.tolist(), words.probabilities, strict=True)
            if row[0] <= 1 - DOUBTFUL and start + last <= rates.ends[at]
        }
        assert {(each.start, each.end): each.kind for each in rates.findings[at]} == expected
        total += len(expected)
    assert total > 3


def test_findings_are_marked_in_the_original(
    models: ReadingModels, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(TIERS, "tiny", models)
    metric = CeladonGrammaticality("tiny", str(make_weights(tmp_path / "weights.json")))
    evidence = metric.evidence(Sample(TEXT))
    assert evidence is not None
    marked = {TEXT[span.start : span.end] for span in evidence.text_spans if span.label in FINDING_KINDS}
    assert marked
    assert marked <= set(TEXT.replace(".", " ").replace(",", " ").split()) | {".", ","}


def test_without_a_head_for_words_nothing_is_doubted(models: ReadingModels, tmp_path: Path) -> None:
    plain = models._replace(encoder=str(make_encoder(tmp_path / "plain")))
    rates = reading_rates(Batch([Sample(TEXT)]).prose(), plain)
    assert rates.findings == ((), ())
