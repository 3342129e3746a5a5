"""From samples to scores: batches and their views, the scorer, its cache, summaries, and what users call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Scorer"]

if TYPE_CHECKING:
    from celadon.scoring.scorer import Scorer


def __getattr__(name: str) -> Any:
    """Import on first use: metrics, which the scorer imports, import :mod:`celadon.scoring.batch`."""
    if name != "Scorer":
        raise AttributeError(f"module 'celadon.scoring' has no attribute {name!r}")
    from celadon.scoring.scorer import Scorer

    return Scorer
