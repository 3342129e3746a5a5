"""Where the alignment of a text with its reference comes from."""

from __future__ import annotations

from collections.abc import Sequence

from celadon.core import Evidence, Metric, Sample
from celadon.report.escape import cut_at
from celadon.report.keep import Kept

LABELS = frozenset({"match", "substitution", "insertion", "deletion", "move"})

# Aligning is quadratic at worst, and of a long text only the beginning is shown.
HEAD = 4_000


def in_part(kept: Kept) -> bool:
    """Whether only the beginnings of a text and its references are aligned."""
    return any(len(text) > HEAD for text in (kept.text, *kept.references))


def alignment(kept: Kept, metrics: Sequence[Metric]) -> Evidence | None:
    """Return the alignment of the last metric that aligns, or of generation string accuracy; None without a reference.

    Of the two string accuracies, asked for in their usual order, the last is the one that shows moves.
    """
    if not kept.references:
        return None
    text, *references = (text[: cut_at(text, HEAD)] for text in (kept.text, *kept.references))
    sample = Sample(text, tuple(references), id=kept.id, system=kept.system)
    aligning = next((metric for metric in reversed(metrics) if metric.aligns), None)
    return (aligning or _fallback()).evidence(sample)


def _fallback() -> Metric:
    from celadon.metrics.string_accuracy import GenerationStringAccuracy

    return GenerationStringAccuracy()
