"""Which token of the reference is nearest to each token of a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from celadon.core import Evidence, IntArray, Sample, Section, Span
from celadon.models.encoders.token_encoder import Float32Array
from celadon.scoring.batch import Batch

if TYPE_CHECKING:
    from celadon.metrics.bertscore import Bertscore
    from celadon.metrics.idf import Counts

_MOST_TOKENS = 1_000


def matched_tokens(metric: Bertscore, sample: Sample, counts: Counts | None) -> Evidence | None:
    """Show for each token of the text the nearest of the best reference, and the other way round.

    None where they cannot be compared, or are too long to be looked at token by token.
    """
    from celadon.metrics.bertscore import precisions_recalls_fs, sides_of

    states = Batch([sample]).token_states(metric.encoder)
    usable = [
        (found, pair, *both)
        for pairs, sides in sides_of(states, metric.layers, counts)
        for found, pair, both in zip(precisions_recalls_fs(sides, metric.window), pairs, sides, strict=True)
        if not math.isnan(found[2])
    ]
    if not usable:
        return None
    (precision, recall, f), pair, text, reference = max(usable, key=lambda one: one[0][2])
    if max(len(text.weights), len(reference.weights)) > min(_MOST_TOKENS, metric.window):
        return None
    cosines = text.vectors @ reference.vectors.T
    ours, theirs = (PlacedTokens(one, states.encoder.places(one)) for one in states.texts_of(pair))
    marks = Section(
        "marks",
        "Nearest in the reference",
        spans=token_spans(ours, theirs, _nearest(cosines)),
        reference=pair.reference,
        reference_spans=token_spans(theirs, ours, _nearest(cosines.T)),
    )
    return Evidence(
        metric.spec, f"precision {precision:.3f}, recall {recall:.3f}, F {f:.3f}, before any rescaling", (marks,)
    )


def _nearest(cosines: Float32Array) -> list[tuple[int, str]]:
    return [(row.index(max(row)), f"{max(row):.2f}") for row in cosines.tolist()]


class PlacedTokens(NamedTuple):
    """A text, and where its tokens are."""

    text: str
    places: IntArray


def token_spans(one: PlacedTokens, other: PlacedTokens, targets: Sequence[tuple[int, str] | None]) -> tuple[Span, ...]:
    """Show for each token of a text its target: a token of the other text, and a note; None where there is none."""
    spans: list[Span] = []
    for (start, end), target in zip(one.places.tolist(), targets, strict=True):
        written = one.text[start:end]
        # tokens of bytes may begin with a space, and share a character
        begin = max(start + len(written) - len(written.lstrip()), spans[-1].end if spans else 0)
        if target is not None and begin < end:
            first, last = other.places[target[0]].tolist()
            match = other.text[first:last].strip() or "nothing"
            label = "match" if match.lower() == one.text[begin:end].lower() else "other"
            spans.append(Span(begin, end, label, f"{match}, {target[1]}"))
    return tuple(spans)
