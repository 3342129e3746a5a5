"""GRUEN's parts that need models, and their sum, on tiny models whose answers are worked out here."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from celadon.core import Metric, Sample, UsageError
from celadon.metrics.gruen.coherence import GruenCoherence
from celadon.metrics.gruen.grammaticality import GruenGrammaticality
from celadon.metrics.gruen.gruen import Gruen
from celadon.metrics.gruen.models import OTHER_SCALE, TIERS, WEIGHTS, Tier
from celadon.metrics.gruen.redundancy import GruenRedundancy
from celadon.models.encoders.encoder import open_sentence_encoder
from celadon.models.language.language_model import open_language_model
from celadon.scoring.batch import Batch
from celadon.scoring.batch.order import REACH, TEMPERATURE
from tests.conftest import missing_part
from tests.tiny_encoder import make_encoder
from tests.tiny_models import make_bigrams

try:
    import onnx  # noqa: F401
    import torch  # noqa: F401
except ImportError:
    missing_part("torch or onnx", "run: pip install 'celadon-text[train]'")

CAT, DOG, MAT, HOME, RAN = (
    "The cat sat on a mat.",
    "The dog ran home.",
    "He sat on it.",
    "The cats ran.",
    "He ran home.",
)
SIX = [CAT, DOG, MAT, HOME, RAN, "A dog ran."]


@pytest.fixture(scope="module")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Tier:
    folder = tmp_path_factory.mktemp("models")
    encoder = str(make_encoder(folder / "encoder"))
    model = str(make_bigrams(folder / "lm").folder)
    return Tier(model, encoder, encoder)


@pytest.fixture(autouse=True)
def _named(monkeypatch: pytest.MonkeyPatch, tier: Tier) -> None:
    monkeypatch.setitem(TIERS, "tiny", tier)
    monkeypatch.setitem(TIERS, "tiny-likely", tier._replace(order=f"lm:{tier.likelihood}"))


def value(metric: Metric, *sentences: str) -> float:
    return float(metric.score(Batch([Sample(" ".join(sentences))])).values[0])


def sigmoid(number: float) -> float:
    return 1 / (1 + math.exp(-number))


def logit(tier: Tier, one: str, other: str) -> float:
    """Which of two sentences comes first, from the projections and by hand."""
    read = open_sentence_encoder(tier.order).encode([one, other])
    weight, offset = read.order

    def goes_on(first: int, second: int) -> float:
        return float(weight @ np.maximum(read.before[first].astype(float) + read.after[second] + offset, 0))

    return goes_on(0, 1) - goes_on(1, 0)


def test_grammaticality_is_likelihood_and_acceptability(tier: Tier) -> None:
    encoder, model = open_sentence_encoder(tier.acceptability), open_language_model(tier.likelihood)
    expected = []
    for sentence in (CAT, DOG):
        (scores,) = model.score([sentence])
        likely = sigmoid((scores.logprobs.mean() - OTHER_SCALE.centre) / OTHER_SCALE.width)
        expected.append(0.3 * sigmoid(encoder.encode([sentence]).acceptability[0]) + 0.7 * likely)
    metric = GruenGrammaticality("tiny", share=0.3)
    scored = metric.score(Batch([Sample(f"{CAT} {DOG}"), Sample("...")]))
    assert scored.values[0] == pytest.approx(np.mean(expected), abs=1e-6)
    assert scored.parts["worst"][0] == pytest.approx(min(expected), abs=1e-6)
    assert math.isnan(scored.values[1])
    assert scored.reasons == {1: "the text has no words"}
    shown = metric.evidence(Sample(f"{CAT} {DOG}"))
    assert shown is not None
    assert [span.label for span in shown.text_spans].count("worst") == 1


def test_coherence_of_two_sentences_turns_round_with_them(tier: Tier) -> None:
    told = logit(tier, CAT, DOG)
    assert value(GruenCoherence("tiny"), CAT, DOG) == pytest.approx(-math.log1p(math.exp(-told)), abs=1e-5)
    assert value(GruenCoherence("tiny"), DOG, CAT) == pytest.approx(-math.log1p(math.exp(told)), abs=1e-5)
    assert value(GruenCoherence("tiny"), CAT) == 0


def test_a_split_is_judged_by_the_pairs_that_it_parts(tier: Tier) -> None:
    losses = []
    for split in range(1, len(SIX)):
        parted = [logit(tier, SIX[a], SIX[b]) for a in range(split) for b in range(split, len(SIX)) if b - a <= REACH]
        losses.append(math.log1p(math.exp(-float(np.mean(parted)))))
    assert value(GruenCoherence("tiny"), *SIX) == pytest.approx(-np.mean(losses), abs=1e-5)


def test_order_by_likelihood(tier: Tier) -> None:
    model = open_language_model(tier.likelihood)
    kept, swapped = (float(scores.logprobs.sum()) for scores in model.score([f"{CAT} {DOG}", f"{DOG} {CAT}"]))
    told = (kept - swapped) / TEMPERATURE
    assert value(GruenCoherence("tiny-likely"), CAT, DOG) == pytest.approx(-math.log1p(math.exp(-told)), abs=1e-5)


def test_gruen_adds_its_parts_and_stays_within_0_and_1() -> None:
    batch = Batch([Sample(" ".join(SIX)), Sample(" ".join([CAT] * 6)), Sample(CAT)])
    metric = Gruen("tiny")
    scored = metric.score(batch)
    total = sum(getattr(WEIGHTS, name) * scored.parts[name] for name in metric.info.parts)
    assert scored.values == pytest.approx(np.clip(total, 0, 1))
    assert total[1] < 0
    assert scored.values[1] == 0
    assert scored.parts["redundancy"].tolist() == GruenRedundancy().score(batch).values.tolist()
    without = Gruen("tiny", redundancy=False).score(batch)
    assert without.values[1] > 0
    assert np.isnan(without.parts["redundancy"]).all()


def test_evidence_shows_every_part() -> None:
    shown = Gruen("tiny").evidence(Sample(f"{CAT} {CAT}"))
    assert shown is not None
    assert [part.metric for part in shown.aspects][1:3] == ["gruen.redundancy", "gruen.focus"]
    assert "repeat each other" in shown.summary
    assert Gruen("tiny").evidence(Sample("...")) is None


def test_neighbours_do_not_matter() -> None:
    texts = [" ".join(SIX), CAT, f"{DOG} {HOME}", "", "кот сидит"]
    together = Gruen("tiny").score(Batch([Sample(text) for text in texts]))
    alone = [Gruen("tiny").score(Batch([Sample(text)])).values[0] for text in texts]
    np.testing.assert_allclose(together.values, alone, atol=1e-6)
    assert set(together.reasons) == {3, 4}


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown tier 'best'; known: builtin, standard, paper"):
        Gruen("best")
    with pytest.raises(UsageError, match="all four parts are switched off"):
        Gruen("tiny", grammaticality=False, redundancy=False, focus=False, coherence=False)
    with pytest.raises(UsageError, match="share is from 0 to 1"):
        GruenGrammaticality(share=2)


def test_the_signature_names_all_models(tier: Tier) -> None:
    signature = Gruen("tiny").signature
    assert signature.count("@") == 3
    assert Path(tier.order).name in signature
