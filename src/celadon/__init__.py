"""celadon tells how well generated text reads, and how far each metric can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Metric", "MetricScores", "Sample", "Scores", "Tree", "__version__", "load", "score"]

if TYPE_CHECKING:
    from celadon.core import Metric, MetricScores, Sample, Tree
    from celadon.scoring.api import load, score
    from celadon.scoring.scores import Scores

_HOMES = {
    "Metric": "celadon.core",
    "MetricScores": "celadon.core",
    "Sample": "celadon.core",
    "Scores": "celadon.scoring.scores",
    "Tree": "celadon.core",
    "load": "celadon.scoring.api",
    "score": "celadon.scoring.api",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that the command line starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'celadon' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
