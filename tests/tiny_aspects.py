"""`gruen` and `celadon` on tiny random models: their values mean nothing, but they are values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from celadon.metrics import registry
from celadon.metrics.gruen.gruen import Gruen
from celadon.metrics.gruen.models import TIERS, Tier
from celadon.metrics.reading import weights as reading
from celadon.metrics.reading.celadon import Celadon
from celadon.metrics.reading.features import ReadingModels
from tests.tiny_encoder import make_encoder
from tests.tiny_models import make_bigrams

COSTS = {
    "grammaticality": {"slope": 0.3, "steepness": 2.0, "level": -1.0},
    "redundancy": {"slope": 0.5, "steepness": 1.0, "level": 0.5},
    "focus": {"slope": 0.25, "steepness": 4.0, "level": -2.0},
    "coherence": {"slope": 0.75, "steepness": 0.5, "level": 0.0},
    "complete": {"slope": 0.6, "steepness": 0.0, "level": 0.0},
}
"""What each aspect takes from the score: all of them, and each in its own way."""


def weights_content() -> dict[str, Any]:
    """Return weights under which every feature matters."""
    return {
        "format": reading.FORMAT,
        "curves": {
            name: {reading.BIAS: 0.4, **{feature: 0.3 - 0.2 * at for at, feature in enumerate(features)}}
            for name, features in reading.CURVES.items()
        },
        "repetition": {name: 0.2 + 0.1 * at for at, name in enumerate(reading.REPEATS)},
        "usual": {"focus": 0.6, "coherence": 0.5},
        "costs": COSTS,
        "weak": 0.3,
    }


def make_weights(path: Path) -> Path:
    """Write weights under which every feature matters."""
    path.write_text(json.dumps(weights_content()), encoding="utf-8")
    return path


def name_tiny_tier(monkeypatch: pytest.MonkeyPatch, folder: Path) -> tuple[Gruen, Celadon]:
    """Make the tier ``tiny`` of both metrics, so that the command line knows it too; return the metrics."""
    encoder, model = str(make_encoder(folder / "encoder")), str(make_bigrams(folder / "lm").folder)
    monkeypatch.setitem(TIERS, "tiny", Tier(model, encoder, encoder))
    monkeypatch.setitem(reading.TIERS, "tiny", ReadingModels(model, encoder))
    monkeypatch.setitem(registry._OURS, "gruen", "gruen.gruen:Gruen")
    monkeypatch.setitem(registry._OURS, "celadon", "reading.celadon:Celadon")
    return Gruen("tiny"), Celadon("tiny", str(make_weights(folder / "weights.json")))
