"""Which sentence of the reference is nearest in meaning to each sentence of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from celadon.core import Evidence, Sample, Section, Span
from celadon.scoring.batch import Batch
from celadon.text.layout import shortened

if TYPE_CHECKING:
    from celadon.metrics.vecsim import Vecsim

# a cosine of 1 but for rounding
_SAME = 1 - 1e-6


def nearest_sentences(metric: Vecsim, sample: Sample) -> Evidence | None:
    """Show for each sentence the nearest of the nearest reference; None where they cannot be compared."""
    from celadon.metrics.vecsim import sentence_vectors

    pairs = [Sample(sample.text, (reference,)) for reference in sample.references]
    values = metric.score(Batch(pairs)).values if pairs else np.zeros(0)
    if np.isnan(values).all():
        return None
    best = int(np.nanargmax(values))
    found = sentence_vectors(Batch([Sample(sample.text), Sample(sample.references[best])]), metric.encoder)
    ours, theirs = (np.flatnonzero(found.places.owner == side) for side in (0, 1))
    cosines = found.rows[ours].astype(np.float64) @ found.rows[theirs].astype(np.float64).T
    spans: list[Span] = []
    for at, row in zip(ours.tolist(), cosines.tolist(), strict=True):
        cosine = max(row)
        target = int(theirs[row.index(cosine)])
        start, end = int(found.places.starts[target]), int(found.places.ends[target])
        label = "match" if cosine > _SAME else "other"
        note = f"{shortened(sample.references[best][start:end])}, {cosine:.2f}"
        spans.append(Span(int(found.places.starts[at]), int(found.places.ends[at]), label, note))
    marks = Section(
        "marks",
        "Nearest in the reference",
        spans=tuple(spans),
        reference=best,
    )
    return Evidence(metric.spec, f"the cosine of text and reference is {float(values[best]):.3f}", (marks,))
