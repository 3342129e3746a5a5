"""`gruen` and `celadon` on tiny random models: their values mean nothing, but they are values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from celadon.metrics import registry
from celadon.metrics.gruen.gruen import Gruen
from celadon.metrics.gruen.models import TIERS, Tier
from celadon.metrics.reading import weights as reading
from celadon.metrics.reading.celadon import Celadon
from celadon.metrics.reading.features import TEXT_FEATURES, ReadingModels
from tests.tiny_encoder import make_encoder
from tests.tiny_models import make_bigrams

STANDINGS = {
    "grammaticality": {"usual": 1.0, "spread": 0.5, "weight": 0.3},
    "redundancy": {"usual": 2.0, "spread": 1.0, "weight": 0.5},
    "focus": {"usual": 0.0, "spread": 2.0, "weight": 0.25},
    "coherence": {"usual": -1.0, "spread": 1.5, "weight": 0.75},
}
"""How the aspects make the score: all of them, and each in its own way."""


def make_weights(path: Path) -> Path:
    """Write weights under which every feature matters."""
    aspects = {
        aspect: {reading.BIAS: 0.4, **{name: 0.3 - 0.2 * at for at, name in enumerate(names)}}
        for aspect, names in reading.FEATURES.items()
    }
    content = {
        "format": reading.FORMAT,
        "aspects": aspects,
        "worst": 0.3,
        "usual": dict.fromkeys(TEXT_FEATURES, 0.5),
        "overall": STANDINGS,
        "weak": 0.3,
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def name_tiny_tier(monkeypatch: pytest.MonkeyPatch, folder: Path) -> tuple[Gruen, Celadon]:
    """Make the tier ``tiny`` of both metrics, so that the command line knows it too; return the metrics."""
    encoder, model = str(make_encoder(folder / "encoder")), str(make_bigrams(folder / "lm").folder)
    monkeypatch.setitem(TIERS, "tiny", Tier(model, encoder, encoder))
    monkeypatch.setitem(reading.TIERS, "tiny", ReadingModels(model, encoder))
    monkeypatch.setitem(registry._OURS, "gruen", "gruen.gruen:Gruen")
    monkeypatch.setitem(registry._OURS, "celadon", "reading.celadon:Celadon")
    return Gruen("tiny"), Celadon("tiny", str(make_weights(folder / "weights.json")))
